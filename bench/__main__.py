"""`make bench`: every part, a page and a picture in bench/results, and exit code 1 when a target is missed."""

import argparse
import gc
import traceback

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
from bench.report import RESULTS, Section, not_measured, verdict, write

PARTS = (
    start,
    first_reply,
    http,
    inprocess,
    verification,
    remote,
    store,
    proof,
    changes,
    consumers,
    words,
    vectors,
    rest,
    seeding,
    million,
    recovery,
    transfers,
    moving,
    evolution,
    systems,
    hostile,
)


def main() -> int:
    """Runs the measurements, and writes the results after each: an interrupted run leaves what it has measured."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--name", default="latest", help="of the files in bench/results")
    parser.add_argument("--quick", action="store_true", help="a look, not a measurement: fewer and shorter rounds")
    options = parser.parse_args()

    plot: str | None = None
    sections: list[Section] = []
    for part in PARTS:
        gc.collect()
        gc.freeze()  # a part does not pay for the objects of those before it, as in a process of its own
        try:
            measured = part.measure(options.quick)
        except Exception as error:  # noqa: BLE001 - the other parts are measured
            traceback.print_exc()
            measured = not_measured(part.__name__, error)
        if isinstance(measured, http.Rates):
            plot = f"{options.name}.svg"
            draw(measured, RESULTS / plot)
            measured = http.section(measured)
        print(measured, flush=True)
        sections.append(measured)
        path = write(options.name, sections, plot)
    print(f"written: {path.relative_to(RESULTS.parent.parent)}")
    return verdict(sections)


if __name__ == "__main__":
    raise SystemExit(main())
