"""The time to start: `import partita`, a small program, and `partita engine` until its first answer."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping

from bench.engines import OURS, OURS_MEMORY, partita
from bench.report import Section, Target, alone, table

IMPORT_MILLISECONDS = 80.0
PROGRAM_MILLISECONDS = 100.0
ANSWER_SECONDS = 0.5

PROGRAM = """
from partita import Entity, Item, Table, connect, pattern

notes = Table("notes", pk="id")


class Note(Entity, table=notes, key=("NOTE#{note_id}",)):
    note_id: str
    text: str


@pattern
def note(note_id: str) -> Item[Note]: ...


with connect("memory:", notes) as db:
    db.create_tables()
    db.create(Note(note_id="1", text="buy milk"))
    assert db.one(note("1")).text == "buy milk"
"""
"""One entity, written and read: the program that a person writes first."""

_PROGRAMS = {"bare interpreter": "pass", "`import partita`": "import partita", "a program with one entity": PROGRAM}


def measure(quick: bool) -> Section:
    """Medians, and what they add to the median of a bare interpreter; the programs take turns."""
    rounds = 5 if quick else 15
    with tempfile.TemporaryDirectory() as folder:
        environment = _with_bytecode(folder)
        for code in _PROGRAMS.values():  # compiles
            _milliseconds(code, environment)
        turns = [[_milliseconds(code, environment) for code in _PROGRAMS.values()] for _ in range(rounds)]
    bare, imported, program = (statistics.median(times) for times in zip(*turns, strict=True))
    best = [min(times) for times in zip(*turns, strict=True)]
    answers = {name: statistics.median(_answer(name) for _ in range(rounds // 3)) for name in (OURS, OURS_MEMORY)}
    rows = [
        [name, f"{median:.0f} ms", f"{least:.0f} ms"]
        for name, median, least in zip(_PROGRAMS, (bare, imported, program), best, strict=True)
    ]
    rows += [
        [f"first answer of `partita engine`: {name}", f"{seconds * 1000:.0f} ms", ""]
        for name, seconds in answers.items()
    ]
    targets = [
        Target("`import partita` adds", imported - bare, IMPORT_MILLISECONDS, "ms", below=True),
        Target("a program with one entity adds", program - bare, PROGRAM_MILLISECONDS, "ms", below=True),
        Target("`partita engine` answers after", max(answers.values()), ANSWER_SECONDS, "s", below=True),
    ]
    return Section("Starting", table(["", "median", "best"], rows), targets)


def _with_bytecode(folder: str) -> Mapping[str, str]:
    """The environment of an installed package: its bytecode is compiled once and kept."""
    without = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return without | {"PYTHONPYCACHEPREFIX": folder}


def _milliseconds(code: str, environment: Mapping[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    return (time.perf_counter() - begun) * 1000


def _answer(name: str) -> float:
    with partita(name) as running:
        return running.seconds


if __name__ == "__main__":
    alone(measure)
