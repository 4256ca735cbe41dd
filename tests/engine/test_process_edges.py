"""The edges of a process: forks, closing while in use, files that are deleted, replaced, truncated or damaged."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from partita import connect
from partita.cli.verify import verify
from partita.dynamodb.decode import decode_request
from partita.dynamodb.exceptions import ConditionalCheckFailedException, InternalServerError
from partita.engine.catalog import Catalog
from partita.engine.change_log import read_changes
from partita.engine.engine import Engine
from partita.errors import (
    ConfigurationError,
    CorruptRow,
    FileReplaced,
    OlderFileInUse,
    StorageClosed,
    StorageError,
)
from partita.storage import sqlite_format
from partita.storage.contract import Row, Write, is_log
from partita.storage.sqlite import SqliteStorage
from partita.storage.sqlite_format import FORMAT
from partita.storage.stale_log import FORMAT_BITS
from tests.engine.tables import Bench, index, problems_of
from tests.timing import PATIENCE

TABLE = {
    "TableName": "notes",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def request(operation: str, **body: Any) -> Any:
    return decode_request(operation, json.dumps(body).encode())


def put(key: str, size: int = 10) -> Any:
    return request("PutItem", TableName="notes", Item={"pk": {"S": key}, "x": {"S": "x" * size}})


def get(key: str) -> Any:
    return request("GetItem", TableName="notes", Key={"pk": {"S": key}})


def opened(path: str) -> Engine:
    return Engine(SqliteStorage(path, "process"), maintain=False)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "notes.db")


# Forks


def in_child(work: Callable[[], str]) -> str:
    """What `work` returns or raises in a forked child, which has as long as a test may wait."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(int(PATIENCE))
        try:
            said = work()
        except BaseException as error:  # noqa: BLE001 - told to the parent
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        return "hangs" if os.WIFSIGNALED(status) else pipe.read()


@pytest.mark.parametrize("address", ["memory:", "file"])
@pytest.mark.parametrize("call", [get("a"), put("b"), request("ListTables")])
def test_engine_in_a_forked_child_is_an_error_at_once(path: str, address: str, call: Any) -> None:
    with connect(path if address == "file" else address) as engine:
        engine.call(request("CreateTable", **TABLE))
        engine.call(put("a"))
        assert "opened before this process was forked" in in_child(lambda: str(engine.call(call)))
        engine.call(put("c"))
        assert engine.call(get("c")).item is not None


def test_engine_that_was_busy_when_it_was_forked_is_an_error_too(path: str) -> None:
    with opened(path) as engine:
        engine.call(request("CreateTable", **TABLE))
        with engine._context.storage.transaction(), engine._writer._lock:
            assert "before this process was forked" in in_child(lambda: str(engine.call(put("b"))))


def test_closing_in_a_forked_child_leaves_the_parents_file_alone(path: str) -> None:
    with opened(path) as engine:
        engine.call(request("CreateTable", **TABLE))
        engine.call(put("a"))
        assert in_child(lambda: "closed" if engine.close() is None else "") == "closed"  # type: ignore[func-returns-value]
        engine.call(put("b"))
    with opened(path) as again:
        assert again.call(request("Scan", TableName="notes")).count == 2


