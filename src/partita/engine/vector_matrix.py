"""The vectors of an index as a matrix in memory, which catches up with the index before each search.

    slot   row key   vector                   norm   codes of the search schema's values
    0      ...       0.12  -0.53  0.07  ...   1.0    3  0
    1      ...                                       3  -1

The log of the index names the rows that changed since the matrix was last used (`vector_indexes`). A removed row is
replaced by the last one, so that the used slots stay contiguous. An index that is too large for memory is ranked in
blocks that are read from storage.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np
from msgspec import Raw
from numpy.typing import NDArray

from partita.dynamodb.values import AttributeValue
from partita.engine.key_encoding import prefix_end
from partita.engine.nearest import Doubles, Floats, Slots, is_descending, nearest, norms_of
from partita.engine.vector_indexes import StoredVectorIndex, changed_keys, last_number
from partita.engine.vector_memory import VectorMemory
from partita.storage.contract import Reader, Storage

_BLOCK_BYTES = 8 * 1024 * 1024
_LEAST_SLOTS = 64
_SPARE_CODES = 1000  # codes without a row that are tolerated before the matrix is loaded again

_encode = msgspec.json.encode
_decode_values = msgspec.json.Decoder(list[Raw]).decode

ABSENT = -1

Kind = TypeVar("Kind", np.float32, np.float64, np.int32)


class Match(NamedTuple):
    """A row among the best, and its score."""

    key: bytes
    score: float


@dataclass(frozen=True)
class RowSearch:
    """A search of one index; `equal` has a value for each element of the search schema, None where any is right."""

    index: StoredVectorIndex
    query: Floats
    count: int
    equal: list[AttributeValue | None]

    @classmethod
    def of(cls, index: StoredVectorIndex, vector: bytes, count: int, equal: list[AttributeValue | None]) -> "RowSearch":
        return cls(index, np.frombuffer(vector, "<f4").astype(np.float32), count, equal)

    @property
    def prefix(self) -> bytes:
        """The beginning of the keys of all rows that can match."""
        at = next((at for at, each in enumerate(self.index.schema) if each.is_hash), None)
        return b"" if at is None else self.index.prefix(self.equal[at])


class VectorMatrix:
    """The rows of one index; for one search at a time, which holds the lock."""

    def __init__(self, index: StoredVectorIndex) -> None:
        self.lock = threading.Lock()
        self._number: int | None = None  # of the newest record of the log that is in the matrix; None: not loaded
        self._clear(index, 0)

    def _clear(self, index: StoredVectorIndex, rows: int) -> None:
        self._keys: list[bytes] = []
        self._slots: dict[bytes, int] = {}
        self._vectors: Floats = np.empty((max(rows, _LEAST_SLOTS), index.dimensions), np.float32)
        self._norms: Doubles = np.empty(len(self._vectors))
        self._columns = [_Column(len(self._vectors)) for _ in index.schema]

    @property
    def size(self) -> int:
        """The bytes of the vectors."""
        return int(self._vectors.nbytes)

    def catch_up(self, reader: Reader, index: StoredVectorIndex) -> None:
        """Brings the matrix to the state of a snapshot."""
        changed = None if self._number is None else changed_keys(reader, index, self._number)
        if changed is None or any(each.has_spare(len(self._keys)) for each in self._columns):
            self._load(reader, index)
            return
        for key in changed:
            row = reader.get(index.space, key)
            if row is None:
                self._remove(key)
            else:
                self._put(index, key, row.value)
        if changed:
            self._number = last_number(reader, index)

    def _load(self, reader: Reader, index: StoredVectorIndex) -> None:
        self._number = None  # should reading fail
        self._clear(index, reader.totals(index.space).rows)
        for keys, values in _blocks(reader, index, b""):
            start, stop = len(self._keys), len(self._keys) + len(keys)
            self._reserve(stop)
            self._vectors[start:stop] = vectors_of(index, values)
            self._norms[start:stop] = norms_of(self._vectors[start:stop])
            for at, key in enumerate(keys, start):
                self._slots[key] = at
            self._keys.extend(keys)
            for slot, value in enumerate(values, start):
                self._set_values(index, slot, value)
        self._number = last_number(reader, index)

    def _put(self, index: StoredVectorIndex, key: bytes, value: bytes) -> None:
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = len(self._keys)
            self._keys.append(key)
            self._reserve(slot + 1)
        self._vectors[slot] = np.frombuffer(value, "<f4", index.dimensions)
        self._norms[slot] = norms_of(self._vectors[slot : slot + 1])[0]
        self._set_values(index, slot, value)

    def _set_values(self, index: StoredVectorIndex, slot: int, value: bytes) -> None:
        if self._columns:
            for column, each in zip(self._columns, _decode_values(value[index.vector_bytes :]), strict=True):
                column.set(slot, bytes(each))

    def _remove(self, key: bytes) -> None:
        slot = self._slots.pop(key, None)
        if slot is None:
            return
        last = len(self._keys) - 1
        moved = self._keys.pop()
        if slot != last:
            self._keys[slot] = moved
            self._slots[moved] = slot
            self._vectors[slot] = self._vectors[last]
            self._norms[slot] = self._norms[last]
            for column in self._columns:
                column.codes[slot] = column.codes[last]

    def _reserve(self, rows: int) -> None:
        if rows > len(self._vectors):
            slots = max(rows, len(self._vectors) * 3 // 2)
            self._vectors = _longer(self._vectors, slots)
            self._norms = _longer(self._norms, slots)
            for column in self._columns:
                column.codes = _longer(column.codes, slots)

    def search(self, search: RowSearch) -> list[Match]:
        """The best rows, the best first; rows of one score are in the order of their keys."""
        used = len(self._keys)
        found = nearest(
            search.index.record.distance,
            self._vectors[:used],
            self._norms[:used],
            self._selected(search, used),
            search.query,
            search.count,
        )
        keys = [self._keys[slot] for slot in found.slots.tolist()]
        return best(search, map(Match, keys, found.scores.tolist()))

    def _selected(self, search: RowSearch, used: int) -> Slots | None:
        """The slots with the values that are searched for; None for all."""
        wanted = [
            column.codes[:used] == column.numbers.get(_encode(value), ABSENT - 1)
            for column, value in zip(self._columns, search.equal, strict=True)
            if value is not None
        ]
        return np.flatnonzero(np.logical_and.reduce(wanted)) if wanted else None


class _Column:
    """The values of one element of the search schema, as numbers."""

    def __init__(self, slots: int) -> None:
        self.codes: NDArray[np.int32] = np.empty(slots, np.int32)
        self.numbers: dict[bytes, int] = {b"null": ABSENT}

    def set(self, slot: int, value: bytes) -> None:
        self.codes[slot] = self.numbers.setdefault(value, len(self.numbers) - 1)

    def has_spare(self, rows: int) -> bool:
        """Whether most of the values are of rows that do not exist any more."""
        return len(self.numbers) > 2 * rows + _SPARE_CODES


@contextmanager
def nearest_rows(storage: Storage, memory: VectorMemory, search: RowSearch) -> Iterator[tuple[Reader, list[Match]]]:
    """The best rows, with the snapshot that they are of."""
    index = search.index
    matrix = memory.matrix(index)
    with matrix.lock, storage.snapshot() as reader:  # in this order: the matrix is never of a later state
        if memory.make_room(index, reader.totals(index.space).rows * index.vector_bytes):
            matrix.catch_up(reader, index)
            yield reader, matrix.search(search)
        else:
            yield reader, search_blocks(reader, search)


def search_blocks(reader: Reader, search: RowSearch) -> list[Match]:
    """The best rows of an index that is read from storage."""
    index = search.index
    matches: list[Match] = []
    for keys, values in _blocks(reader, index, search.prefix):
        chosen = [at for at, value in enumerate(values) if _has_values(search, value)]
        if not chosen:
            continue
        vectors = vectors_of(index, [values[at] for at in chosen])
        found = nearest(index.record.distance, vectors, norms_of(vectors), None, search.query, search.count)
        block = map(Match, [keys[chosen[slot]] for slot in found.slots.tolist()], found.scores.tolist())
        matches = best(search, [*matches, *block])
    return matches


def _has_values(search: RowSearch, value: bytes) -> bool:
    if not search.equal:
        return True
    values = _decode_values(value[search.index.vector_bytes :])
    return all(
        wanted is None or bytes(each) == _encode(wanted) for each, wanted in zip(values, search.equal, strict=True)
    )


def best(search: RowSearch, matches: Iterator[Match] | list[Match]) -> list[Match]:
    sign = -1.0 if is_descending(search.index.record.distance) else 1.0
    return nsmallest(search.count, matches, key=lambda match: (sign * match.score, match.key))


def vectors_of(index: StoredVectorIndex, values: list[bytes]) -> Floats:
    """The vectors of some rows."""
    joined = b"".join([value[: index.vector_bytes] for value in values])
    return np.frombuffer(joined, "<f4").reshape(len(values), index.dimensions).astype(np.float32, copy=False)


def _blocks(reader: Reader, index: StoredVectorIndex, prefix: bytes) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """The keys and values of the rows whose keys begin with `prefix`, many at once."""
    rows = reader.range(index.space, prefix, prefix_end(prefix) if prefix else None)
    size = max(1, _BLOCK_BYTES // index.vector_bytes)
    while block := list(islice(rows, size)):
        keys, _, values = zip(*block, strict=True)
        yield list(keys), list(values)


def _longer(array: NDArray[Kind], rows: int) -> NDArray[Kind]:
    longer: NDArray[Kind] = np.empty((rows, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
