"""`partita export data` and `partita import data`: tables of a design as files in DynamoDB's own layout."""

import re
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from partita.cli.backup import opened
from partita.cli.export import What, export
from partita.cli.options import Address, Flag
from partita.cli.progress import progress_line
from partita.cli.restore import Tables, chosen_tables
from partita.quantities import quantity

if TYPE_CHECKING:
    from partita.dynamodb.transfer_shapes import BulkOperationDescription, ImportTableDescription
    from partita.recovery.data_files import Place
    from partita.store.store import Store

import_command = App(name="import", help="Load what other tools have written.")

InputFormat = Literal["dynamodb-json", "ion", "csv"]
Compression = Literal["none", "gzip", "zstd"]
JSON = "dynamodb-json"
PlaceText = Annotated[str, Parameter(metavar="PLACE")]


@export.command(name="data")
def export_data(
    what: What,
    /,
    *,
    to: PlaceText,
    on: Address = "partita.db",
    at: datetime | None = None,
    since: datetime | None = None,
    ion: Flag = False,
    tables: Tables = (),
) -> None:
    """Export the items of a design's tables, with manifests and checksums, in the layout of DynamoDB's exports to S3.

    The tables need point-in-time recovery. They may be in use.

    Parameters
    ----------
    to
        Where the files go: a folder, which is created, or s3://BUCKET/PREFIX on Amazon and over HTTP; the server needs
        --buckets.
    on
        Where the data is: a file, http://HOST:PORT or dynamodb://REGION.
    at
        The second to export; the latest by default.
    since
        Export the changes from this second on only, up to --at.
    ion
        Write Amazon Ion in place of DynamoDB JSON.
    tables
        A table of the design; all by default. Can be given more than once.
    """
    from partita.recovery.data_files import export_table

    place, folder = _place(on, to, creates=True)
    with opened(what, on, buckets=folder) as db:
        for table in chosen_tables(db, tables):
            begun, name = time.monotonic(), db.table_name(table)
            with progress_line(f"exporting {name}") as progress:
                done = export_table(
                    db,
                    table,
                    place,
                    at=_zoned(at),
                    since=_zoned(since),
                    ion=ion,
                    progress=lambda items: progress(items, items),
                )
            where = _manifest_place(folder, place, done.export_manifest)
            print(f"{name}: {quantity(done.item_count or 0, 'item')} in {time.monotonic() - begun:.1f} s: {where}")


@import_command.command(name="data")
def import_data(
    what: What,
    /,
    *,
    source: Annotated[str, Parameter(name="--from", metavar="PLACE")],
    on: Address = "partita.db",
    input_format: Annotated[InputFormat, Parameter(name="--format")] = "dynamodb-json",
    compression: Compression | None = None,
    add: Flag = False,
    tables: Tables = (),
) -> None:
    """Import items into the tables of a design: an export, or other files of DynamoDB JSON, Ion or CSV.

    Each table is created, with the keys, indexes and settings of the design. A folder with exports is searched for the
    newest full export of each table, whose files are compared with their checksums first. Any other place is that of
    the files of one table.

    Parameters
    ----------
    source
        Where the files are: a folder, or s3://BUCKET/PREFIX on Amazon and over HTTP.
    on
        Where the data goes: a file, http://HOST:PORT or dynamodb://REGION.
    input_format
        The format of the files; that of an export is known.
    compression
        How the files are compressed; gzip for an export, and not at all for others, by default.
    add
        Put the items into tables that exist, in place of those with the same key. Not for CSV.
    tables
        A table of the design; all by default. Can be given more than once.
    """
    from partita.errors import ConfigurationError
    from partita.recovery.data_files import import_table, put_in_bulk
    from partita.recovery.export_folders import newest_exports

    place, folder = _place(on, source, creates=False)
    if add and input_format == "csv":
        raise ConfigurationError("--add puts DynamoDB JSON or Ion; an import of CSV creates its table")
    exports = {} if folder is None else newest_exports(Path(source).resolve())
    if folder is not None and not exports:
        _check_files(source)
    with opened(what, on, buckets=folder, creates=True) as db:
        chosen = chosen_tables(db, tables)
        if not exports and len(chosen) > 1:
            raise ConfigurationError("these files are of one table; name it with --table")
        for name in (db.table_name(table) for table in chosen) if exports else ():
            if name not in exports:
                raise ConfigurationError(f"{source} has no full export of {name}; name other tables with --table")
            exports[name].check()
        for table in chosen:
            name, begun = db.table_name(table), time.monotonic()
            where, kind, packed = place, str(input_format), compression or "none"
            if found := exports.get(name):
                prefix = found.data.relative_to(Path(source).resolve()).as_posix()
                where, kind, packed = type(place)(place.bucket, f"{prefix}/"), "ion" if found.is_ion else JSON, "gzip"
            load = put_in_bulk if add else import_table
            with progress_line(f"importing {name}") as progress:
                done = load(
                    db,
                    table,
                    where,
                    input_format=kind.upper().replace("-", "_"),
                    compression=packed.upper(),
                    progress=lambda items: progress(items, items),
                )
            print(f"{name}: {quantity(_count(db, name), 'item')} in {time.monotonic() - begun:.1f} s")
            _check_all_put(name, where, done)


