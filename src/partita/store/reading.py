"""Flows that read: one item, a page, a batch.

Expired items are left out, and a page is filled up with further ones: it is short only at the end of the query.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from partita.design.models import Model
from partita.design.reads import Get, Query, Read
from partita.dynamodb.canonical import item_identity
from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.values import Item
from partita.errors import InvalidValue, ReservedKey, StoredItemInvalid
from partita.plan.changes import StoredItem
from partita.plan.read_requests import (
    check_lengths,
    checked_key,
    get_item,
    get_plan,
    key_values,
    query_plan,
)
from partita.store.arguments import as_list, check_flag, check_function
from partita.store.context import StoreContext
from partita.store.decoding import Decoder, Recogniser, decoder_of, recogniser_among
from partita.store.flows import Flow
from partita.store.item_reads import fetch_item, fetch_items
from partita.store.merge import Merge
from partita.store.old_items import fetch_all_old_or_moved, fetch_old_or_moved, is_in_place, now_seconds
from partita.store.readiness import check_readable, without_unready_counters
from partita.store.retries import send_idempotent

E = TypeVar("E")
R = TypeVar("R")

Decode: TypeAlias = Callable[[msgspec.Raw, int | None], R | None]
"""Makes something of an item's bytes at a second since 1970; None leaves the item out, as if it had expired."""


class Page(Generic[E], msgspec.Struct, frozen=True):
    """Some items, and the cursor of the next page; None at the end."""

    items: list[E]
    cursor: str | None


def fetch_one(
    context: StoreContext, call: Get[E], *, consistent: bool = False, decode: Decode[Any] | None = None
) -> Flow[E | None]:
    """The entity, or the result of `decode` for the item's bytes."""
    plan = get_plan(call)
    check_flag("consistent", consistent)
    check_readable(context.design, plan)
    try:
        reply = yield from send_idempotent(context, get_item(plan, call.arguments, consistent=consistent))
    except ReservedKey:
        return None
    except ValidationException:
        check_lengths(plan, call.arguments)
        raise
    item = reply.item
    if plan.model.old_keys and (item is None or not is_in_place(context, plan.model, item)):
        item = yield from fetch_old_or_moved(context, plan.model, key_values(plan, call.arguments))
    if item is None:
        return None
    now = now_seconds(context) if decode is not None or plan.model.expires is not None else None
    if decode is not None:
        return decode(item, now)
    found: E | None = without_unready_counters(context.design, plan.models, decoder_of(plan.model)(item, now))
    return found


def fetch_stored_item(context: StoreContext, model: Model, key: Item) -> Flow[StoredItem | None]:
    """An item for a fenced write: as an item and as an entity; None if it has expired."""
    raw = yield from fetch_item(context, model.table.name, key)
    now = None if model.expires is None else now_seconds(context)
    entity = None if raw is None else decoder_of(model)(raw, now)
    return None if raw is None or entity is None else StoredItem(msgspec.json.decode(raw), entity)


class QueryPages(Generic[E]):
    """The pages of a query from a cursor on, each read by a flow.

    With `copies`, all that is stored in its range, though it may be a copy under an old key.
    """

    def __init__(
        self,
        context: StoreContext,
        call: Query[Any],
        cursor: str | None = None,
        *,
        consistent: bool = False,
        copies: bool = False,
    ) -> None:
        plan = query_plan(call)
        check_flag("consistent", consistent)
        check_readable(context.design, plan)
        self._read = call.read
        self._models = plan.models
        self._context = context
        self._merge = Merge(context, plan, call.arguments, cursor, consistent, copies=copies)

    def fetch(self, size: int | None = None, decode: Decode[Any] | None = None) -> Flow[list[E]]:
        """The next page, without expired items; `decode` as for one item."""
        decode_item = skipping_unreadable(self._context, decode or decoder_for_read(self._read))
        now = now_seconds(self._context)
        watch, design = self._context.key_watch, self._context.design
        watches = decode is None and self._read.view is None and watch.wants(self._models)

        def decode_all(items: list[msgspec.Raw]) -> list[E]:
            if watches and items:
                watch.look(self._models, items[0])
            found = [entity for raw in items if (entity := decode_item(raw, now)) is not None]
            if decode is None and design is not None and design.data.unready:
                return [without_unready_counters(design, self._models, entity) for entity in found]
            return found

        return self._fetch(size, decode_all)

    def fetch_raw(self, size: int | None = None) -> Flow[list[msgspec.Raw]]:
        """The next page as the bytes of its items, expired ones among them."""
        return self._fetch(size, lambda items: items)

    @property
    def is_done(self) -> bool:
        """Whether the last page has been read."""
        return self._merge.is_done

    def cursor(self) -> str | None:
        """Where the next page begins, signed; None at the end."""
        return self._merge.cursor()

    def _fetch(self, size: int | None, decode_all: Callable[[list[msgspec.Raw]], list[R]]) -> Flow[list[R]]:
        if size is not None and (type(size) is not int or size < 1):
            raise InvalidValue(self._read.name, f"a page holds at least one item, not {size!r}")
        merge, wanted = self._merge, size or self._read.page_size
        items: list[R] = []
        while wanted is None or len(items) < wanted:
            room = None if wanted is None else wanted - len(items)
            if not (yield from merge.fill(room)):
                break
            items += decode_all(merge.take(room))
            if wanted is None and items and merge.must_read_on:
                break  # a page of DynamoDB's own size ends where the first range has to be read on
        return items


