"""Ordered bytes in transactions: what the engine asks of a place that keeps data.

A storage holds *spaces*. A space is an ordered map from a key (bytes, compared bytewise) to a row: the value and its
weight, a number that the caller chose and that the storage adds up. Nothing here knows DynamoDB.

    storage.get("t1", key)                      one row, or None
    storage.range("t1", low, high)              rows with low <= key < high, lazily, in either direction
    with storage.snapshot() as view: ...        several reads of one moment
    with storage.transaction() as txn: ...      reads and writes, all or nothing, one writer at a time

Readers never wait for a writer, and a reader who meets a space that another process dropped gets `SpaceMissing`.
Names of dropped spaces are never used again: that is what makes a cached catalogue safe (see `engine.catalog`).
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol


class Row(NamedTuple):
    """A value and its weight."""

    weight: int
    value: bytes


class Write(NamedTuple):
    """One change: the row as the caller read it (None: there was none) and as it shall be (None: deleted)."""

    space: str
    key: bytes
    before: Row | None
    after: Row | None


class Totals(NamedTuple):
    """How many rows a space has, and the sum of their weights."""

    rows: int
    weight: int


class Reader(Protocol):
    """Reads of one moment, or of the latest one."""

    def get(self, space: str, key: bytes) -> Row | None: ...

    def range(
        self, space: str, low: bytes, high: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, int, bytes]]:
        """(key, weight, value) for low <= key < high; no `high` means to the end."""
        ...

    def totals(self, space: str) -> Totals: ...


class StorageTransaction(Reader, Protocol):
    """Reads see the transaction's own writes; leaving the block by an error undoes all of them."""

    def apply(self, writes: Iterable[Write]) -> None: ...

    def create_space(self, space: str) -> None: ...

    def drop_space(self, space: str) -> None: ...


class Storage(Reader, Protocol):
    """A place that keeps data until it is closed (or, when durable, for longer)."""

    waits_for_disk: bool
    """Whether a commit may take long enough to be worth a thread; if so, any thread may leave a transaction's block."""

    def version(self) -> int:
        """Changes with every commit, whoever made it; what one thread is told is to be compared in that thread."""
        ...

    def snapshot(self) -> AbstractContextManager[Reader]: ...

    def transaction(self, *, wait: bool = True) -> AbstractContextManager[StorageTransaction]:
        """`wait=False` raises `StorageBusy` at once when somebody else is writing."""
        ...

    def close(self) -> None: ...
