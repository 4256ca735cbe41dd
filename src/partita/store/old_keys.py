"""Changing items that still lie under an old key: they are moved to their new one first.

Only entities that declare `was` or have a time in their key pay for the second look, and only when the first one finds
nothing.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from partita.design.models import Model
from partita.errors import AlreadyExists, NotFound
from partita.plan.design import Design
from partita.plan.items import Values, key_parts, old_keys
from partita.plan.races import Raced
from partita.store.context import StoreContext
from partita.store.execution import ATTEMPTS, pause_after_conflict, retries_exhausted
from partita.store.flows import Flow
from partita.store.reading import fetch_old

R = TypeVar("R")


def with_old(
    context: StoreContext, design: Design, model: Model, values: Values, act: Callable[[], Flow[R]]
) -> Flow[R]:
    """Act; where there is nothing to act on, move the item from its old key and act again."""
    try:
        return (yield from act())
    except NotFound:
        if next(iter(old_keys(model, values)), None) is None:
            raise
    yield from move_old(context, design, model, values)
    return (yield from act())  # somebody else may have moved it, too


def move_old(context: StoreContext, design: Design, model: Model, values: Values) -> Flow[bool]:
    """Bring the item under an old key to its new one; false where there is none. Who was overtaken looks again."""
    from partita.store.adoption import adopt_item

    for attempt in range(ATTEMPTS):
        raw = yield from fetch_old(context, model, values)
        if raw is None:
            return False
        try:
            yield from adopt_item(context, design, model, msgspec.json.decode(raw))
        except AlreadyExists:
            return True
        except Raced:
            yield pause_after_conflict(context, model.name, attempt)
        else:
            return True
    raise retries_exhausted(model.name)


def refuse_old(context: StoreContext, model: Model, values: Values) -> Flow[None]:
    """What lies under an old key exists already."""
    if (yield from fetch_old(context, model, values)) is not None:
        raise AlreadyExists(model.name, key_parts(model, values))
