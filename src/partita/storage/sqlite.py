"""Storage in one SQLite file, which survives power loss, can be shared by processes, and opens in any SQLite tool.

Each space is a table `(k, w, v)`: key, weight, value, clustered by key. A value that would overflow a page is stored in
the table `large`, and `v` is its number there: clustered tables are slow with overflowing rows.

    journal      WAL: readers never wait for a writer, nor a writer for readers
    synchronous  FULL survives power loss; NORMAL survives a crash of the process, and may lose the last commits
                 (but never a part of one) at power loss
    cache, mmap  a small page cache and a memory-mapped file (docs/decisions/0003)

Each reading thread has its own connection; all writes go through one more, under a lock.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal
from weakref import WeakSet

import apsw

from partita.errors import ConfigurationError, SpaceMissing, StorageBusy, StorageClosed, StorageError
from partita.storage.checkpoints import Checkpointer
from partita.storage.contract import Row, Totals, Write

Durability = Literal["power", "process"]

APPLICATION_ID = 0x50415254  # "PART"
FORMAT = 1
BUSY_SECONDS = 30.0
MAX_INLINE = 1900  # bytes of key and value; more would overflow a page of 8 KB

_row: Callable[[Any], Row] = partial(tuple.__new__, Row)  # `Row._make` without its check
_SYNCHRONOUS = {"power": "FULL", "process": "NORMAL"}


class _SqliteConnection:
    """One SQLite connection with the reads of the contract."""

    def __init__(self, path: str, durability: Durability) -> None:
        self.apsw = apsw.Connection(path, statementcachesize=500)
        self.apsw.set_busy_timeout(int(BUSY_SECONDS * 1000))
        self.path = path
        self._get_sql: dict[str, str] = {}
        self.execute = self.apsw.cursor().execute
        for pragma in (
            "page_size = 8192",
            "journal_mode = WAL",
            f"synchronous = {_SYNCHRONOUS[durability]}",
            "cache_size = -16000",
            f"mmap_size = {1 << 40}",
            "temp_store = MEMORY",
        ):
            self.apsw.execute(f"PRAGMA {pragma}").fetchall()

    def get(self, space: str, key: bytes) -> Row | None:
        try:
            found: Any = self.execute(self._get_sql[space], (key,)).get
        except KeyError:
            self._get_sql[space] = f'SELECT w, v FROM "{space}" WHERE k = ?'
            return self.get(space, key)
        except apsw.Error as error:
            raise self._storage_error(error, space) from None
        if found is None:
            return None
        if type(found[1]) is int:
            return self._get_large(space, key)
        return _row(found)

    def _get_large(self, space: str, key: bytes) -> Row | None:
        """Reads both tables in one statement, and so in one state."""
        sql = f'SELECT s.w, l.v FROM "{space}" s JOIN large l ON l.id = s.v WHERE s.k = ?'
        found = self.apsw.execute(sql, (key,)).fetchall()
        return Row._make(found[0]) if found else self.get(space, key)

    def range(
        self, space: str, low: bytes, high: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, int, bytes]]:
        direction = "DESC" if reverse else "ASC"
        bounds, keys = ("k >= ?", (low,)) if high is None else ("k >= ? AND k < ?", (low, high))
        cursor = None
        try:
            cursor = self.apsw.execute(f'SELECT k, w, v FROM "{space}" WHERE {bounds} ORDER BY k {direction}', keys)
            for row in cursor:
                yield row if type(row[2]) is not int else (row[0], row[1], self._large(row[2]))
        except apsw.Error as error:
            raise self._storage_error(error, space) from None
        finally:
            if cursor is not None:
                cursor.close()

    def _storage_error(self, error: apsw.Error, space: str) -> Exception:
        if isinstance(error, apsw.ConnectionClosedError | apsw.CursorClosedError):
            return StorageClosed(self.path)
        return SpaceMissing(space) if "no such table" in str(error) else StorageError(f"{self.path}: {error}")

    def _large(self, number: int) -> bytes:
        found: Any = self.apsw.execute("SELECT v FROM large WHERE id = ?", (number,)).get
        value: bytes = found
        return value

    def totals(self, space: str) -> Totals:
        try:
            found = self.apsw.execute("SELECT n, w FROM spaces WHERE name = ?", (space,)).fetchall()
        except apsw.Error as error:
            raise self._storage_error(error, space) from None
        if not found:
            raise SpaceMissing(space)
        return Totals._make(found[0])


class SqliteStorage:
    """A database file; `durability` is "power" (the default) or "process"."""

    waits_for_disk = True

    def __init__(self, path: str, durability: Durability = "power") -> None:
        self.path = os.fspath(path)
        self._durability = durability
        self._local = threading.local()
        self._open: WeakSet[_SqliteConnection] = WeakSet()  # a thread's connection ends with its thread
        self._lock = threading.Lock()
        self._is_closed = False
        self._writer = self._connect(is_first=True)
        self._checkpointer = Checkpointer(self.path)
        self._writer.apsw.set_wal_hook(self._checkpointer.after_commit)

    def _connect(self, *, is_first: bool = False) -> _SqliteConnection:
        if self._is_closed:
            raise StorageClosed(self.path)
        try:
            if is_first:
                _check_existing_file(self.path)
            connection = _SqliteConnection(self.path, self._durability)
            if is_first:
                _initialize(connection)
        except apsw.NotADBError:
            raise ConfigurationError(f"{self.path}: not a Partita database file; name another file") from None
        except apsw.CantOpenError:
            raise ConfigurationError(
                f"{self.path}: cannot be opened; check that its folder exists and is writable"
            ) from None
        except apsw.ReadOnlyError:
            raise ConfigurationError(f"{self.path}: the file is read-only; make it writable") from None
        except apsw.Error as error:
            raise StorageError(f"{self.path}: {error}") from error
        self._open.add(connection)
        return connection

    def _reader(self) -> _SqliteConnection:
        try:
            return self._local.connection  # type: ignore[no-any-return]
        except AttributeError:
            self._local.connection = connection = self._connect()
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

    def totals(self, space: str) -> Totals:
        return self._reader().totals(space)

    def version(self) -> int:
        """SQLite's data_version, which changes with the commits of all other connections, the writer's included."""
        found: int = self._reader().execute("PRAGMA data_version").get
        return found

    @contextmanager
    def snapshot(self) -> Iterator[_SqliteConnection]:
        reader = self._reader()
        reader.apsw.execute("BEGIN")
        try:
            yield reader
        finally:
            reader.apsw.execute("COMMIT")

    @contextmanager
    def transaction(self, *, wait: bool = True) -> Iterator["_SqliteTransaction"]:
        if not self._lock.acquire(blocking=wait):
            raise StorageBusy(self.path, 0)
        execute = self._writer.apsw.execute
        try:
            if self._is_closed:
                raise StorageClosed(self.path)
            self._begin(wait)
            transaction = _SqliteTransaction(self._writer)
            yield transaction
            transaction.write_totals()
            execute("COMMIT")
        except BaseException as error:
            if not self._is_closed and self._writer.apsw.in_transaction:
                execute("ROLLBACK")
            if isinstance(error, apsw.BusyError):
                raise StorageBusy(self.path, BUSY_SECONDS if wait else 0) from None
            if isinstance(error, apsw.Error):
                raise StorageError(f"{self.path}: {error}") from error
            raise
        finally:
            self._lock.release()

    def _begin(self, wait: bool) -> None:
        """Takes the write lock of the file, which may mean waiting for another process."""
        if not wait:
            self._writer.apsw.set_busy_timeout(0)
        try:
            self._writer.apsw.execute("BEGIN IMMEDIATE")
        finally:
            if not wait:
                self._writer.apsw.set_busy_timeout(int(BUSY_SECONDS * 1000))

    def close(self) -> None:
        """Closes every connection; the write-ahead log is copied into the file."""
        with self._lock:
            self._is_closed = True
            self._checkpointer.stop()
            for connection in list(self._open):
                connection.apsw.close(True)
            self._open.clear()


class _SqliteTransaction:
    """The open write transaction of a storage."""

    def __init__(self, connection: _SqliteConnection) -> None:
        self._execute = connection.execute
        self._moved: dict[str, list[int]] = {}
        self.get = connection.get
        self.range = connection.range
        self._totals = connection.totals

    def totals(self, space: str) -> Totals:
        before, (rows, weight) = self._totals(space), self._moved.get(space, (0, 0))
        return Totals(before.rows + rows, before.weight + weight)

    def apply(self, writes: Iterable[Write]) -> None:
        for space, key, before, after in writes:
            moved = self._moved.setdefault(space, [0, 0])
            if before is not None:
                moved[0] -= 1
                moved[1] -= before.weight
                if _is_large(key, before):
                    self._execute(f'DELETE FROM large WHERE id = (SELECT v FROM "{space}" WHERE k = ?)', (key,))
            if after is None:
                self._execute(f'DELETE FROM "{space}" WHERE k = ?', (key,))
                continue
            moved[0] += 1
            moved[1] += after.weight
            self._put(space, key, after)

    def _put(self, space: str, key: bytes, row: Row) -> None:
        value: Any = row.value
        if _is_large(key, row):
            value = self._execute("INSERT INTO large (v) VALUES (?) RETURNING id", (value,)).fetchall()[0][0]
        self._execute(_upsert(space), (key, row.weight, value))

    def create_space(self, space: str) -> None:
        self._execute(f'CREATE TABLE "{space}" (k BLOB PRIMARY KEY, w INTEGER NOT NULL, v NOT NULL) WITHOUT ROWID')
        self._execute("INSERT INTO spaces (name, n, w) VALUES (?, 0, 0)", (space,))

    def drop_space(self, space: str) -> None:
        self._execute(f"DELETE FROM large WHERE id IN (SELECT v FROM \"{space}\" WHERE typeof(v) = 'integer')")
        self._execute(f'DROP TABLE "{space}"')
        self._execute("DELETE FROM spaces WHERE name = ?", (space,))
        self._moved.pop(space, None)

    def write_totals(self) -> None:
        for space, (rows, weight) in self._moved.items():
            if rows or weight:
                self._execute("UPDATE spaces SET n = n + ?, w = w + ? WHERE name = ?", (rows, weight, space))


@cache
def _upsert(space: str) -> str:
    return f'INSERT INTO "{space}" (k, w, v) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET w = excluded.w, v = excluded.v'


def _is_large(key: bytes, row: Row) -> bool:
    return len(key) + len(row.value) > MAX_INLINE


def _check_existing_file(path: str) -> None:
    """Checks a file before anything is written: setting the journal mode already changes it."""
    file = Path(path)
    if not file.is_file() or not file.stat().st_size:
        return
    with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.set_busy_timeout(int(BUSY_SECONDS * 1000))
        _is_ours(connection, path)


def _is_ours(connection: apsw.Connection, path: str) -> bool:
    """Whether the file is a Partita database; False for an empty file, an error for any other file."""
    application, version, entries = connection.execute(
        "SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema) "
        "FROM pragma_application_id a, pragma_user_version v"
    ).fetchall()[0]
    if application == APPLICATION_ID and version == FORMAT:
        return True
    if application == APPLICATION_ID:
        raise ConfigurationError(f"{path}: has format {version}, of another version of Partita; this one has {FORMAT}")
    if entries:
        raise ConfigurationError(f"{path}: an SQLite file of another program; name another file")
    return False


def _initialize(connection: _SqliteConnection) -> None:
    """Creates the tables of an empty file, also when several processes open it at once."""
    connection.apsw.execute("BEGIN IMMEDIATE")
    with connection.apsw:
        if not _is_ours(connection.apsw, connection.path):
            connection.apsw.execute("CREATE TABLE spaces (name TEXT PRIMARY KEY, n INTEGER, w INTEGER) WITHOUT ROWID")
            connection.apsw.execute("CREATE TABLE large (id INTEGER PRIMARY KEY, v BLOB NOT NULL)")
            connection.apsw.pragma("application_id", APPLICATION_ID)
            connection.apsw.pragma("user_version", FORMAT)
    connection.apsw.execute("COMMIT")
