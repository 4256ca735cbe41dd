"""Changing items that are still stored under an old key: they are moved to their new key first.

Only entities that declare `old_keys` or have a time in their key need the second read, and only if the first one finds
nothing.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from partita.design.models import Model
from partita.errors import AlreadyExists, NotFound, ReservedKey
from partita.plan.design import Design
from partita.plan.items import Values, key_parts, old_keys
from partita.plan.races import Raced
from partita.store.context import StoreContext
from partita.store.decoding import decoder_of
from partita.store.execution import ATTEMPTS, pause_after_conflict, retries_exhausted
from partita.store.flows import Flow
from partita.store.reading import fetch_under_old_key, now_seconds

R = TypeVar("R")


def with_old_keys(
    context: StoreContext, design: Design, model: Model, values: Values, act: Callable[[], Flow[R]]
) -> Flow[R]:
    """Runs `act`; if the item is not found, moves it from its old key and runs `act` again."""
    try:
        return (yield from act())
    except ReservedKey:
        raise NotFound(model.name, key_parts(model, values)) from None
    except NotFound:
        if next(iter(old_keys(model, values)), None) is None:
            raise
    yield from move_from_old_key(context, design, model, values)
    return (yield from act())  # even if another writer has moved it


def move_from_old_key(
    context: StoreContext,
    design: Design,
    model: Model,
    values: Values,
    check: Callable[[Any], None] | None = None,
) -> Flow[bool]:
    """Moves the item under an old key to its new key; false if there is no such item. Repeated after a conflict.

    `check` receives the entity first and may raise.
    """
    from partita.store.adoption import adopt_item

    for attempt in range(ATTEMPTS):
        raw = yield from fetch_under_old_key(context, model, values)
        if raw is None:
            return False
        if check is not None:
            entity = decoder_of(model)(raw, now_seconds(context))
            if entity is None:
                return False
            check(entity)
        try:
            yield from adopt_item(context, design, model, msgspec.json.decode(raw))
        except AlreadyExists:
            return True
        except Raced:
            yield pause_after_conflict(context, model.name, attempt)
        else:
            return True
    raise retries_exhausted(model.name)


def check_no_old_item(context: StoreContext, model: Model, values: Values) -> Flow[None]:
    """Raises AlreadyExists if the entity is stored under an old key."""
    if (yield from fetch_under_old_key(context, model, values)) is not None:
        raise AlreadyExists(model.name, key_parts(model, values))
