"""Exports, imports and bulk puts on a file whose processes have different buckets: who lacks them leaves the work."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from partita.engine import transfer_work, transfers
from partita.engine.operations import bulk_operations, export_table, import_table
from partita.engine.transfers import ABANDONED_SECONDS, ENDED_SECONDS
from tests.engine.shorthand import Json
from tests.engine.tables import Bench, problems_of
from tests.engine.test_bulk_puts import start
from tests.engine.test_imports import json_lines, place
from tests.engine.test_recovery import enable
from tests.engine.transfers import BUCKET, arn, bench_with_bucket, creation

WORKER = "a process that has ended"
OTHERS = ["no buckets", "other buckets"]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = bench_with_bucket(tmp_path, str(tmp_path / "engine.db"))
    bench.table("notes", "pk:S")
    enable(bench)
    bench.put("notes", pk="a")
    yield bench
    bench.engine.close()


@pytest.fixture(params=OTHERS)
def other(bench: Bench, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """An engine of another process on the same file."""
    buckets = tmp_path / "others"
    buckets.mkdir()
    other = Bench(bench.address, bench.clock, buckets if request.param == "other buckets" else None)
    yield other
    other.engine.close()


def statuses(bench: Bench, started: dict[str, Json]) -> dict[str, str]:
    export = bench.ok("DescribeExport", ExportArn=started["export"]["ExportArn"])["ExportDescription"]
    found = bench.ok("DescribeImport", ImportArn=started["import"]["ImportArn"])["ImportTableDescription"]
    put = bench.ok("DescribeBulkOperation", BulkOperationArn=started["put"]["BulkOperationArn"])
    return {
        "export": export["ExportStatus"],
        "import": found["ImportStatus"],
        "put": put["BulkOperationDescription"]["BulkOperationStatus"],
    }


@pytest.fixture
def started(bench: Bench) -> dict[str, Json]:
    place(bench, "in/a.json", json_lines([{"pk": f"{number}"} for number in range(20)]))
    source = {"S3BucketSource": {"S3Bucket": BUCKET, "S3KeyPrefix": "in/"}, "InputFormat": "DYNAMODB_JSON"}
    return {
        "export": bench.ok("ExportTableToPointInTime", TableArn=arn("notes"), S3Bucket=BUCKET)["ExportDescription"],
        "import": bench.ok("ImportTable", **source, TableCreationParameters=creation())["ImportTableDescription"],
        "put": start(bench),
    }


def test_process_without_the_buckets_leaves_the_work_to_others(
    bench: Bench, other: Bench, started: dict[str, Json]
) -> None:
    other.settle()
    assert set(statuses(bench, started).values()) == {"IN_PROGRESS"}
    bench.settle()
    assert set(statuses(other, started).values()) == {"COMPLETED"}
    assert len(bench.rows("copy")) == 20
    assert problems_of(bench.engine) == []


def test_work_that_nobody_goes_on_with_ends_after_an_hour(bench: Bench, other: Bench, started: dict[str, Json]) -> None:
    other.settle()
    bench.clock.now += ABANDONED_SECONDS - 1
    other.settle()
    assert set(statuses(other, started).values()) == {"IN_PROGRESS"}
    bench.clock.now += 1
    other.settle()
    assert set(statuses(other, started).values()) == {"FAILED"}
    bench.settle()
    assert set(statuses(bench, started).values()) == {"FAILED"}
    other.ok("DeleteTable", TableName="notes")
    assert "copy" not in other.ok("ListTables")["TableNames"]


@pytest.fixture
def ended_worker(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine that accepts the requests seems to be that of a process that has ended."""
    for each in (bulk_operations, export_table, import_table):
        monkeypatch.setattr(each, "this_process", lambda: WORKER)
    for module in (transfers, transfer_work):
        monkeypatch.setattr(module, "is_dead", lambda process: process == WORKER)


def test_work_whose_process_has_ended_ends_soon_and_names_the_setting(
    ended_worker: None, bench: Bench, other: Bench, started: dict[str, Json]
) -> None:
    other.settle()
    bench.clock.now += ENDED_SECONDS - 1
    other.settle()
    assert set(statuses(other, started).values()) == {"IN_PROGRESS"}
    bench.clock.now += 1
    other.settle()
    assert set(statuses(other, started).values()) == {"FAILED"}
    found = other.ok("DescribeExport", ExportArn=started["export"]["ExportArn"])["ExportDescription"]
    assert found["FailureMessage"].startswith("the process that did it has ended, and this engine has ")
    assert "start an engine with --buckets /" in found["FailureMessage"]


def test_work_whose_process_has_ended_is_taken_over(
    ended_worker: None, bench: Bench, other: Bench, started: dict[str, Json]
) -> None:
    other.settle()
    bench.engine.maintenance.step()
    bench.clock.now += ENDED_SECONDS + 1
    other.settle()
    bench.settle()
    assert set(statuses(other, started).values()) == {"COMPLETED"}
    assert problems_of(bench.engine) == []
