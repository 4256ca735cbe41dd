"""Deletion for good: after the declared times, and once the file is compacted, no byte of a deleted item is left."""

import gzip
import random
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from partita.errors import StorageBusy, StorageError
from partita.storage import compacting
from partita.storage.compacting import compact_file
from tests.engine.shorthand import Json
from tests.engine.tables import Bench, index, plain, problems_of
from tests.engine.transfers import arn, bench_with_bucket, bucket_of, export

DAY = 86_400.0
PERSON = "Ada Lovelace, 4 St James Square"
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


def bench_with_person(folder: Path, **more: Any) -> Bench:
    """A table with recovery of one day, with small and large items of a person among others."""
    bench = bench_with_bucket(folder, str(folder / "engine.db"))
    bench.table("notes", "pk:S", index("byName", "name:S"), **more)
    recovery = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 1}
    bench.ok("UpdateContinuousBackups", TableName="notes", PointInTimeRecoverySpecification=recovery)
    sizes = random.Random(1)
    for number in range(100):
        bench.put("notes", pk=f"other{number}", name=f"other {number}", text="x" * sizes.randrange(300))
        if number % 20 == 0:
            bench.put("notes", pk=f"person{number}", name=PERSON, text="y" * 40 * number + PERSON)
            bench.put("notes", pk=f"person{number}", name=PERSON, text=f"moved from {PERSON}")
    bench.clock.now += 60
    return bench


def delete_person(bench: Bench) -> None:
    for number in range(0, 100, 20):
        bench.ok("DeleteItem", TableName="notes", Key=plain({"pk": f"person{number}"}))
    bench.settle()


def places(folder: Path) -> set[str]:
    """Where bytes of the person are: the database file, files beside it, and spaces, also in compressed rows."""
    found = {path.name for path in folder.glob("engine.db*") if PERSON.encode() in path.read_bytes()}
    with closing(apsw.Connection(str(folder / "engine.db"))) as connection:
        for space in [str(name) for (name,) in connection.execute("SELECT name FROM spaces")]:
            values = f'SELECT coalesce(l.v, s.v) FROM "{space}" s LEFT JOIN large l ON l.id = s.v'
            rows: Any = connection.execute(values).fetchall()
            if any(PERSON.encode() in _decompressed(value) for (value,) in rows):
                found.add(space)
    return found


def _decompressed(value: bytes) -> bytes:
    try:
        return zlib.decompress(value)
    except zlib.error:
        return value


def back_up(bench: Bench) -> str:
    details: Json = bench.ok("CreateBackup", TableName="notes", BackupName="before")["BackupDetails"]
    bench.settle()
    return str(details["BackupArn"])


