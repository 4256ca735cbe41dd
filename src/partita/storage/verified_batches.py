"""Batches of rows whose checksums were right, so that the same rows are not summed again when they are read again.

Where the values are the same, the rows are: reading and comparing the values alone takes half the time of reading
whole rows, and a fifth of that of their checksums. Memory is bounded: the oldest batches make room for new ones.
"""

from partita.storage.contract import RowBatch

MAX_BYTES = 16 * 1024 * 1024  # of the first reader of a file; the next ones have shares of it
_MIN_BYTES = 1024 * 1024

BatchRequest = tuple[str, bytes, bytes | None, bool, int]  # the space, the range, its direction, how many rows


class VerifiedBatches:
    """The verified batches of one connection, by the requests for them."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._batches: dict[BatchRequest, RowBatch] = {}
        self._bytes = 0
        self.get = self._batches.get

    @classmethod
    def of_reader(cls, readers: int | None) -> "VerifiedBatches":
        """Those of a connection beside `readers` others; None is the connection that writes, which reads few ranges."""
        return cls(_MIN_BYTES if readers is None else max(_MIN_BYTES, MAX_BYTES // (readers + 1)))

    def put(self, asked: BatchRequest, batch: RowBatch) -> None:
        size = _size(batch)
        if size > self._max_bytes // 4:
            return
        earlier = self._batches.pop(asked, None)
        self._bytes += size - (0 if earlier is None else _size(earlier))
        self._batches[asked] = batch
        while self._bytes > self._max_bytes:
            self._bytes -= _size(self._batches.pop(next(iter(self._batches))))


def _size(batch: RowBatch) -> int:
    return sum(map(len, batch.values)) + len(batch.keys) * len(batch.keys[0])
