"""Background work: deletes expired items, trims and indexes change records, fills new indexes, restores tables.

All of it goes through the writer like any other write, in batches small enough not to delay other writes. A thread
calls `step` while there is work; tests call it themselves.
"""

import threading
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from partita.dynamodb.limits import ITERATOR_SECONDS, STREAM_RETENTION_SECONDS, TOKEN_SECONDS
from partita.engine.backfill import fill, is_unfinished
from partita.engine.catalog import TOKENS
from partita.engine.change_log import last_number, moved_marks, number_key, oldest_number
from partita.engine.context import EngineContext
from partita.engine.expiry import due_range, second_of
from partita.engine.history import DAY, archive, is_due
from partita.engine.history_index import HistoryIndexing
from partita.engine.schema import SnapshotRecord, StoredStream, StoredTable, TableRecord
from partita.engine.table_backups import backup_step, backups, drop_expired_backups, fail_backup
from partita.engine.transfer_work import TransferWork, done_each
from partita.engine.transfers import has_records
from partita.engine.vector_indexes import LOG_RECORDS, StoredVectorIndex, outdated_records
from partita.engine.write import load_version, writes_for
from partita.engine.writer import Writer
from partita.errors import CorruptRow, PartitaError, SpaceMissing
from partita.storage.contract import Reader, Row, StorageTransaction, Write

if TYPE_CHECKING:
    import logging

BATCH = 200
SECONDS_BETWEEN = 1.0
REST_SECONDS = 30.0  # between two steps while nothing is committed, and no item expires
BACKUP_SECONDS = 600.0  # between two looks at the backups of deleted tables
_KEEP = STREAM_RETENTION_SECONDS + ITERATOR_SECONDS  # as long as an iterator may point at a record
_decode = msgspec.json.decode
_encode = msgspec.json.encode


