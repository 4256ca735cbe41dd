"""An application that is killed goes on where it was, however often, and ends with the same data.

PARTITA_APPLY_KILLS=100 kills that often, instead of the default few times.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from partita import Store, connect
from partita.evolution.apply import apply_design
from partita.evolution.migration_plan import plan_migration
from tests.evolution.shop import first, second
from tests.evolution.test_apply import built_from_nothing, filled, stored

KILLS = int(os.environ.get("PARTITA_APPLY_KILLS", "3"))


class Stopped(Exception):
    """The process ended here."""


class StoppingBackend:
    """A backend that ends with the n-th request, before or after it was executed."""

    def __init__(self, backend: Any, requests: int, *, after: bool) -> None:
        self._backend = backend
        self._left = requests
        self._after = after

    def call(self, request: Any) -> Any:
        self._left -= 1
        if self._left < 0 and not self._after:
            raise Stopped
        reply = self._backend.call(request)
        if self._left < 0:
            raise Stopped
        return reply


@pytest.mark.parametrize("seed", range(2))
def test_application_that_ends_anywhere_goes_on_and_gives_the_same_data(seed: int) -> None:
    old, new, random = first(), second(unique=True), Random(seed)
    with connect("memory:") as backend:
        filled(Store(backend, old.design), old, 3, 4)
        for _ in range(200):
            stopping = StoppingBackend(backend, random.randrange(1, 30), after=random.random() < 0.5)
            try:
                apply_design(Store(stopping, new.design))
                break
            except Stopped:
                continue
        else:
            apply_design(Store(backend, new.design))
        db = Store(backend, new.design)
        assert stored(db) == built_from_nothing(db, new)
        assert not plan_migration(db).has_work


@pytest.mark.slow
def test_killed_application_goes_on_and_gives_the_same_data(tmp_path: Path) -> None:
    filled_file, file = tmp_path / "filled.db", tmp_path / "shop.db"
    old, new, random = first(), second(unique=True), Random(1)
    with connect(filled_file, old.design, durability="process") as db:
        filled(db, old, 8, 5)
    kills = 0
    while kills < KILLS:
        for each in tmp_path.glob("shop.db*"):
            each.unlink()
        shutil.copy(filled_file, file)
        while kills < KILLS and is_killed(file, random.random() * 1.5):
            kills += 1
        with connect(file, durability="process") as backend:
            apply_design(Store(backend, new.design))
        with connect(file, new.design, durability="process") as db:
            assert stored(db) == built_from_nothing(db, new)


def is_killed(file: Path, seconds: float) -> bool:
    """Whether an application in a process of its own was killed after some time; false if it ended earlier."""
    command = [sys.executable, "-m", "tests.evolution.killed", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "started\n"
        try:
            running.wait(seconds)
        except subprocess.TimeoutExpired:
            running.kill()
            return True
        assert running.returncode == 0
        return False
