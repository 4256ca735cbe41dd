"""Moves the tables of a store to another backend, while programs write to the source.

    copy      the source is scanned, page by page; between two pages the items that have changed are read again
    compare   digests of both sides, under writers; items that differ are copied again, alone
    follow    changes, until few are left
    switch    writers are paused: the last changes are followed and compared; then programs use the target
    watch     the changes of a source that is not fenced: a program that nobody has switched is found

A change is only the key of an item here: the item is read from the source, and put or deleted in the target. So it
does not matter how often or in which order changes arrive, and each stale write of a page is followed by the change
that made it stale. TTL, stream and recovery of the target are set at the end: until then it neither expires nor reports
items.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from typing import TypeVar

import msgspec

from partita.design.tables import Table
from partita.dynamodb.backend import Backend
from partita.dynamodb.canonical import equal_items
from partita.dynamodb.requests import (
    BatchGetItem,
    BatchWriteItem,
    DeleteRequest,
    KeysAndAttributes,
    PutRequest,
    WriteRequest,
)
from partita.dynamodb.shapes import TableDescription
from partita.dynamodb.values import Item
from partita.errors import ConfigurationError, TransferFailed
from partita.plan.table_definitions import create_table
from partita.recovery.changed_keys import ChangedKeys
from partita.recovery.content import contents, encoded_key, scan_pages
from partita.recovery.restoring import active_table, describe
from partita.store.store import Store

T = TypeVar("T")

MAX_PAUSE_SECONDS = 1.0
MAX_ROUNDS = 20  # of comparing, of trying to switch, and of following changes without getting nearer
FEW_CHANGES = 100
MAX_KEYS = 100  # of BatchGetItem
MAX_WRITES = 25  # of BatchWriteItem
MAX_WRITTEN_BYTES = 1_000_000  # of its JSON, unless one item has more: the limit is 16 MB on Amazon
WATCH_SECONDS = 0.2  # between two looks at a source after the switch
Pause = Callable[[], AbstractContextManager[None]]
Progress = Callable[[str, int], None]


class MovedTable(msgspec.Struct, frozen=True):
    """A table that was moved: items of the copy, changes that were followed, and items that were repaired alone."""

    name: str
    items: int
    changes: int
    repaired: int


class LateWrite(msgspec.Struct, frozen=True):
    """An item of the source that a program has changed after the switch: it differs in the target."""

    table: str
    key: Item


class Move(msgspec.Struct, frozen=True):
    """A move that has succeeded, and how long writers were paused: in all, and to follow the last changes."""

    tables: list[MovedTable]
    paused: float
    last_changes: float
    late: list[LateWrite] = []


class _TooSlow(Exception):
    """The last changes could not be followed in time."""


def move(
    source: Store,
    target: Store,
    pause: Pause,
    *,
    max_pause: float = MAX_PAUSE_SECONDS,
    quiet: float = 0.0,
    watch: float = 0.0,
    progress: Progress = lambda step, items: None,
) -> Move:
    """Moves every table of the source's design; the tables of the target must not exist, or be empty.

    `pause` is a context manager: writers of the source are stopped when it is entered, and use the target when it is
    left. Where it is left by an exception, the switch is called off, and they go on with the source; then it is tried
    again, at most 20 times. Raises TransferFailed where that, or the comparison, does not succeed. `quiet` are the
    seconds without a change after which the stream of a paused source has ended: those of Amazon come with a delay.
    For `watch` seconds after the switch the changes of the source are followed on, and not copied: they are writes of
    programs that still use it.
    """
    copies = [_TableCopy(source, target, table) for table in source.design.tables]
    try:
        for copy in copies:
            copy.create()
        for copy in copies:
            copy.copy(progress, lambda: [each.follow() for each in copies])
        for copy in copies:
            copy.compare(progress)
        paused, last_changes = _switch(copies, target, pause, max_pause, quiet, progress)
        late = _watch(copies, watch, progress) if watch else []
    finally:
        for copy in copies:
            copy.close()
    return Move([copy.result() for copy in copies], paused, last_changes, late)


def _switch(
    copies: "list[_TableCopy]", target: Store, pause: Pause, max_pause: float, quiet: float, progress: Progress
) -> tuple[float, float]:
    """Switches to the target; returns how long writers were paused, and how long the last changes took of it."""
    target.create_tables()  # TTL, stream and recovery
    for attempt in range(MAX_ROUNDS):
        _catch_up(copies, max_pause / 4, progress)
        paused_at = time.monotonic()
        try:
            with pause():
                begun = time.monotonic()
                for copy in copies:
                    copy.finish(begun + max_pause, quiet)
                took = time.monotonic() - begun
            return time.monotonic() - paused_at, took
        except _TooSlow:
            progress("switch called off", attempt + 1)
    raise TransferFailed("PauseTooLong", f"the last changes took longer than {max_pause} s, {MAX_ROUNDS} times")


def _watch(copies: "list[_TableCopy]", seconds: float, progress: Progress) -> list[LateWrite]:
    """The items of the source that are changed within some seconds after the switch."""
    end = time.monotonic() + seconds
    found: dict[bytes, LateWrite] = {}
    while True:
        progress("watching the source", len(found))
        time.sleep(min(WATCH_SECONDS, max(0.0, end - time.monotonic())))
        is_over = time.monotonic() >= end
        for copy in copies:
            found |= copy.late_writes()
        if is_over:
            return list(found.values())


def _catch_up(copies: "list[_TableCopy]", seconds: float, progress: Progress) -> None:
    """Follows changes until few are left, or those of a round are followed in some seconds."""
    shortest, longer = math.inf, 0
    while longer < MAX_ROUNDS:
        begun = time.monotonic()
        changes = sum(len(copy.follow()) for copy in copies)
        took = time.monotonic() - begun
        if changes <= FEW_CHANGES or took < seconds:
            return
        longer = 0 if took < shortest else longer + 1
        shortest = min(took, shortest)
        progress("following changes", changes)
    raise TransferFailed("ChangesTooFast", "items are changed faster than they can be copied; nothing was switched")


class _TableCopy:
    """The copy of one table, as far as it is."""

    def __init__(self, source: Store, target: Store, table: Table) -> None:
        self._from, self._to = source.backend, target.backend
        self._source, self._target = source.table_name(table), target.table_name(table)
        self._table = table
        self._keys = list(table.key_names)
        self._changed: ChangedKeys | None = None
        self._pending: dict[bytes, Item] = {}  # keys of changes that are not copied yet
        self._items = self._changes = self._repaired = 0

    def create(self) -> None:
        present = describe(self._from, self._source)
        if present is None:
            raise ConfigurationError(f"the source has no table {self._source}")
        existing = describe(self._to, self._target)
        if existing is None:
            request = create_table(self._table)
            request.table_name, request.stream_specification = self._target, None
            self._to.call(request)
            active_table(self._to, self._target)
        elif _is_same_table(present, existing):
            raise ConfigurationError(f"table {self._source} of the source is table {self._target} of the target")
        elif next(scan_pages(self._to, self._target)):
            raise ConfigurationError(
                f"table {self._target} of the target has items; name another one, or, if no program uses it, as after "
                "a move that has not ended, delete it and begin again"
            )
        self._changed = ChangedKeys(self._from, self._source)

    def copy(self, progress: Progress, follow: Callable[[], object]) -> None:
        """Copies all items; changes of all tables are followed meanwhile, or their iterators would expire."""
        for page in scan_pages(self._from, self._source):
            write(self._to, self._target, (WriteRequest(put_request=PutRequest(item=item)) for item in page))
            self._items += len(page)
            progress(f"copying {self._source}", self._items)
            follow()

    def follow(self, deadline: float = math.inf) -> set[bytes]:
        """Copies items that have changed since the last call; returns their keys. Raises _TooSlow at the deadline."""
        assert self._changed is not None
        self._pending |= {encoded_key(key, self._keys): key for key in self._changed.read()}
        followed = set(self._pending)
        for some in batches(list(self._pending), MAX_KEYS):
            if time.monotonic() > deadline:
                raise _TooSlow
            self._copy_keys([self._pending[key] for key in some])
            for key in some:
                del self._pending[key]
            self._changes += len(some)
        return followed

    def compare(self, progress: Progress) -> None:
        """Compares both sides under writers, and copies items that differ again, until none does."""
        for _ in range(MAX_ROUNDS):
            self.follow()
            with contents(self._keys, "before", "copied", "behind") as found:
                progress(f"comparing {self._source}", self._items)
                found.read(self._from, self._source, "before")
                found.read(self._to, self._target, "copied")
                found.read(self._from, self._source, "behind")
                wrong = [msgspec.json.decode(key) for key in found.keys("before IS behind AND copied IS NOT before")]
            wrong = self._without_pending(wrong)
            if not wrong:
                return
            self._copy_keys(wrong)
            self._repaired += len(wrong)
        raise TransferFailed("ContentDiffers", f"{self._source} and {self._target} have different items")

    def _without_pending(self, differing: list[Item]) -> list[Item]:
        """Those of the items that differ though no change of them is pending: a program may write them all the time."""
        self.follow()
        differing = [key for some in batches(differing, MAX_KEYS) for key in self._differing(some)]
        pending = self.follow()
        return [key for key in differing if encoded_key(key, self._keys) not in pending]

    def finish(self, deadline: float, quiet: float) -> None:
        """Follows the last changes, of writers that are paused; raises _TooSlow at the deadline."""
        last: set[bytes] = set()
        since = time.monotonic()
        while True:
            changed = self.follow(deadline)
            last |= changed
            if time.monotonic() > deadline:
                raise _TooSlow
            if changed:
                since = time.monotonic()
            elif time.monotonic() - since >= quiet:
                break
        for some in batches(last, MAX_KEYS):
            for key in self._differing([msgspec.json.decode(key) for key in some]):
                raise TransferFailed("ContentDiffers", f"{self._source}: {key} differs in {self._target}")
            if time.monotonic() > deadline:
                raise _TooSlow

    def late_writes(self) -> dict[bytes, LateWrite]:
        """Items that were changed since the last call, and are not the same in the target."""
        assert self._changed is not None
        changed = {encoded_key(key, self._keys): key for key in self._changed.read(expired=False)}
        differing = [key for some in batches(changed.values(), MAX_KEYS) for key in self._differing(some)]
        table = self._source.encode()
        return {table + encoded_key(key, self._keys): LateWrite(self._source, key) for key in differing}

    def close(self) -> None:
        if self._changed is not None:
            self._changed.close()

    def result(self) -> MovedTable:
        return MovedTable(self._target, self._items, self._changes, self._repaired)

    def _copy_keys(self, keys: Iterable[Item]) -> None:
        for some in batches(keys, MAX_KEYS):
            present = {encoded_key(item, self._keys): item for item in read(self._from, self._source, some)}
            write(self._to, self._target, (self._request(key, present) for key in some))

    def _request(self, key: Item, present: dict[bytes, Item]) -> WriteRequest:
        item = present.get(encoded_key(key, self._keys))
        if item is None:
            return WriteRequest(delete_request=DeleteRequest(key=key))
        return WriteRequest(put_request=PutRequest(item=item))

    def _differing(self, keys: list[Item]) -> list[Item]:
        """Those of some keys whose items are not the same on both sides."""
        source, target = (
            {encoded_key(item, self._keys): item for item in read(backend, table, keys)}
            for backend, table in ((self._from, self._source), (self._to, self._target))
        )
        names = [encoded_key(key, self._keys) for key in keys]
        pairs = [(source.get(name), target.get(name)) for name in names]
        return [
            key
            for key, (one, other) in zip(keys, pairs, strict=True)
            if (one is None) != (other is None) or (one is not None and not equal_items(one, other or {}))
        ]


def _is_same_table(one: TableDescription, other: TableDescription) -> bool:
    """Whether two addresses lead to one table. DynamoDB Local has no ids: names and times of creation have to do."""
    if one.table_id is not None and other.table_id is not None:
        return one.table_id == other.table_id
    created = one.creation_date_time
    return created is not None and (one.table_arn, created) == (other.table_arn, other.creation_date_time)


def read(backend: Backend, table: str, keys: list[Item]) -> list[Item]:
    """The items of some keys, read consistently."""
    found: list[Item] = []
    waiting = {table: KeysAndAttributes(keys=keys, consistent_read=True)}
    while waiting:
        reply = backend.call(BatchGetItem(request_items=waiting))
        for items in (reply.responses or {}).values():
            found += [msgspec.json.decode(raw) for raw in items]
        left = reply.unprocessed_keys
        waiting = {} if left is None else msgspec.json.decode(left, type=dict[str, KeysAndAttributes])
    return found


def write(backend: Backend, table: str, requests: Iterable[WriteRequest]) -> None:
    """Sends puts and deletes of distinct items, and what was not processed again."""
    for some in _small(batches(requests, MAX_WRITES)):
        waiting = {table: some}
        for wait in _waits():
            left = backend.call(BatchWriteItem(request_items=waiting)).unprocessed_items
            waiting = {} if left is None else msgspec.json.decode(left, type=dict[str, list[WriteRequest]])
            if not any(waiting.values()):
                break
            time.sleep(wait)


def _small(requests: Iterable[list[WriteRequest]]) -> Iterator[list[WriteRequest]]:
    """Batches that are small as JSON, too: an item of many small values takes ten times its size."""
    for batch in requests:
        some: list[WriteRequest] = []
        size = 0
        for each in batch:
            length = len(msgspec.json.encode(each))
            if some and size + length > MAX_WRITTEN_BYTES:
                yield some
                some, size = [], 0
            some.append(each)
            size += length
        yield some


def batches(values: Iterable[T], size: int) -> Iterator[list[T]]:
    waiting = iter(values)
    while some := list(islice(waiting, size)):
        yield some


def _waits() -> Iterator[float]:
    wait = 0.05
    while True:
        yield wait
        wait = min(wait * 2, 5.0)
