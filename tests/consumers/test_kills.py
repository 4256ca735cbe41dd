"""Workers and the engine killed at random under 64 writers: every change once in every consumer, and in order.

PARTITA_CONSUMER_KILLS=200 kills that often, instead of the default 20 times.
"""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from partita import F, PartitaError, Store, connect
from partita.consumers import state
from partita.consumers.worker import create_state_tables
from partita.errors import AlreadyExists, ConditionFailed
from tests.consumers import shop
from tests.consumers.shop import Order, Status
from tests.peers import free_port, wait_until

KILLS = int(os.environ.get("PARTITA_CONSUMER_KILLS", "20"))
WRITERS = 64  # each writes to an item of its own
ROOT = Path(__file__).parent.parent.parent


class Programs:
    """An engine, a worker on its file and a worker over HTTP; one that is killed is started again."""

    def __init__(self, file: Path) -> None:
        port = free_port()
        self.endpoint = f"http://127.0.0.1:{port}"
        self._commands: dict[str, list[Any]] = {
            "engine": ["engine", str(file), port],
            "worker on the file": ["worker", str(file)],
            "worker over HTTP": ["worker", self.endpoint],
        }
        command = [sys.executable, "-m", "tests.consumers.processes"]
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        self._running: dict[str, int] = {}

    @property
    def names(self) -> list[str]:
        return list(self._commands)

    def start(self, name: str) -> None:
        """Starts a program, and waits for its first line: it works from then on."""
        self._send(self._commands[name])
        found: dict[str, str] = {}
        while found.keys() != {"process", "partita:"}:
            line = self._read()
            assert line not in ("", "ended\n"), f"the {name} has ended"
            word, _, rest = line.partition(" ")
            if word in ("process", "partita:"):
                found[word] = rest
        self._running[name] = int(found["process"])

    def kill(self, name: str) -> None:
        self._send(["kill", self._running.pop(name)])
        while (line := self._read()) != "killed\n":
            assert line

    def close(self) -> None:
        """Ends the server, and the programs with it."""
        self._server.communicate()

    def _send(self, command: list[Any]) -> None:
        assert self._server.stdin is not None
        print(json.dumps(command), file=self._server.stdin, flush=True)

    def _read(self) -> str:
        assert self._server.stdout is not None
        return self._server.stdout.readline()


@contextmanager
def started(file: Path) -> Iterator[Programs]:
    programs = Programs(file)
    try:
        for name in programs.names:
            programs.start(name)
        yield programs
    finally:
        programs.close()


def write(db: Store, order_id: str, number: int, *, is_last: bool) -> None:
    """Writes the next number of an order, once, however often the engine is killed meanwhile."""
    while True:
        try:
            if number == 0:
                db.create(Order(order_id=order_id, customer_id="c", number=0))
                return
            with db.change(shop.order(order_id), when=F.number == number - 1) as draft:
                draft.number = number
                draft.status = Status.SHIPPED if is_last else Status.OPEN
        except (AlreadyExists, ConditionFailed):
            pass  # an earlier sending was applied
        except (PartitaError, OSError):
            continue
        return


@pytest.mark.slow
def test_killed_workers_and_engines_handle_every_change_once_and_in_order(tmp_path: Path) -> None:
    chance, file = random.Random(14), tmp_path / "shop.db"
    with connect(file, shop.design, durability="process") as db:
        db.create_tables()
        create_state_tables(db)
        with started(file) as programs, connect(programs.endpoint, shop.design) as writing:
            with ThreadPoolExecutor(WRITERS) as writers:
                for number in range(KILLS):
                    until = sum(handled(db).values()) + chance.randrange(WRITERS * len(shop.CONSUMERS))
                    one = partial(write, writing, number=number, is_last=number == KILLS - 1)
                    writes = [writers.submit(one, str(writer)) for writer in range(WRITERS)]
                    wait_until(partial(has_handled, db, until))
                    victim = chance.choice(programs.names)
                    programs.kill(victim)
                    programs.start(victim)
                    for each in writes:
                        each.result()
            changes = WRITERS * KILLS
            wait_until(lambda: handled(db) == {each.name: changes for each in shop.CONSUMERS})
        check_effects(db)


def check_effects(db: Store) -> None:
    """Each consumer has handled every change once, and the changes of each item in their order."""
    for writer in range(WRITERS):
        assert db.one(shop.copy_of(str(writer))).history == list(range(KILLS)), writer
    tally = db.one(shop.tally("orders"))
    assert (tally.created, tally.updated) == (WRITERS, WRITERS * (KILLS - 1))
    assert tally.total == WRITERS * (KILLS - 1)
    texts = Counter(each.text for each in db(shop.notifications_of("c")))
    assert texts == Counter(f"{writer} shipped" for writer in range(WRITERS))
    states = Store(db.backend, state.design)
    for consumer in shop.CONSUMERS:
        assert not list(states(state.dead_letters(consumer.name)))
        assert not list(states(state.parked_changes(consumer.name)))


def handled(db: Store) -> Counter[str]:
    """How many changes each consumer has handled."""
    states = Store(db.backend, state.design)
    found: Counter[str] = Counter()
    for consumer in shop.CONSUMERS:
        found[consumer.name] = sum(each.handled for each in states(state.positions(consumer.name)))
    return found


def has_handled(db: Store, changes: int) -> bool:
    return sum(handled(db).values()) >= changes
