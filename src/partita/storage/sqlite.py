"""Storage in one SQLite file, which survives power loss, can be shared by processes, and opens in any SQLite tool.

Each space is a table `(k, w, v, c)`: key, weight, value, checksum, clustered by key. A value that would overflow a page
is stored in the table `large`, and `v` is its number there: clustered tables are slow with overflowing rows.

    journal      WAL: readers never wait for a writer, nor a writer for readers
    synchronous  FULL survives power loss; NORMAL survives a crash of the process, and may lose the last commits
                 (but never a part of one) at power loss
    cache        pages in memory; readers of a file that no cache holds map it instead (`mapped_files`)

Each reading thread has its own connection; all writes go through one more, under a lock. After an error the
transaction is rolled back; where that fails too, the connection is replaced, so that the next write works.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakSet

import apsw

from partita.errors import (
    ConfigurationError,
    CorruptRow,
    FileReplaced,
    StorageBusy,
    StorageClosed,
    StorageError,
    UsedAfterFork,
)
from partita.storage import after_fork, sqlite_connection
from partita.storage.checkpoints import Checkpointer
from partita.storage.checksums import row_checksum
from partita.storage.commit_watch import CommitWatch
from partita.storage.contract import DamagedRow, Reader, Row, RowBatch, Totals, Write, is_log
from partita.storage.free_lock import FreeLock
from partita.storage.log_room import LogRoom, bytes_of_log
from partita.storage.sqlite_connection import Durability, SqliteConnection
from partita.storage.sqlite_format import check_existing_file, create_space, initialize, open_read_only, stamp
from partita.storage.sqlite_keys import key_to
from partita.storage.sqlite_repair import repair_rows

MAP_FROM = sqlite_connection.READ_CACHE_KB * 1000  # bytes of a file that readers map, since no cache holds it
MAX_INLINE = 1900  # bytes of key and value; more would overflow a page of 8 KB


_BESIDE = ("-wal", "-shm")
_ATTEMPTS = 5


class SqliteStorage:
    """A database file; `durability` is "power" (the default) or "process"."""

    waits_for_disk = True

    def __init__(self, path: str, durability: Durability = "power") -> None:
        self.path = os.fspath(path)
        self._file = str(Path(self.path).absolute())  # the process may change its working directory
        self._durability = durability
        self._local = threading.local()
        self._unmapped: threading.local | None = None  # the connections from before the file was mapped
        self.connections: WeakSet[SqliteConnection] = WeakSet()  # a thread's connection ends with its thread
        self._lock = threading.Lock()
        self._is_closed = False
        self._is_inherited = False
        self._checkpointer = Checkpointer(self._file)
        _check_not_inherited(self._file)
        writer = self._open_writer(is_first=True)
        self._writer: SqliteConnection | None = writer
        self._identity = _identity(self._file)
        self._check_identity()
        self._beside = self._files_beside()
        self._page_size: Any = writer.apsw.pragma("page_size")
        self._room = LogRoom(f"{self._file}-wal", self._page_size)
        after_fork.register(self)

    def _open_writer(self, *, is_first: bool = False) -> SqliteConnection:
        writer = self._connect(is_first=is_first, is_writer=True)
        writer.apsw.set_wal_hook(self._checkpointer.after_commit)
        return writer

    def _reopen_writer(self) -> SqliteConnection:
        writer = self._writer = self._open_writer()
        self._beside = self._files_beside()  # SQLite deletes them with the last connection, and creates them again
        return writer

    def _connect(self, *, is_first: bool = False, is_writer: bool = False) -> SqliteConnection:
        self._check_usable()
        if not is_first:
            self._check_same_file()
        try:
            if is_first:
                check_existing_file(self._file)
            readers = None if is_writer else max(0, len(self.connections) - 1)
            connection = SqliteConnection(self._file, self._durability, readers=readers)
            connection.path = self.path
            if is_first:
                initialize(connection)
        except apsw.BusyError:
            raise StorageBusy(self.path, sqlite_connection.BUSY_SECONDS) from None
        except apsw.Error as error:
            if is_first and (advice := _advice(error)):
                raise ConfigurationError(f"{self.path}: {advice}") from None
            raise StorageError(f"{self.path}: {error}") from error
        self.connections.add(connection)
        return connection

    def _reader(self) -> SqliteConnection:
        try:
            return self._local.connection  # type: ignore[no-any-return]
        except AttributeError:
            connection = getattr(self._unmapped, "connection", None) or self._connect()
            if self._unmapped is not None:
                connection.map_file(self._file)
            self._local.connection = connection
            self._local.get = connection.get
            return connection

    def get(self, space: str, key: bytes) -> Row | None:
        try:
            get = self._local.get
        except AttributeError:
            get = self._reader().get
        row: Row | None = get(space, key)
        return row

    def range(
        self, space: str, low: bytes, high: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, int, bytes]]:
        return self._reader().range(space, low, high, reverse=reverse)

    def batches(
        self, space: str, low: bytes, high: bytes | None, *, reverse: bool = False, expected: int | None = None
    ) -> Iterator[RowBatch]:
        return self._reader().batches(space, low, high, reverse=reverse, expected=expected)

    def check_missing(self, space: str, key: bytes) -> None:
        self._reader().check_missing(space, key)

    def last_key(self, space: str) -> bytes | None:
        return self._reader().last_key(space)

    def totals(self, space: str) -> Totals:
        return self._reader().totals(space)

    def version(self) -> int:
        """SQLite's data_version, with the number of the connection: it changes with the commits of all others."""
        return self._reader().version()

    def watch(self) -> CommitWatch:
        """A watch for the calling thread."""
        return CommitWatch(self.version, self._file)

    @contextmanager
    def snapshot(self) -> Iterator[SqliteConnection]:
        reader = self._reader()
        try:
            reader.begin()
            yield reader
        finally:
            try:
                is_usable = reader.end()
            except BaseException:  # interrupted: a thread that keeps an open transaction would see no later commit
                reader.end()
                raise
            if not is_usable and not self._is_closed:
                self._forget(reader)
                reader.discard()

    def _forget(self, reader: SqliteConnection) -> None:
        """The next read of this thread opens another connection."""
        for local in (self._local, self._unmapped):
            if getattr(local, "connection", None) is reader:
                del local.connection, local.get  # type: ignore[union-attr]

    @contextmanager
    def transaction(self, *, wait: bool = True) -> Iterator["_SqliteTransaction"]:
        with self._lock if wait else FreeLock(self._lock, self.path):
            self._check_usable()
            self._check_file()
            writer = self._writer or self._reopen_writer()
            transaction = _SqliteTransaction(writer)
            try:
                self._begin(writer, wait)
                if self._checkpointer.begins_log:
                    stamp(writer.apsw)
                elif self._durability == "power" and self._beside[0] is not None:
                    self._room.ensure(self._beside[0], self._checkpointer.pages)
                yield transaction
                transaction.write_totals()
                transaction.is_committing = True
                writer.execute("COMMIT")
                transaction.is_committed = True
            except BaseException as error:
                self._roll_back(writer, transaction, error)
                if isinstance(error, apsw.BusyError):
                    raise StorageBusy(self.path, sqlite_connection.BUSY_SECONDS if wait else 0) from None
                if isinstance(error, apsw.Error):
                    raise writer.storage_error(error) from error
                raise

    def _check_usable(self) -> None:
        if self._is_closed:
            raise StorageClosed(self.path)
        if self._is_inherited:
            raise UsedAfterFork(self.path)

    def _check_file(self) -> None:
        """Raises where the file, its log or its shared memory is no longer at its path: a write would be lost."""
        self._check_identity()
        if self._writer is None:
            return
        found = self._files_beside()
        if found == self._beside:
            return
        for suffix, before, now in zip(_BESIDE, self._beside, found, strict=True):
            is_same = now is not None and before is not None and now[:2] == before[:2]
            is_shorter = is_same and now[2] < before[2]  # type: ignore[index]
            if not is_same or (is_shorter and not (suffix == "-wal" and self._has_all_frames(self._writer))):
                raise FileReplaced(self.path + suffix)
        self._beside = found

    def _has_all_frames(self, writer: SqliteConnection) -> bool:
        """Whether a log that became shorter still has all frames that its index names, so that SQLite shortened it."""
        for _ in range(_ATTEMPTS):  # other processes write to it
            frames, _ = writer.apsw.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)  # counts, and copies nothing
            found = _identity_and_size(self._file + "-wal")
            if found and found[2] >= bytes_of_log(frames, self._page_size):
                return True
        return False

    def _check_identity(self) -> None:
        found = _identity_and_size(self._file)
        if found is None or found[:2] != self._identity:
            raise FileReplaced(self.path)
        if self._unmapped is None and found[2] > MAP_FROM:
            self._unmapped, self._local = self._local, threading.local()

    def _check_same_file(self) -> None:
        """Raises where SQLite would create the file, or wait for a lock to give an empty one its format."""
        self._check_identity()
        try:
            is_empty = not Path(self._file).stat().st_size
        except FileNotFoundError:
            is_empty = True
        if is_empty:
            raise FileReplaced(self.path)

    def _files_beside(self) -> list[tuple[int, int, int] | None]:
        return [_identity_and_size(self._file + suffix) for suffix in _BESIDE]

    def _begin(self, writer: SqliteConnection, wait: bool) -> None:
        """Takes the write lock of the file, which may mean waiting for another process."""
        if writer.apsw.in_transaction:  # a thread was interrupted while it rolled back
            writer.apsw.execute("ROLLBACK")
        if not wait:
            writer.apsw.set_busy_timeout(0)
        try:
            writer.execute("BEGIN IMMEDIATE")
        finally:
            if not wait:
                writer.apsw.set_busy_timeout(int(sqlite_connection.BUSY_SECONDS * 1000))

    def _roll_back(self, writer: SqliteConnection, transaction: "_SqliteTransaction", error: BaseException) -> None:
        """Ends the transaction, with the connection if it must be.

        After an interruption, which is not an error of SQLite, it may have been committed.
        """
        if transaction.is_committing and not isinstance(error, apsw.Error):
            transaction.is_committed = not writer.apsw.in_transaction
        if not self._is_closed and not writer.end():
            self._writer = None
            writer.discard()

    def close(self) -> None:
        """Waits for a running write, interrupts reads, and copies the write-ahead log into the file.

        A thread that reads, or uses the storage later, gets StorageClosed.
        """
        with self._lock:
            if self._is_closed or self._is_inherited:
                return
            self._is_closed = True
            self._checkpointer.stop()
            for connection in list(self.connections):
                connection.close()
            self.connections.clear()

    def after_fork(self) -> None:
        for connection in self.connections:
            after_fork.leak(connection)
        if self._identity is not None:
            after_fork.inherited_files.add(self._identity)
        self._is_inherited = True
        self._lock, self._local, self._unmapped = threading.Lock(), threading.local(), None