@pytest.mark.parametrize("settings", [{}, {"StreamSpecification": STREAM}], ids=["recovery", "with a stream"])
def test_nothing_of_a_deleted_item_is_left_in_the_file_after_the_declared_times(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    bench = bench_with_person(tmp_path, **settings)
    backup = back_up(bench)
    bench.ok("RestoreTableFromBackup", TargetTableName="restored", BackupArn=backup)
    bench.ok("RestoreTableToPointInTime", SourceTableName="notes", TargetTableName="then", UseLatestRestorableTime=True)
    bench.settle()
    delete_person(bench)
    bench.ok("DeleteTable", TableName="restored")
    bench.ok("DeleteTable", TableName="then")
    bench.ok("DeleteBackup", BackupArn=backup)
    bench.clock.now += DAY + 7200  # the window, and up to two hours: docs/guide/backups.md
    bench.settle()
    assert places(tmp_path)  # in free pages and in the log
    compact_file(str(tmp_path / "engine.db"))
    assert places(tmp_path) == set()
    assert len(bench.rows("notes")) == len(bench.rows("notes", "byName")) == 100
    bench.put("notes", pk="later", name="later")  # the same process goes on
    assert problems_of(bench.engine) == []
    bench.engine.close()
    assert places(tmp_path) == set()


def test_images_of_an_item_are_left_while_something_declared_has_them(tmp_path: Path) -> None:
    bench = bench_with_person(tmp_path)
    backup = back_up(bench)
    delete_person(bench)
    bench.clock.now += DAY + 7200
    bench.settle()
    bench.ok("RestoreTableFromBackup", TargetTableName="restored", BackupArn=backup)
    bench.settle()
    assert sum("person" in row["pk"]["S"] for row in bench.rows("restored")) == 5
    bench.ok("DeleteTable", TableName="restored")
    bench.ok("DeleteBackup", BackupArn=backup)
    compact_file(str(tmp_path / "engine.db"))
    assert places(tmp_path) == set()
    bench.engine.close()


def test_backup_of_a_deleted_table_ends_after_35_days(tmp_path: Path) -> None:
    bench = bench_with_person(tmp_path)
    bench.ok("DeleteTable", TableName="notes")
    for days, is_left in ((34, True), (2, False)):
        bench.clock.now += days * DAY
        bench.settle()
        compact_file(str(tmp_path / "engine.db"))
        assert bool(places(tmp_path)) == is_left
    bench.engine.close()


def test_shortened_window_and_disabled_recovery_drop_images_at_once(tmp_path: Path) -> None:
    bench = bench_with_person(tmp_path)
    bench.ok(
        "UpdateContinuousBackups",
        TableName="notes",
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 35},
    )
    delete_person(bench)
    bench.clock.now += 2 * DAY
    bench.settle()
    compact_file(str(tmp_path / "engine.db"))
    described = bench.ok("DescribeContinuousBackups", TableName="notes")["ContinuousBackupsDescription"]
    assert described["PointInTimeRecoveryDescription"]["RecoveryPeriodInDays"] == 35
    assert bench.engine.history_bytes("notes") > 0
    bench.ok(
        "UpdateContinuousBackups",
        TableName="notes",
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 1},
    )
    bench.settle()
    assert bench.engine.history_bytes("notes") == 0
    bench.put("notes", pk="person", text=PERSON)
    bench.ok("DeleteItem", TableName="notes", Key=plain({"pk": "person"}))
    bench.ok(
        "UpdateContinuousBackups",
        TableName="notes",
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False},
    )
    bench.settle()
    compact_file(str(tmp_path / "engine.db"))
    assert places(tmp_path) == set()
    bench.engine.close()


def test_finished_and_failed_exports_leave_images_in_their_bucket_only(tmp_path: Path) -> None:
    bench = bench_with_person(tmp_path)
    export(bench)
    bench.ok("ExportTableToPointInTime", TableArn=arn("notes"), S3Bucket="team-data")
    bench.engine.maintenance.step()
    bucket_of(bench).rename(tmp_path / "gone")
    delete_person(bench)
    bench.clock.now += DAY + 7200
    bench.settle()
    compact_file(str(tmp_path / "engine.db"))
    assert places(tmp_path) == set()
    files = [gzip.decompress(path.read_bytes()) for path in (tmp_path / "gone").glob("**/*.gz")]
    assert any(PERSON.encode() in content for content in files)  # until somebody deletes them: the guide says so
    bench.engine.close()


def test_log_that_another_program_reads_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacting, "BUSY_SECONDS", 0.001)
    bench = bench_with_person(tmp_path)
    file = str(tmp_path / "engine.db")
    other = apsw.Connection(file)
    other.execute("BEGIN; SELECT count(*) FROM spaces")
    delete_person(bench)
    with pytest.raises(StorageError, match="another program reads its log"):
        compact_file(file)
    other.execute("ROLLBACK; BEGIN IMMEDIATE")
    monkeypatch.setattr("partita.storage.sqlite_connection.BUSY_SECONDS", 0.001)
    with pytest.raises(StorageBusy):
        compact_file(file)
    other.execute("ROLLBACK")
    other.close()
    compact_file(file)
    assert problems_of(bench.engine) == []
    bench.engine.close()
