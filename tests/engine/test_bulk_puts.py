"""StartBulkPutItems: records of objects into an existing table, with conditions, reports, and once after a crash."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from partita.engine import bulk_puts
from partita.errors import StorageError
from tests.engine.faulty_storage import Failing, settle_with_failures
from tests.engine.shorthand import Json
from tests.engine.tables import Bench, index, plain, problems_of
from tests.engine.test_imports import json_lines, place, values
from tests.engine.transfers import BUCKET, bench_with_bucket, bucket_of

STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(bulk_puts, "PUT_RECORDS", 10)
    bench = bench_with_bucket(tmp_path, str(tmp_path / "engine.db"))
    bench.table("notes", "pk:S", index("byDay", "day:S"), StreamSpecification=STREAM)
    yield bench
    bench.engine.close()


def start(bench: Bench, **more: Any) -> Json:
    body = {
        "TableName": "notes",
        "InputS3Configuration": {"S3Bucket": BUCKET, "S3KeyPrefix": "in/", "InputFormat": "DYNAMODB_JSON"},
        "OutputS3Configuration": {"S3Bucket": BUCKET, "OutputType": ["ERROR", "CONDITION_CHECK_FAILURE"]},
    }
    started: Json = bench.ok("StartBulkPutItems", **(body | more))["BulkOperationDescription"]
    return started


def ended(bench: Bench, started: Json) -> Json:
    bench.settle()
    reply = bench.ok("DescribeBulkOperation", BulkOperationArn=started["BulkOperationArn"])
    described: Json = reply["BulkOperationDescription"]
    return described


def reports(bench: Bench, kind: str) -> list[Json]:
    files = sorted(bucket_of(bench).glob(f"AWSDynamoDB/*/{kind}/*.json.gz"))
    return [json.loads(line) for file in files for line in gzip.decompress(file.read_bytes()).splitlines()]


def test_records_are_put_once_with_their_index_rows_and_changes_across_restarts(bench: Bench) -> None:
    for number in range(3):
        place(bench, f"in/{number}.json", json_lines([{"pk": f"{number}.{n}", "day": "mon"} for n in range(17)]))
    started = start(bench)
    steps = 0
    while bench.engine.maintenance.step():
        steps += 1
        if steps % 2 == 0:
            bench.reopen()
    done = ended(bench, started)
    assert (done["BulkOperationStatus"], done["ProcessedItemCount"]) == ("COMPLETED", 51)
    assert done["ProcessedInputBytes"] == done["TotalInputBytes"] > 0
    assert len(values(bench, "notes")) == len(bench.rows("notes", "byDay")) == 51
    assert len(bench.changes("notes")) == 51
    assert problems_of(bench.engine) == []


def test_conditions_and_invalid_records_are_reported(bench: Bench) -> None:
    bench.put("notes", pk="old", v=1)
    new = {"ConditionExpression": "attribute_not_exists(#k)", "ExpressionAttributeNames": {"#k": "pk"}}
    records: list[Any] = [
        {"Item": plain({"pk": "old", "v": 2}), **new},
        {"Item": plain({"pk": "new", "v": 2}), **new},
        {"Item": plain({"v": 2})},
        {"Item": plain({"pk": "x"}), "Condition": "none"},
        {"Item": plain({"pk": "x"}), "ConditionExpression": "v >"},
        {"Key": {}},
    ]
    place(bench, "in/x", b"".join(json.dumps(each).encode() + b"\n" for each in records) + b"garbage")
    done = ended(bench, start(bench))
    assert done["BulkOperationStatus"] == "COMPLETED_WITH_ERRORS"
    assert (done["ProcessedItemCount"], done["FailedItemCount"]) == (7, 5)
    assert {key: row["v"]["N"] for key, row in values(bench, "notes").items()} == {"old": "1", "new": "2"}
    assert reports(bench, "condition-check-failure") == [
        {"Item": plain({"pk": "old", "v": 2}), "ExistingItem": plain({"pk": "old", "v": 1})}
    ]
    assert len(reports(bench, "error")) == 5


def test_cancelled_operation_stops_and_keeps_what_it_has_written(bench: Bench) -> None:
    place(bench, "in/x", json_lines([{"pk": str(number)} for number in range(50)]))
    started = start(bench)
    bench.engine.maintenance.step()
    cancelled = bench.ok("CancelBulkOperation", BulkOperationArn=started["BulkOperationArn"])
    assert cancelled["BulkOperationStatus"] == "CANCELLING"
    assert ended(bench, started)["BulkOperationStatus"] == "CANCELLED"
    assert len(values(bench, "notes")) == 10
    assert (
        bench.ok("CancelBulkOperation", BulkOperationArn=started["BulkOperationArn"])["BulkOperationStatus"]
        == "CANCELLED"
    )


def test_operations_are_listed_and_their_tokens_remembered(bench: Bench) -> None:
    first = start(bench, ClientToken="t")
    assert start(bench, ClientToken="t")["BulkOperationArn"] == first["BulkOperationArn"]
    bench.clock.now += 1
    second = start(bench)
    bench.settle()
    page = bench.ok("ListBulkOperations", MaxResults=1)
    assert [each["BulkOperationArn"] for each in page["BulkOperationsSummaryList"]] == [second["BulkOperationArn"]]
    rest = bench.ok("ListBulkOperations", NextToken=page["NextToken"])["BulkOperationsSummaryList"]
    assert [each["BulkOperationArn"] for each in rest] == [first["BulkOperationArn"]]
    source = {"S3Bucket": BUCKET, "InputFormat": "ION"}
    output = {"S3Bucket": BUCKET, "OutputType": ["ERROR"]}
    body = {"TableName": "notes", "InputS3Configuration": source, "OutputS3Configuration": output}
    mismatch = bench.error("StartBulkPutItems", **body, ClientToken="t")
    assert mismatch.startswith("IdempotentParameterMismatchException")
    missing = bench.error("StartBulkPutItems", **(body | {"TableName": "missing"}))
    assert missing.startswith("ResourceNotFoundException")
    arn = f"{first['BulkOperationArn']}0"
    assert bench.error("DescribeBulkOperation", BulkOperationArn=arn).startswith("ResourceNotFoundException")


def test_token_of_an_operation_is_remembered_for_hours_after_its_request(bench: Bench) -> None:
    first = start(bench, ClientToken="t")["BulkOperationArn"]
    bench.clock.now += 7 * 3600
    bench.settle()  # the hours of a token begin with the request, not with the end of the operation
    assert start(bench, ClientToken="t")["BulkOperationArn"] == first
    bench.clock.now += 3600
    assert start(bench, ClientToken="t")["BulkOperationArn"] != first


def test_page_of_operations_has_ten_unless_more_are_asked_for(bench: Bench) -> None:
    for _ in range(12):
        start(bench)
        bench.clock.now += 1
    assert len(bench.ok("ListBulkOperations")["BulkOperationsSummaryList"]) == 10
    assert len(bench.ok("ListBulkOperations", MaxResults=25)["BulkOperationsSummaryList"]) == 12


def test_missing_bucket_and_deleted_table_fail_the_operation(bench: Bench) -> None:
    source = {"S3Bucket": "nowhere", "InputFormat": "DYNAMODB_JSON"}
    assert ended(bench, start(bench, InputS3Configuration=source))["FailureCode"] == "S3NoSuchBucket"
    started = start(bench)
    bench.ok("DeleteTable", TableName="notes")
    assert ended(bench, started)["FailureCode"] == "TableNotFound"


def test_full_disk_loses_no_records(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    place(bench, "in/a.json", json_lines([{"pk": f"{number}"} for number in range(45)]))
    started = start(bench)
    writer = bench.engine._writer
    monkeypatch.setattr(writer, "run", Failing(writer.run, StorageError("disk full"), (2, 4)))
    assert settle_with_failures(bench) == 2
    done = ended(bench, started)
    assert (done["BulkOperationStatus"], done["ProcessedItemCount"]) == ("COMPLETED", 45)
    assert len(bench.rows("notes")) == 45


def test_step_has_a_bounded_number_of_bytes(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_puts, "PUT_BYTES", 3000)
    place(bench, "in/x.json", json_lines([{"pk": str(n), "text": "x" * 1000} for n in range(9)]))
    started = start(bench)
    bench.engine.maintenance.step()
    reply = bench.ok("DescribeBulkOperation", BulkOperationArn=started["BulkOperationArn"])
    assert reply["BulkOperationDescription"]["ProcessedItemCount"] == 3
    assert ended(bench, started)["ProcessedItemCount"] == 9


def test_unreadable_object_is_counted_once_across_restarts(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_puts, "PUT_RECORDS", 2)
    place(bench, "in/x.json", json_lines([{"pk": "a"}]) + b"{\n")
    started = start(bench)
    bench.engine.maintenance.step()  # ends behind the second line, and before the end of the object
    bench.reopen()
    done = ended(bench, started)
    assert (done["ProcessedItemCount"], done["FailedItemCount"]) == (2, 1)
    assert len(reports(bench, "error")) == 1


def test_reports_below_the_prefix_of_the_input_are_not_read(bench: Bench) -> None:
    place(bench, "in/a.json", b'{"Item":{}}\n' * 15)
    place(bench, "in/z.json", json_lines([{"pk": str(n)} for n in range(15)]))
    output = {"S3Bucket": BUCKET, "S3KeyPrefix": "in/reports", "OutputType": ["ERROR"]}
    started = start(bench, OutputS3Configuration=output)
    for _ in range(4):
        bench.engine.maintenance.step()
        bench.reopen()
    done = ended(bench, started)
    assert (done["ProcessedItemCount"], done["FailedItemCount"]) == (30, 15)