class ReadOnlySqliteStorage:
    """A database file that is only read, in the state of one snapshot; nothing is written beside it where possible."""

    def __init__(self, path: str) -> None:
        try:
            self._connection = open_read_only(os.fspath(path))
        except apsw.NotADBError:
            raise ConfigurationError(f"{path}: not a Partita database file; name another file") from None
        except apsw.Error as error:
            raise StorageError(f"{path}: {error}") from error

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        self._connection.begin()
        try:
            yield self._connection
        finally:
            self._connection.end()

    def collect_corrupt_rows(self) -> list[CorruptRow]:
        """From now on damaged rows are returned as they are, and reported in the list."""
        return self._connection.collect_corrupt_rows()

    def close(self) -> None:
        self._connection.close()


def _advice(error: apsw.Error) -> str:
    """What is wrong with a path that is opened for the first time, and what to do; empty for errors of the disk."""
    if isinstance(error, apsw.NotADBError):
        return "not a Partita database file; name another file"
    if isinstance(error, apsw.CantOpenError):
        return "cannot be opened; check that its folder exists and is writable"
    if isinstance(error, apsw.ReadOnlyError):
        return "the file is read-only; make it writable"
    return ""


def _identity_and_size(path: str) -> tuple[int, int, int] | None:
    """The device, number and size of a file; None if the file does not exist."""
    try:
        found = os.stat(path)  # noqa: PTH116 - before each write, and a Path takes twice the time
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size


