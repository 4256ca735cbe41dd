"""`make bench`: every part, a page and a picture in bench/results, and exit code 1 when a target is missed."""

import argparse

from bench import (
    changes,
    consumers,
    evolution,
    first_reply,
    hostile,
    http,
    inprocess,
    million,
    moving,
    proof,
    recovery,
    remote,
    rest,
    seeding,
    start,
    store,
    systems,
    transfers,
    vectors,
    verification,
    words,
)
from bench.plot import draw
from bench.report import RESULTS, Section, verdict, write


def main() -> int:
    """Runs the chosen measurements and writes the results."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--name", default="latest", help="of the files in bench/results")
    parser.add_argument("--quick", action="store_true", help="a look, not a measurement: fewer and shorter rounds")
    options = parser.parse_args()

    sections: list[Section] = []

    def done(section: Section) -> None:
        print(section, flush=True)
        sections.append(section)

    done(start.measure(options.quick))
    done(first_reply.measure(options.quick))
    rates = http.measure(options.quick)
    done(http.section(rates))
    done(inprocess.measure(options.quick))
    done(verification.measure(options.quick))
    done(remote.measure(options.quick))
    done(store.measure(options.quick))
    done(proof.measure(options.quick))
    done(changes.measure(options.quick))
    done(consumers.measure(options.quick))
    done(words.measure(options.quick))
    done(vectors.measure(options.quick))
    done(rest.measure(options.quick))
    done(seeding.measure(options.quick))
    done(million.measure(options.quick))
    done(recovery.measure(options.quick))
    done(transfers.measure(options.quick))
    done(moving.measure(options.quick))
    done(evolution.measure(options.quick))
    done(systems.measure(options.quick))
    done(hostile.measure(options.quick))

    plot = f"{options.name}.svg"
    draw(rates, RESULTS / plot)
    print(f"written: {write(options.name, sections, plot).relative_to(RESULTS.parent.parent)}")
    return verdict(sections)


if __name__ == "__main__":
    raise SystemExit(main())
