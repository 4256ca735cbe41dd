"""ImportTable: new tables from DynamoDB JSON, Ion and CSV; what is exported here loads here."""

import errno
import gzip
import json
import os
from base64 import b64encode
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import zstandard
from amazon.ion import simpleion
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partita.dynamodb.canonical import checked_item
from partita.dynamodb.exceptions import DynamoDBError
from partita.engine import imports, index_fill, row_sorter
from partita.engine.data_errors import UnreadableObject
from partita.engine.ion_text import ion_line, read_ion
from partita.engine.row_blocks import pack_rows
from partita.errors import StorageError
from tests.engine.faulty_storage import Failing, settle_with_failures
from tests.engine.shorthand import Json
from tests.engine.tables import Bench, index, plain, problems_of
from tests.engine.test_recovery import enable
from tests.engine.transfers import BUCKET, arn, bench_with_bucket, bucket_of, creation, export, imported


@pytest.fixture(params=["memory", "file"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    bench = bench_with_bucket(tmp_path, "memory:" if request.param == "memory" else str(tmp_path / "engine.db"))
    yield bench
    bench.engine.close()


def place(bench: Bench, key: str, content: bytes) -> None:
    path = bucket_of(bench) / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def json_lines(items: list[Json]) -> bytes:
    return b"".join(json.dumps({"Item": plain(item)}).encode() + b"\n" for item in items)


def values(bench: Bench, table: str = "copy") -> dict[str, Json]:
    return {row["pk"]["S"]: row for row in bench.rows(table)}


@pytest.mark.parametrize("export_format", ["DYNAMODB_JSON", "ION"])
def test_export_loads_into_an_equal_table(bench: Bench, export_format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "READ_RECORDS", 20)
    monkeypatch.setattr(index_fill, "ADDED_ROWS", 15)
    day = index("byDay", "day:S v:N", "INCLUDE", "text")
    bench.table("notes", "pk:S", dict(day))
    enable(bench)
    for number in range(50):
        bench.put(
            "notes", pk=str(number), v=number / 4, day="ab"[number % 2], text="é\"'\\ {}\n", more=[{"M": {}}, None]
        )
    bench.ok(
        "PutItem",
        TableName="notes",
        Item=plain({"pk": "sets"}) | {"b": {"BS": ["AA==", "/w=="]}, "n": {"NS": ["-1", "2.5"]}},
    )
    described = export(bench, ExportFormat=export_format)
    types = [{"AttributeName": name, "AttributeType": kind} for name, kind in (("pk", "S"), ("day", "S"), ("v", "N"))]
    day.pop("_types")
    done = imported(
        bench,
        described["ExportManifest"].removesuffix("manifest-summary.json") + "data/",
        export_format,
        InputCompressionType="GZIP",
        TableCreationParameters=creation(GlobalSecondaryIndexes=[day], AttributeDefinitions=types),
    )
    assert (done["ImportStatus"], done["ProcessedItemCount"], done["ErrorCount"]) == ("COMPLETED", 51, 0)
    assert values(bench) == values(bench, "notes")
    assert bench.rows("copy", "byDay") == bench.rows("notes", "byDay")
    assert bench.ok("DescribeTable", TableName="copy")["Table"]["TableStatus"] == "ACTIVE"
    assert problems_of(bench.engine) == []


def test_import_goes_on_after_the_process_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "READ_RECORDS", 30)
    monkeypatch.setattr(index_fill, "ADDED_ROWS", 10)
    bench = bench_with_bucket(tmp_path, str(tmp_path / "engine.db"))
    place(bench, "in/1.json", json_lines([{"pk": str(number), "v": 1} for number in range(60)]))
    place(bench, "in/2.json", json_lines([{"pk": str(number), "v": 2} for number in range(30)]))
    source = {"S3Bucket": BUCKET, "S3KeyPrefix": "in/"}
    bench.ok("ImportTable", S3BucketSource=source, InputFormat="DYNAMODB_JSON", TableCreationParameters=creation())
    steps = 0
    while bench.engine.maintenance.step():
        steps += 1
        if steps in (2, 7, 14):
            assert bench.error("PutItem", TableName="copy", Item=plain({"pk": "x"})).startswith("ResourceNotFound")
            assert bench.ok("DescribeTable", TableName="copy")["Table"]["TableStatus"] == "CREATING"
            bench.reopen()
    assert {key: row["v"]["N"] for key, row in values(bench).items()} == {
        str(number): "2" if number < 30 else "1" for number in range(60)
    }
    assert problems_of(bench.engine) == []
    assert [each for each in tmp_path.iterdir() if each.name.endswith("-filling")] == []
    bench.engine.close()


@pytest.mark.parametrize("compression", ["NONE", "GZIP", "ZSTD"])
def test_csv_has_keys_of_their_types_and_texts(bench: Bench, compression: str) -> None:
    text = '\ufeffpk;year;note\na;7;"x;y\nz"\nb;8;\n'.encode()
    packed = {"NONE": text, "GZIP": gzip.compress(text), "ZSTD": zstandard.ZstdCompressor().compress(text)}
    place(bench, "in/1.csv", packed[compression])
    types = [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "year", "AttributeType": "N"}]
    keys = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "year", "KeyType": "RANGE"}]
    done = imported(
        bench,
        "in/",
        "CSV",
        InputFormatOptions={"Csv": {"Delimiter": ";"}},
        InputCompressionType=compression,
        TableCreationParameters=creation(AttributeDefinitions=types, KeySchema=keys),
    )
    assert done["ImportStatus"] == "COMPLETED"
    assert values(bench) == {"a": plain({"pk": "a", "year": 7, "note": "x;y\nz"}), "b": plain({"pk": "b", "year": 8})}


