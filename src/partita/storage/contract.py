"""The storage contract: ordered bytes in transactions.

A storage has *spaces*. A space is an ordered map from a key (bytes, compared bytewise) to a row: a value and its
weight, a number that the storage adds up. Nothing here depends on DynamoDB.

    storage.get("t1", key)                      one row, or None
    storage.range("t1", low, high)              rows with low <= key < high, lazily, in either direction
    storage.batches("t1", low, high)            the same rows, many at once; each batch may be of a later state
    with storage.snapshot() as view: ...        several reads of one state
    with storage.transaction() as txn: ...      reads and writes, all or nothing, one writer at a time

A space whose name begins with `log` is for records in the order of their numbers: its keys are numbers of eight bytes,
below 2**63 - 1. A storage may keep such a space in a way in which rows are added at its end faster.

Readers never wait for a writer. A reader of a space that another process has dropped gets `SpaceMissing`. Names of
dropped spaces are never used again, which makes a cached catalogue safe (`engine.catalog`).
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol


class Row(NamedTuple):
    """A value and its weight."""

    weight: int
    value: bytes


def is_log(space: str) -> bool:
    """Whether the keys of a space are numbers."""
    return space.startswith("log")


class RowBatch:
    """Some rows of a range, in columns. A storage may return the same batch for the same rows again.

    It may tell by the values alone that the rows are the same: the value of a row decides its key and its weight, as an
    item contains its key.

    `derived` is for the reader's own use: something that follows from the rows, and is used again with the batch.
    """

    __slots__ = ("derived", "keys", "values", "weights")

    def __init__(self, keys: Sequence[bytes], weights: Sequence[int], values: Sequence[bytes]) -> None:
        self.keys = keys
        self.weights = weights
        self.values = values
        self.derived: Any = None

    def rows(self) -> Iterator[tuple[bytes, int, bytes]]:
        """The key, weight and value of each row."""
        return zip(self.keys, self.weights, self.values, strict=True)


class Write(NamedTuple):
    """One change: the row that the caller read (None: no row), and the new one (None: deleted)."""

    space: str
    key: bytes
    before: Row | None
    after: Row | None


class DamagedRow(NamedTuple):
    """A row that does not match its checksum, as it is stored; of damaged columns, any type."""

    key: object
    weight: object
    value: object
    restored: bool
    """Whether only the key was damaged, and the row is stored under its own key again."""


class Totals(NamedTuple):
    """The number of rows of a space, and the sum of their weights."""

    rows: int
    weight: int


class Reader(Protocol):
    """Reads of the latest state, or of a snapshot."""

    def get(self, space: str, key: bytes) -> Row | None: ...

    def check_missing(self, space: str, key: bytes) -> None:
        """Raises CorruptRow where `get` may have returned None because of a damaged key.

        `get` itself does so, but not in a transaction, where most rows are missing since they are new.
        """
        ...

    def range(
        self, space: str, low: bytes, high: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, int, bytes]]:
        """Yields (key, weight, value) for low <= key < high; `high` None means to the end."""
        ...

    def batches(
        self, space: str, low: bytes, high: bytes | None, *, reverse: bool = False, expected: int | None = None
    ) -> Iterator[RowBatch]:
        """The rows of a space whose values decide their keys and weights, as items and rows of indexes do.

        Each batch is of one state. `expected` is how many rows the caller takes if there are so many: about as many
        are in the first batch.
        """
        ...

    def last_key(self, space: str) -> bytes | None:
        """The highest key of a space; None where it has no rows."""
        ...

    def totals(self, space: str) -> Totals: ...


class Watch(Protocol):
    """Waits for commits."""

    def wait(self, seconds: float) -> bool:
        """Waits for a commit, at most some seconds; whether there was one since the last call."""
        ...

    def wake(self) -> None:
        """Ends the wait of another thread."""
        ...

    def close(self) -> None: ...


class StorageTransaction(Reader, Protocol):
    """Reads see the transaction's own writes; an error that leaves the block undoes them all."""

    is_changed: bool
    """Set by every change, also by one that has failed halfway; its user may unset it."""
    is_committed: bool
    """Whether it has been committed; an exception of a signal handler may leave the block after that, too."""

    def apply(self, writes: Iterable[Write]) -> None: ...

    def create_space(self, space: str) -> None: ...

    def drop_space(self, space: str) -> None: ...

    def recount(self, space: str) -> None:
        """Sets the totals of a space to those of its rows."""
        ...

    def repair_rows(self, space: str, key_of: Callable[[bytes], bytes | None]) -> list[DamagedRow]:
        """Removes the damaged rows of a space and returns them.

        Where only the key is damaged, the row is kept under the key that `key_of` returns for its value, if any.
        """
        ...


class Storage(Reader, Protocol):
    """A storage; durable ones keep their data after they are closed."""

    waits_for_disk: bool
    """Whether a commit may take long enough to be worth a thread; if so, any thread may leave a transaction's block."""

    def version(self) -> int:
        """A number that changes with every commit of any process; two threads may have different ones of one state.

        Equal numbers, also of different threads, are of the same state.
        """
        ...

    def watch(self) -> Watch:
        """A watch for commits of any process, for the calling thread."""
        ...

    def snapshot(self) -> AbstractContextManager[Reader]: ...

    def transaction(self, *, wait: bool = True) -> AbstractContextManager[StorageTransaction]:
        """`wait=False` raises `StorageBusy` at once when another writer has the lock."""
        ...

    def close(self) -> None: ...


def end_suspended(block: AbstractContextManager[StorageTransaction]) -> None:
    """Undoes a transaction whose block was left by an exception between the block and the transaction's own code.

    A signal handler can raise one when `contextlib` has just been called. The transaction is suspended then, with its
    locks, for as long as the traceback of the exception has it.
    """
    generator: Generator[StorageTransaction] | None = getattr(block, "gen", None)
    if generator is not None:
        generator.close()
