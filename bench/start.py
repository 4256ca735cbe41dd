"""How long it takes to begin: `import partita`, and `partita engine` until its first answer."""

import statistics
import subprocess
import sys
import time

from bench.engines import OURS, OURS_MEMORY, partita
from bench.report import Section, Target, alone, table

IMPORT_MILLISECONDS = 80.0
ANSWER_SECONDS = 0.5


def _milliseconds(code: str) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return (time.perf_counter() - begun) * 1000


def measure(quick: bool) -> Section:
    """Medians; the bare interpreter and the import take turns."""
    rounds = 5 if quick else 15
    pairs = [(_milliseconds("pass"), _milliseconds("import partita")) for _ in range(rounds)]
    bare, imported = (statistics.median(times) for times in zip(*pairs, strict=True))
    answers = {name: statistics.median(_answer(name) for _ in range(rounds // 3)) for name in (OURS, OURS_MEMORY)}
    rows = [["bare interpreter", f"{bare:.0f} ms"], ["`import partita`", f"{imported:.0f} ms"]]
    rows += [
        [f"first answer of `partita engine`: {name}", f"{seconds * 1000:.0f} ms"] for name, seconds in answers.items()
    ]
    targets = [
        Target("`import partita` adds", imported - bare, IMPORT_MILLISECONDS, "ms", below=True),
        Target("`partita engine` answers after", max(answers.values()), ANSWER_SECONDS, "s", below=True),
    ]
    return Section("Starting", table(["", "median"], rows), targets)


def _answer(name: str) -> float:
    with partita(name) as running:
        return running.seconds


if __name__ == "__main__":
    alone(measure)
