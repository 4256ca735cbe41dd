"""Helpers for tests of exports, imports and bulk puts: a bench with a bucket, and readers of what is in it."""

import gzip
import json
from base64 import b64encode
from hashlib import md5
from pathlib import Path
from typing import Any

from tests.engine.shorthand import Json
from tests.engine.tables import Bench

BUCKET = "team-data"


def bench_with_bucket(folder: Path, address: str = "memory:") -> Bench:
    (folder / "buckets" / BUCKET).mkdir(parents=True)
    return Bench(address, buckets=folder / "buckets")


def bucket_of(bench: Bench) -> Path:
    assert bench.buckets is not None
    return bench.buckets / BUCKET


def arn(table: str) -> str:
    return f"arn:aws:dynamodb:us-east-1:000000000000:table/{table}"


def export(bench: Bench, table: str = "notes", **more: Any) -> Json:
    """Exports a table and returns the description at the end."""
    started = bench.ok("ExportTableToPointInTime", TableArn=arn(table), S3Bucket=BUCKET, **more)["ExportDescription"]
    bench.settle()
    described: Json = bench.ok("DescribeExport", ExportArn=started["ExportArn"])["ExportDescription"]
    return described


def exported_lines(bench: Bench, described: Json) -> list[Json]:
    """The lines of all data files, after their manifests and checksums are compared with them."""
    bucket = bucket_of(bench)
    summary = json.loads((bucket / described["ExportManifest"]).read_bytes())
    for key in (described["ExportManifest"], summary["manifestFilesS3Key"]):
        assert (bucket / key).with_suffix(".md5").read_text() == _md5(bucket / key)
    found: list[Json] = []
    for line in (bucket / summary["manifestFilesS3Key"]).read_text().splitlines():
        entry = json.loads(line)
        path = bucket / entry["dataFileS3Key"]
        lines = [json.loads(each) for each in gzip.decompress(path.read_bytes()).splitlines()]
        assert entry["md5Checksum"] == _md5(path)
        assert entry["itemCount"] == len(lines)
        found += lines
    assert summary["itemCount"] == len(found) == described["ItemCount"]
    return found


def _md5(path: Path) -> str:
    return b64encode(md5(path.read_bytes(), usedforsecurity=False).digest()).decode()


def creation(table: str = "copy", **more: Any) -> Json:
    return {
        "TableName": table,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
        **more,
    }


def imported(bench: Bench, prefix: str, input_format: str = "DYNAMODB_JSON", **more: Any) -> Json:
    """Imports a table and returns the description at the end."""
    body = {
        "S3BucketSource": {"S3Bucket": BUCKET, "S3KeyPrefix": prefix},
        "InputFormat": input_format,
        "TableCreationParameters": creation(),
        **more,
    }
    started = bench.ok("ImportTable", **body)["ImportTableDescription"]
    assert started["ImportStatus"] == "IN_PROGRESS"
    bench.settle()
    described: Json = bench.ok("DescribeImport", ImportArn=started["ImportArn"])["ImportTableDescription"]
    return described
