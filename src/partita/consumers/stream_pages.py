"""Pages of shards that several consumers of a process read: one request serves all of them.

The records after a sequence number never change, so a page of them can be handed to every consumer that has got there.
That there are no records yet holds only until somebody has written: `renew` forgets it.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from partita.dynamodb.stream_shapes import Record

RECENT = 4  # pages of a shard; a consumer that is further behind reads its own
UNREAD_SECONDS = 60.0  # after which the pages of a shard are forgotten: a shard of DynamoDB ends after some hours


class RecordPage(NamedTuple):
    """The records after a sequence number, and the iterator of those that follow."""

    records: list[Record]
    next_iterator: str | None
    has_ended: bool = False
    has_lost: bool = False


class SharedPages:
    """The last pages of each shard, for readers in several threads."""

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
        self._shards: defaultdict[tuple[str, str], _ShardPages] = defaultdict(_ShardPages)
        self._timer = timer
        self._lock = threading.Lock()
        self._round = 0
        self._forget_at = 0.0

    def __len__(self) -> int:
        """How many shards it has pages of."""
        return len(self._shards)

    def renew(self) -> None:
        """Forgets that a shard has no more records."""
        self._round += 1

    def page(self, stream: str, shard: str, after: str, read: Callable[[], RecordPage]) -> RecordPage:
        """The page after a sequence number; read if it is not known. Others that want it wait for it."""
        with self._lock:
            self._forget_unread()
            pages = self._shards[stream, shard]
            pages.read_at = self._timer()
        with pages.lock:
            found = pages.recent.get(after)
            if found is not None and (found[1].records or found[1].has_ended or found[0] == self._round):
                return found[1]
            current = self._round  # before the request: what is written meanwhile may be missing
            page = read()
            pages.recent.pop(after, None)
            pages.recent[after] = (current, page)
            if len(pages.recent) > RECENT:
                del pages.recent[next(iter(pages.recent))]
            return page

    def _forget_unread(self) -> None:
        """Forgets the pages of shards that nobody has read for a while, now and then."""
        now = self._timer()
        if now < self._forget_at:
            return
        self._forget_at = now + UNREAD_SECONDS
        for key in [key for key, each in self._shards.items() if each.read_at <= now - UNREAD_SECONDS]:
            del self._shards[key]


class _ShardPages:
    def __init__(self) -> None:
        self.read_at = 0.0
        self.lock = threading.Lock()
        self.recent: dict[str, tuple[int, RecordPage]] = {}  # by the sequence number before it, the oldest first