class Maintenance:
    """The background work of one engine."""

    def __init__(self, context: EngineContext, writer: Writer) -> None:
        self._context = context
        self._writer = writer
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._failure: str | None = None
        self._tokens_from = b""
        self._tokens_due = 0.0
        self._backups_due = 0.0
        self._transfers = TransferWork(context, writer)
        self._history_indexing = HistoryIndexing(context, writer)

    def step(self) -> bool:
        """Does one batch of each kind of work; true when more of it is due.

        Work that fails unexpectedly does not keep the rest waiting: its error is raised at the end.
        """
        self._context.catalog.refresh()
        tables = list(self._context.catalog.tables.values())
        work = [partial(self._work_on, table) for table in tables]
        return done_each([*work, self._transfers.step, self._drop_logs, self._drop_backups, self._drop_tokens])

    def _work_on(self, table: StoredTable) -> bool:
        """Does one batch of each kind of work of one table."""
        more = False
        if is_unfinished(table):
            more |= self._writer.run(partial(fill, self._context, table.name))
        for snapshot in table.record.snapshots:
            if snapshot.backup is not None:
                more |= self._back_up(table.name, snapshot)
            elif snapshot.export is not None:
                more |= self._transfers.export(table, snapshot.export)
        if _has_expired_items(self._context.storage, table, self._context.clock()):
            more |= self._writer.run(partial(expire, self._context, table.name))
        if is_due(self._context.storage, table, self._context.clock()):
            more |= self._writer.run(partial(archive, self._context, table.name))
        more |= self._index_history(table)
        if _needs_trim(self._context.storage, table, self._context.clock()):
            more |= self._writer.run(partial(trim, self._context, table.name))
        if any(_is_long(self._context.storage, index) for index in table.vector_indexes.values()):
            more |= self._writer.run(partial(trim_vector_logs, self._context, table.name))
        return more

    def _back_up(self, name: str, snapshot: SnapshotRecord) -> bool:
        try:
            return bool(self._writer.run(partial(backup_step, self._context, name, snapshot)))
        except CorruptRow as error:
            self._writer.run(partial(fail_backup, self._context, name, snapshot))
            _log().error("the backup of %s failed, and is dropped: %s", name, error)
            return False

    def _index_history(self, table: StoredTable) -> bool:
        try:
            return self._history_indexing.step(table)
        except (SpaceMissing, CorruptRow):  # another process has just dropped it, or `verify` reports it
            return False

    def _drop_logs(self) -> bool:
        if self._context.catalog.deleted:
            self._writer.run(partial(drop_deleted_logs, self._context))
        return False

    def _drop_backups(self) -> bool:
        """Looks for backups that have expired, now and then."""
        now = self._context.clock()
        if not self._backups_due - BACKUP_SECONDS <= now < self._backups_due:
            self._backups_due = now + BACKUP_SECONDS
            if any(each.expires is not None for each in backups(self._context.storage)):
                self._writer.run(partial(drop_expired_backups, self._context))
            self._transfers.drop_old()
        return False

    def _drop_tokens(self) -> bool:
        """Drops one batch of tokens. They are not sorted by time, so all are read, and then none for a while."""
        now = self._context.clock()
        if now < self._tokens_due:
            return False
        self._tokens_from = self._writer.run(partial(drop_tokens, self._context, self._tokens_from))
        if not self._tokens_from:
            self._tokens_due = now + TOKEN_SECONDS / 2
        return bool(self._tokens_from)

    def is_needed(self) -> bool:
        """Whether there is any background work."""
        catalog, storage = self._context.catalog, self._context.storage
        return (
            bool(catalog.deleted or catalog.restoring)
            or any(_needs(table.record) for table in catalog.tables.values())
            or _has_rows(storage, TOKENS)
            or any(each.expires is not None for each in backups(storage))
            or has_records(storage, "bulk-operation")
            or any(_has_rows(storage, table.record.changes) for table in catalog.tables.values())
        )

    @property
    def is_running(self) -> bool:
        return self._thread is not None

    def start(self) -> None:
        """Starts the thread, unless it runs already."""
        with self._lock:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._work, name="partita-maintenance", daemon=True)
                self._thread.start()

    def wake(self) -> None:
        """Has the thread look for work at once."""
        self._wake.set()

    def stop(self) -> None:
        self._stop.set()
        self._wake.set()
        if self._thread is not None and self._thread.is_alive():  # an interrupt may come before its start
            self._thread.join()
        self._transfers.close()

    def after_fork(self) -> None:
        self._lock = threading.Lock()
        self._stop.set()
        self._thread = None

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                version = self._context.storage.version()
                has_more = self.step()
                self._failure = None
                if not has_more:
                    self._rest(version)
            except PartitaError as error:  # a busy or full disk; the next round tries again
                self._report(error)
                self._wake.wait(SECONDS_BETWEEN)
            except BaseException:  # noqa: BLE001 - it is logged, and nothing may end the thread
                _log().exception("background work failed; it is tried again")
                self._wake.wait(SECONDS_BETWEEN)
            self._wake.clear()

    def _report(self, error: PartitaError) -> None:
        """Logs a failure once, until the work succeeds or fails otherwise: an export or a restore waits for it."""
        if str(error) != self._failure and not self._stop.is_set():
            _log().warning("background work waits, and is tried again: %s", error)
        self._failure = str(error)

    def _rest(self, version: int) -> None:
        """Waits for a second, and on while nothing is committed and nothing is due."""
        begun = self._context.clock()
        until = min(begun + REST_SECONDS, self._next_expiry(begun))
        while not self._wake.wait(SECONDS_BETWEEN):
            now = self._context.clock()  # which may be set back, too
            if not begun <= now < until or self._context.storage.version() != version:
                return

    def _next_expiry(self, now: float) -> float:
        """When the next item expires; infinite if none does."""
        spaces = [each.record.ttl_space for each in list(self._context.catalog.tables.values())]
        low, _ = due_range(now)
        first = (next(iter(self._context.storage.range(each, low, None)), None) for each in spaces if each is not None)
        return min((float(second_of(row[0])) for row in first if row is not None), default=float("inf"))


def _log() -> "logging.Logger":
    """Imported when it is needed: a short program does not need it."""
    import logging

    return logging.getLogger("partita.engine")


def _has_rows(reader: Reader, space: str) -> bool:
    try:
        return reader.totals(space).rows > 0
    except SpaceMissing:  # another process has just dropped it
        return False


def _needs(record: TableRecord) -> bool:
    return bool(
        record.ttl_space or record.streams or record.vector_indexes or record.recovery or record.snapshots
    ) or any(each.backfilled_to is not None for each in record.indexes)


def _has_expired_items(reader: Reader, table: StoredTable, now: float) -> bool:
    if table.record.ttl_space is None:
        return False
    try:
        return next(iter(reader.range(table.record.ttl_space, *due_range(now))), None) is not None
    except SpaceMissing:  # another process has just dropped it
        return False


def expire(context: EngineContext, name: str, txn: StorageTransaction) -> bool:
    """Deletes a batch of expired items, with their index rows and change records."""
    table = context.write_catalog.tables.get(name)
    if table is None or table.record.ttl_space is None:
        return False
    now = context.clock()
    low, high = due_range(now)
    due: list[bytes] = []
    for key, _, _ in txn.range(table.record.ttl_space, low, high):
        due.append(key[8:])
        if len(due) == BATCH:
            break
    for storage_key in due:
        before = load_version(txn, table, storage_key)
        if before is not None:
            writes, _ = writes_for(txn, table, storage_key, before, None, now, expired=True)
            txn.apply(writes)
    return len(due) == BATCH