def test_header_list_takes_the_place_of_the_first_line(bench: Bench) -> None:
    place(bench, "in.csv", b"a,1\nb,2\n")
    done = imported(bench, "in", "CSV", InputFormatOptions={"Csv": {"HeaderList": ["pk", "v"]}})
    assert done["ImportedItemCount"] == 2
    assert values(bench)["a"] == {"pk": {"S": "a"}, "v": {"S": "1"}}


@pytest.mark.parametrize(
    ("content", "input_format", "processed", "loaded"),
    [
        (json_lines([{"pk": "a"}, {"sk": "b"}, {"pk": 7}, {"pk": "c"}]), "DYNAMODB_JSON", 4, 2),
        (json_lines([{"pk": "a"}]) + b"garbage\n" + json_lines([{"pk": "b"}]), "DYNAMODB_JSON", 2, 1),
        (b'{"Item":{"pk":{"S":"a"}}}\n{"Item":{"pk":{"S":"b","N":"1"}}}\n{"Other":1}\n', "DYNAMODB_JSON", 3, 1),
        (b'{"Item":{"pk":"a"}}\n[]\n', "DYNAMODB_JSON", 2, 0),
        (b'{"Item":{"pk":{"S":"a"},"v":{"L":[1]}}}\n{"Item":{"pk":{"S":"b"}}}\n', "DYNAMODB_JSON", 2, 1),
        (b'{"Item":{"pk":{"S":"a"},"v":{"M":{"x":null}}}}\n{"Item":{"pk":{"S":"b"}}}\n', "DYNAMODB_JSON", 2, 1),
        (b'{"Item":{"pk":{"S":"' + b"x" * 4_000_000 + b'"}}}\n', "DYNAMODB_JSON", 1, 0),
        (b"pk,v\na,1,2\nb,1\n", "CSV", 2, 1),
        (b"pk,pk\na,1\n", "CSV", 1, 0),
        (b'pk,v\n"a,1\n', "CSV", 1, 0),
        (b"\xff\xfe", "CSV", 1, 0),
        (b'$ion_1_0 {Item:{pk:"a"}} {Item:{pk:"b"', "ION", 2, 1),
        (b'$ion_1_0 {Item:{pk:"a",t:2020T}}', "ION", 1, 0),
        (b"$ion_1_0 1 2 3", "ION", 3, 0),
        (b'$ion_1_0 {Item:{pk:"a",v:symbol}} {Item:{pk:"b",v:2e0}} {Item:{pk:"c"}}', "ION", 3, 1),
    ],
)
def test_invalid_records_are_counted_and_the_others_loaded(
    bench: Bench, content: bytes, input_format: str, processed: int, loaded: int
) -> None:
    place(bench, "in/x", content)
    done = imported(bench, "in/", input_format)
    assert (done["ProcessedItemCount"], done["ImportedItemCount"]) == (processed, loaded)
    assert (done["ImportStatus"], done["FailureCode"]) == ("FAILED", "ItemValidationError")
    assert len(values(bench)) == loaded
    assert problems_of(bench.engine) == []


