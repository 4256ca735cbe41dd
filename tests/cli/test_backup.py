"""`partita backup` and `partita restore`: on a file and over HTTP, while others write."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from partita import Store, connect
from partita.cli.backup import backup
from partita.dynamodb.requests import DeleteTable, DescribeContinuousBackups, DescribeTable, DescribeTimeToLive
from partita.dynamodb.shapes import Tag
from partita.dynamodb.tag_shapes import ListTagsOfResource, TagResource
from partita.errors import ConfigurationError, RehearsalFailed
from partita.recovery import rehearse
from partita.recovery.restoring import delete_table, run_restore
from tests.cli import ledger
from tests.cli.ledger import Entry
from tests.peers import started, wait_until
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
PARTITA = [sys.executable, "-m", "partita"]
PATHS = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT)]))
ENVIRONMENT = os.environ | {"PYTHONPATH": PATHS, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}


def run(*arguments: str | Path, code: int = 0) -> str:
    done = subprocess.run(
        [*PARTITA, *arguments], env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(params=["file", "http"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    data = tmp_path / "ledger.db"
    if request.param == "file":
        yield str(data)
    else:
        command = [*PARTITA, "engine", "--data", str(data), "--durability", "process"]
        with started(lambda port: [*command, "--port", str(port)]) as running:
            yield running.endpoint


@pytest.fixture
def db(address: str) -> Iterator[Store]:
    with connect(address, ledger.design) as db:
        db.create_tables()
        for number in range(20):
            db.create(Entry(entry_id=str(number), amount=number))
        yield db


def entries(db: Store, ending: str = "") -> dict[str, int]:
    names = {table.name: f"{table.name}{ending}" for table in ledger.design.tables}
    return {each.entry_id: each.amount for each in db.with_settings(table_names=names).scan(Entry)}


def test_table_is_restored_as_at_a_second_with_the_settings_of_the_design(db: Store, address: str) -> None:
    table = db.backend.call(DescribeTable(table_name="ledger")).table
    assert table is not None
    db.backend.call(TagResource(resource_arn=table.table_arn, tags=[Tag(key="team", value="books")]))
    before = entries(db)
    at = _passed_second()
    with db.change(ledger.entry("3")) as draft:
        draft.amount = 1000
    printed = run("restore", "tests.cli.ledger", "--on", address, "--at", f"{at:%Y-%m-%dT%H:%M:%SZ}")
    assert f"ledger as at {at:%Y-%m-%dT%H:%M:%SZ}, 20 items: expected about 1 s" in printed
    assert "ledger-restored: 20 items in" in printed
    assert entries(db, "-restored") == before
    assert entries(db)["3"] == 1000
    restored = db.backend.call(DescribeTable(table_name="ledger-restored")).table
    assert restored is not None
    assert restored.stream_specification is not None
    assert db.backend.call(ListTagsOfResource(resource_arn=restored.table_arn)).tags == [Tag(key="team", value="books")]
    ttl = db.backend.call(DescribeTimeToLive(table_name="ledger-restored")).time_to_live_description
    assert ttl is not None
    assert ttl.attribute_name == "ttl"
    recovery = db.backend.call(DescribeContinuousBackups(table_name="ledger-restored")).continuous_backups_description
    assert recovery is not None
    assert recovery.point_in_time_recovery_description is not None
    assert recovery.point_in_time_recovery_description.recovery_period_in_days == 7
    again = run("restore", "tests.cli.ledger", "--on", address, code=2)
    assert "table ledger-restored exists already; use another suffix" in again
    assert "ledger-more: 2" in run("restore", "tests.cli.ledger", "--on", address, "--suffix", "-more")


def _passed_second() -> datetime:
    """A whole second that lies between the writes before and those after."""
    at = datetime.fromtimestamp(int(datetime.now(UTC).timestamp()) + 1, UTC)
    wait_until(lambda: datetime.now(UTC) > at)
    return at


def test_moment_that_cannot_be_reached_is_refused_with_the_nearest_ones(db: Store, address: str) -> None:
    run("backup", "tests.cli.ledger", "--on", address, "--name", "first")
    refused = run("restore", "tests.cli.ledger", "--on", address, "--at", "2020-01-01T00:00:00Z", code=2)
    assert "ledger: 2020-01-01T00:00:00Z cannot be restored; there is any second from" in refused
    assert "and backup first of" in refused
    refused = run("restore", "tests.cli.ledger", "--on", address, "--backup", "second", code=2)
    assert "there is no backup 'second'; there is backup first" in refused
    assert db.backend.call(DescribeTable(table_name="ledger")).table


def test_deleted_table_comes_back_under_its_name(db: Store, address: str) -> None:
    before = entries(db)
    db.backend.call(DeleteTable(table_name="ledger"))
    listed = run("backup", "tests.cli.ledger", "--on", address, "--list")
    assert "ledger: no point-in-time recovery" in listed
    assert "backup ledger$DeletedTableBackup" in listed
    assert "ledger: 20 items in" in run("restore", "tests.cli.ledger", "--on", address)
    assert entries(db) == before


def test_rehearsal_compares_restores_and_cleans_up_under_writers(db: Store, address: str) -> None:
    stop = threading.Event()

    def write() -> None:
        with connect(address, ledger.design) as other:
            number = 100
            while not stop.is_set():
                number += 1
                other.create(Entry(entry_id=str(number), amount=number))

    thread = threading.Thread(target=write)
    thread.start()
    try:
        printed = run("backup", "tests.cli.ledger", "--on", address, "--rehearse")
    finally:
        stop.set()
        thread.join()
    assert "items are as they should be" in printed
    assert [name for name in _tables(db) if "rehearsal" in name] == []


def _tables(db: Store) -> list[str]:
    from partita.dynamodb.requests import ListTables

    return db.backend.call(ListTables()).table_names or []


def test_rehearsal_fails_where_the_restored_items_differ(db: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong_restore(backend: object, restore: object, progress: object = None) -> object:
        described = run_restore(backend, restore)  # type: ignore[arg-type]
        with db.with_settings(table_names={"ledger": described.table_name or ""}).change(ledger.entry("3")) as draft:
            draft.amount = -1
        return described

    monkeypatch.setattr("partita.recovery.rehearsal.run_restore", wrong_restore)
    with pytest.raises(RehearsalFailed, match="1 of 20 items differ"):
        rehearse(db)
    assert [name for name in _tables(db) if "rehearsal" in name] == []
    monkeypatch.undo()
    (done,) = rehearse(db)
    assert (done.items, done.changed) == (20, 0)
    delete_table(db.backend, "not-there")


def test_file_in_use_is_copied_and_verified(tmp_path: Path) -> None:
    data, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    with connect(str(data), ledger.design, durability="process") as db:
        db.create_tables()
        stop = threading.Event()
        written: list[int] = []

        def write() -> None:
            while not stop.is_set():
                db.create(Entry(entry_id=str(len(written)), amount=len(written)))
                written.append(1)

        thread = threading.Thread(target=write)
        thread.start()
        wait_until(lambda: len(written) >= 50)
        before = len(written)
        try:
            printed = run("backup", "--on", data, "--copy", copy)
        finally:
            stop.set()
            thread.join()
    assert "copied and verified" in printed
    assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy.db"]
    with connect(str(copy), ledger.design) as copied:
        found = entries(copied)
    assert before <= len(found) <= len(written)
    assert found == {str(number): number for number in range(len(found))}
    assert "exists already" in run("backup", "--on", data, "--copy", copy, code=2)
    assert "no such file" in run("backup", "tests.cli.ledger", "--on", tmp_path / "none.db", code=2)
    assert "--copy copies a database file" in run("backup", "--on", "http://none", "--copy", tmp_path / "c.db", code=2)


def test_copy_of_a_damaged_file_is_an_error_and_is_removed(tmp_path: Path) -> None:
    data = tmp_path / "ledger.db"
    with connect(data, ledger.design) as db:
        db.create_tables()
        db.create(Entry(entry_id="1", amount=1))
    with closing(apsw.Connection(str(data))) as connection:
        connection.execute("UPDATE spaces SET n = n + 1")
    with pytest.raises(ConfigurationError, match="the copy has problems, and is removed"):
        backup(on=str(data), copy=tmp_path / "copy.db")
    assert list(tmp_path.glob("copy*")) == []
