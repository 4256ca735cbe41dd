"""One SQLite connection to a database file: its settings, and the reads of the contract."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import count, islice
from time import sleep
from typing import TYPE_CHECKING, Any, Literal
from weakref import proxy

import apsw

from partita.crc import crc32, short_crc32
from partita.errors import CorruptRow, SpaceMissing, StorageClosed, StorageError
from partita.storage.checksums import CHECKSUMS, KEY_SHIFT, VALUE_BITS, row_checksum
from partita.storage.contract import Row, RowBatch, Totals, is_log
from partita.storage.sqlite_keys import bound_to, key_from, key_to
from partita.storage.verified_batches import BatchRequest, VerifiedBatches

if TYPE_CHECKING:
    from partita.storage.mapped_files import MappedFile

Durability = Literal["power", "process"]

BUSY_SECONDS = 30.0
WRITE_CACHE_KB = 32_000
READ_CACHE_KB = 48_000  # of the first reader; the next ones have shares of it
_MIN_CACHE_KB = 8_000
_WHOLE_FILE = 1 << 44
_FIRST_ROWS = 3  # of a range; many are read for one row
_MAX_ROWS = 256
_MAX_EXPECTED = 1024  # rows of a first batch, for a caller that takes so many
_LARGE_BYTES = 2_000_000  # large values in memory at a time, about

_row: Callable[[Any], Row] = partial(tuple.__new__, Row)  # `Row._make` without its check
_SYNCHRONOUS = {"power": "FULL", "process": "NORMAL"}
_numbers = count()  # of connections
_UNREADABLE = (apsw.CorruptError, apsw.NotADBError)
_FAILED = (apsw.Error, UnicodeDecodeError)  # the second of a damaged row: columns of ours are never text
_CLOSING = (apsw.ConnectionClosedError, apsw.CursorClosedError, apsw.InterruptError, apsw.ThreadingViolationError)


class SqliteConnection:
    """A connection; `readers` is the number of other readers of the file, None for the connection that writes.

    `map_file` lets a reader map the file, in place of the cache.
    """

    _mapped: "MappedFile | None" = None
    _faults = 0  # of the mapped file, when it was mapped

    def __init__(self, path: str, durability: Durability = "power", *, readers: int | None = None) -> None:
        cache = WRITE_CACHE_KB if readers is None else max(_MIN_CACHE_KB, READ_CACHE_KB // (readers + 1))
        self.apsw = apsw.Connection(path, statementcachesize=500)
        self.apsw.set_busy_timeout(int(BUSY_SECONDS * 1000))
        for pragma in (
            "page_size = 8192",
            "journal_mode = WAL",
            f"synchronous = {_SYNCHRONOUS[durability]}",
            f"cache_size = -{cache}",
            "mmap_size = 0",
            "temp_store = MEMORY",
        ):
            self.apsw.execute(f"PRAGMA {pragma}").fetchall()
        self._is_writer = readers is None
        self._verified = VerifiedBatches.of_reader(readers)
        self._prepare(path, "c")

    def map_file(self, path: str) -> None:
        """Maps the file from now on, where a mapping that fails can be an error."""
        from partita.storage.mapped_files import mapped_file  # needs ctypes

        mapped = mapped_file(path)
        if mapped is not None:
            self._mapped, self._faults = mapped, mapped.faults
            try:
                for pragma in (f"mmap_size = {_WHOLE_FILE}", f"cache_size = -{_MIN_CACHE_KB}", "shrink_memory"):
                    self.apsw.execute(f"PRAGMA {pragma}").fetchall()
            except apsw.Error as error:
                raise self.storage_error(error) from None

    def _check_mapping(self) -> None:
        """Raises where a mapping of the file has failed, since what was read may be wrong; then nothing is mapped."""
        if self._mapped is None or self._mapped.faults == self._faults:
            return
        with suppress(apsw.Error):
            if self.apsw.execute("PRAGMA mmap_size = 0").get == 0:  # not while another range is being read
                self._mapped = None
        self._forget_pages()
        raise StorageError(f"{self.path}: a page of the file could not be read")

    def _forget_pages(self) -> None:
        """Empties the cache, which may have pages that could not be read: SQLite keeps them until the next commit."""
        with suppress(apsw.Error):
            self.apsw.execute("PRAGMA shrink_memory").fetchall()

    @classmethod
    def read_only(cls, connection: apsw.Connection, path: str, *, has_checksums: bool) -> "SqliteConnection":
        """Reads through a connection that changes nothing; files of format 1 have no checksums."""
        reader = cls.__new__(cls)
        reader.apsw = connection
        reader._is_writer = False
        reader._verified = VerifiedBatches()
        reader._prepare(path, "c" if has_checksums else "row_checksum(s.k, s.w, s.v)")
        return reader

    def _prepare(self, path: str, checksum: str) -> None:
        self.path = path
        self.corrupt: list[CorruptRow] | None = None  # a list collects damaged rows instead of raising
        self._checksum = checksum
        self._columns = "k, w, v, " + checksum
        self._first_version = next(_numbers) << 32  # SQLite's own versions of two connections may be equal
        self.execute = self.apsw.cursor().execute
        self.get: Callable[[str, bytes], Row | None] = self._getter()
        define_checksum(self.apsw)

    def _getter(self) -> Callable[[str, bytes], Row | None]:
        """The read of one row, as a function of local names: it is the most frequent of all."""
        execute, is_writer, new = self.execute, self._is_writer, tuple.__new__
        statements = self._get_statements = _GetStatements(self._checksum)
        connection: SqliteConnection = proxy(
            self
        )  # a thread's connection is closed when the thread ends, so nothing refers to it here

        def get(space: str, key: bytes) -> Row | None:
            try:
                found: Any = execute(statements[space], (key,)).get
            except _FAILED as error:
                raise connection.storage_error(error, space) from None
            if found is None and is_log(space):
                found = connection._get_from_log(space, key)
            if found is None:
                if not is_writer:  # most writes are of new rows
                    connection.check_missing(space, key)
                return None
            weight, value, checksum = found
            try:
                # `row_checksum`, KEY_SHIFT and `_row`, whose names take a fifth of the time of the check
                if (short_crc32(key) << 32 | crc32(value, weight)) == checksum & 0xFFFFFFFFFFFFFFFF:
                    return new(Row, (weight, value))
            except TypeError:  # a large value, or a damaged row, which may have values of any type
                if type(value) is int:
                    return connection._get_large(space, key)
            connection._report(space, key)
            return _row((weight, value))

        return get

    def collect_corrupt_rows(self) -> list[CorruptRow]:
        """From now on damaged rows are returned as they are, and reported in the list."""
        self.corrupt = []
        self._columns = _columns_without_text(("k", "w", "v", self._checksum))
        return self.corrupt

    def check_missing(self, space: str, key: bytes) -> None:
        """Raises CorruptRow where a row beside a missing one has a damaged key.

        A search misses a row whose key has changed in its place, and rows that it passes because of it. It ends beside
        the damaged row then, since all others are in order.
        """
        self._check_beside(_beside(space), space, key, key)

    def _check_around(self, asked: BatchRequest, keys: Sequence[bytes]) -> None:
        """Raises CorruptRow where a row beside those of a range has a damaged key: the range may go on behind it.

        The inner pages of a log have numbers without a checksum. A damaged one leads a search to a wrong place, where
        rows are not in order.
        """
        space, reverse = asked[0], asked[3]
        first, last = (keys[0], keys[-1]) if keys[0] <= keys[-1] else (keys[-1], keys[0])
        self._check_beside(_around(space), space, first, last)
        if is_log(space):
            self._check_start(asked)
            if keys != sorted(keys, reverse=reverse):
                self._report(space, keys[0])

    def _check_beside(self, statement: str, space: str, first: bytes, last: bytes) -> None:
        if self._checksum != "c":
            return
        try:
            beside: Any = self.execute(statement, (bound_to(space, first), bound_to(space, last))).fetchall()
        except UnicodeDecodeError:
            self._report(space, b"")
            return
        except _FAILED as error:
            raise self.storage_error(error, space) from None
        self._check_mapping()
        for found, checksum in beside:
            key = key_from(space, found)
            if not _is_intact(key, checksum):
                self._report(space, key)

    def _get_from_log(self, space: str, key: bytes) -> Any:
        try:
            return self.execute(self._get_statements[space], (key_to(space, key),)).get
        except _FAILED as error:
            raise self.storage_error(error, space) from None

    def _get_large(self, space: str, key: bytes) -> Row | None:
        """Reads both tables in one statement, and so in one state."""
        checksum = self._checksum.replace("s.v", "l.v")
        sql = f'SELECT s.w, l.v, {checksum} FROM "{space}" s LEFT JOIN large l ON l.id = s.v WHERE s.k = ?'
        try:
            found = self.apsw.execute(sql, (key_to(space, key),)).fetchall()
        except _FAILED as error:
            raise self.storage_error(error, space) from None
        self._check_mapping()
        if not found:
            return None  # deleted since
        if type(found[0][1]) is not bytes and self._is_inline(space, key):
            return self.get(space, key)
        return self._checked(space, key, *found[0])

    def _is_inline(self, space: str, key: bytes) -> bool:
        """Whether the value has become a small one since it was read as a large one."""
        try:
            found: Any = self.apsw.execute(f'SELECT typeof(v) FROM "{space}" WHERE k = ?', (key_to(space, key),)).get
        except _FAILED as error:
            raise self.storage_error(error, space) from None
        return bool(found == "blob")

    def _checked(self, space: str, key: Any, weight: Any, value: Any, checksum: Any) -> Row:
        expected = checksum_of_any(key, weight, value)
        if expected is None or expected != checksum:  # no checksum, of values that have none, is no match
            self._report(space, key)
        return Row(weight, value)

    def _report(self, space: str, key: Any) -> None:
        error = CorruptRow(self.path, space, key if type(key) is bytes else repr(key).encode())
        if self.corrupt is None:
            raise error
        self.corrupt.append(error)

    def range(
        self, space: str, low: bytes, high: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, int, bytes]]:
        cursor, size, is_empty = None, _FIRST_ROWS, True
        asked = (space, low, high, reverse, size)
        try:
            cursor = self.apsw.execute(*self._select(self._columns, space, low, high, reverse))
            while rows := self._next_rows(cursor, size):
                batch = self._checked_batch(space, rows)
                if batch.keys:
                    self._check_around(asked, batch.keys)
                yield from batch.rows()
                size = min(size * 8, _MAX_ROWS)
                is_empty = False
            self._check_mapping()  # the rows may have ended at zeros
            if is_empty:
                self._check_start(asked)
        except _FAILED as error:
            raise self.storage_error(error, space) from None
        finally:
            if cursor is not None:
                cursor.close()

    def batches(
        self, space: str, low: bytes, high: bytes | None, *, reverse: bool = False, expected: int | None = None
    ) -> Iterator[RowBatch]:
        size = min(expected or _FIRST_ROWS, _MAX_EXPECTED)
        while True:
            asked = (space, low, high, reverse, size)
            verified = self._read_again(asked)
            batch, is_last = (verified, len(verified.keys) < size) if verified else self._read_batch(asked)
            if batch.keys:
                yield batch
            if is_last or not batch.keys:
                return
            low, high = (low, batch.keys[-1]) if reverse else (batch.keys[-1] + b"\0", high)
            size = min(size * 8, _MAX_ROWS)

    def _read_again(self, asked: BatchRequest) -> RowBatch | None:
        """The batch that was verified before, if its values are still the same: they decide the keys and weights."""
        verified = self._verified.get(asked)
        if verified is None:
            return None
        try:
            found: Any = self.execute(*self._select("v", *asked)).get
        except _FAILED as error:
            raise self.storage_error(error, asked[0]) from None
        self._check_mapping()
        return verified if found == (verified.values if len(verified.values) > 1 else verified.values[0]) else None

    def _read_batch(self, asked: BatchRequest) -> tuple[RowBatch, bool]:
        """The next rows, and whether they are the last of the range."""
        space, size = asked[0], asked[-1]
        statement = self._select(self._columns, *asked)
        try:
            rows = self.execute(*statement).fetchall()
            has_large = not all(type(row[2]) is bytes for row in rows)
            if has_large:
                rows, is_last = self._with_large_values(statement, size)
            else:
                is_last = len(rows) < size
        except _FAILED as error:
            raise self.storage_error(error, space) from None
        batch = self._checked_batch(space, rows)
        if batch.keys:
            self._check_around(asked, batch.keys)
            if not has_large:
                self._verified.put(asked, batch)
        else:
            self._check_start(asked)
        return batch, is_last

    def _with_large_values(self, statement: tuple[str, tuple[Any, ...]], size: int) -> tuple[list[Any], bool]:
        """The rows that a statement selects, read again in one state with their large values."""
        cursor = self.apsw.execute(*statement)
        try:
            rows = self._next_rows(cursor, size)
            return rows, len(rows) < size and next(cursor, None) is None
        finally:
            cursor.close()

    def _next_rows(self, cursor: apsw.Cursor, size: int) -> list[Any]:
        """The next rows of an open statement; fewer where their values are large.

        Large values are read while the statement is open, so that they are of its state: a writer that replaces an item
        deletes the old value.
        """
        rows: list[Any] = []
        length = 0
        for row in islice(cursor, size):
            if type(row[2]) is not bytes:
                row = self._with_large_value(*row)
                length += len(row[2]) if type(row[2]) is bytes else 0
            rows.append(row)
            if length >= _LARGE_BYTES:
                break
        return rows

    def _with_large_value(self, key: Any, weight: Any, value: Any, checksum: Any) -> tuple[Any, Any, Any, Any]:
        """A row whose value is the number of a large one, or damaged, with the large value; None if there is none."""
        large: Any = self.apsw.execute("SELECT v FROM large WHERE id = ?", (value,)).get
        return key, weight, large, checksum if self._checksum == "c" else checksum_of_any(key, weight, large)

    def _check_start(self, asked: BatchRequest) -> None:
        """Raises CorruptRow where a damaged key may hide the rows of an empty range."""
        space, low, high, reverse, _ = asked
        self.check_missing(space, high if reverse and high is not None else low)

    def _select(
        self, columns: str, space: str, low: bytes, high: bytes | None, reverse: bool, size: int = -1
    ) -> tuple[str, tuple[Any, ...]]:
        """The statement that reads a range, and its parameters."""
        direction = "DESC" if reverse else "ASC"
        first = bound_to(space, low)
        if high is None:
            return f'SELECT {columns} FROM "{space}" s WHERE k >= ? ORDER BY k {direction} LIMIT ?', (first, size)
        bounds = f"k >= ? AND k < ? ORDER BY k {direction} LIMIT ?"
        return f'SELECT {columns} FROM "{space}" s WHERE {bounds}', (first, bound_to(space, high), size)

    def _checked_batch(self, space: str, rows: list[Any]) -> RowBatch:
        """The rows, once their checksums are right; without those that cannot be rows where damage is collected."""
        if not rows:
            return RowBatch([], [], [])
        if is_log(space):
            rows = [(key_from(space, key), *others) for key, *others in rows]
        keys, weights, values, checksums = map(list, zip(*rows, strict=True))
        try:  # the sum of all checksums, with few steps of Python for each row
            of_keys = sum(map(short_crc32, keys)) << KEY_SHIFT
            if not (sum(checksums) - sum(map(crc32, values, weights)) - of_keys) % CHECKSUMS:
                return RowBatch(keys, weights, values)
        except TypeError:  # a damaged row, which may have values of any type
            pass
        usual = [row for each in rows if (row := self._row_or_none(space, *each)) is not None]
        return RowBatch(*map(list, zip(*usual, strict=True))) if usual else RowBatch([], [], [])

    def _row_or_none(
        self, space: str, key: Any, weight: Any, value: Any, checksum: Any
    ) -> tuple[bytes, int, bytes] | None:
        """A row of a batch with damage, which is reported; None where it cannot be a row at all."""
        self._checked(space, key, weight, value, checksum)
        is_row = type(key) is bytes and type(weight) is int and type(value) is bytes
        return (key, weight, value) if is_row else None

    def storage_error(self, error: apsw.Error | UnicodeDecodeError, space: str = "") -> Exception:
        """The error of the contract for one of SQLite."""
        if isinstance(error, UnicodeDecodeError):
            return CorruptRow(self.path, space, b"")
        if isinstance(error, _CLOSING):
            return StorageClosed(self.path)
        if isinstance(error, _UNREADABLE):
            self._forget_pages()
        try:
            self._check_mapping()
        except StorageError as failed:
            return failed
        if space and "no such table" in str(error):
            return SpaceMissing(space)
        return StorageError(f"{self.path}: {error}")

    def last_key(self, space: str) -> bytes | None:
        checksum = "c" if self._checksum == "c" else "NULL"
        try:
            found: Any = self.execute(f'SELECT k, {checksum} FROM "{space}" ORDER BY k DESC LIMIT 1').get
        except _FAILED as error:
            raise self.storage_error(error, space) from None
        self._check_mapping()
        if found is None:
            return None
        key, checksum = key_from(space, found[0]), found[1]
        if self._checksum == "c" and not _is_intact(key, checksum):
            self._report(space, key)
        return key  # type: ignore[no-any-return]

    def totals(self, space: str) -> Totals:
        try:
            found = self.apsw.execute("SELECT n, w FROM spaces WHERE name = ?", (space,)).fetchall()
        except _FAILED as error:
            raise self.storage_error(error, space) from None
        self._check_mapping()
        if not found:
            raise SpaceMissing(space)
        return Totals._make(found[0])

    def version(self) -> int:
        try:
            version: int = self.execute("PRAGMA data_version").get
        except apsw.Error as error:
            raise self.storage_error(error) from None
        return self._first_version + version

    def begin(self) -> None:
        """Begins a read transaction."""
        try:
            self.apsw.execute("BEGIN")
        except apsw.Error as error:
            raise self.storage_error(error) from None

    def end(self) -> bool:
        """Ends the transaction of `begin`; false where the connection cannot be used any more."""
        try:
            if self.apsw.in_transaction:
                self.apsw.execute("ROLLBACK")
        except apsw.Error:
            return False
        return True

    def close(self) -> None:
        """Closes the connection, and interrupts a thread that uses it; that thread gets StorageClosed."""
        while True:
            try:
                self.apsw.close(True)
            except apsw.ThreadingViolationError:
                self.apsw.interrupt()  # only then: it would also interrupt the checkpoint of the last connection
                sleep(0.001)
            else:
                return

    def discard(self) -> None:
        """Closes a connection that has failed; another error while closing it changes nothing."""
        with suppress(apsw.Error):
            self.close()


def _columns_without_text(columns: Sequence[str]) -> str:
    """Columns of a row with None in the place of text, which only a damaged row has, and which may not be UTF-8."""
    return ", ".join(f"iif(typeof({each}) = 'text', NULL, {each})" for each in columns)


def _is_intact(key: Any, checksum: Any) -> bool:
    """Whether a key matches its checksum."""
    try:
        return bool(short_crc32(key) == checksum >> KEY_SHIFT & VALUE_BITS)
    except TypeError:
        return False


@cache
def _beside(space: str) -> str:
    """The statement that reads the rows beside a key; one that is not in order has no checksum."""
    return _neighbours(space, ">=")


@cache
def _around(space: str) -> str:
    """The statement that reads the rows before one key and after another; as above."""
    return _neighbours(space, ">")


def _neighbours(space: str, above: str) -> str:
    sides = (("< ?1", "DESC"), (f"{above} ?2", "ASC"))
    selects = (
        f'SELECT k, iif(k {side}, c, NULL) FROM "{space}" WHERE k {side} ORDER BY k {order} LIMIT 1'
        for side, order in sides
    )
    return " UNION ALL ".join(f"SELECT * FROM ({each})" for each in selects)


class _GetStatements(dict[str, str]):
    """The statement that reads one row, by space."""

    def __init__(self, checksum: str) -> None:
        self._checksum = checksum

    def __missing__(self, space: str) -> str:
        self[space] = statement = f'SELECT w, v, {self._checksum} FROM "{space}" s WHERE k = ?'
        return statement


def define_checksum(connection: apsw.Connection) -> None:
    """Defines `row_checksum(k, w, v)` in SQL, for files of format 1."""
    function: Any = checksum_of_any
    connection.create_scalar_function("row_checksum", function, deterministic=True)


def checksum_of_any(key: Any, weight: Any, value: Any) -> int | None:
    """The checksum of any row, also of a damaged one, whose values can have any type; None matches no checksum."""
    try:
        return row_checksum(key, weight, value)
    except TypeError:
        return None