@pytest.mark.parametrize("compression", ["GZIP", "ZSTD"])
def test_object_of_another_compression_is_an_error(bench: Bench, compression: str) -> None:
    place(bench, "in/x", json_lines([{"pk": "a"}]))
    place(bench, "in/y", gzip.compress(json_lines([{"pk": "b"}]))[:-9])
    done = imported(bench, "in/", InputCompressionType=compression)
    assert (done["ImportStatus"], done["ErrorCount"]) == ("FAILED", 2)


@pytest.mark.parametrize("compression", ["GZIP", "ZSTD"])
@pytest.mark.parametrize("input_format", ["DYNAMODB_JSON", "ION", "CSV"])
def test_compressed_object_that_is_cut_short_is_an_error(bench: Bench, compression: str, input_format: str) -> None:
    lines = {
        "DYNAMODB_JSON": b'{"Item":{"pk":{"S":"%d"}}}\n',
        "ION": b'$ion_1_0 {Item:{pk:"%d"}}\n',
        "CSV": b"%d\n",
    }
    content = b"".join(lines[input_format] % number for number in range(500))
    packed = gzip.compress(content) if compression == "GZIP" else zstandard.compress(content)
    for number, size in enumerate((3, len(packed) // 2, len(packed) - 1)):
        place(bench, f"in/{number}", packed[:size])
    options = {"InputFormatOptions": {"Csv": {"HeaderList": ["pk"]}}} if input_format == "CSV" else {}
    done = imported(bench, "in/", input_format, InputCompressionType=compression, **options)
    assert (done["ImportStatus"], done["ErrorCount"]) == ("FAILED", 3)


def test_frames_of_zstd_are_read_to_the_end_of_the_last_one(bench: Bench) -> None:
    frames = [zstandard.compress(json_lines([{"pk": f"{number}.{n}"} for n in range(40)])) for number in range(3)]
    place(bench, "in/x", b"".join(frames))
    done = imported(bench, "in/", InputCompressionType="ZSTD")
    assert (done["ImportStatus"], done["ImportedItemCount"]) == ("COMPLETED", 120)


DAMAGED_ION = bytes.fromhex("e00100eaee9a8183de9687be938449")
"""Binary Ion that ends inside of its symbol table."""


@pytest.mark.parametrize("content", [b"\xe0\x01\x00\xea\xb6", DAMAGED_ION, b"\xe0\x01\x00\xea\xde\x8f\x8a"])
def test_binary_ion_that_is_cut_short_is_an_error(content: bytes) -> None:
    with pytest.raises(UnreadableObject):
        list(read_ion(BytesIO(content)))


@pytest.mark.parametrize("binary", [True, False])
def test_ion_is_read_as_text_and_binary(binary: bool) -> None:
    records = [{"Item": {"pk": "a", "v": 7, "long": "é" * 40_000}}, {"Item": {"pk": "b", "v": [b"\0", None]}}]
    written = simpleion.dumps(records, binary=binary, sequence_as_stream=True)
    stream = BytesIO(written if isinstance(written, bytes) else written.encode())
    assert list(read_ion(stream)) == [
        {"Item": {"pk": {"S": "a"}, "v": {"N": "7"}, "long": {"S": "é" * 40_000}}},
        {"Item": {"pk": {"S": "b"}, "v": {"L": [{"B": "AA=="}, {"NULL": True}]}}},
    ]


@pytest.mark.parametrize("export_format", ["DYNAMODB_JSON", "ION"])
@pytest.mark.parametrize(
    "value",
    [
        {"S": "é" * 200_000},
        {"S": "\x01" * 400_000},
        {"B": b64encode(bytes(400_000)).decode()},
        {"L": [{"S": ""}] * 150_000},
        {"L": [{"NULL": True}] * 150_000},
    ],
    ids=["text", "escapes", "bytes", "empty texts", "nulls"],
)
def test_largest_items_of_an_export_load(bench: Bench, export_format: str, value: Json) -> None:
    bench.table("notes", "pk:S")
    enable(bench)
    bench.ok("PutItem", TableName="notes", Item={"pk": {"S": "a"}, "v": value})
    data = export(bench, ExportFormat=export_format)["ExportManifest"].removesuffix("manifest-summary.json") + "data/"
    done = imported(bench, data, export_format, InputCompressionType="GZIP")
    assert (done["ImportStatus"], done["ImportedItemCount"]) == ("COMPLETED", 1)
    assert values(bench) == values(bench, "notes")


def test_prefix_is_a_prefix_of_keys_and_nothing_matches_is_an_empty_table(bench: Bench) -> None:
    place(bench, "data", json_lines([{"pk": "a"}]))
    place(bench, "data2/x", json_lines([{"pk": "b"}]))
    place(bench, "other/data", json_lines([{"pk": "c"}]))
    assert imported(bench, "data")["ImportedItemCount"] == 2
    bench.ok("DeleteTable", TableName="copy")
    assert imported(bench, "none/")["ImportStatus"] == "COMPLETED"
    assert values(bench) == {}


def test_missing_bucket_fails_the_import_and_leaves_no_table(bench: Bench) -> None:
    done = imported(bench, "in/", S3BucketSource={"S3Bucket": "nowhere"})
    assert (done["ImportStatus"], done["FailureCode"]) == ("FAILED", "S3NoSuchBucket")
    assert bench.error("DescribeTable", TableName="copy").startswith("ResourceNotFoundException")
    assert [each["ImportStatus"] for each in bench.ok("ListImports")["ImportSummaryList"]] == ["FAILED"]
    assert bench.ok("ListImports", TableArn=arn("other"))["ImportSummaryList"] == []


def test_invalid_imports_are_rejected(bench: Bench) -> None:
    def error(**more: object) -> str:
        source = {"S3Bucket": BUCKET, "S3KeyPrefix": "in/"}
        body: Json = {"S3BucketSource": source, "InputFormat": "CSV", "TableCreationParameters": creation()} | more
        return bench.error("ImportTable", **body)

    bench.table("notes", "pk:S")
    assert error(TableCreationParameters=creation("notes")) == "ResourceInUseException: Table already exists: notes"
    assert "Unsupported InputFormatOptions" in error(InputFormat="ION", InputFormatOptions={"Csv": {"Delimiter": ";"}})
    assert "'inputFormatOptions.csv.delimiter' failed" in error(InputFormatOptions={"Csv": {"Delimiter": ";;"}})
    assert "enum value set: [ZSTD, NONE, GZIP]" in error(InputCompressionType="BZIP2")
    assert error(S3BucketSource={"S3Bucket": BUCKET, "S3KeyPrefix": "../x"}).startswith("ValidationException")
    assert "must both be specified" in error(TableCreationParameters=creation() | {"BillingMode": "PROVISIONED"})
    assert bench.error("DescribeImport", ImportArn=arn("notes")) == "ValidationException: Invalid Import ARN"
    assert bench.error("DescribeImport", ImportArn=f"{arn('notes')}/import/01-a").startswith("ImportNotFoundException")
    source = {"S3Bucket": BUCKET}
    same = {"ClientToken": "t", "S3BucketSource": source, "InputFormat": "CSV"}
    first = bench.ok("ImportTable", **same, TableCreationParameters=creation())
    again = bench.ok("ImportTable", **same, TableCreationParameters=creation())
    assert again == first
    conflict = bench.error("ImportTable", **same, TableCreationParameters=creation("another"))
    assert conflict.startswith("ImportConflictException: Import conflict: Duplicate request detected")


VALUES = st.recursive(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"])).map(lambda text: {"S": text}),
        st.decimals(allow_nan=False, allow_infinity=False, places=3).map(lambda number: {"N": str(number)}),
        st.sampled_from([{"B": "AA=="}, {"BOOL": True}, {"NULL": True}, {"SS": ["", "$ion"]}, {"NS": ["1", "2E+5"]}]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda members: {"L": members}),
        st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), inner, max_size=3).map(
            lambda members: {"M": members}
        ),
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), VALUES, max_size=5))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_every_item_is_the_same_in_ion(item: Json) -> None:
    try:
        canonical, _ = checked_item(item)
    except DynamoDBError:
        return
    (record,) = read_ion(BytesIO(ion_line({"Item": canonical})))
    assert isinstance(record, dict)
    assert checked_item(record["Item"])[0] == canonical