def test_file_that_was_open_at_a_fork_cannot_be_opened_in_the_child(path: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other.db")
    with opened(path):
        assert "cannot be opened again" in in_child(lambda: str(opened(path)))
        assert "Engine" in in_child(lambda: repr(opened(other)))


# Closing


@pytest.mark.parametrize("size", [1000, 3000])
def test_threads_of_a_closed_engine_get_an_error_and_no_other(path: str, size: int) -> None:
    engine = opened(path)
    engine.call(request("CreateTable", **TABLE))
    for number in range(200):
        engine.call(put(f"k{number}", size))
    errors: list[BaseException] = []
    begun = threading.Barrier(7)

    def work(number: int) -> None:
        begun.wait()
        try:
            while True:
                engine.call(request("Scan", TableName="notes") if number % 2 else put(f"w{number}"))
        except BaseException as error:  # noqa: BLE001 - compared below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    begun.wait()
    engine.close()
    for thread in threads:
        thread.join(PATIENCE)
    assert {type(error) for error in errors} == {StorageClosed}
    assert not any(thread.is_alive() for thread in threads)


def test_closing_waits_for_a_running_write(path: str) -> None:
    storage = SqliteStorage(path)
    closing = threading.Thread(target=storage.close)
    with storage.transaction() as txn:
        txn.create_space("s")
        closing.start()
        txn.apply([Write("s", b"k", None, Row(1, b"v"))])
    closing.join(PATIENCE)
    again = SqliteStorage(path)
    assert again.get("s", b"k") == Row(1, b"v")
    again.close()


def test_snapshot_of_a_closed_storage_ends_with_a_storage_error(path: str) -> None:
    storage = SqliteStorage(path)
    with storage.transaction() as txn:
        txn.create_space("s")
    with pytest.raises(StorageError, match="closed"):
        _read_after_closing(storage)
    storage.close()
    with pytest.raises(StorageError, match="closed"):
        storage.get("s", b"k")


def _read_after_closing(storage: SqliteStorage) -> None:
    with storage.snapshot() as reader:
        storage.close()
        reader.get("s", b"k")


# Files


@pytest.mark.parametrize("size", [0, 4096])
def test_write_after_a_log_that_was_truncated_is_an_error(path: str, size: int) -> None:
    """What it had is lost, but nothing more is acknowledged, and the file can be opened again."""
    with opened(path) as engine:
        engine.call(request("CreateTable", **TABLE))
        for each in "abcdef":
            engine.call(put(each))
        os.truncate(path + "-wal", size)
        for _ in range(2):
            with pytest.raises(InternalServerError, match="was deleted, replaced or truncated"):
                engine.call(put("z"))
    with opened(path) as engine:
        assert "notes" not in (engine.call(request("ListTables")).table_names or [])


def test_log_that_sqlite_itself_has_truncated_is_written_on(path: str) -> None:
    with opened(path) as engine:
        engine.call(request("CreateTable", **TABLE))
        for each in "abcdef":
            engine.call(put(each))
        tool = (
            "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); "
            "print(db.execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchone())"
        )
        printed = subprocess.run([sys.executable, "-c", tool, path], capture_output=True, text=True, check=True).stdout
        assert (printed.strip(), Path(path + "-wal").stat().st_size) == ("(0, 0, 0)", 0)
        engine.call(put("z"))
        assert Path(path + "-wal").stat().st_size > 0


@pytest.mark.parametrize("fate", ["deleted", "replaced"])
@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_write_to_a_file_that_is_gone_is_an_error(path: str, tmp_path: Path, fate: str, suffix: str) -> None:
    other = tmp_path / "other.db"
    opened(str(other)).close()
    with opened(path) as engine:
        engine.call(request("CreateTable", **TABLE))
        engine.call(put("a"))
        file = Path(path + suffix)
        if fate == "deleted":
            file.unlink()
        else:
            other.write_bytes(other.read_bytes() if suffix == "" else file.read_bytes())
            other.replace(file)
        for _ in range(2):
            with pytest.raises(InternalServerError, match="was deleted, replaced or truncated") as caught:
                engine.call(put("b"))
            assert str(file) in caught.value.message
        with pytest.raises(FileReplaced), engine._context.storage.transaction():
            pass


@pytest.mark.parametrize("fate", ["deleted", "replaced", "truncated"])
def test_thread_that_begins_to_read_a_file_that_is_gone_gets_an_error_at_once(path: str, fate: str) -> None:
    """SQLite would create the file again, or wait for a lock to give an empty one its format."""
    with opened(path) as engine:
        engine.call(request("CreateTable", **TABLE))
        engine.call(put("a"))
        if fate != "truncated":
            Path(path).unlink()
        if fate != "deleted":
            Path(path).write_bytes(b"")
        before = sorted(each.name for each in Path(path).parent.iterdir())
        with ThreadPoolExecutor(1) as pool, pytest.raises(InternalServerError, match="replaced or truncated"):
            pool.submit(engine.call, get("a")).result()
        assert sorted(each.name for each in Path(path).parent.iterdir()) == before


def test_full_disk_is_an_error_until_there_is_room(path: str) -> None:
    """Nothing acknowledged is lost, nothing else is stored, and reads go on meanwhile."""
    with opened(path) as engine:
        engine.call(request("CreateTable", **TABLE))
        storage: Any = engine._context.storage
        pages: Any = storage._writer.apsw.execute("PRAGMA page_count").get
        storage._writer.apsw.execute(f"PRAGMA max_page_count = {pages + 20}").fetchall()
        stored = items_until_full(engine)
        assert 10 < stored < 1000
        with pytest.raises(InternalServerError, match="full"):
            engine.call(put("too much", 100_000))
        assert engine.call(get("too much")).item is None
        assert engine.call(request("Scan", TableName="notes", Select="COUNT")).count == stored
        engine.call(request("DeleteItem", TableName="notes", Key={"pk": {"S": "k0"}}))
        storage._writer.apsw.execute("PRAGMA max_page_count = 1000000").fetchall()
        engine.call(put("too much", 100_000))
        assert problems_of(engine) == []


def items_until_full(engine: Engine) -> int:
    for number in range(1000):
        try:
            engine.call(put(f"k{number}", 5000))
        except InternalServerError:
            return number
    return 1000


def test_relative_path_survives_a_change_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with opened("notes.db") as engine:
        engine.call(request("CreateTable", **TABLE))
        monkeypatch.chdir("/")
        engine.call(put("a"))
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(engine.call(get("a")).item))
        thread.start()
        thread.join()
        assert found[0] is not None


