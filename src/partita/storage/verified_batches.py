"""Batches of rows whose checksums were right, so that the same rows are not summed again when they are read again.

Where the values are the same, the rows are: reading and comparing the values alone takes half the time of reading
whole rows, and a fifth of that of their checksums. Memory is bounded: when the batches exceed the limit, all of them
are dropped.
"""

from partita.storage.contract import RowBatch

MAX_BYTES = 2 * 1024 * 1024

BatchRequest = tuple[str, bytes, bytes | None, bool, int]  # the space, the range, its direction, how many rows


class VerifiedBatches:
    """The verified batches of one connection, by the requests for them."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._batches: dict[BatchRequest, RowBatch] = {}
        self._bytes = 0
        self.get = self._batches.get

    def put(self, asked: BatchRequest, batch: RowBatch) -> None:
        size = sum(map(len, batch.keys)) + sum(map(len, batch.values))
        if size > self._max_bytes // 4:
            return
        self._bytes += size
        if self._bytes > self._max_bytes:
            self._batches.clear()
            self._bytes = size
        self._batches[asked] = batch
