"""Exports: background work that writes a table, or its changes in a window, into the objects of a bucket.

    full          the snapshot of the table, with the changes after the target second undone, as for a restore
    incremental   1  changes from the end of the window on are undone: the items as they were at its end
                  2  changes of the window: the oldest old image of each item, in a space of their own
                  3  each item of that space: its image before the window, and at its end

Data files are written outside of the writer: rows are read as of one state, compressed, and written, while those of the
next file are read; then one short transaction adds the file to the export and moves the mark. A file whose transaction
does not come is not in a manifest, and is deleted: by this process, or, if it was killed, at the end of a full export.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from partita.dynamodb.exceptions import ExportNotFoundException, ValidationException
from partita.dynamodb.transfer_shapes import ExportTableToPointInTime
from partita.dynamodb.values import Item
from partita.engine.buckets import BucketMissing
from partita.engine.catalog import SPACE
from partita.engine.context import EngineContext
from partita.engine.export_files import DataFile, ExportFiles, timestamp
from partita.engine.export_filters import ExportFilter
from partita.engine.gzip_blocks import GzipBlocks, give_way
from partita.engine.history import recovery_newest_first
from partita.engine.ion_text import ion_line
from partita.engine.key_encoding import prefix_end
from partita.engine.restore_steps import undo_changes
from partita.engine.schema import SnapshotRecord, StoredTable
from partita.engine.snapshots import after, next_values, snapshot_of, with_mark
from partita.engine.transfers import TransferRecord, Transfers
from partita.engine.write import decode_item
from partita.engine.writer import Writer
from partita.storage.contract import Reader, Row, StorageTransaction, Write

FILE_ROWS = 50_000
FILE_BYTES = 16_000_000
STEP_FILES = 12  # of a step
FIRST_ROWS, BLOCK_ROWS = 16, 1024  # of the first block, and of later ones at most
BLOCK_BYTES = 1_000_000
MAX_CHANGES, MAX_CHANGE_BYTES = 2000, 4_000_000  # in one transaction
_FILES = b"\0export-file/"
_encode = msgspec.json.encode
_decode_file = msgspec.json.Decoder(DataFile).decode


class ExportRecord(TransferRecord, kw_only=True, frozen=True):
    """The record of an export; its spaces are those of a snapshot, and of the changes of a window."""

    request: ExportTableToPointInTime
    at: float  # the end: the state of this second, or just before it
    since: float | None = None  # the beginning of the window of an incremental export
    saved: str | None = None
    changed: str | None = None
    undo_below: int | None = None
    collect_below: int | None = None
    copied_to: str = ""
    has_begun: bool = False
    files: int = 0

    @property
    def is_incremental(self) -> bool:
        return self.since is not None


EXPORTS = Transfers("export", ExportRecord, ExportNotFoundException)


def files_of(context: EngineContext, export: ExportRecord) -> ExportFiles:
    request = export.request
    return ExportFiles(context.buckets, request.s3_bucket or "", request.s3_prefix, export.id)


class _FilePart(NamedTuple):
    """What one data file has: the number of its lines, the size of what was read, and the mark; None at the end."""

    items: int
    size: int
    reached: bytes | None


class _NewFile(NamedTuple):
    """A data file that a thread writes (None: there are no lines), the size of what was read, and the mark."""

    file: Future[DataFile] | None
    size: int
    reached: bytes | None

    @property
    def is_last(self) -> bool:
        return self.reached is None


class ExportWork:
    """The next step of one export."""

    def __init__(self, context: EngineContext, writer: Writer, export: ExportRecord, table: StoredTable) -> None:
        self._context = context
        self._writer = writer
        self._export = export
        self._table = table
        self._files = files_of(context, export)

    def step(self) -> bool:
        """Does one step; true if there is more. An export that cannot go on ends as FAILED."""
        try:
            if not self._export.has_begun:
                self._files.start()
                return bool(self._writer.run(self._begin))
            if self._export.undo_below is not None:
                return bool(self._writer.run(self._undo))
            if self._export.collect_below is not None:
                return bool(self._writer.run(self._collect))
            return self._write_files()
        except BucketMissing:
            return self._end(("S3NoSuchBucket", "The specified bucket does not exist"))
        except (OSError, ValidationException) as error:
            return self._end(("S3InternalError", str(error)))

    def _is_outdated(self, txn: StorageTransaction) -> bool:
        """Whether another process has gone on with the export."""
        return EXPORTS.find(txn, self._export.id) != self._export

    def _begin(self, txn: StorageTransaction) -> bool:
        if not self._is_outdated(txn):
            EXPORTS.save(txn, replace(self._export, has_begun=True))
        return True

    def _source(self) -> StoredTable:
        return self._context.write_catalog.tables[self._export.table]

    def _undo(self, txn: StorageTransaction) -> bool:
        export = self._export
        if not self._is_outdated(txn):
            below, saved = export.undo_below or 0, export.saved or ""
            reached = undo_changes(txn, self._source(), saved, below, export.at, is_exclusive=export.is_incremental)
            EXPORTS.save(txn, replace(export, undo_below=reached))
        return True

    def _collect(self, txn: StorageTransaction) -> bool:
        """Adds the oldest images of some changes of the window, newest first, with the time of the newest change."""
        export = self._export
        if self._is_outdated(txn):
            return True
        found: dict[bytes, tuple[float, Row | None]] = {}
        size = 0
        reached: int | None = None
        for count, (number, undo) in enumerate(
            recovery_newest_first(txn, self._source(), export.collect_below or 0), 1
        ):
            if undo.at < (export.since or 0.0):
                break
            if undo.at < export.at:
                newest = found.get(undo.storage_key, (undo.at, None))[0]
                found[undo.storage_key] = (newest, undo.old)
            size += len(undo.old.value) if undo.old else 0
            if count == MAX_CHANGES or size > MAX_CHANGE_BYTES:
                reached = number
                break
        txn.apply(_changed_write(txn, export.changed or "", key, *found[key]) for key in sorted(found))
        EXPORTS.save(txn, replace(export, collect_below=reached))
        return True

    def _write_files(self) -> bool:
        """Writes some data files, each in a thread while the rows of the next one are read; true if there is more."""
        pending: deque[_NewFile] = deque()
        copied_to, is_first = self._export.copied_to, not self._export.files
        with ThreadPoolExecutor(1, "partita-export", give_way) as thread, ExitStack() as opened:
            opened.callback(self._delete, pending)  # after an error, or where another process has gone on with it
            for left in reversed(range(STEP_FILES)):
                new = self._read_file(thread, copied_to, is_first)
                pending.append(new)
                while pending and (len(pending) == 2 or new.is_last or not left):
                    oldest = pending.popleft()
                    if not self._add(oldest):
                        pending.append(oldest)
                        return True
                if new.reached is None:
                    return False
                copied_to, is_first = new.reached.hex(), is_first and new.file is None
        return True

    def _read_file(self, thread: ThreadPoolExecutor, copied_to: str, is_first: bool) -> "_NewFile":
        """Reads the rows of the next data file, which the thread writes."""
        with ExitStack() as opened:
            blocks = opened.enter_context(GzipBlocks())
            with self._context.storage.snapshot() as reader:
                read = self._read_changes if self._export.is_incremental else self._read
                items, size, reached = read(reader, blocks, copied_to)
            if not items and not (reached is None and is_first):  # at least one file, even if it is empty
                return _NewFile(None, size, reached)
            return _NewFile(thread.submit(self._write_file, opened.pop_all(), blocks, items), size, reached)

    def _write_file(self, opened: ExitStack, blocks: GzipBlocks, items: int) -> DataFile:
        with opened:
            ion = self._export.request.export_format == "ION"
            return self._files.write_data(blocks.content(), items, ion=ion, incremental=self._export.is_incremental)

    def _add(self, new: "_NewFile") -> bool:
        """Adds a file to the export, once it is written; false where another process has gone on with it."""
        file = None if new.file is None else new.file.result()
        try:
            moved = self._writer.run(lambda txn: self._add_file(txn, file, new.size, new.reached))
        except (OSError, BucketMissing, ValidationException):  # of the manifests: the transaction has not come
            self._delete([new])
            raise
        if moved is not None:
            self._export = moved
        return moved is not None

    def _delete(self, files: "Iterable[_NewFile]") -> None:
        for each in files:
            if each.file is not None:
                with suppress(OSError, BucketMissing, ValidationException):
                    self._files.delete_data(each.file.result())

    def _add_file(
        self, txn: StorageTransaction, file: DataFile | None, size: int, reached: bytes | None
    ) -> ExportRecord | None:
        export = self._export
        if self._is_outdated(txn):
            return None
        moved = replace(export, size=export.size + size)
        if file is not None:
            txn.apply([Write(SPACE, _file_key(export.id, export.files), None, Row(0, _encode(file)))])
            moved = replace(moved, files=export.files + 1, processed=export.processed + file.item_count)
        if reached is not None and not export.is_incremental:
            table = self._source().record
            moving = with_mark(table, snapshot_of(table, export.saved), reached)
            self._context.write_catalog.save(txn, moving, table)
        moved = replace(moved, copied_to="" if reached is None else reached.hex())
        if reached is None:
            moved = self._finish(txn, moved)
        EXPORTS.save(txn, moved)
        return moved

    def _read(self, reader: Reader, blocks: GzipBlocks, copied_to: str) -> "_FilePart":
        """Adds the items of the next data file, block by block."""
        export = self._export
        kept = ExportFilter(export.request.filter_specification, self._table)
        ion = export.request.export_format == "ION"
        snapshot = SnapshotRecord(saved=export.saved or "", copied_to=copied_to)
        items = size = rows = length = 0
        most = FIRST_ROWS
        while rows < FILE_ROWS and length < FILE_BYTES:
            values, weight, reached = next_values(reader, self._table, snapshot, min(most, FILE_ROWS - rows))
            block, count = _item_lines(values, kept, ion)
            blocks.add(block)
            items, size, rows = items + count, size + weight, rows + len(values)
            if reached is None:
                return _FilePart(items, size, None)
            read = sum(map(len, values))
            length += read
            most = max(1, min(BLOCK_ROWS, BLOCK_BYTES * len(values) // max(1, read)))  # large items in small blocks
            snapshot = replace(snapshot, copied_to=reached.hex())
        return _FilePart(items, size, reached)

    def _read_changes(self, reader: Reader, blocks: GzipBlocks, copied_to: str) -> "_FilePart":
        """Adds the changes of the next data file of a window, block by block."""
        kept = ExportFilter(self._export.request.filter_specification, self._table)
        changes = reader.range(self._export.changed or "", after(copied_to), None)
        lines: list[bytes] = []
        items = size = length = block = 0
        reached: bytes | None = None
        for rows, (key, weight, value) in enumerate(changes, 1):
            image = self._image(reader, key)
            line = self._change_line(_decode_change(value), image, kept)
            if line is not None:
                lines.append(line)
                items += 1
            size, length, block = size + weight, length + len(value) + len(image), block + len(value) + len(image)
            if block >= BLOCK_BYTES:
                blocks.add(b"".join(lines))
                lines, block = [], 0
            if rows == FILE_ROWS or length >= FILE_BYTES:
                reached = key
                break
        blocks.add(b"".join(lines))
        return _FilePart(items, size, reached)

    def _image(self, reader: Reader, key: bytes) -> bytes:
        """The item at the end of the window; empty where there is none."""
        saved = reader.get(self._export.saved or "", key)
        row = reader.get(self._table.space, key) if saved is None else saved
        return row.value if row else b""

    def _change_line(self, change: "WindowChange", image: bytes, kept: ExportFilter) -> bytes | None:
        """The line of an item that was changed; None where it is not in the export."""
        spec = self._export.request.incremental_export_specification
        with_old = spec is None or spec.export_view_type != "NEW_IMAGE"
        old = decode_item(change.old) if change.old else None
        new = decode_item(image) if image else None
        if old is None and new is None:
            return None  # inserted and deleted in the window
        keys = self._table.keys.key_of(new or old or {})
        old, new = kept.image(old), kept.image(new)
        if old is None and new is None:
            return None
        written = {"WriteTimestampMicros": {"N": str(round(change.at * 1_000_000))}}
        members: dict[str, Item] = {"Metadata": written, "Keys": keys}
        if with_old and old is not None:
            members["OldImage"] = old
        if new is not None:
            members["NewImage"] = new
        return ion_line(members) if self._export.request.export_format == "ION" else _encode(members) + b"\n"

    def _finish(self, txn: StorageTransaction, export: ExportRecord) -> ExportRecord:
        """Writes the manifests, and drops what the export needed in the database."""
        done = replace(export, status="COMPLETED", ended=self._context.clock())
        files = _drop_files(txn, export)
        if not export.is_incremental:  # the others share a folder
            self._files.delete_unnamed_data(files)
        self._files.write_manifests(files, self._summary(done))
        release(self._context, txn, export)
        return replace(done, saved=None, changed=None)

    def _summary(self, export: ExportRecord) -> dict[str, Any]:
        request = export.request
        spec = request.incremental_export_specification
        times: dict[str, Any] = {"exportTime": timestamp(export.at)}
        if export.since is not None:
            times = {"exportFromTime": timestamp(export.since), "exportToTime": timestamp(export.at)}
        summary = {
            "version": "2023-08-01" if export.is_incremental else "2020-06-30",
            "exportArn": EXPORTS.arn(self._context, export),
            "startTime": timestamp(export.started),
            "endTime": timestamp(export.ended or export.started),
            "tableArn": self._context.table_arn(export.table),
            "tableId": export.table_id,
            **times,
            "s3Bucket": request.s3_bucket,
            "s3Prefix": request.s3_prefix,
            "s3SseAlgorithm": request.s3_sse_algorithm or "AES256",
            "s3SseKmsKeyId": None,
            "manifestFilesS3Key": self._files.files_key,
            "billedSizeBytes": export.size,
            "itemCount": export.processed,
            "outputFormat": request.export_format or "DYNAMODB_JSON",
        }
        if export.is_incremental:
            summary["outputView"] = (spec.export_view_type if spec else None) or "NEW_AND_OLD_IMAGES"
        return summary | {"exportType": "INCREMENTAL_EXPORT" if export.is_incremental else "FULL_EXPORT"}

    def _end(self, failure: tuple[str, str]) -> bool:
        self._writer.run(lambda txn: fail_export(self._context, self._export, failure, txn))
        return False


class WindowChange(msgspec.Struct, array_like=True, frozen=True):
    """A row of the changes of a window: the time of the newest change, and the image before the oldest."""

    at: float
    old: bytes


_decode_change = msgspec.msgpack.Decoder(WindowChange).decode


def _changed_write(txn: StorageTransaction, space: str, key: bytes, at: float, old: Row | None) -> Write:
    before = txn.get(space, key)
    newest = at if before is None else _decode_change(before.value).at
    row = msgspec.msgpack.encode(WindowChange(newest, old.value if old else b""))
    return Write(space, key, before, Row(old.weight if old else 0, row))


def _item_lines(values: Sequence[bytes], kept: ExportFilter, ion: bool) -> tuple[bytes, int]:
    """The lines of some items, and their number."""
    if not ion and kept.is_empty:
        return _lines_of(values), len(values)
    found = (kept.image(decode_item(each)) for each in values)
    items = [item for item in found if item is not None]
    if ion:
        return b"".join(ion_line({"Item": item}) for item in items), len(items)
    return _lines_of([_encode(item) for item in items]), len(items)


def _lines_of(items: Sequence[bytes]) -> bytes:
    return b'{"Item":' + b'}\n{"Item":'.join(items) + b"}\n" if items else b""


def _file_key(export_id: str, number: int) -> bytes:
    return _FILES + f"{export_id}/{number:08d}".encode()


def release(context: EngineContext, txn: StorageTransaction, export: ExportRecord) -> None:
    """Ends the snapshot of an export, and drops its spaces."""
    table = context.write_catalog.tables.get(export.table)
    if table is not None:
        kept = [each for each in table.record.snapshots if each.export != export.id]
        context.write_catalog.save(txn, replace(table.record, snapshots=kept), table.record)
    if export.changed is not None:
        txn.drop_space(export.changed)


def fail_export(
    context: EngineContext, export: ExportRecord, failure: tuple[str, str], txn: StorageTransaction
) -> None:
    """Ends an export that cannot go on."""
    found = EXPORTS.find(txn, export.id)
    if found is None or not found.is_running:
        return
    written = _drop_files(txn, found)
    release(context, txn, found)
    ended = replace(found, status="FAILED", failure=failure, ended=context.clock(), saved=None, changed=None)
    EXPORTS.save(txn, ended)
    files = files_of(context, found)
    for file in written:
        with suppress(OSError, BucketMissing, ValidationException):
            files.delete_data(file)
    with suppress(OSError, BucketMissing, ValidationException):
        files.delete_manifests()
    if not found.is_incremental:
        with suppress(OSError, BucketMissing, ValidationException):
            files.delete_unnamed_data([])


def _drop_files(txn: StorageTransaction, export: ExportRecord) -> list[DataFile]:
    """The files of an export, which are dropped from the catalogue."""
    prefix = _FILES + export.id.encode() + b"/"
    rows = list(txn.range(SPACE, prefix, prefix_end(prefix)))
    txn.apply(Write(SPACE, key, Row(weight, value), None) for key, weight, value in rows)
    return [_decode_file(value) for _, _, value in rows]
