"""The partition keys that requests name most, from a sample of them, in a table of fixed size.

One of 64 requests is looked at. Its keys are counted by Misra and Gries: a key that is in the table gets one more, one
that is not takes a free place, and where there is none, every count is lowered by one. So a key with a share of more
than one in 256 is in the table, and its count is too low by at most the number of times that the counts were lowered.
A table is filled for a minute; the answer is that of the current minute and the one before it.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from partita.dynamodb import requests as wire
from partita.dynamodb.requests import Request
from partita.dynamodb.values import Item

if TYPE_CHECKING:
    from partita.engine.context import EngineContext
    from partita.engine.schema import KeySchema, StoredTable

SAMPLE_OF = 64  # one of so many requests
PLACES = 255
SECONDS = 60.0
MAX_TEXT = 200  # characters of a key's text

KeyName = tuple[str, str, str]  # table, index (empty: the table itself), text of the partition key


class HotKey(msgspec.Struct, frozen=True):
    """A partition key and its share of the sampled keys: at least `share`, at most `share_most`."""

    table: str
    index: str
    key: str
    share: float
    share_most: float


class HotKeys(NamedTuple):
    """The keys that were named most, the first one most; `sampled` keys in so many `seconds`."""

    keys: list[HotKey]
    sampled: int
    seconds: float


class _Counts:
    """The table of Misra and Gries."""

    def __init__(self, began: float) -> None:
        self.began = began
        self.places: dict[KeyName, int] = {}
        self.total = 0
        self.lowered = 0

    def add(self, name: KeyName) -> None:
        self.total += 1
        places = self.places
        if name in places:
            places[name] += 1
        elif len(places) < PLACES:
            places[name] = 1
        else:
            self.lowered += 1
            self.places = {each: number - 1 for each, number in places.items() if number > 1}


class KeySample:
    """Counts the keys of requests; any thread may ask and add."""

    def __init__(self, context: "EngineContext", timer: Callable[[], float] = time.monotonic) -> None:
        self._context = context
        self._timer = timer
        self._lock = threading.Lock()
        self._now = _Counts(timer())
        self._before: _Counts | None = None
        self.is_due: Callable[[], bool] = cycle(_turns()).__next__
        """Whether the next request is one of those that are looked at."""

    def add(self, request: Request[Any]) -> None:
        """Counts the partition keys that a request names; one that is not valid has none."""
        try:
            names = list(_names(self._context, request))
        except Exception:  # noqa: BLE001 - whatever is wrong with a request, its operation reports it
            return
        with self._lock:
            if self._timer() - self._now.began >= SECONDS:
                self._turn()
            for name in names:
                self._now.add(name)

    def _turn(self) -> None:
        now = self._timer()
        self._before = self._now if now - self._now.began < 2 * SECONDS else None
        self._now = _Counts(now)

    def top(self, most: int = 20) -> HotKeys:
        """The keys of the last minute or two."""
        with self._lock:
            if self._timer() - self._now.began >= SECONDS:
                self._turn()
            tables = [each for each in (self._before, self._now) if each is not None]
            total = sum(each.total for each in tables)
            lowered = sum(each.lowered for each in tables)
            counts: dict[KeyName, int] = {}
            for each in tables:
                for name, number in each.places.items():
                    counts[name] = counts.get(name, 0) + number
            seconds = self._timer() - tables[0].began
        first = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:most]
        keys = [HotKey(*name, number / total, min(1.0, (number + lowered) / total)) for name, number in first]
        return HotKeys(keys, total, seconds)


def _turns() -> list[bool]:
    """A pattern in which one of 64 is true, without a period that requests in turn could have."""
    turns = [True] * 64 + [False] * (64 * (SAMPLE_OF - 1))
    random.Random(1).shuffle(turns)  # noqa: S311 - a sample
    return turns


def _names(context: "EngineContext", request: Request[Any]) -> Iterator[KeyName]:
    tables = context.catalog.tables
    match request:
        case wire.GetItem() | wire.UpdateItem() | wire.DeleteItem():
            yield _name(tables[request.table_name or ""], request.key)
        case wire.PutItem():
            yield _name(tables[request.table_name or ""], request.item)
        case wire.Query():
            yield _of_query(tables[request.table_name or ""], request)
        case wire.BatchGetItem():
            for name, several in (request.request_items or {}).items():
                for key in several.keys or ():
                    yield _name(tables[name], key)
        case wire.BatchWriteItem():
            for name, writes in (request.request_items or {}).items():
                for write in writes:
                    item = write.put_request.item if write.put_request else write.delete_request.key  # type: ignore[union-attr]
                    yield _name(tables[name], item)
        case wire.TransactGetItems():
            for each in request.transact_items or ():
                yield _name(tables[each.get.table_name], each.get.key)  # type: ignore[union-attr, index]
        case wire.TransactWriteItems():
            for action in request.transact_items or ():
                found: Any = action.put or action.update or action.delete or action.condition_check
                yield _name(tables[found.table_name], found.item if action.put else found.key)


def _name(table: "StoredTable", item: Item | None) -> KeyName:
    return (table.name, "", _text(table.keys, item or {}))


def _of_query(table: "StoredTable", request: wire.Query) -> KeyName:
    from partita.engine.operations.query import query_conditions

    index = request.index_name or ""
    keys = table.indexes[index].keys if index else table.keys
    conditions = query_conditions(request)
    return (table.name, index, _text(keys, {name: each.values[0] for name, each in conditions.items()}))


def _text(keys: "KeySchema", item: Item) -> str:
    """The values of the partition attributes, as text."""
    return ", ".join(str(next(iter(item[key.name].values()))) for key in keys.partition)[:MAX_TEXT]