@pytest.mark.parametrize("failing", ["database", "temporary files"])
def test_full_disk_loses_no_records_of_an_import(bench: Bench, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    monkeypatch.setattr(imports, "READ_RECORDS", 20)
    monkeypatch.setattr(index_fill, "ADDED_ROWS", 15)
    monkeypatch.setattr(row_sorter.RowSorter.__init__, "__defaults__", (None, 3000))
    items = [{"pk": f"{number:03}", "v": number} for number in range(100)]
    place(bench, "in/a.json", json_lines(items[:60]))
    place(bench, "in/b.json", json_lines(items[60:]))
    body = {"S3BucketSource": {"S3Bucket": BUCKET, "S3KeyPrefix": "in/"}, "InputFormat": "DYNAMODB_JSON"}
    started = bench.ok("ImportTable", **body, TableCreationParameters=creation())["ImportTableDescription"]
    if failing == "database":
        writer = bench.engine._writer
        monkeypatch.setattr(writer, "run", Failing(writer.run, StorageError("disk full"), (1, 4, 8, 9)))
    else:
        error = OSError(errno.ENOSPC, "No space left on device")
        monkeypatch.setattr(row_sorter, "pack_rows", Failing(pack_rows, error, (2, 5)))
    assert settle_with_failures(bench) > 0
    described = bench.ok("DescribeImport", ImportArn=started["ImportArn"])["ImportTableDescription"]
    assert (described["ImportStatus"], described["ProcessedItemCount"]) == ("COMPLETED", 100)
    assert values(bench) == {each["pk"]: plain(each) for each in items}


def test_folder_that_cannot_be_read_fails_an_import(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files were left out without an error."""
    place(bench, "in/a.json", json_lines([{"pk": "a"}]))
    place(bench, "in/more/b.json", json_lines([{"pk": "b"}]))
    scandir = os.scandir

    def scan(folder: str) -> Any:
        if str(folder).endswith("more"):
            raise PermissionError(errno.EACCES, "Permission denied", folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", scan)
    described = imported(bench, "in/")
    assert (described["ImportStatus"], described["FailureCode"]) == ("FAILED", "S3InternalError")
    assert "Permission denied" in described["FailureMessage"]
    assert bench.ok("ListTables")["TableNames"] == []
