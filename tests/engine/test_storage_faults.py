"""After any error of the disk the request gets an error, the next one works, and nothing acknowledged is lost."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest

from partita.dynamodb.decode import decode_request
from partita.dynamodb.exceptions import InternalServerError
from partita.engine.async_engine import AsyncEngine
from partita.engine.engine import Engine
from partita.errors import StorageError
from partita.storage import checkpoints
from partita.storage.contract import Row, Write
from partita.storage.sqlite import SqliteStorage
from tests.engine.faulty_storage import FaultyDisk, FaultyStorage
from tests.engine.tables import problems_of
from tests.timing import PATIENCE

TABLE = {
    "TableName": "notes",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "g", "AttributeType": "S"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_g",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
}
PLACES = ["BEGIN", "COMMIT", "INSERT", "DELETE", "UPDATE SPACES", "SELECT", "ROLLBACK"]


def request(operation: str, **body: Any) -> Any:
    return decode_request(operation, json.dumps(body).encode())


def put(number: int, size: int = 10) -> Any:
    item = {"pk": {"S": f"k{number}"}, "g": {"S": "g"}, "x": {"S": "x" * size}}
    return request("PutItem", TableName="notes", Item=item)


@pytest.fixture
def storage(tmp_path: Path) -> FaultyStorage:
    return FaultyStorage(str(tmp_path / "notes.db"))


@pytest.fixture
def engine(storage: FaultyStorage) -> Iterator[Engine]:
    with Engine(storage, maintain=False) as engine:
        engine.call(request("CreateTable", **TABLE))
        yield engine


def keys(engine: Engine) -> set[str]:
    items = engine.call(request("Scan", TableName="notes")).items or []
    return {json.loads(bytes(item))["pk"]["S"] for item in items}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("size", [10, 5000])
def test_write_after_a_failed_one_works(engine: Engine, storage: FaultyStorage, place: str, size: int) -> None:
    engine.call(put(0, size))
    storage.faults.fail("COMMIT" if place == "ROLLBACK" else place)
    acknowledged = {"k0"}
    try:
        engine.call(put(0, size))
        engine.call(put(1, size))
        acknowledged.add("k1")
    except InternalServerError:
        assert storage.faults.raised
    storage.faults.clear()
    engine.call(put(2, size))
    assert keys(engine) >= acknowledged | {"k2"}
    assert problems_of(engine) == []


def test_failed_rollback_replaces_the_connection(engine: Engine, storage: FaultyStorage) -> None:
    for _ in range(3):
        storage.faults.fail("COMMIT")
        before = storage._writer
        assert before is not None
        before.end = lambda: False  # type: ignore[method-assign]
        with pytest.raises(InternalServerError):
            engine.call(put(1))
        assert storage._writer is None
        engine.call(put(2))
        assert storage._writer is not before
    assert keys(engine) == {"k2"}


@pytest.mark.parametrize("place", ["BEGIN", "COMMIT", "INSERT", "SELECT"])
@pytest.mark.parametrize("times", [1, 2, 5])
@pytest.mark.parametrize("slow", [False, True])
def test_writes_of_an_event_loop_go_on_after_errors(
    storage: FaultyStorage, monkeypatch: pytest.MonkeyPatch, place: str, times: int, slow: bool
) -> None:
    """Committed on the loop, or (slow) in the thread."""

    async def main() -> None:
        ticks = iter(range(10**9))
        timer = (lambda: next(ticks) * 1.0) if slow else (lambda: 0.0)
        backend = AsyncEngine(Engine(storage, maintain=False), timer)
        await backend.call(request("CreateTable", **TABLE))
        await backend.call(put(0))
        storage.faults.fail(place, times=times)
        calls = [backend.call(put(number)) for number in range(1, 9)]
        replies = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), PATIENCE)
        done = {f"k{number}" for number, reply in enumerate(replies, 1) if not isinstance(reply, BaseException)}
        assert all(isinstance(each, InternalServerError) for each in replies if isinstance(each, BaseException))
        storage.faults.clear()
        await asyncio.wait_for(backend.call(put(9)), PATIENCE)
        assert keys(backend._engine) >= done | {"k0", "k9"}
        assert problems_of(backend._engine) == []
        await backend.close()

    asyncio.run(main())


def test_random_errors_lose_nothing_that_was_acknowledged(engine: Engine, storage: FaultyStorage) -> None:
    random = Random(3)
    acknowledged: dict[str, int] = {}
    for number in range(400):
        if random.random() < 0.4:
            storage.faults.fail(random.choice(PLACES), times=random.choice([1, 1, 2]), skip=random.randrange(6))
        key, size = random.randrange(30), random.choice([10, 3000])
        try:
            engine.call(put(key, size + number))
            acknowledged[f"k{key}"] = size + number
        except InternalServerError:
            storage.faults.clear()
            read = engine.call(request("GetItem", TableName="notes", Key={"pk": {"S": f"k{key}"}})).item
            length = len(json.loads(bytes(read))["x"]["S"]) if read else None
            assert length in (acknowledged.get(f"k{key}"), size + number)  # as before, or done with the reply lost
            if length is not None:
                acknowledged[f"k{key}"] = length
    storage.faults.clear()
    assert keys(engine) == set(acknowledged)
    assert problems_of(engine) == []


@pytest.mark.parametrize("place", ["SELECT", "BEGIN", "PRAGMA"])
def test_read_after_a_failed_one_works(engine: Engine, storage: FaultyStorage, place: str) -> None:
    engine.call(put(0))
    get = request("GetItem", TableName="notes", Key={"pk": {"S": "k0"}})
    gets = request("TransactGetItems", TransactItems=[{"Get": {"TableName": "notes", "Key": {"pk": {"S": "k0"}}}}])
    for read in (get, gets, request("Scan", TableName="notes"), request("DescribeTable", TableName="notes")):
        storage.faults.fail(place)
        try:
            engine.call(read)
        except InternalServerError:
            assert storage.faults.raised
        storage.faults.clear()
        engine.call(read)


def test_background_work_survives_errors_and_logs_one_that_stays_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    storage = FaultyStorage(str(tmp_path / "notes.db"))
    monkeypatch.setattr("partita.engine.maintenance.SECONDS_BETWEEN", 0.001)
    with Engine(storage) as engine:
        engine.call(request("CreateTable", **TABLE))
        thread = engine.maintenance._thread
        assert thread is not None
        storage.faults.fail("", times=50)
        stepped = threading.Event()
        step = engine.maintenance.step

        def counted() -> bool:
            if not storage.faults._times:
                stepped.set()
            return step()

        monkeypatch.setattr(engine.maintenance, "step", counted)
        assert stepped.wait(PATIENCE)
        assert thread.is_alive()
        engine.call(put(1))
    waiting = [each.getMessage() for each in caplog.records if "background work waits" in each.getMessage()]
    assert waiting == [f"background work waits, and is tried again: {tmp_path}/notes.db: disk I/O error"]


def test_background_work_survives_unexpected_errors(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partita.engine.maintenance.SECONDS_BETWEEN", 0.001)
    calls = threading.Semaphore(0)

    def failing() -> bool:
        calls.release()
        raise KeyError("a damaged record")

    monkeypatch.setattr(engine.maintenance, "step", failing)
    engine.maintenance.start()
    assert all(calls.acquire(timeout=PATIENCE) for _ in range(3))


def test_checkpoints_go_on_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread lives, and commits do not wait for one that cannot work."""
    monkeypatch.setattr(checkpoints, "CHECKPOINT_PAGES", 4)
    monkeypatch.setattr(checkpoints, "MAX_PAGES", 12)
    storage = SqliteStorage(str(tmp_path / "notes.db"), "process")
    failures = iter([apsw.CantOpenError("unable to open"), apsw.IOError("disk I/O error")])
    opened = checkpoints.Checkpointer._open

    def failing_open(self: checkpoints.Checkpointer) -> apsw.Connection:
        for error in failures:
            raise error
        return opened(self)

    monkeypatch.setattr(checkpoints.Checkpointer, "_open", failing_open)
    with storage.transaction() as txn:
        txn.create_space("s")
    for number in range(60):
        with storage.transaction() as txn:
            txn.apply([Write("s", b"%04d" % number, None, Row(1, b"x" * 1500))])
    thread = storage._checkpointer._thread
    assert thread is not None
    assert thread.is_alive()
    assert len(list(storage.range("s", b"", None))) == 60
    storage.close()


