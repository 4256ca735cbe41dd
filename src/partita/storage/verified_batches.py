"""Batches of rows whose checksums were right, so that the same rows are not summed again when they are read again.

Where the values are the same, the rows are: reading and comparing the values alone takes half the time of reading
whole rows, and a fifth of that of their checksums. Memory is bounded: the oldest batches make room for new ones.

A batch is stored when it is read for the second time. So a Scan, which reads each batch once, takes no memory for them,
and does not displace those of queries.
"""

from partita.storage.contract import RowBatch

MAX_BYTES = 16 * 1024 * 1024  # of the first reader of a file; the next ones have shares of it
_MIN_BYTES = 1024 * 1024
MAX_READ_ONCE = 8192  # requests that are remembered after their first time

BatchRequest = tuple[str, bytes, bytes | None, bool, int]  # the space, the range, its direction, how many rows


class VerifiedBatches:
    """The verified batches of one connection, by the requests for them."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._batches: dict[BatchRequest, RowBatch] = {}
        self._bytes = 0
        self._read_once: set[int] = set()  # hashes of requests
        self.get = self._batches.get

    @classmethod
    def of_reader(cls, readers: int | None) -> "VerifiedBatches":
        """Those of a connection beside `readers` others; None is the connection that writes, which reads few ranges."""
        return cls(_MIN_BYTES if readers is None else max(_MIN_BYTES, MAX_BYTES // (readers + 1)))

    def put(self, asked: BatchRequest, batch: RowBatch) -> None:
        """Stores a batch, unless it is read for the first time."""
        if not self._was_read(asked):
            return
        size = _size(batch)
        if size > self._max_bytes // 4:
            return
        earlier = self._batches.pop(asked, None)
        self._bytes += size - (0 if earlier is None else _size(earlier))
        self._batches[asked] = batch
        while self._bytes > self._max_bytes:
            self._bytes -= _size(self._batches.pop(next(iter(self._batches))))

    def _was_read(self, asked: BatchRequest) -> bool:
        mark = hash(asked)
        if asked in self._batches or mark in self._read_once:
            self._read_once.discard(mark)
            return True
        if len(self._read_once) >= MAX_READ_ONCE:
            self._read_once.clear()
        self._read_once.add(mark)
        return False


def _size(batch: RowBatch) -> int:
    return sum(map(len, batch.values)) + len(batch.keys) * len(batch.keys[0])