def _identity(path: str) -> tuple[int, int] | None:
    """The device and number of a file; None if the file does not exist."""
    found = _identity_and_size(path)
    return None if found is None else found[:2]


def _check_not_inherited(path: str) -> None:
    if after_fork.inherited_files and _identity(path) in after_fork.inherited_files:
        raise ConfigurationError(
            f"{path}: was open when this process was forked, and cannot be opened again in it; "
            "open the file after the fork only, or start the process with 'spawn'"
        )


class _SqliteTransaction:
    """The open write transaction of a storage."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        self._execute = connection.execute
        self.is_changed = self.is_committing = self.is_committed = False
        self._moved: dict[str, list[int]] = {}
        self._last_keys: dict[str, bytes | None] = {}  # each record of a change log is numbered from the last one
        self.get = connection.get
        self.check_missing = connection.check_missing
        self.range = connection.range
        self.batches = connection.batches
        self._totals = connection.totals

    def totals(self, space: str) -> Totals:
        before, (rows, weight) = self._totals(space), self._moved.get(space, (0, 0))
        return Totals(before.rows + rows, before.weight + weight)

    def last_key(self, space: str) -> bytes | None:
        if space not in self._last_keys:
            self._last_keys[space] = self._connection.last_key(space)
        return self._last_keys[space]

    def _follow_last_key(self, space: str, key: bytes, *, is_put: bool) -> None:
        """Keeps the last key of a space that was asked for, as the transaction changes it."""
        last = self._last_keys[space]
        if is_put:
            if last is None or key > last:
                self._last_keys[space] = key
        elif key == last:
            del self._last_keys[space]

    def apply(self, writes: Iterable[Write]) -> None:
        self.is_changed = True
        for space, key, before, after in writes:
            stored_key = key_to(space, key)
            if space in self._last_keys:
                self._follow_last_key(space, key, is_put=after is not None)
            moved = self._moved.setdefault(space, [0, 0])
            if before is not None:
                moved[0] -= 1
                moved[1] -= before[0]
                if len(key) + len(before[1]) > MAX_INLINE:
                    self._execute(f'DELETE FROM large WHERE id = (SELECT v FROM "{space}" WHERE k = ?)', (stored_key,))
            if after is None:
                self._execute(f'DELETE FROM "{space}" WHERE k = ?', (stored_key,))
                if before is not None and is_log(space) and not self._connection.apsw.changes():
                    raise CorruptRow(self._connection.path, space, key)  # in an inner page, where it has no checksum
                continue
            moved[0] += 1
            moved[1] += after[0]
            self._put(space, key, stored_key, after)

    def _put(self, space: str, key: bytes, stored_key: bytes | int, row: Row) -> None:
        weight, value = row
        stored: Any = value
        if len(key) + len(value) > MAX_INLINE:
            stored = self._execute("INSERT INTO large (v) VALUES (?) RETURNING id", (value,)).fetchall()[0][0]
        self._execute(_upsert(space), (stored_key, weight, stored, row_checksum(key, weight, value)))

    def create_space(self, space: str) -> None:
        self.is_changed = True
        self._execute(create_space(space))
        self._execute("INSERT INTO spaces (name, n, w) VALUES (?, 0, 0)", (space,))

    def drop_space(self, space: str) -> None:
        self.is_changed = True
        self._execute(f"DELETE FROM large WHERE id IN (SELECT v FROM \"{space}\" WHERE typeof(v) = 'integer')")
        self._execute(f'DROP TABLE "{space}"')
        self._execute("DELETE FROM spaces WHERE name = ?", (space,))
        self._moved.pop(space, None)
        self._last_keys.pop(space, None)

    def recount(self, space: str) -> None:
        self.is_changed = True
        counts = f'(SELECT count(*) FROM "{space}"), w = (SELECT coalesce(sum(w), 0) FROM "{space}")'
        self._execute(f"UPDATE spaces SET n = {counts} WHERE name = ?", (space,))
        self._moved.pop(space, None)

    def repair_rows(self, space: str, key_of: Callable[[bytes], bytes | None]) -> list[DamagedRow]:
        damaged = repair_rows(self._connection, space, key_of)
        self._last_keys.pop(space, None)
        if damaged:
            self.recount(space)
        return damaged

    def write_totals(self) -> None:
        for space, (rows, weight) in self._moved.items():
            if rows or weight:
                self._execute("UPDATE spaces SET n = n + ?, w = w + ? WHERE name = ?", (rows, weight, space))


@cache
def _upsert(space: str) -> str:
    return (
        f'INSERT INTO "{space}" (k, w, v, c) VALUES (?, ?, ?, ?) '
        "ON CONFLICT DO UPDATE SET w = excluded.w, v = excluded.v, c = excluded.c"
    )
