"""Reads that can be repeated: what was made from them is current while they find the same rows.

    recording = engine.record_reads()
    reply = recording.call(request)
    reads = recording.take()
    ...
    reads.find_the_same()    # without planning, parsing or encoding anything

For one thread at a time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from partita.dynamodb.exceptions import DynamoDBError
from partita.dynamodb.requests import Request
from partita.engine.context import EngineContext
from partita.engine.hot_keys import KeySample
from partita.engine.operations import READERS
from partita.errors import SpaceMissing, StorageError
from partita.storage.contract import Reader, Row, RowBatch, Storage, Totals

if TYPE_CHECKING:
    from partita.engine.engine import Engine

Reply = TypeVar("Reply")


class _RowRead(NamedTuple):
    space: str
    key: bytes
    row: Row | None

    def finds_the_same(self, reader: Reader) -> bool:
        return reader.get(self.space, self.key) == self.row

    @property
    def size(self) -> int:
        return len(self.key) + (0 if self.row is None else len(self.row.value))


class _RangeRead:
    """A read of batches, and those that were taken; `ended` if these were all."""

    __slots__ = ("batches", "ended", "expected", "high", "low", "reverse", "space")

    def __init__(self, space: str, low: bytes, high: bytes | None, reverse: bool, expected: int | None) -> None:
        self.space = space
        self.low = low
        self.high = high
        self.reverse = reverse
        self.expected = expected
        self.batches: list[RowBatch] = []
        self.ended = False

    def again(self, reader: Reader) -> Iterator[RowBatch]:
        return reader.batches(self.space, self.low, self.high, reverse=self.reverse, expected=self.expected)

    def finds_the_same(self, reader: Reader) -> bool:
        again = self.again(reader)
        for batch in self.batches:
            found = next(again, None)
            if found is not batch and (found is None or found.values != batch.values):
                return False
        return not self.ended or next(again, None) is None

    @property
    def size(self) -> int:
        return sum(sum(map(len, batch.values)) + sum(map(len, batch.keys)) for batch in self.batches)


class RecordedReads:
    """Reads of a storage, and the rows that they found."""

    __slots__ = ("_reads", "_storage", "is_complete", "of_one_state")

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._reads: list[_RowRead | _RangeRead] = []
        self.is_complete = True  # false if something was done besides that cannot be repeated
        self.of_one_state = False

    def add(self, read: "_RowRead | _RangeRead") -> None:
        self._reads.append(read)

    def find_the_same(self) -> bool:
        """Repeats the reads; false where one of them finds other rows."""
        try:
            if not self.of_one_state:
                return all(read.finds_the_same(self._storage) for read in self._reads)
            with self._storage.snapshot() as reader:
                return all(read.finds_the_same(reader) for read in self._reads)
        except StorageError:
            return False  # a table that was deleted, or a row that is damaged: the request itself reports it

    @property
    def size(self) -> int:
        """The bytes of the rows."""
        return sum(read.size for read in self._reads)


class RecordingEngine:
    """Answers requests as the engine does, and records the reads."""

    def __init__(self, engine: "Engine", context: EngineContext, key_sample: KeySample) -> None:
        self._engine = engine
        self._key_sample = key_sample
        self._reader = _RecordingReader(context.storage)
        self._context = msgspec.structs.replace(context, storage=self._reader)

    def call(self, request: Request[Reply]) -> Reply:
        read = READERS.get(type(request))
        if read is not None:
            if self._key_sample.is_due():
                self._key_sample.add(request)
            try:
                return read(self._context, request)  # type: ignore[no-any-return]
            except (SpaceMissing, DynamoDBError, StorageError):
                pass  # the engine loads its catalogue again where that was the cause
        self._reader.reads.is_complete = False
        return self._engine.call(request)

    def take(self) -> RecordedReads:
        """The reads since the last call of this method."""
        reads, self._reader.reads = self._reader.reads, RecordedReads(self._reader.storage)
        return reads


class _RecordingReader:
    """A storage whose reads are recorded; operations that read use nothing else of it."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage
        self.reads = RecordedReads(storage)

    def get(self, space: str, key: bytes) -> Row | None:
        row: Row | None = self.storage.get(space, key)
        self.reads.add(_RowRead(space, key, row))
        return row

    def batches(
        self, space: str, low: bytes, high: bytes | None, *, reverse: bool = False, expected: int | None = None
    ) -> Iterator[RowBatch]:
        read = _RangeRead(space, low, high, reverse, expected)
        self.reads.add(read)
        for batch in read.again(self.storage):
            read.batches.append(batch)
            yield batch
        read.ended = True

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        self.reads.of_one_state = True
        with self.storage.snapshot() as reader:
            recording = _RecordingReader(reader)
            recording.reads = self.reads
            yield recording

    def range(
        self, space: str, low: bytes, high: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, int, bytes]]:
        self.reads.is_complete = False
        rows: Iterator[tuple[bytes, int, bytes]] = self.storage.range(space, low, high, reverse=reverse)
        return rows

    def last_key(self, space: str) -> bytes | None:
        self.reads.is_complete = False
        key: bytes | None = self.storage.last_key(space)
        return key

    def totals(self, space: str) -> Totals:
        self.reads.is_complete = False
        totals: Totals = self.storage.totals(space)
        return totals

    def check_missing(self, space: str, key: bytes) -> None:
        self.storage.check_missing(space, key)
