"""Storage in memory: for each space a dict of rows and a sorted list of its keys.

For tests and demonstrations: readable, and fast to create. An insertion moves the keys after it, which is noticeable
above about a hundred thousand rows in a space; use a file then.
"""

import threading
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from partita.errors import SpaceMissing, StorageClosed
from partita.storage.commit_watch import MemoryWatch
from partita.storage.contract import DamagedRow, Row, RowBatch, Totals, Write
from partita.storage.free_lock import FreeLock

_MAX_ROWS = 256  # of a batch


class _Space:
    def __init__(self) -> None:
        self.rows: dict[bytes, Row] = {}
        self.keys: list[bytes] = []
        self.weight = 0

    def set(self, key: bytes, before: Row | None, row: Row | None) -> None:
        """Puts or removes one row."""
        if before is not None:
            self.weight -= before.weight
        if row is not None:
            if before is None:
                insort(self.keys, key)
            self.rows[key] = row
            self.weight += row.weight
        elif before is not None:
            del self.rows[key]
            del self.keys[bisect_left(self.keys, key)]

    def restore(self, key: bytes, row: Row | None) -> None:
        """Sets the row of a key whose change may have been interrupted halfway; the weight is restored elsewhere."""
        at = bisect_left(self.keys, key)
        is_listed = self.keys[at : at + 1] == [key]
        if row is None:
            self.rows.pop(key, None)
            if is_listed:
                del self.keys[at]
        else:
            self.rows[key] = row
            if not is_listed:
                self.keys.insert(at, key)


class MemoryStorage:
    """A storage that ends with the process."""

    waits_for_disk = False

    def __init__(self) -> None:
        self._spaces: dict[str, _Space] = {}
        self._lock = threading.RLock()
        self._commits = 0
        self._committed: threading.Condition | None = None  # of those who wait for a commit
        self._is_closed = False

    def _space(self, space: str) -> _Space:
        try:
            return self._spaces[space]
        except KeyError:
            raise (StorageClosed("memory:") if self._is_closed else SpaceMissing(space)) from None

    def get(self, space: str, key: bytes) -> Row | None:
        with self._lock:  # a transaction writes in place, and may still undo it
            return self._space(space).rows.get(key)

    def check_missing(self, space: str, key: bytes) -> None:
        """Does nothing: rows in memory have no checksums."""

    def range(
        self, space: str, low: bytes, high: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, int, bytes]]:
        for batch in self.batches(space, low, high, reverse=reverse):
            yield from batch.rows()

    def batches(
        self, space: str, low: bytes, high: bytes | None, *, reverse: bool = False, expected: int | None = None
    ) -> Iterator[RowBatch]:
        size = min(expected or _MAX_ROWS, _MAX_ROWS)
        while True:
            keys, rows = self._next_rows(space, low, high, size, reverse)
            if keys:
                yield RowBatch(keys, *zip(*rows, strict=True))
            if len(keys) < size:
                return
            low, high = (low, keys[-1]) if reverse else (keys[-1] + b"\0", high)
            size = _MAX_ROWS

    def _next_rows(
        self, space: str, low: bytes, high: bytes | None, size: int, reverse: bool
    ) -> tuple[list[bytes], list[Row]]:
        """The next rows of a range and their keys."""
        with self._lock:
            found = self._space(space)
            start = bisect_left(found.keys, low)
            stop = len(found.keys) if high is None else bisect_left(found.keys, high)
            keys = (
                found.keys[max(start, stop - size) : stop][::-1]
                if reverse
                else found.keys[start : min(stop, start + size)]
            )
            return keys, [found.rows[key] for key in keys]

    def last_key(self, space: str) -> bytes | None:
        with self._lock:
            keys = self._space(space).keys
            return keys[-1] if keys else None

    def totals(self, space: str) -> Totals:
        with self._lock:
            found = self._space(space)
            return Totals(len(found.rows), found.weight)

    def version(self) -> int:
        return self._commits

    @contextmanager
    def snapshot(self) -> Iterator["MemoryStorage"]:
        with self._lock:
            yield self

    @contextmanager
    def transaction(self, *, wait: bool = True) -> Iterator["_MemoryTransaction"]:
        with self._lock if wait else FreeLock(self._lock, "memory:"):
            transaction = _MemoryTransaction(self)
            try:
                yield transaction
                transaction.is_committed = True
            except BaseException:
                transaction.undo()
                raise
            finally:
                self._commits += 1
                if self._committed is not None:
                    with self._committed:
                        self._committed.notify_all()

    def watch(self) -> MemoryWatch:
        if self._committed is None:
            self._committed = threading.Condition()
        return MemoryWatch(self.version, self._committed)

    def close(self) -> None:
        """Drops the data; a later read or write raises StorageClosed."""
        with self._lock:
            self._is_closed = True
            self._spaces = {}


class _MemoryTransaction:
    """Writes in place, and records how to undo it."""

    def __init__(self, storage: MemoryStorage) -> None:
        self._spaces = storage._spaces
        self._changed: list[tuple[_Space, int, bytes, Row | None]] = []  # with the weights before
        self._existed = dict(storage._spaces)
        self.is_changed = self.is_committed = False
        self.get = storage.get
        self.check_missing = storage.check_missing
        self.range = storage.range
        self.batches = storage.batches
        self.last_key = storage.last_key
        self.totals = storage.totals

    def apply(self, writes: Iterable[Write]) -> None:
        self.is_changed = True
        for space, key, _, after in writes:
            found = self._spaces[space]
            before = found.rows.get(key)
            self._changed.append((found, found.weight, key, before))  # before the change, which may be interrupted
            found.set(key, before, after)

    def create_space(self, space: str) -> None:
        self.is_changed = True
        self._spaces[space] = _Space()

    def drop_space(self, space: str) -> None:
        self.is_changed = True
        del self._spaces[space]

    def recount(self, space: str) -> None:
        """Does nothing: the totals are those of the rows."""

    def repair_rows(self, space: str, key_of: Callable[[bytes], bytes | None]) -> list[DamagedRow]:
        """Does nothing: rows in memory have no checksums."""
        return []

    def undo(self) -> None:
        if self.is_committed:
            return
        for space, weight, key, before in reversed(self._changed):
            space.restore(key, before)
            space.weight = weight
        self._spaces.clear()
        self._spaces.update(self._existed)
