"""DynamoDB's validation errors about what a write makes of an item, as errors that name the entity and attribute.

DynamoDB finds them when it applies a write: how large an item becomes, what a step adds up to.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from partita.dynamodb import limits
from partita.dynamodb.canonical import item_size
from partita.dynamodb.exceptions import TransactionCanceledException, ValidationException
from partita.dynamodb.values import Item
from partita.errors import InvalidTransaction, InvalidValue, PartitaError
from partita.plan.actions import AddToSet, AppendToList, IncrementAttribute, ItemAction, SetAttribute

_TOO_LARGE = re.compile("item size (to update )?has exceeded", re.IGNORECASE)
_TOO_DEEP = re.compile("nesting levels have exceeded", re.IGNORECASE)
_TOO_MUCH = re.compile("exceeding the 4 ?MB limit|collection size of items exceeded", re.IGNORECASE)
_NOT_A_NUMBER = re.compile("more than 38 significant digits|number (over|under)flow", re.IGNORECASE)


def explained_rejection(
    actions: list[ItemAction], rejection: ValidationException | TransactionCanceledException
) -> PartitaError | None:
    """The error for a rejected write, or None where the rejection is about something else."""
    text = str(rejection.body())
    if isinstance(rejection, TransactionCanceledException):
        reasons = zip(actions, rejection.reasons, strict=True)
        actions = [action for action, reason in reasons if reason["Code"] == "ValidationError"] or actions
    if _TOO_LARGE.search(text) is not None:
        return _too_large(actions)
    if _TOO_DEEP.search(text) is not None:
        return _too_deep(actions)
    if _TOO_MUCH.search(text) is not None:
        most = limits.TRANSACTION_BYTES // limits.MB
        return InvalidTransaction(f"its items are larger than {most} MB together; write them in several transactions")
    if _NOT_A_NUMBER.search(text) is not None:
        return _sum_out_of_range(actions)
    return None


def check_item_size(entity: str, item: Item, json_bytes: int) -> None:
    """An InvalidValue for an item that is too large. It is never larger than its JSON, so few are measured."""
    if json_bytes > limits.ITEM_BYTES and item_size(item) > limits.ITEM_BYTES:
        raise _too_large([ItemAction("put", "", {}, entity, item)])


def _too_large(actions: list[ItemAction]) -> InvalidValue:
    entity, name, _ = max(_written_attributes(actions), key=lambda each: len(msgspec.json.encode(each[2])))
    return InvalidValue(entity, f"it makes the item larger than the {limits.ITEM_BYTES // 1024} KB of DynamoDB", name)


def _too_deep(actions: list[ItemAction]) -> InvalidValue:
    entity, name, _ = max(_written_attributes(actions), key=lambda each: _levels(each[2]))
    return InvalidValue(entity, f"it is nested deeper than the {limits.NESTING_LEVELS} levels of DynamoDB", name)


def _sum_out_of_range(actions: list[ItemAction]) -> InvalidValue:
    """The error of a step whose sum DynamoDB cannot store; of several steps, DynamoDB does not say which one it is."""
    steps = [
        (action.entity, name, step.by)
        for action in actions
        for name, step in action.steps.items()
        if isinstance(step, IncrementAttribute)
    ]
    most = f"more than the {limits.NUMBER_DIGITS} digits that DynamoDB stores"
    if len(steps) == 1:
        ((entity, name, by),) = steps
        return InvalidValue(entity, f"the stored value plus {by} has {most}", name)
    sums = ", ".join(f"{name} + {by}" for _, name, by in steps)
    return InvalidValue(actions[0].entity, f"one of the sums {sums} has {most}")


def _written_attributes(actions: list[ItemAction]) -> Iterator[tuple[str, str, Any]]:
    """Every attribute that is written: entity, name and value."""
    for action in actions:
        values: dict[str, Any] = dict(action.item or {})
        values |= {name: step.value for name, step in action.steps.items() if isinstance(step, SetAttribute)}
        values |= {
            name: step.values for name, step in action.steps.items() if isinstance(step, AppendToList | AddToSet)
        }
        yield from ((action.entity, name, value) for name, value in values.items())


def _levels(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_levels, inside), default=0)