def trim(context: EngineContext, name: str, txn: StorageTransaction) -> bool:
    """Drops change records that streams do not need any more."""
    table = context.write_catalog.tables.get(name)
    if table is None:
        return False
    trimmed = _trimmed(txn, table, context.clock())
    txn.apply(Write(table.record.changes, key, row, None) for key, row in trimmed.old)
    if trimmed.record != table.record:
        context.write_catalog.save(txn, trimmed.record, table.record)
    return trimmed.has_more


class _Trimmed(NamedTuple):
    """What a trim of a change log removes, and the record of the table after it."""

    old: list[tuple[bytes, Row]]
    record: TableRecord

    @property
    def has_more(self) -> bool:
        return len(self.old) == BATCH


def _trimmed(reader: Reader, table: StoredTable, now: float) -> _Trimmed:
    record, recovery = table.record, table.record.recovery
    oldest = number_key(oldest_number(record, now, _KEEP))
    old = [] if recovery else _batch(reader, record.changes, oldest)  # otherwise they are archived
    marks_from = 0 if len(old) == BATCH else _oldest(record, now)
    after = replace(
        record,
        streams=[each for each in _dated(record.streams, now) if not _has_ended(each, now)],
        log_marks=moved_marks(record, last_number(reader, table), now, marks_from),
        recovery=recovery.with_clock(now) if recovery else None,
    )
    return _Trimmed(old, after)


def _needs_trim(reader: Reader, table: StoredTable, now: float) -> bool:
    try:
        trimmed = _trimmed(reader, table, now)
    except SpaceMissing:  # another process has just dropped it
        return False
    return bool(trimmed.old) or trimmed.record != table.record


def _oldest(record: TableRecord, now: float) -> int:
    """The lowest number that the streams or the history of a table need."""
    keep = max(_KEEP, record.recovery.days * DAY if record.recovery else 0.0)
    return oldest_number(record, now, keep)


def _is_long(reader: Reader, index: StoredVectorIndex) -> bool:
    try:
        return reader.totals(index.log).rows > LOG_RECORDS + BATCH
    except SpaceMissing:  # another process has just dropped it
        return False


def trim_vector_logs(context: EngineContext, name: str, txn: StorageTransaction) -> bool:
    """Drops the oldest records of the logs of vector indexes."""
    table = context.write_catalog.tables.get(name)
    if table is None:
        return False
    old = [outdated_records(txn, index, LOG_RECORDS) for index in table.vector_indexes.values()]
    txn.apply(write for writes in old for write in writes)
    return any(len(writes) == LOG_RECORDS for writes in old)


def _dated(streams: list[StoredStream], now: float) -> list[StoredStream]:
    """The streams without times in the future, of a clock that was set back: those count from now on."""
    return [
        each if each.closed_at is None or each.closed_at <= now else replace(each, closed_at=now) for each in streams
    ]


def _has_ended(stream: StoredStream, now: float, seconds: float = STREAM_RETENTION_SECONDS) -> bool:
    return stream.closed_at is not None and stream.closed_at <= now - seconds


def drop_deleted_logs(context: EngineContext, txn: StorageTransaction) -> None:
    """Drops the change logs of deleted tables whose streams have ended their retention."""
    now = context.clock()
    for table in list(context.write_catalog.deleted.values()):
        streams = _dated(table.record.streams, now)
        if all(_has_ended(each, now, STREAM_RETENTION_SECONDS + ITERATOR_SECONDS) for each in streams):
            context.write_catalog.drop_log(txn, table.record)
        elif streams != table.record.streams:
            context.write_catalog.save_deleted(txn, replace(table.record, streams=streams))


def drop_tokens(context: EngineContext, low: bytes, txn: StorageTransaction) -> bytes:
    """Drops a batch of expired idempotency tokens from `low` on; returns where to continue, or nothing."""
    now = context.clock()
    rows = _batch(txn, TOKENS, None, low)
    for key, row in rows:
        token = _decode(row.value)
        if now - token["at"] > TOKEN_SECONDS:
            txn.apply([Write(TOKENS, key, row, None)])
        elif token["at"] > now:  # the clock was set back: it counts from now on
            txn.apply([Write(TOKENS, key, row, Row(0, _encode(token | {"at": now})))])
    return rows[-1][0] + b"\0" if len(rows) == BATCH else b""


def _batch(reader: Reader, space: str, high: bytes | None, low: bytes = b"") -> list[tuple[bytes, Row]]:
    found: list[tuple[bytes, Row]] = []
    for key, weight, value in reader.range(space, low, high):
        found.append((key, Row(weight, value)))
        if len(found) == BATCH:
            break
    return found
