"""Exports and imports against Scan and BatchWriteItem: the same items on the same file, one after the other.

`python -m bench.transfers` runs it alone; `--quick` takes 100,000 items in place of a million.
"""

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from bench import workload
from bench.embedded import fill
from bench.engines import scratch
from bench.recovery import ON
from bench.report import Section, Target, alone, table
from partita import connect
from partita.dynamodb.requests import Scan
from partita.dynamodb.transfer_shapes import (
    DescribeExport,
    DescribeImport,
    ExportTableToPointInTime,
    ImportTable,
    S3BucketSource,
    TableCreationParameters,
)
from partita.engine.engine import Engine

SHARE = 0.5  # of the rate of Scan, and of BatchWriteItem
COPY = "imported"
BUCKET = "bench-data"


def rates(folder: Path, items: int) -> dict[str, float]:
    """Items a second of each, power-safe."""
    (folder / BUCKET).mkdir()
    found: dict[str, float] = {}
    with connect(folder / "transfers.db", buckets=folder) as backend:
        found["BatchWriteItem"] = items / _seconds(lambda: fill(backend, items))
        backend.call(ON)
        found["Scan"] = items / _seconds(lambda: _scan(backend, items))
        manifest: list[str] = []
        found["export"] = items / _seconds(lambda: manifest.append(_export(backend, items)))
        prefix = manifest[0].removesuffix("manifest-summary.json") + "data/"
        found["import"] = items / _seconds(lambda: _import(backend, prefix, items))
    return found


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _scan(backend: Engine, items: int) -> None:
    start, count = None, 0
    while True:
        page = backend.call(Scan(table_name=workload.TABLE_NAME, exclusive_start_key=start))
        count += len(page.items or ())
        if page.last_evaluated_key is None:
            break
        start = msgspec.json.decode(page.last_evaluated_key)
    assert count == items


def _export(backend: Engine, items: int) -> str:
    started = backend.call(ExportTableToPointInTime(table_arn=workload.TABLE_NAME, s3_bucket=BUCKET)).export_description
    assert started is not None
    while True:
        time.sleep(0.02)
        found = backend.call(DescribeExport(export_arn=started.export_arn)).export_description
        assert found is not None
        if found.export_status != "IN_PROGRESS":
            break
    if found.export_status != "COMPLETED" or found.item_count != items:
        raise RuntimeError(f"the export ended with {found}")
    return found.export_manifest or ""


def _import(backend: Engine, prefix: str, items: int) -> None:
    parameters = msgspec.convert(workload.TABLE, TableCreationParameters)
    parameters.table_name = COPY
    started = backend.call(
        ImportTable(
            s3_bucket_source=S3BucketSource(s3_bucket=BUCKET, s3_key_prefix=prefix),
            input_format="DYNAMODB_JSON",
            input_compression_type="GZIP",
            table_creation_parameters=parameters,
        )
    ).import_table_description
    assert started is not None
    while True:
        time.sleep(0.02)
        found = backend.call(DescribeImport(import_arn=started.import_arn)).import_table_description
        assert found is not None
        if found.import_status != "IN_PROGRESS":
            break
    if found.import_status != "COMPLETED" or found.imported_item_count != items:
        raise RuntimeError(f"the import ended with {found}")


def measure(quick: bool) -> Section:
    """An export and an import of a million items beside the operations that read and write them."""
    items = 100_000 if quick else 1_000_000
    with scratch() as folder:
        found = rates(folder, items)
    rows = [
        [one, f"{found[one]:,.0f}", other, f"{found[other]:,.0f}", f"{found[one] / found[other]:.2f}"]
        for one, other in (("export", "Scan"), ("import", "BatchWriteItem"))
    ]
    text = (
        table(["", "items a second", "against", "items a second", "ratio"], rows)
        + f"\n\n{items:,} items of about 600 bytes, with one index that projects all, on a file that survives a loss "
        "of power, from one thread. An export compresses and writes what Scan only reads."
    )
    targets = [
        Target("export of many items", found["export"] / found["Scan"], SHARE, "of the rate of Scan"),
        Target("import of many items", found["import"] / found["BatchWriteItem"], SHARE, "of that of BatchWriteItem"),
    ]
    return Section("Exports and imports", text, targets)


if __name__ == "__main__":
    alone(measure)