def test_file_truncated_under_a_reader_is_an_error_and_no_signal(path: str) -> None:
    code = f"""
import os
import random
from tests.engine.test_process_edges import *
with opened({path!r}) as engine:
    engine.call(request("CreateTable", **TABLE))
    for number in range(300):
        engine.call(put(f"k{{number}}", 1000))
engine = opened({path!r})
engine.call(get("k1"))
os.truncate({path!r}, os.stat({path!r}).st_size // 2)
try:
    engine.call(request("Scan", TableName="notes"))
except InternalServerError as error:
    print("error")
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, "error\n"), done.stderr


# Checksums


def damage(path: str, statement: str) -> None:
    """With the engine's own SQLite: closing a file in another copy of it releases the locks of the whole process."""
    connection = apsw.Connection(path)
    connection.execute(statement)
    assert connection.changes() > 0
    connection.close()


@pytest.mark.parametrize("size", [10, 5000])
@pytest.mark.parametrize("bit", [0, 100, 2000])
def test_flipped_bit_is_an_error_on_every_read(path: str, size: int, bit: int) -> None:
    with opened(path) as engine:
        engine.call(request("CreateTable", **TABLE))
        engine.call(put("a", size))
        space = engine._context.table("notes").space
        _, _, value = next(iter(engine._context.storage.range(space, b"", None)))
        flipped, at = bytearray(value), bit % (len(value) * 8)
        flipped[at // 8] ^= 1 << at % 8
        damage(path, f"UPDATE {'large' if size > 2000 else space} SET v = x'{flipped.hex()}'")
        for read in (
            get("a"),
            request("Scan", TableName="notes"),
            request("Query", TableName="notes", **by_key("a")),
            request("ExecuteStatement", Statement="SELECT * FROM notes WHERE pk = 'a'"),
            request("BatchGetItem", RequestItems={"notes": {"Keys": [{"pk": {"S": "a"}}]}}),
            put("a"),
            request("DeleteItem", TableName="notes", Key={"pk": {"S": "a"}}),
        ):
            with pytest.raises(InternalServerError, match="does not match its checksum"):
                engine.call(read)
        engine.call(put("b"))
        assert engine.call(get("b")).item is not None


def by_key(key: str) -> dict[str, Any]:
    return {"KeyConditionExpression": "pk = :k", "ExpressionAttributeValues": {":k": {"S": key}}}


MOVED = "k = CAST(k || x'00' AS BLOB)"
DAMAGES = [
    "v = 'text'",
    "v = 7",
    "v = 1.5",
    "w = 9",
    "w = w + 1",
    "w = 'x'",
    "c = 0",
    "c = 'x'",
    "k = CAST(k || x'00' AS BLOB)",
]


@pytest.mark.parametrize("change", DAMAGES)
def test_damage_of_any_column_is_an_error(path: str, change: str) -> None:
    storage = SqliteStorage(path)
    with storage.transaction() as txn:
        txn.create_space("s")
        txn.apply([Write("s", b"k%d" % number, None, Row(3, b"value")) for number in range(40)])
    damage(path, f"UPDATE s SET {change} WHERE k = x'{b'k7'.hex()}'")
    with pytest.raises(CorruptRow):
        list(storage.range("s", b"", None))
    if not change.startswith("k"):  # a row under another key is not found by its own
        with pytest.raises(CorruptRow):
            storage.get("s", b"k7")
    assert storage.get("s", b"k8") == Row(3, b"value")
    storage.close()


@pytest.mark.parametrize("change", DAMAGES)
def test_damage_after_a_range_was_verified_is_an_error(path: str, change: str) -> None:
    storage = SqliteStorage(path)
    with storage.transaction() as txn:
        txn.create_space("s")
        txn.apply([Write("s", b"k%d" % number, None, Row(3, b"value")) for number in range(40)])
    for _ in range(2):
        assert len(list(storage.range("s", b"", None))) == 40
    damage(path, f"UPDATE s SET {change} WHERE k = x'{b'k7'.hex()}'")
    with pytest.raises(CorruptRow):
        list(storage.range("s", b"", None))
    storage.close()


def older_file(path: str) -> None:
    """Turns a file into one of format 1, which had no checksums."""
    with sqlite3.connect(path) as connection:
        for (space,) in connection.execute("SELECT name FROM spaces").fetchall():
            connection.execute("CREATE TABLE x (k BLOB PRIMARY KEY, w INTEGER NOT NULL, v NOT NULL) WITHOUT ROWID")
            connection.execute(f"INSERT INTO x SELECT k, w, v FROM {space}")
            connection.execute(f"DROP TABLE {space}")
            connection.execute(f"ALTER TABLE x RENAME TO {space}")
        connection.execute("PRAGMA user_version = 1")
    connection.close()


def test_older_file_is_upgraded(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    with opened(path) as engine:
        engine.call(request("CreateTable", **TABLE))
        engine.call(put("small"))
        engine.call(put("large", 5000))
    older_file(path)
    verify(Path(path))
    assert "every index agrees" in capsys.readouterr().out
    with opened(path) as engine:
        assert len(bytes(engine.call(get("large")).item)) > 5000
        assert engine.call(get("small")).item is not None
        assert engine.call(request("Scan", TableName="notes")).count == 2
        assert problems_of(engine) == []
        engine.call(put("large", 6000))
        damage(path, f"UPDATE {engine._context.table('notes').space} SET w = w + 1")
        with pytest.raises(InternalServerError):
            engine.call(get("small"))


def test_change_log_of_an_older_file_is_read_on(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In format 2 the keys of all spaces were bytes."""
    new_spaces = Catalog.new_spaces
    with monkeypatch.context() as older:
        older.setattr(Catalog, "new_spaces", lambda self, txn, count, _="s": new_spaces(self, txn, count))
        bench = Bench(path)
        bench.table("notes", "pk:S", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
    bench.put("notes", pk="a")
    bench.engine.close()
    with closing(sqlite3.connect(path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version = {version & ~FORMAT_BITS | 2}")
    bench = Bench(path)
    bench.put("notes", pk="b")
    table = bench.engine._context.table("notes")
    assert not is_log(table.record.changes)
    found = [change.keys["pk"]["S"] for _, change in read_changes(bench.engine._context.storage, table, 0, 10)]
    assert found == ["a", "b"]
    assert problems_of(bench.engine) == []
    bench.engine.close()
    with closing(sqlite3.connect(path)) as connection:
        (upgraded,) = connection.execute("PRAGMA user_version").fetchone()
    assert upgraded & FORMAT_BITS == FORMAT


@pytest.mark.parametrize("key", ["-k", "k - 1000000", "k - (1 << 40)", "k + (1 << 62)"])
def test_changed_number_of_a_change_is_an_error(path: str, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    bench = Bench(path)
    bench.table("notes", "pk:S", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
    for number in range(9):
        bench.put("notes", pk=f"k{number}")
    table = bench.engine._context.table("notes")
    log = table.record.changes
    bench.engine.close()
    damage(path, f"UPDATE {log} SET k = {key} WHERE k = (SELECT k FROM {log} ORDER BY k LIMIT 1 OFFSET 4)")
    bench = Bench(path)
    with pytest.raises(CorruptRow):
        list(read_changes(bench.engine._context.storage, table, 0, 10))
    bench.engine.close()
    with suppress(SystemExit):
        verify(Path(path), repair=True)
    assert "a damaged change is moved" in capsys.readouterr().out
    bench = Bench(path)
    left = [change.keys["pk"]["S"] for _, change in read_changes(bench.engine._context.storage, table, 0, 10)]
    assert left == [f"k{number}" for number in range(9) if number != 4]
    bench.engine.close()


def bench_with_changes(path: str) -> Bench:
    """An engine with 60 records in a change log, in several pages."""
    bench = Bench(path)
    bench.table("notes", "pk:S", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
    for number in range(60):
        bench.put("notes", pk=f"k{number}", x="x" * 700)
        bench.clock.now += 1000
    return bench


@pytest.mark.parametrize("bit", [0, 4, 7])
@pytest.mark.parametrize("byte", [0, 3, 5, 6])
def test_changed_number_in_an_inner_page_of_a_log_is_an_error(
    path: str, byte: int, bit: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has no checksum, and leads searches to a wrong page."""
    bench = bench_with_changes(path)
    log = bench.engine._context.table("notes").record.changes
    written = stored_changes(bench, 0)
    bench.engine.close()
    flip_in_inner_page(path, log, byte, bit)
    bench = Bench(path)
    failed = 0
    for at, (number, _) in enumerate(written):
        try:
            assert stored_changes(bench, number - 1) == written[at:]
            assert stored_changes(bench, number) == written[at + 1 :]
        except CorruptRow:
            failed += 1
    bench.engine.close()
    if failed:
        with pytest.raises(SystemExit):
            verify(Path(path))
        assert "is not found by its number" in capsys.readouterr().out
        verify(Path(path), repair=True)
    bench = Bench(path)
    assert all(stored_changes(bench, number) == written[at + 1 :] for at, (number, _) in enumerate(written))
    bench.engine.close()
    assert failed or (byte, bit) == (6, 0), "only the lowest bits may leave each row on its side"


def test_change_that_is_not_found_by_its_number_is_not_counted_as_removed(path: str) -> None:
    bench = bench_with_changes(path)
    log = bench.engine._context.table("notes").record.changes
    bench.engine.close()
    flip_in_inner_page(path, log, byte=3, bit=6, cell=2)
    bench = Bench(path)
    bench.clock.now += 10 * 86_400
    with pytest.raises(CorruptRow):
        bench.settle()
    assert bench.engine._context.storage.totals(log).rows == len(stored_numbers(path, log)) == 60
    bench.engine.close()


def stored_numbers(path: str, log: str) -> list[Any]:
    """All numbers of a log, page by page, without a search."""
    with closing(apsw.Connection(path)) as connection:
        return connection.execute(f"SELECT k FROM {log}").fetchall()


def stored_changes(bench: Bench, after: int) -> list[tuple[int, str]]:
    """The number and the key of each change in the log."""
    context = bench.engine._context
    found = read_changes(context.storage, context.table("notes"), after, 1000)
    return [(number, change.keys["pk"]["S"]) for number, change in found]


def flip_in_inner_page(path: str, space: str, byte: int, bit: int, cell: int = 1) -> None:
    """Flips a bit of a number in the root page of a space, which has others below it."""
    with closing(apsw.Connection(path)) as connection:
        root: Any = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (space,)).get
        size: Any = connection.pragma("page_size")
    content = bytearray(Path(path).read_bytes())
    begin = (root - 1) * size
    assert content[begin] == 5, "an inner page of a table by number"
    at = begin + 12 + 2 * cell
    content[begin + int.from_bytes(content[at : at + 2]) + 4 + byte] ^= 1 << bit  # behind the number of the page below
    Path(path).write_bytes(content)


def test_older_file_that_another_program_upgrades_first_is_opened(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that start together all find an older file; the first one upgrades it, and keeps it open."""
    monkeypatch.setattr(sqlite_format, "BUSY_SECONDS", 0.05)
    opened(path).close()
    older_file(path)
    upgrade, others = sqlite_format._upgrade, list[Engine]()

    def upgrade_as_the_second(path: str) -> None:
        if not others:
            with monkeypatch.context() as first:
                first.setattr(sqlite_format, "_upgrade", upgrade)
                others.append(opened(path))
        upgrade(path)

    monkeypatch.setattr(sqlite_format, "_upgrade", upgrade_as_the_second)
    with opened(path) as engine, others[0]:
        engine.call(request("CreateTable", **TABLE))


def test_older_file_in_use_is_not_upgraded(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partita.storage.sqlite_format.BUSY_SECONDS", 0.05)
    opened(path).close()
    older_file(path)
    other = apsw.Connection(path)
    other.execute("SELECT * FROM spaces").fetchall()
    with pytest.raises(OlderFileInUse, match="another process has it open"):
        opened(path)
    other.close()
    opened(path).close()


# verify


@pytest.fixture
def damaged_indexes(path: str) -> str:
    bench = Bench(path)
    bench.table("notes", "pk:S", index("by_g", "g:S", "ALL"), index("by_h", "h:S", "KEYS_ONLY"))
    for number in range(20):
        bench.put("notes", pk=f"k{number}", g="g", h="h", until=number)
    table = bench.engine._context.table("notes")
    bench.engine.close()
    damage(
        path, f"DELETE FROM {table.indexes['by_g'].space} WHERE k = (SELECT max(k) FROM {table.indexes['by_g'].space})"
    )
    damage(path, f"UPDATE {table.indexes['by_h'].space} SET v = x'7b7d'")
    damage(path, "UPDATE spaces SET n = n + 1")
    return path


def test_repair_builds_indexes_and_totals_again(damaged_indexes: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        verify(Path(damaged_indexes))
    assert "row at" in capsys.readouterr().out
    verify(Path(damaged_indexes), repair=True)
    assert "notes.by_g: built again" in capsys.readouterr().out
    verify(Path(damaged_indexes))
    with opened(damaged_indexes) as engine:
        assert engine.call(request("Scan", TableName="notes", IndexName="by_g")).count == 20
        engine.call(put("k1"))
        assert engine.call(request("Scan", TableName="notes", IndexName="by_g")).count == 19
        assert problems_of(engine) == []


def test_repair_sets_damaged_items_aside(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    bench = Bench(path)
    bench.table("notes", "pk:S", index("by_g", "g:S", "ALL"))
    for number in range(20):
        bench.put("notes", pk=f"k{number}", g="g", x="x" * (5000 if number % 2 else 10))
    space = bench.engine._context.table("notes").space
    stored = dict.fromkeys(row[0] for row in bench.engine._context.storage.range(space, b"", None))
    bench.engine.close()
    small, large = (key_of(path, space, f"k{number}") for number in (4, 5))
    damage(path, f"UPDATE {space} SET v = v || x'20' WHERE k = x'{small.hex()}'")
    damage(path, f"UPDATE large SET v = v || x'20' WHERE id = (SELECT v FROM {space} WHERE k = x'{large.hex()}')")
    verify(Path(path), repair=True)
    assert capsys.readouterr().out.count("notes: a damaged item is moved to") == 2
    lines = [json.loads(line) for line in Path(f"{path}.damaged").read_text().splitlines()]
    assert [json.loads(line["value"])["pk"]["S"] for line in lines] == [
        name for key in stored for name in ("k4", "k5") if key == {"k4": small, "k5": large}[name]
    ]
    assert not any(line["restored"] for line in lines)
    with opened(path) as engine:
        assert engine.call(get("k4")).item is None
        assert engine.call(request("Scan", TableName="notes", IndexName="by_g")).count == 18
        engine.call(put("k4"))
        engine.call(request("DeleteItem", TableName="notes", Key={"pk": {"S": "k5"}}))
        assert engine.call(get("k4")).item is not None
        assert len(bytes(engine.call(get("k7")).item)) > 5000
        assert problems_of(engine) == []


def key_of(path: str, space: str, name: str) -> bytes:
    with sqlite3.connect(path) as connection:
        rows = connection.execute(
            f"SELECT s.k, CASE typeof(s.v) WHEN 'integer' THEN (SELECT v FROM large WHERE id = s.v) ELSE s.v END "
            f"FROM {space} s"
        ).fetchall()
    connection.close()
    (found,) = [key for key, value in rows if json.loads(value)["pk"]["S"] == name]
    assert isinstance(found, bytes)
    return found


def flip_in_file(path: str, text: bytes, bit: int) -> None:
    """Flips one bit of a text that occurs once in a file."""
    content = bytearray(Path(path).read_bytes())
    assert content.count(text) == 1
    at = content.index(text) + bit // 8
    content[at] ^= 1 << bit % 8
    Path(path).write_bytes(content)


@pytest.fixture
def items_on_pages(path: str) -> tuple[str, dict[str, bytes]]:
    """A closed file with several pages of items, and the key of each as it is stored."""
    with opened(path) as engine:
        engine.call(request("CreateTable", **TABLE))
        for number in range(60):
            engine.call(put(f"key-{number:02}", 700))
        space = engine._context.table("notes").space
    connection = apsw.Connection(path)
    connection.execute("VACUUM")  # no other copies on pages that have been split
    connection.close()
    return path, {f"key-{number:02}": key_of(path, space, f"key-{number:02}") for number in range(60)}


@pytest.mark.parametrize("number", [0, 7, 30, 59])
@pytest.mark.parametrize("bit", [0, 9, 127])
def test_flipped_bit_in_a_key_is_an_error(
    items_on_pages: tuple[str, dict[str, bytes]], number: int, bit: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The damaged item is not found by its key, nor are those that a search passes because of it."""
    path, keys = items_on_pages
    damaged = f"key-{number:02}"
    flip_in_file(path, keys[damaged], bit)
    with opened(path) as engine:
        for name in keys:
            key, here = {"pk": {"S": name}}, {"TableName": "notes"}
            outcomes = {
                outcome_of(engine, get(name)),
                outcome_of(engine, request("Query", **here, **by_key(name))),
                outcome_of(engine, request("PutItem", **here, Item=key, ConditionExpression=IS_NEW)),
            }
            assert outcomes <= ({"damaged"} if name == damaged else {"damaged", "found"})
        update = {"UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
        assert outcome_of(engine, request("UpdateItem", **here, Key={"pk": {"S": damaged}}, **update)) == "damaged"
        assert outcome_of(engine, request("Scan", **here)) == "damaged"
        engine.call(put("another"))
    with pytest.raises(SystemExit):
        verify(Path(path))
    capsys.readouterr()
    verify(Path(path), repair=True)
    assert "an item at a damaged key is stored at its own key again" in capsys.readouterr().out
    with opened(path) as engine:
        assert engine.call(request("Scan", TableName="notes")).count == 61
        assert engine.call(get(damaged)).item is not None
        assert problems_of(engine) == []


IS_NEW = "attribute_not_exists(pk)"


def outcome_of(engine: Engine, call: Any) -> str:
    """What a request says about its item."""
    try:
        reply = engine.call(call)
    except ConditionalCheckFailedException:
        return "found"
    except InternalServerError as error:
        return "damaged" if "does not match its checksum" in error.message else error.message
    has_item = getattr(reply, "item", None) is not None or bool(getattr(reply, "count", 0))
    return "found" if has_item else "missing"


def test_every_damaged_row_is_reported(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    with opened(path) as engine:
        engine.call(request("CreateTable", **TABLE))
        for number in range(30):
            engine.call(put(f"k{number}"))
        space = engine._context.table("notes").space
    damage(path, f"UPDATE {space} SET c = c + 1 WHERE k < x'80'")
    with sqlite3.connect(path) as connection:
        (count,) = connection.execute(f"SELECT count(*) FROM {space} WHERE k < x'80'").fetchone()
    connection.close()
    with pytest.raises(SystemExit):
        verify(Path(path))
    assert capsys.readouterr().out.count("does not match its checksum") == count


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
@pytest.mark.parametrize("has_log", [False, True])
def test_read_only_file_is_verified(path: str, tmp_path: Path, has_log: bool) -> None:
    engine = opened(path)
    engine.call(request("CreateTable", **TABLE))
    engine.call(put("a"))
    copy = tmp_path / "readonly"
    copy.mkdir()
    if not has_log:
        engine.close()
    for file in tmp_path.glob("notes.db*"):
        (copy / file.name).write_bytes(file.read_bytes())
    engine.close()
    for parent in (tmp_path, *tmp_path.parents):
        if "pytest" in parent.as_posix():
            parent.chmod(0o755)
    copy.chmod(0o555)
    for file in copy.iterdir():
        file.chmod(0o444)

    def as_nobody() -> str:
        from partita.cli.verify import problems_of_file

        os.setgid(65534)
        os.setuid(65534)
        return repr(problems_of_file(copy / "notes.db"))

    assert in_child(as_nobody) == "[]"
    assert {file.name for file in copy.iterdir()} <= {"notes.db", "notes.db-wal", "notes.db-shm"}


def test_file_of_another_program_is_not_verified(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE x (a)")
    connection.commit()
    connection.close()
    with pytest.raises(ConfigurationError, match="another program"):
        verify(other)


PARTITIONS, ROWS = 4, 12


def partition(number: int, **more: Any) -> Any:
    """The query for the items of a partition."""
    here = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": f"p{number}"}}}
    return request("Query", TableName="notes", **here, **more)


def item(number: int, row: int) -> Any:
    return request("GetItem", TableName="notes", Key={"pk": {"S": f"p{number}"}, "sk": {"S": f"{row:02}"}})


READS = [
    *(partition(number, ScanIndexForward=forward) for number in range(PARTITIONS) for forward in (True, False)),
    *(partition(number, Limit=3) for number in range(PARTITIONS)),
    *(item(number, row) for number in range(PARTITIONS) for row in range(ROWS)),
]


def test_no_read_is_short_or_wrong_because_of_a_flipped_bit_in_any_key(path: str) -> None:
    """A damaged key may be that of another item, hide items from the search for a range, or end the range."""
    sorted_table = {
        **TABLE,
        "KeySchema": [*TABLE["KeySchema"], {"AttributeName": "sk", "KeyType": "RANGE"}],
        "AttributeDefinitions": [*TABLE["AttributeDefinitions"], {"AttributeName": "sk", "AttributeType": "S"}],
    }
    with opened(path) as engine:
        engine.call(request("CreateTable", **sorted_table))
        for number in range(PARTITIONS):
            for row in range(ROWS):
                stored = {"pk": {"S": f"p{number}"}, "sk": {"S": f"{row:02}"}, "x": {"S": "x" * 300}}
                engine.call(request("PutItem", TableName="notes", Item=stored))
        space = engine._context.table("notes").space
        intact = [engine.call(read) for read in READS]
    connection = apsw.Connection(path)
    connection.execute("VACUUM")
    keys = [key for (key,) in connection.execute(f"SELECT k FROM {space}")]
    connection.close()
    clean = Path(path).read_bytes()
    keys = [key for key in keys if clean.count(key) == 1]  # not those with another copy on a page that was split
    assert len(keys) > ROWS
    chance = random.Random(6)
    for _ in range(60):
        key = chance.choice(keys)
        flip_in_file(path, key, chance.randrange(len(key) * 8))
        with opened(path) as engine:
            for _ in range(2):  # nor on a second read
                for read, expected in zip(READS, intact, strict=True):
                    with suppress(InternalServerError):
                        assert engine.call(read) == expected
        Path(path).write_bytes(clean)
