"""Conditions of `became` and `stopped`: checked whatever the change is, and evaluated on its images.

The answer for an item that was created or deleted may follow without a look at the condition. It is checked anyway: a
mistake in it is an error of the first change, and not of the first one of another kind.
"""

from functools import lru_cache
from typing import Any

import msgspec

from partita.design.condition_checks import check_condition
from partita.design.conditions import Condition
from partita.design.models import Model, model_of
from partita.dynamodb.values import Item
from partita.errors import DesignError, InvalidValue
from partita.plan.items import key_of, values_of
from partita.plan.predicates import Predicate, predicate
from partita.store.decoding import decoder_of

_MOST_CONDITIONS = 1024
"""How many are remembered: a handler may build a new one for every change."""


def checked(entity: type[Any], method: str, condition: object) -> Predicate:
    """The condition as a function of an image; a DesignError for one that no item of the entity can have."""
    where = f"Change[{entity.__name__}].{method}"
    if not isinstance(condition, Condition):
        raise DesignError(where, f"{condition!r} is not a condition", "write one with F, such as F.name == value")
    return _predicate(model_of(entity), where, condition)


def holds(is_true: Predicate, image: msgspec.Raw | None) -> bool:
    """Whether a condition is true of an image; of none, nothing is true."""
    return image is not None and is_true(msgspec.json.decode(image))


@lru_cache(maxsize=_MOST_CONDITIONS)
def _predicate(model: Model, where: str, condition: Condition) -> Predicate:
    check_condition(where, model, condition)
    try:
        is_true = predicate(model, condition)
    except DesignError as error:
        raise DesignError(where, error.reason, error.instead) from None
    except InvalidValue as error:
        raise DesignError(where, str(error), "write a value that the entity can have") from None
    in_key = any(model.attributes[field].in_key for field in condition.fields)
    return lambda image: is_true(_as_stored_now(model, image, in_key=in_key))


def _as_stored_now(model: Model, image: Item, *, in_key: bool) -> Item:
    """An image as the entity is stored now: attributes may have had other names, and keys another form."""
    item = image
    for migration in model.migrations:
        item = migration.upgraded(item)
    return {**item, **key_of(model, values_of(model, decoder_of(model).from_item(image)))} if in_key else item
