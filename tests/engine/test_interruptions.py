"""A thread that is interrupted, by Ctrl-C or by a signal handler, leaves the writes of other threads alone."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from partita.dynamodb.requests import UpdateItem
from partita.engine.engine import Engine
from partita.engine.writer import PendingWrite
from partita.storage.contract import Row, StorageTransaction, Write
from partita.storage.memory import MemoryStorage
from partita.storage.sqlite import SqliteStorage
from partita.storage.sqlite_connection import SqliteConnection
from tests.engine.shorthand import Embedded
from tests.timing import PATIENCE

ROOT = Path(__file__).parent.parent.parent


class Alarm(Exception):
    """Raised by a signal handler."""


class InterruptedStorage(SqliteStorage):
    """A file on which the thread is interrupted once, right before or after a statement."""

    point: tuple[str, str, type[BaseException]] | None = None

    def _connect(self, *, is_first: bool = False, is_writer: bool = False) -> SqliteConnection:
        connection = super()._connect(is_first=is_first, is_writer=is_writer)
        run = connection.execute

        def execute(sql: str, *arguments: Any) -> Any:
            self._meet("before", sql)
            found = run(sql, *arguments)
            self._meet("after", sql)
            return found

        connection.execute = execute  # type: ignore[assignment]
        return connection

    def _meet(self, when: str, sql: str) -> None:
        if self.point is not None and (when, True) == (self.point[0], sql.startswith(self.point[1])):
            error, self.point = self.point[2], None
            raise error


class Counters(Embedded):
    """A table of counters."""

    def __init__(self, storage: Any) -> None:
        super().__init__(Engine(storage, maintain=False))
        created = self.ask(
            "CreateTable",
            {
                "TableName": "counters",
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        assert not created.error

    def increment(self, key: str) -> UpdateItem:
        one: Any = {":one": {"N": "1"}}
        return UpdateItem(
            "counters", {"pk": {"S": key}}, update_expression="ADD n :one", expression_attribute_values=one
        )

    def count(self, key: str) -> int:
        item = self.ask("GetItem", {"TableName": "counters", "Key": {"pk": {"S": key}}}).body.get("Item")
        return int(item["n"]["N"]) if item else 0

    def queued(self, key: str, notified: list[PendingWrite]) -> PendingWrite:
        """An increment of another thread that waits for a commit."""
        write = PendingWrite(self.engine.prepare(self.increment(key)), key, notified.append)
        self.engine.writer.enqueue(write)
        return write


@pytest.fixture
def storage(tmp_path: Path) -> InterruptedStorage:
    return InterruptedStorage(str(tmp_path / "counters.db"), "process")


@pytest.fixture
def counters(storage: InterruptedStorage) -> Iterator[Counters]:
    counters = Counters(storage)
    yield counters
    counters.engine.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt, Alarm])
@pytest.mark.parametrize("statement", ["BEGIN", "INSERT", "UPDATE spaces", "COMMIT"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_write_of_another_thread_is_committed_once(
    counters: Counters, storage: InterruptedStorage, when: str, statement: str, error: type[BaseException]
) -> None:
    notified: list[PendingWrite] = []
    other = counters.queued("other", notified)
    storage.point = when, statement, error
    with pytest.raises(error):
        counters.engine.call(counters.increment("own"))
    assert (counters.count("other"), other.done, other.error, notified) == (1, True, None, [other])
    assert counters.count("own") == 1
    counters.engine.call(counters.increment("own"))
    assert (counters.count("other"), counters.count("own")) == (1, 2)


@pytest.mark.parametrize("when", ["before", "after"])
def test_interrupted_write_of_one_thread_has_happened_or_not(
    counters: Counters, storage: InterruptedStorage, when: str
) -> None:
    storage.point = when, "COMMIT", KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        counters.engine.call(counters.increment("own"))
    assert counters.count("own") == (when == "after")
    counters.engine.call(counters.increment("later"))
    assert counters.count("own") == (when == "after")


def test_write_that_fails_by_itself_does_not_fail_the_others(counters: Counters) -> None:
    def job(txn: StorageTransaction) -> None:
        raise Alarm

    failing = PendingWrite(job)
    counters.engine.writer.enqueue(failing)
    counters.engine.call(counters.increment("own"))
    with pytest.raises(Alarm):
        failing.result()
    assert counters.count("own") == 1


def test_interrupted_read_does_not_keep_its_snapshot(
    counters: Counters, storage: InterruptedStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = SqliteConnection.end

    def interrupted_end(connection: SqliteConnection) -> bool:
        monkeypatch.setattr(SqliteConnection, "end", end)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), storage.snapshot():
        monkeypatch.setattr(SqliteConnection, "end", interrupted_end)
    counters.engine.call(counters.increment("own"))
    assert counters.count("own") == 1


def test_interrupted_change_in_memory_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = MemoryStorage()
    with storage.transaction() as txn:
        txn.create_space("s")
        txn.apply([Write("s", b"a", None, Row(1, b"1")), Write("s", b"c", None, Row(1, b"3"))])

    class InterruptedKeys(list[bytes]):
        def insert(self, at: Any, key: bytes) -> None:
            super().insert(at, key)
            storage._spaces["s"].keys = list(self)
            raise KeyboardInterrupt

    storage._spaces["s"].keys = InterruptedKeys([b"a", b"c"])
    with pytest.raises(KeyboardInterrupt), storage.transaction() as txn:
        txn.apply([Write("s", b"a", None, None), Write("s", b"b", None, Row(5, b"2"))])
    assert [key for key, _, _ in storage.range("s", b"", None)] == [b"a", b"c"]
    assert storage.totals("s") == (2, 2)


ALARMS = """
import random, signal, sys, threading
from partita.storage.memory import MemoryStorage
from partita.storage.sqlite import SqliteStorage
from tests.engine.test_interruptions import Counters

class Alarm(BaseException):
    pass

def raise_alarm(*_):
    raise Alarm

counters = Counters(MemoryStorage() if sys.argv[1] == "memory:" else SqliteStorage(sys.argv[1], "process"))
tried, done = [0] * 4, [0] * 4
is_over = False

def increment(number):
    tried[number] += 1
    counters.engine.call(counters.increment(str(number)))
    done[number] += 1

def work(number):
    while not is_over:
        increment(number)

increment(0)  # loads all modules: Python's own lock of an import does not survive an alarm
counters.count("0")
threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in (1, 2, 3)]
for thread in threads:
    thread.start()
signal.signal(signal.SIGALRM, raise_alarm)
random.seed(1)
for _ in range(300):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0003, 0.005))
        while signal.getitimer(signal.ITIMER_REAL)[0]:  # some alarms come while nothing can be raised
            increment(0)
        increment(0)
    except Alarm:
        pass
signal.signal(signal.SIGALRM, signal.SIG_IGN)
is_over = True
for thread in threads:
    thread.join()
counts = [counters.count(str(number)) for number in range(4)]
assert counts[1:] == done[1:] == tried[1:], (counts, done, tried)
assert done[0] <= counts[0] <= tried[0], (counts, done, tried)
assert tried[0] - done[0] > 100, (tried, done)
counters.engine.close()
print("done")
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals")
@pytest.mark.parametrize("where", ["memory:", "file"])
def test_alarms_of_the_main_thread_lose_and_repeat_no_write(tmp_path: Path, where: str) -> None:
    address = where if where == "memory:" else str(tmp_path / "counters.db")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", ALARMS, address],
        capture_output=True, text=True, check=False, env=environment, timeout=PATIENCE,
    )  # fmt: skip
    assert done.stdout == "done\n", done.stderr
