"""Reading the bytes of items by their keys: one, or many with as few BatchGetItem requests as possible."""

from collections.abc import Iterable

import msgspec

from partita.dynamodb import limits
from partita.dynamodb import requests as wire
from partita.dynamodb.canonical import ItemIdentity, item_identity
from partita.dynamodb.values import Item
from partita.store import log
from partita.store.context import StoreContext
from partita.store.flows import Flow
from partita.store.retries import send_idempotent


def fetch_item(context: StoreContext, table: str, key: Item) -> Flow[msgspec.Raw | None]:
    """The bytes of an item, with a strongly consistent read."""
    reply = yield from send_idempotent(context, wire.GetItem(table_name=table, key=key, consistent_read=True))
    return reply.item


def fetch_items(
    context: StoreContext, wanted: Iterable[tuple[str, Item]], *, consistent: bool
) -> Flow[dict[ItemIdentity, msgspec.Raw]]:
    """The bytes of the items that exist under these keys of tables, by identity; a key may be wanted twice."""
    found: dict[ItemIdentity, msgspec.Raw] = {}
    waiting = list({item_identity(table, key): (table, key) for table, key in wanted}.values())
    names = {table: tuple(key) for table, key in waiting}
    while waiting:
        batch, waiting = waiting[: limits.BATCH_GET_KEYS], waiting[limits.BATCH_GET_KEYS :]
        asked: dict[str, wire.KeysAndAttributes] = {}
        for table, key in batch:
            keys = asked.setdefault(table, _empty_batch(consistent)).keys
            assert keys is not None
            keys.append(key)
        for table, raw in (yield from _batch(context, asked)):
            item = msgspec.json.decode(raw)
            found[item_identity(table, {name: item[name] for name in names[table]})] = raw
    return found


def _empty_batch(consistent: bool) -> wire.KeysAndAttributes:
    return wire.KeysAndAttributes(keys=[], consistent_read=True if consistent else None)


def _batch(context: StoreContext, asked: dict[str, wire.KeysAndAttributes]) -> Flow[list[tuple[str, msgspec.Raw]]]:
    """The items of one BatchGetItem; unprocessed keys are requested again."""
    found: list[tuple[str, msgspec.Raw]] = []
    attempt = 0
    while asked:
        request = wire.BatchGetItem(request_items=asked)
        reply = yield from send_idempotent(context, request)
        replies = (reply.responses or {}).items()
        got = [(context.declared_table_name(table), raw) for table, items in replies for raw in items]
        found += got
        left = reply.unprocessed_keys
        asked = msgspec.json.decode(left, type=dict[str, wire.KeysAndAttributes]) if left is not None else {}
        attempt = 0 if got else attempt + 1
        if asked:
            pause = context.pause(attempt)
            log.unprocessed(request, sum(len(each.keys or ()) for each in asked.values()), pause.seconds)
            yield pause
    return found