def fetch_page(
    context: StoreContext,
    call: Query[E],
    *,
    size: int | None = None,
    cursor: str | None = None,
    consistent: bool = False,
    decode: Decode[Any] | None = None,
) -> Flow[Page[E]]:
    """The next page of a query, without expired items; `decode` as for one item."""
    pages: QueryPages[E] = QueryPages(context, call, cursor, consistent=consistent)
    check_function("read_page", "decode", decode, optional=True)
    items = yield from pages.fetch(size, decode)
    return Page(items, pages.cursor())


def fetch_raw_page(
    context: StoreContext, call: Query[Any], *, size: int | None = None, cursor: str | None = None
) -> Flow[Page[msgspec.Raw]]:
    """The next page of a query as the bytes of its items, expired ones among them."""
    pages: QueryPages[Any] = QueryPages(context, call, cursor)
    items = yield from pages.fetch_raw(size)
    return Page(items, pages.cursor())


def decoder_for_read(read: Read) -> Decoder | Recogniser:
    """The decoder of a read's items."""
    if read.view is not None:
        return decoder_of(read.view)
    if len(read.sources) == 1:
        return decoder_of(read.sources[0].model)
    return recogniser_among(tuple(source.model for source in read.sources))


def skipping_unreadable(context: StoreContext, decode: Decode[R]) -> Decode[R]:
    """A decoder for lists: an item that cannot be decoded is reported where the store's settings say so, and None."""
    report = context.on_unreadable
    return decode if report is None else partial(_decode_or_report, decode, report)


def _decode_or_report(
    decode: Decode[R], report: Callable[[StoredItemInvalid], object], raw: msgspec.Raw, now: int | None
) -> R | None:
    try:
        return decode(raw, now)
    except StoredItemInvalid as error:
        report(error)
        return None


def fetch_batch(context: StoreContext, calls: Sequence[Get[E]], *, consistent: bool = False) -> Flow[list[E | None]]:
    """The entities of many gets, in the order of the calls, with as few BatchGetItem requests as possible."""
    calls = as_list("get_many", "gets", calls)
    check_flag("consistent", consistent)
    plans = [get_plan(call) for call in calls]
    for plan in plans:
        check_readable(context.design, plan)
    keys = [(plan.table, checked_key(plan, call.arguments)) for plan, call in zip(plans, calls, strict=True)]
    found = yield from fetch_items(context, keys, consistent=consistent)
    items = [found.get(item_identity(*key)) for key in keys]
    missing = [
        at
        for at, item in enumerate(items)
        if (model := plans[at].model).old_keys and (item is None or not is_in_place(context, model, item))
    ]
    if missing:
        wanted = [(plans[at].model, key_values(plans[at], calls[at].arguments)) for at in missing]
        old = yield from fetch_all_old_or_moved(context, wanted, consistent=consistent)
        for at, item in zip(missing, old, strict=True):
            items[at] = item
    now = now_seconds(context)
    found_entities = []
    for plan, item in zip(plans, items, strict=True):
        entity = None if item is None else skipping_unreadable(context, decoder_of(plan.model))(item, now)
        found_entities.append(without_unready_counters(context.design, plan.models, entity))
    return found_entities
