"""ExportTableToPointInTime: DynamoDB's layout in a folder, of any second, and of the changes of a window."""

import errno
import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from partita.engine import exports
from partita.engine.buckets import Buckets
from partita.engine.export_files import DataFile, ExportFiles
from tests.engine.shorthand import Json
from tests.engine.tables import Bench, plain, problems_of
from tests.engine.test_recovery import enable
from tests.engine.transfers import BUCKET, arn, bench_with_bucket, bucket_of, export, exported_lines

MINUTE = 60.0


@pytest.fixture(params=["memory", "file"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    bench = bench_with_bucket(tmp_path, "memory:" if request.param == "memory" else str(tmp_path / "engine.db"))
    bench.table("notes", "pk:S")
    enable(bench)
    yield bench
    bench.engine.close()


def by_key(lines: list[Json], member: str = "Item") -> dict[str, Json]:
    return {each[member]["pk"]["S"]: each for each in lines}


def test_full_export_has_the_layout_of_dynamodb(bench: Bench) -> None:
    item = plain({"pk": "a", "n": 1, "l": [True, None, "ü\n"]}) | {"s": {"SS": ["x", "y"]}, "b": {"B": "aGk="}}
    bench.ok("PutItem", TableName="notes", Item=item)
    started = bench.clock.now
    described = export(bench, S3Prefix="daily/one", ClientToken="t1")
    export_id = described["ExportArn"].rpartition("/")[2]
    folder = bucket_of(bench) / "daily" / "one" / "AWSDynamoDB" / export_id
    assert sorted(each.name for each in folder.iterdir()) == [
        "_started",
        "data",
        "manifest-files.json",
        "manifest-files.md5",
        "manifest-summary.json",
        "manifest-summary.md5",
    ]
    (data,) = (folder / "data").iterdir()
    assert (
        gzip.decompress(data.read_bytes())
        == b'{"Item":' + json.dumps(item, ensure_ascii=False).replace(", ", ",").replace(": ", ":").encode() + b"}\n"
    )
    assert exported_lines(bench, described) == [{"Item": item}]
    summary = json.loads((folder / "manifest-summary.json").read_bytes())
    time = "2027-01-15T08:00:00.000Z"
    assert summary == {
        "version": "2020-06-30",
        "exportArn": described["ExportArn"],
        "startTime": time,
        "endTime": time,
        "tableArn": arn("notes"),
        "tableId": described["TableId"],
        "exportTime": time,
        "s3Bucket": BUCKET,
        "s3Prefix": "daily/one",
        "s3SseAlgorithm": "AES256",
        "s3SseKmsKeyId": None,
        "manifestFilesS3Key": f"daily/one/AWSDynamoDB/{export_id}/manifest-files.json",
        "billedSizeBytes": described["BilledSizeBytes"],
        "itemCount": 1,
        "outputFormat": "DYNAMODB_JSON",
        "exportType": "FULL_EXPORT",
    }
    assert (described["ExportStatus"], described["StartTime"], described["ExportTime"]) == (
        "COMPLETED",
        started,
        started,
    )
    assert described["ExportManifest"] == f"daily/one/AWSDynamoDB/{export_id}/manifest-summary.json"
    assert problems_of(bench.engine) == []


def test_export_is_the_table_of_one_second_though_it_is_written_to(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "FILE_ROWS", 7)
    monkeypatch.setattr(exports, "STEP_FILES", 2)
    for number in range(40):
        bench.put("notes", pk=str(number), v=1)
    second = bench.clock.now
    bench.clock.now += 5
    for number in range(0, 40, 3):
        bench.put("notes", pk=str(number), v=2)
    bench.ok("DeleteItem", TableName="notes", Key=plain({"pk": "1"}))
    then = bench.ok("ExportTableToPointInTime", TableArn=arn("notes"), S3Bucket=BUCKET, ExportTime=second)
    now = bench.ok("ExportTableToPointInTime", TableArn=arn("notes"), S3Bucket=BUCKET)
    steps = 0
    while bench.engine.maintenance.step():
        steps += 1
        bench.put("notes", pk=str(steps % 40), v=9)
        bench.ok("DeleteItem", TableName="notes", Key=plain({"pk": str((steps * 7) % 40)}))
        bench.put("notes", pk=f"new{steps}", v=9)
        if steps == 3 and bench.address != "memory:":
            bench.reopen()
        assert problems_of(bench.engine) == []
    for started, v in ((then, 1), (now, 2)):
        described = bench.ok("DescribeExport", ExportArn=started["ExportDescription"]["ExportArn"])["ExportDescription"]
        lines = exported_lines(bench, described)
        found = {key: line["Item"]["v"]["N"] for key, line in by_key(lines).items()}
        expected = {str(number): str(v if number % 3 == 0 else 1) for number in range(40)}
        if v == 2:
            del expected["1"]
        assert len(lines) == len(found)
        assert found == expected
    table = bench.engine._context.catalog.tables["notes"].record
    assert table.snapshots == []


def test_incremental_export_has_the_images_at_both_ends_of_its_window(bench: Bench) -> None:
    for key in ("changed", "deleted", "untouched", "again"):
        bench.put("notes", pk=key, v=1)
    since = bench.clock.now = bench.clock.now + MINUTE
    bench.put("notes", pk="changed", v=2)
    bench.clock.now += MINUTE
    bench.put("notes", pk="changed", v=3)
    written = bench.clock.now
    bench.put("notes", pk="new", v=3)
    bench.put("notes", pk="short", v=3)
    bench.ok("DeleteItem", TableName="notes", Key=plain({"pk": "short"}))
    bench.ok("DeleteItem", TableName="notes", Key=plain({"pk": "deleted"}))
    until = bench.clock.now = bench.clock.now + 20 * MINUTE
    bench.put("notes", pk="changed", v=4)
    bench.put("notes", pk="again", v=4)
    window = {"ExportFromTime": since, "ExportToTime": until}
    described = export(bench, ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification=window, S3Prefix="p")
    lines = by_key(exported_lines(bench, described), "Keys")
    assert sorted(lines) == ["changed", "deleted", "new"]
    assert lines["changed"] == {
        "Metadata": {"WriteTimestampMicros": {"N": str(round(written * 1_000_000))}},
        "Keys": plain({"pk": "changed"}),
        "OldImage": plain({"pk": "changed", "v": 1}),
        "NewImage": plain({"pk": "changed", "v": 3}),
    }
    assert lines["new"]["NewImage"] == plain({"pk": "new", "v": 3})
    assert "OldImage" not in lines["new"]
    assert lines["deleted"]["OldImage"] == plain({"pk": "deleted", "v": 1})
    assert "NewImage" not in lines["deleted"]
    assert (bucket_of(bench) / "p" / "AWSDynamoDB" / "data").is_dir()
    summary = json.loads((bucket_of(bench) / described["ExportManifest"]).read_bytes())
    assert (summary["version"], summary["outputView"]) == ("2023-08-01", "NEW_AND_OLD_IMAGES")
    assert summary["exportFromTime"] < summary["exportToTime"]
    only_new = export(
        bench,
        ExportType="INCREMENTAL_EXPORT",
        IncrementalExportSpecification=window | {"ExportViewType": "NEW_IMAGE"},
    )
    assert all("OldImage" not in line for line in exported_lines(bench, only_new))
    assert problems_of(bench.engine) == []


def test_incremental_exports_lead_from_one_full_export_to_the_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random writes: the items of a second, with the changes of the windows behind it, are the items of a later one."""
    monkeypatch.setattr(exports, "MAX_CHANGES", 11)
    monkeypatch.setattr(exports, "FILE_ROWS", 5)
    monkeypatch.setattr(exports, "STEP_FILES", 2)
    random = Random(3)
    marks: list[tuple[float, dict[str, Any]]] = []
    model: dict[str, Any] = {}
    for _ in range(3):
        bench.clock.now = float(int(bench.clock.now) + 1)
        marks.append((bench.clock.now, dict(model)))  # just before this second
        for _ in range(30):
            bench.clock.now += random.choice([0, 30, 45.5])
            key = str(random.randrange(12))
            if random.random() < 0.3:
                bench.ok("DeleteItem", TableName="notes", Key=plain({"pk": key}))
                model.pop(key, None)
            else:
                model[key] = random.randrange(1000)
                bench.put("notes", pk=key, v=model[key])
        bench.clock.now += 15 * MINUTE
    for (since, before), (until, behind) in pairwise(marks):
        window = {"ExportFromTime": since, "ExportToTime": until}
        described = export(bench, ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification=window)
        for key, line in by_key(exported_lines(bench, described), "Keys").items():
            old = line.get("OldImage", {}).get("v", {}).get("N")
            assert old == (str(before[key]) if key in before else None)
            if "NewImage" in line:
                before[key] = int(line["NewImage"]["v"]["N"])
            else:
                del before[key]
        assert before == behind


def test_incremental_export_of_large_items_is_done_in_bounded_steps(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "MAX_CHANGE_BYTES", 20_000)
    monkeypatch.setattr(exports, "FILE_BYTES", 30_000)
    monkeypatch.setattr(exports, "BLOCK_BYTES", 20_000)
    for number in range(10):
        bench.put("notes", pk=f"old{number}", text="x" * 10_000)
    bench.clock.now += 1
    window = {"ExportFromTime": bench.clock.now, "ExportToTime": bench.clock.now + 15 * MINUTE}
    for number in range(10):
        bench.put("notes", pk=f"old{number}", text="y")
        bench.put("notes", pk=f"new{number}", text="z" * 10_000)
    bench.clock.now += 15 * MINUTE
    bench.ok(
        "ExportTableToPointInTime",
        TableArn=arn("notes"),
        S3Bucket=BUCKET,
        ExportType="INCREMENTAL_EXPORT",
        IncrementalExportSpecification=window,
    )
    steps = 1
    while bench.engine.maintenance.step():
        steps += 1
    assert steps > 5  # two or three large old images in each
    (summary,) = bench.ok("ListExports")["ExportSummaries"]
    described = bench.ok("DescribeExport", ExportArn=summary["ExportArn"])["ExportDescription"]
    assert len(by_key(exported_lines(bench, described), "Keys")) == 20
    assert len(list((bucket_of(bench) / "AWSDynamoDB" / "data").iterdir())) > 5  # three large images in each


def test_filter_chooses_items_and_attributes(bench: Bench) -> None:
    for number in range(4):
        bench.put("notes", pk=str(number), v=number, w=1)
    described = export(
        bench,
        FilterSpecification={
            "FilterExpression": "v >= :low",
            "ProjectionExpression": "pk, #v",
            "ExpressionAttributeNames": {"#v": "v"},
            "ExpressionAttributeValues": {":low": {"N": "2"}},
        },
    )
    assert by_key(exported_lines(bench, described)) == {
        key: {"Item": plain({"pk": key, "v": int(key)})} for key in ("2", "3")
    }
    one = export(
        bench,
        FilterSpecification={
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": {"S": "1"}},
        },
    )
    assert list(by_key(exported_lines(bench, one))) == ["1"]
    rejected = bench.error(
        "ExportTableToPointInTime",
        TableArn=arn("notes"),
        S3Bucket=BUCKET,
        FilterSpecification={"FilterExpression": "v >"},
    )
    assert rejected.startswith("ValidationException")


def test_empty_table_has_one_empty_file(bench: Bench) -> None:
    assert exported_lines(bench, export(bench)) == []


def test_exports_are_listed_newest_first_in_pages(bench: Bench) -> None:
    arns = []
    for _ in range(3):
        bench.clock.now += 1
        arns.append(export(bench)["ExportArn"])
    page = bench.ok("ListExports", TableArn=arn("notes"), MaxResults=2)
    assert [each["ExportArn"] for each in page["ExportSummaries"]] == arns[:0:-1]
    rest = bench.ok("ListExports", NextToken=page["NextToken"])
    assert [each["ExportArn"] for each in rest["ExportSummaries"]] == arns[:1]
    assert bench.ok("ListExports", TableArn=arn("other"))["ExportSummaries"] == []
    bench.clock.now += 91 * 86_400
    bench.settle()
    assert bench.ok("ListExports")["ExportSummaries"] == []


def test_client_token_makes_an_export_idempotent(bench: Bench) -> None:
    first = export(bench, ClientToken="t")
    assert export(bench, ClientToken="t")["ExportArn"] == first["ExportArn"]
    conflict = bench.error(
        "ExportTableToPointInTime", TableArn=arn("notes"), S3Bucket=BUCKET, ClientToken="t", S3Prefix="x"
    )
    assert conflict.startswith("ExportConflictException: Duplicate request detected")
    bench.clock.now += 9 * 3600
    assert export(bench, ClientToken="t")["ExportArn"] != first["ExportArn"]


def test_invalid_exports_are_rejected(bench: Bench) -> None:
    def error(**more: Any) -> str:
        return bench.error("ExportTableToPointInTime", **({"TableArn": arn("notes"), "S3Bucket": BUCKET} | more))

    bench.table("plain", "pk:S")
    now = bench.clock.now
    assert error(TableArn=arn("missing")).startswith("TableNotFoundException: Table not found")
    assert error(TableArn=arn("plain")).startswith("PointInTimeRecoveryUnavailableException")
    assert error(ExportTime=now - 86_400) == "InvalidExportTimeException: Export Time is invalid"
    assert "'exportFormat' failed to satisfy constraint" in error(ExportFormat="CSV")
    assert "'s3Bucket' failed to satisfy constraint" in error(S3Bucket="")
    bench.clock.now += 3600
    short = {"ExportFromTime": now, "ExportToTime": now + 2}
    message = error(ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification=short)
    assert message.startswith("InvalidExportTimeException: Difference between export period")
    assert "must be specified" in error(ExportType="INCREMENTAL_EXPORT")
    assert "can only be specified" in error(IncrementalExportSpecification=short)
    assert "KMS is not supported" in error(S3SseAlgorithm="KMS")
    assert bench.error("DescribeExport", ExportArn=arn("notes")) == "ValidationException: Invalid Export ARN"
    assert bench.error("DescribeExport", ExportArn=f"{arn('notes')}/export/01-a").startswith("ExportNotFoundException")
    assert bench.ok("ListExports")["ExportSummaries"] == []


def test_missing_bucket_fails_the_export_and_releases_the_table(bench: Bench) -> None:
    started = bench.ok("ExportTableToPointInTime", TableArn=arn("notes"), S3Bucket="nowhere")["ExportDescription"]
    bench.settle()
    described = bench.ok("DescribeExport", ExportArn=started["ExportArn"])["ExportDescription"]
    assert (described["ExportStatus"], described["FailureCode"]) == ("FAILED", "S3NoSuchBucket")
    assert described["FailureMessage"] == "The specified bucket does not exist"
    bench.ok("DeleteTable", TableName="notes")
    assert problems_of(bench.engine) == []


@pytest.mark.parametrize(
    "names",
    [
        {"S3Bucket": ".."},
        {"S3Bucket": "a/../../b"},
        {"S3Bucket": "a/b"},
        {"S3Bucket": "team-data\n"},
        {"S3Prefix": "../other"},
        {"S3Prefix": "a/../../other"},
        {"S3Prefix": "/etc"},
        {"S3Prefix": "a//b"},
        {"S3Prefix": "a/./b"},
        {"S3Prefix": "a\\..\\b"},
        {"S3Prefix": "a\0b"},
    ],
)
def test_no_name_leads_out_of_the_folder(bench: Bench, names: Json) -> None:
    before = sorted(Path(bucket_of(bench)).parent.parent.rglob("*"))
    body = {"TableArn": arn("notes"), "S3Bucket": BUCKET} | names
    assert bench.error("ExportTableToPointInTime", **body).startswith("ValidationException")
    assert sorted(Path(bucket_of(bench)).parent.parent.rglob("*")) == before


def test_link_out_of_a_bucket_is_not_followed(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (bucket_of(bench) / "link").symlink_to(outside)
    described = export(bench, S3Prefix="link")
    assert described["ExportStatus"] == "FAILED"
    assert "leads out of its bucket" in described["FailureMessage"]
    assert list(outside.iterdir()) == []


def test_engine_without_buckets_rejects_transfers_with_advice() -> None:
    bench = Bench()
    bench.table("notes", "pk:S")
    rejected = bench.error("ExportTableToPointInTime", TableArn=arn("notes"), S3Bucket=BUCKET)
    assert "start it with --buckets FOLDER" in rejected
    bench.engine.close()


def test_data_file_of_a_process_that_was_killed_is_deleted_at_the_end(bench: Bench) -> None:
    bench.put("notes", pk="a")
    started = bench.ok("ExportTableToPointInTime", TableArn=arn("notes"), S3Bucket=BUCKET)["ExportDescription"]
    bench.engine.maintenance.step()
    folder = bucket_of(bench) / "AWSDynamoDB" / started["ExportArn"].rpartition("/")[2]
    (folder / "data").mkdir()
    (folder / "data" / "lost.json.gz").write_bytes(b"")
    bench.settle()
    described = bench.ok("DescribeExport", ExportArn=started["ExportArn"])["ExportDescription"]
    assert len(exported_lines(bench, described)) == 1
    assert len(list((folder / "data").iterdir())) == 1


def test_disk_without_space_fails_the_export_and_leaves_no_part_of_a_file(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put("notes", pk="a")
    with monkeypatch.context() as full:
        full.setattr("os.fsync", _full_disk)
        described = export(bench)
    assert (described["ExportStatus"], described["FailureCode"]) == ("FAILED", "S3InternalError")
    assert "No space left" in described["FailureMessage"]
    assert [path for path in bucket_of(bench).rglob("*") if path.is_file()] == []
    assert len(exported_lines(bench, export(bench))) == 1
    assert problems_of(bench.engine) == []


@pytest.mark.parametrize("failing", ["data", "manifest-files.md5", "manifest-summary.md5"])
@pytest.mark.parametrize("incremental", [False, True])
def test_failed_export_leaves_no_files_behind(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, failing: str, incremental: bool
) -> None:
    """Manifests without their data files would be taken for the newest export of the table."""
    monkeypatch.setattr(exports, "FILE_ROWS", 5)
    bench.clock.now += 1
    window = {"ExportFromTime": bench.clock.now, "ExportToTime": bench.clock.now + 15 * MINUTE}
    for number in range(12):
        bench.put("notes", pk=str(number))
    bench.clock.now += 15 * MINUTE
    write, failures = Buckets.write, iter([errno.ENOSPC])

    def with_full_disk(buckets: Buckets, bucket: str, key: str, content: bytes) -> None:
        if f"/{failing}" in key and next(failures, None):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(buckets, bucket, key, content)

    monkeypatch.setattr(Buckets, "write", with_full_disk)
    more: Json = {"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": window} if incremental else {}
    described = export(bench, **more)
    assert (described["ExportStatus"], described["FailureCode"]) == ("FAILED", "S3InternalError")
    assert [each.name for each in bucket_of(bench).rglob("*") if each.is_file()] == ["_started"]


def test_process_that_finds_the_export_further_on_deletes_its_own_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "FILE_ROWS", 7)
    monkeypatch.setattr(exports, "STEP_FILES", 4)
    bench = bench_with_bucket(tmp_path, str(tmp_path / "engine.db"))
    bench.table("notes", "pk:S")
    enable(bench)
    for number in range(60):
        bench.put("notes", pk=str(number))
    started = bench.ok("ExportTableToPointInTime", TableArn=arn("notes"), S3Bucket=BUCKET)["ExportDescription"]
    bench.engine.maintenance.step()
    other = Bench(bench.address, bench.clock, bench.buckets)
    write_data, calls = ExportFiles.write_data, iter(range(1000))

    def with_another_process(files: ExportFiles, *arguments: Any, **more: Any) -> DataFile:
        if next(calls) == 1:
            other.engine.maintenance.step()  # writes 4 files; this one has read two of the same
        return write_data(files, *arguments, **more)

    monkeypatch.setattr(ExportFiles, "write_data", with_another_process)
    bench.engine.maintenance.step()
    written = sorted(path.name for path in bucket_of(bench).rglob("*.gz"))
    bench.settle()
    described = bench.ok("DescribeExport", ExportArn=started["ExportArn"])["ExportDescription"]
    assert by_key(exported_lines(bench, described)).keys() == {str(number) for number in range(60)}
    assert set(written) < {path.name for path in bucket_of(bench).rglob("*.gz")}
    for each in (other, bench):
        each.engine.close()


def test_export_is_the_work_of_one_process_at_a_time(tmp_path: Path) -> None:
    """Two that wrote the same files did the work twice; one that was killed after the end left a file in the folder."""
    bench = bench_with_bucket(tmp_path, str(tmp_path / "engine.db"))
    bench.table("notes", "pk:S")
    enable(bench)
    bench.put("notes", pk="a")
    hold = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print(flush=True); input()"
    command = [sys.executable, "-c", hold, f"{bench.address}-exporting"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        described = export(bench)
        assert described["ExportStatus"] == "IN_PROGRESS"
        assert list(bucket_of(bench).rglob("*")) == []
        other.kill()
    bench.settle()
    described = bench.ok("DescribeExport", ExportArn=described["ExportArn"])["ExportDescription"]
    assert len(exported_lines(bench, described)) == 1
    assert not Path(f"{bench.address}-exporting").exists()
    bench.engine.close()


def _full_disk(descriptor: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")
