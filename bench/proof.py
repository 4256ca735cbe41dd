"""The proof of a large design when it is loaded, in a process of its own: nothing is proven or cached before."""

import statistics
import subprocess
import sys
import time
from datetime import datetime
from typing import Any

from bench.report import Section, Target, alone, table
from partita import Entity, Index, Keys, Table, pattern, prove, query

ENTITIES = 50
PATTERNS = 4 * ENTITIES
MOST = 1.0  # second


def _declare(number: int, large: Table) -> None:
    """An entity in three indexes, and a pattern for its table and for each of them."""

    class Thing(Entity, table=large, key=(f"E{number}#{{a}}", f"E{number}#{{at}}#{{b}}")):
        a: str
        b: str
        at: datetime
        one = Keys("GSI1", f"E{number}#{{b}}", "{at}")
        two = Keys("GSI2", f"E{number}#{{a}}", "{at}#{b}")
        three = Keys("GSI3", f"E{number}#{{a}}", "{b}")

    sources: dict[str, Any] = {"own": Thing, "one": Thing.one, "two": Thing.two, "three": Thing.three}
    for name, source in sources.items():
        _declare_pattern(f"e{number}_{name}", source)


def _declare_pattern(name: str, source: Any) -> None:
    def read(a: str) -> Any:
        return query(source, a)

    read.__name__ = name
    pattern(read)


def seconds() -> float:
    """The processor time of the first proof in this process."""
    indexes = tuple(Index(f"GSI{n}", f"GSI{n}PK", f"GSI{n}SK") for n in (1, 2, 3))
    large = Table("large", pk="PK", sk="SK", indexes=indexes)
    for number in range(ENTITIES):
        _declare(number, large)
    begun = time.thread_time()
    design = prove("large", large)
    took = time.thread_time() - begun
    assert (len(design.models), len(design.patterns)) == (ENTITIES, PATTERNS)
    return took


def measure(quick: bool) -> Section:
    """The median of some processes."""
    program = [sys.executable, "-c", "from bench.proof import seconds; print(seconds())"]
    runs = [subprocess.run(program, capture_output=True, text=True, check=True) for _ in range(1 if quick else 5)]
    took = statistics.median(float(run.stdout) for run in runs)
    row = [str(ENTITIES), str(PATTERNS), f"{took * 1000:.0f} ms"]
    text = "Processor time of `prove` for a design in one table with three indexes.\n\n"
    target = Target(f"proof of {ENTITIES} entities and {PATTERNS} patterns", took, MOST, "s", below=True)
    return Section("Proof", text + table(["entities", "patterns", "proof"], [row]), [target])


if __name__ == "__main__":
    alone(measure)
