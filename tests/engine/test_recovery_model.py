"""Restores to random seconds equal the recorded model, though the writing process is killed again and again.

PARTITA_RESTORES=1000 restores that many seconds, instead of the default few dozen.
"""

import os
import subprocess
import sys
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.engine import recovering
from tests.engine.tables import Bench, Clock, index, problems_of
from tests.engine.test_recovery import begin, enable

pytestmark = pytest.mark.slow

RESTORES = int(os.environ.get("PARTITA_RESTORES", "40"))
AT_ONCE = 4
ROOT = Path(__file__).parent.parent.parent

State = dict[str, str]


class Model:
    """The table after each acknowledged write, with the time of the write."""

    def __init__(self, now: float) -> None:
        self.times = [now]
        self.states: list[State] = [{}]

    def add(self, at: float, stamp: str, keys: list[str]) -> None:
        state = {key: each for key, each in self.states[-1].items() if key not in keys}
        self.times.append(at)
        self.states.append(state if stamp.endswith("d") else state | dict.fromkeys(keys, stamp))

    def at(self, second: int) -> State:
        return self.states[bisect_right(self.times, second) - 1]


def run_and_kill(path: Path, seed: int, now: float, lines: int) -> Iterator[tuple[str, str, list[str], float]]:
    """Returns the lines of a writer that is killed some time after it has printed `lines` lines."""
    command = [sys.executable, "-m", recovering.__name__, str(path), str(seed), str(now)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        for count, line in enumerate(process.stdout, 1):
            if line.endswith("\n"):
                word, stamp, keys, at = line.split()
                yield word, stamp, keys.split(","), float(at)
            if count == lines:
                process.kill()
    assert process.returncode == -9, "it ended by itself"


def rows(bench: Bench, table: str) -> State:
    return {row["pk"]["S"]: row["v"]["S"] for row in bench.rows(table)}


@pytest.mark.parametrize("writer", range(2))
def test_restore_to_any_second_equals_the_model(tmp_path: Path, writer: int) -> None:
    path, random, clock = tmp_path / "recovered.db", Random(writer), Clock()
    bench = Bench(str(path), clock)
    bench.table(recovering.TABLE, "pk:S", index("byLast", "g:S"))
    enable(bench, recovering.TABLE)
    start, model = int(clock.now), Model(clock.now)
    running: dict[str, int] = {}
    done = 0
    for seed in range(RESTORES // 2 // AT_ONCE + 1):  # the seconds of the last round are not looked at
        bench.engine.close()
        doubtful = None
        for word, stamp, keys, at in run_and_kill(path, writer * 1000 + seed, clock.now, random.randint(40, 160)):
            clock.now = at
            doubtful = None if word == "done" else (at, stamp, keys)
            if word == "done":
                model.add(at, stamp, keys)
        bench.reopen()
        assert problems_of(bench.engine) == []
        if doubtful is not None and rows(bench, recovering.TABLE) != model.states[-1]:
            model.add(*doubtful)  # all of the last write, or none of it
        assert rows(bench, recovering.TABLE) == model.states[-1]
        bench.settle()
        for name, second in running.items():
            assert rows(bench, name) == model.at(second), f"as at {second}"
            assert sorted(map(str, bench.rows(name, "byLast"))) == sorted(map(str, bench.rows(name)))
            bench.ok("DeleteTable", TableName=name)
            done += 1
        seconds = [random.randint(start, int(clock.now)) for _ in range(AT_ONCE)]
        running = {f"at-{second}-{number}": second for number, second in enumerate(seconds)}
        for name, second in running.items():
            begin(bench, name, second, source=recovering.TABLE)
        if random.random() < 0.5:
            bench.engine.maintenance.step()
    assert done == RESTORES // 2 // AT_ONCE * AT_ONCE
    bench.engine.close()