def _check_files(source: str) -> None:
    """ConfigurationError for a folder without anything that could be imported; the table would be empty."""
    from partita.errors import ConfigurationError
    from partita.recovery.export_folders import has_exports

    if has_exports(Path(source).resolve()):
        raise ConfigurationError(f"{source} has incremental exports alone; an import begins with a full one")
    if not any(each.is_file() for each in Path(source).rglob("*")):
        raise ConfigurationError(f"{source} has no files")


def _check_all_put(name: str, where: "Place", done: "BulkOperationDescription | ImportTableDescription") -> None:
    """TransferFailed where records were not put; an import reports its own."""
    from partita.dynamodb.transfer_shapes import ImportTableDescription
    from partita.errors import TransferFailed

    if isinstance(done, ImportTableDescription) or not done.failed_item_count:
        return
    output = done.output_s3_configuration
    reports = f"{where.bucket}/{output.s3_key_prefix if output else ''}/AWSDynamoDB"
    failed = f"{done.failed_item_count:,} of {quantity(done.processed_item_count or 0, 'record')}"
    raise TransferFailed(done.bulk_operation_status or "", f"{name}: {failed} were not put; reported in {reports}")


def _count(db: "Store", table: str) -> int:
    from partita.recovery.restore_duration import size_of_table
    from partita.recovery.restoring import describe

    return size_of_table(describe(db.backend, table)).items


def _zoned(moment: datetime | None) -> datetime | None:
    return moment if moment is None or moment.tzinfo is not None else moment.astimezone()


def _place(address: str, text: str, *, creates: bool) -> "tuple[Place, Path | None]":
    """The bucket that a text names, and for a folder on this machine the folder that it is in."""
    from partita.errors import ConfigurationError
    from partita.recovery.data_files import Place

    if text.startswith("s3://"):
        if "://" not in address:
            raise ConfigurationError(f"{text}: a database file has folders in place of buckets; name a folder")
        bucket, _, prefix = text.removeprefix("s3://").partition("/")
        return Place(bucket, prefix or None), None
    if "://" in address:
        raise ConfigurationError(f"{text}: over HTTP the files are where the server is; write s3://BUCKET/PREFIX")
    folder = Path(text).resolve()
    if not re.fullmatch(r"[a-zA-Z0-9][.\-\w]*[a-zA-Z0-9]", folder.name, re.ASCII):
        raise ConfigurationError(
            f"{text}: the folder takes the place of a bucket: its name needs two or more letters and digits, "
            "with '.', '-' and '_' between them"
        )
    if creates:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(f"{text}: the folder cannot be created: {error.strerror}") from None
    if not folder.is_dir():
        raise ConfigurationError(f"{text}: no such folder")
    return Place(folder.name), folder.parent


def _manifest_place(folder: Path | None, place: "Place", manifest: str | None) -> str:
    return f"s3://{place.bucket}/{manifest}" if folder is None else str(folder / place.bucket / (manifest or ""))
