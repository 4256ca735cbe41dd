"""Numbers that are counted in memory and written as sums: reads never write, and a busy item costs one write a batch.

They are approximate: what a process has not written is lost when it is killed.
"""

from collections import Counter
from collections.abc import Callable
from threading import Lock


class BatchedCounts:
    """Counts by the id of an item; `write` adds a sum to one."""

    def __init__(self, write: Callable[[str, int], object]) -> None:
        self._write = write
        self._counts: Counter[str] = Counter()
        self._lock = Lock()

    def add(self, item_id: str) -> None:
        with self._lock:
            self._counts[item_id] += 1

    def flush(self) -> int:
        """Write the sums; returns the number of items. After an error, the others stay counted for the next time.

        The one that failed does not: it may have been written.
        """
        with self._lock:
            batch, self._counts = self._counts, Counter()
        items = len(batch)
        try:
            while batch:
                self._write(*batch.popitem())
        finally:
            with self._lock:
                self._counts.update(batch)
        return items