def _fail_with_its_rollback(storage: FaultyStorage) -> None:
    with storage.transaction():
        storage.faults.fail("ROLLBACK")
        raise ValueError("mine")


def test_error_of_the_transaction_is_not_hidden_by_the_rollback(storage: FaultyStorage) -> None:
    with pytest.raises(ValueError, match="mine"):
        _fail_with_its_rollback(storage)
    with storage.transaction() as txn:
        txn.create_space("s")
    with pytest.raises(StorageError, match="disk I/O error"), storage.transaction():
        storage.faults.fail("COMMIT")
    storage.close()


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk()
    yield disk
    disk.unregister()


@pytest.mark.parametrize("method", ["write", "sync", "truncate", "read"])
def test_error_of_the_disk_at_any_point_leaves_the_engine_usable(
    disk: FaultyDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr(checkpoints, "CHECKPOINT_PAGES", 20)
    path = str(tmp_path / "notes.db")
    acknowledged: set[str] = set()
    with Engine(SqliteStorage(path), maintain=False) as engine:
        engine.call(request("CreateTable", **TABLE))
        for number in range(40):
            disk.fail(method, skip=number % 7)
            try:
                engine.call(put(number, 3000))
                acknowledged.add(f"k{number}")
            except InternalServerError:
                assert disk.raised
            disk.fail("")
            engine.call(put(100 + number, 10))
            acknowledged.add(f"k{100 + number}")
        assert keys(engine) >= acknowledged
        assert problems_of(engine) == []
    with Engine(SqliteStorage(path), maintain=False) as again:
        assert keys(again) >= acknowledged
