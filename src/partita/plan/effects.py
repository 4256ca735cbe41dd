"""Effects: the other items that an entity's invariants involve: guards of its unique values, counters, references.

A write compares the effects before and after it: a new guard is put and an old one deleted, counters are incremented
by the difference, new references are checked. A creation has no effects before it, a deletion none after it.
"""

import enum
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from partita.design.conditions import Comparison, Condition, Exists, Field
from partita.design.key_parts import EXACT, SEPARATOR, TextPart
from partita.design.markers import Limit, SumOf, Unique
from partita.design.models import Model
from partita.design.timestamps import time_text
from partita.dynamodb import limits
from partita.dynamodb.canonical import ItemIdentity, item_identity
from partita.dynamodb.values import AttributeValue, Item
from partita.errors import InvalidValue, LimitReached, NotUnique, ReferenceMissing
from partita.plan.actions import (
    Clause,
    IncrementAttribute,
    ItemAction,
    RemoveAttribute,
    SetAttribute,
    Step,
    absent,
    alive,
    equals,
    present,
)
from partita.plan.condition_expressions import to_stored
from partita.plan.design import Counter, Design, Reference
from partita.plan.items import Values, expiry_of, expiry_second, key_of
from partita.plan.predicates import design_predicate
from partita.plan.races import NothingToTake
from partita.plan.stored_keys import GUARD
from partita.validation import invalid_value

OWNER = "guardOf"  # the guard's one attribute beside its key: the key of the item that holds the value

BEING_DELETED = "partita-leaving"  # attribute of an owner while its children are being deleted


class Guard(msgspec.Struct, frozen=True):
    """The item that reserves a unique value for its owner."""

    model: Model
    unique: Unique
    key: Item
    values: dict[str, Any]
    owner: Item
    expiry: AttributeValue | None = None  # the same as its item's, or the value would stay reserved forever


class Parent(msgspec.Struct, frozen=True):
    """The key of a referenced item, and the values of its parts."""

    key: Item
    parts: dict[str, Any]


class Effects(msgspec.Struct):
    """`counts` is by parent item and attribute; `needs` are the referenced items that must exist."""

    exists: bool = True
    guards: dict[ItemIdentity, Guard] = msgspec.field(default_factory=dict)
    counts: dict[tuple[ItemIdentity, str], tuple[Counter, Parent, Decimal]] = msgspec.field(default_factory=dict)
    needs: dict[ItemIdentity, tuple[Reference, Parent]] = msgspec.field(default_factory=dict)


def effects(design: Design, model: Model, values: Values | None, item: Item) -> Effects:
    """The effects of an entity with these values, whose encoded attributes are `item`."""
    found = Effects(exists=values is not None)
    if values is None:
        return found
    for unique in model.uniques:
        guard = guard_of(model, unique, values, item)
        if guard is not None:
            found.guards[item_identity(model.table.name, guard.key)] = guard
    for counter in design.counters.get(model, ()):
        marker = counter.marker
        if marker.when is None or design_predicate(model, marker.when)(item):
            parent = _parent(counter.parent, counter.parts, values)
            amount = Decimal(values[marker.amount] or 0) if isinstance(marker, SumOf) else Decimal(1)
            if parent is not None:
                where = (item_identity(counter.parent.table.name, parent.key), counter.attribute.name)
                found.counts[where] = (counter, parent, amount)
    for reference in design.references.get(model, ()):
        target = _parent(reference.target, reference.parts, values)
        if target is not None:
            found.needs[item_identity(reference.target.table.name, target.key)] = (reference, target)
    return found


def guard_of(model: Model, unique: Unique, values: Values, item: Item) -> Guard | None:
    """The guard of a unique value, or None where the entity does not have the value."""
    held = {name: values[name] for name in unique.fields}
    if any(value is None for value in held.values()) or (
        unique.when is not None and not design_predicate(model, unique.when)(item)
    ):
        return None
    key = guard_key(model, unique, values)
    return Guard(model, unique, key, held, key_of(model, values), expiry_of(model, values, item))


def guard_key(model: Model, unique: Unique, values: Values) -> Item:
    """The key of the guard of these values."""
    try:
        texts = [TextPart(fold=unique.case_insensitive).write(_text(values[name])) for name in unique.fields]
    except ValueError as error:
        raise invalid_value(error, model.name, unique.name) from None
    names = model.table.key_names
    text = SEPARATOR.join((GUARD, model.name, unique.name, *texts))
    if len(text.encode()) > limits.PARTITION_KEY_BYTES:
        most = limits.PARTITION_KEY_BYTES
        raise InvalidValue(model.name, f"it is too long: the key of its guard exceeds {most} bytes", unique.name)
    key: Item = {names[0]: {"S": text}}
    if len(names) > 1:
        key[names[1]] = {"S": GUARD}
    return key


def _text(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return str(value.value)
    return time_text(value) if isinstance(value, datetime) else str(value)


def _parent(parent: Model, parts: dict[str, str], values: Values) -> Parent | None:
    found = {part: values[source] for part, source in parts.items()}
    return None if any(value is None for value in found.values()) else Parent(key_of(parent, found), found)


def actions(
    model: Model, before: Effects, after: Effects, skip: set[ItemIdentity], now: datetime
) -> Iterator[ItemAction]:
    """The actions on other items; those in `skip` are not decremented or deleted.

    They are parents that no longer exist, counters at zero, and guards of another owner.
    """
    yield from _guard_actions(before, after, skip, now)
    counted = set()
    for where in before.counts | after.counts:  # in the order of the design: the same request every time
        gone = where[0] in skip or (*where[0], where[1]) in skip
        change = _count_action(model, before.counts.get(where), after.counts.get(where), gone, now)
        if change is not None:
            counted.add(where[0])
            yield change
    for identity, (reference, target) in after.needs.items():
        if identity not in before.needs and identity not in counted:
            there = _must_exist(model, reference.target, target, reference.refers, now)
            yield ItemAction("check", reference.target.table.name, target.key, reference.target.name, clauses=(there,))


def _guard_actions(before: Effects, after: Effects, skip: set[ItemIdentity], now: datetime) -> Iterator[ItemAction]:
    for identity, guard in after.guards.items():
        held = _guard_attributes(guard)
        earlier = before.guards.get(identity)
        if earlier is None:
            free = absent(next(iter(guard.key)))
            if guard.model.expires is not None and guard.model.table.ttl is not None:
                free = free | ~alive(guard.model.table.ttl, expiry_second(now))
            taken = Clause(free, _uniqueness_error(guard))
            item = {**guard.key, **held}
            yield ItemAction("put", guard.model.table.name, guard.key, guard.model.name, item=item, clauses=(taken,))
        elif _guard_attributes(earlier) != held:
            mine = Clause(absent(OWNER) | equals(OWNER, {"M": earlier.owner}), _uniqueness_error(guard))
            steps: dict[str, Step] = {name: SetAttribute(value) for name, value in held.items()}
            steps |= {name: RemoveAttribute() for name in _guard_attributes(earlier) if name not in held}
            yield ItemAction(
                "update", guard.model.table.name, guard.key, guard.model.name, steps=steps, clauses=(mine,)
            )
    for identity, guard in before.guards.items():
        if identity in after.guards or identity in skip or (guard.unique.keep_after_delete and not after.exists):
            continue
        mine = Clause(absent(OWNER) | equals(OWNER, {"M": guard.owner}), _nothing_to_take(guard.model, identity))
        yield ItemAction("delete", guard.model.table.name, guard.key, guard.model.name, clauses=(mine,))


def _guard_attributes(guard: Guard) -> Item:
    """The attributes of a guard beside its key."""
    held: Item = {OWNER: {"M": guard.owner}}
    if guard.expiry is not None and guard.model.table.ttl is not None:
        held[guard.model.table.ttl] = guard.expiry
    return held


def _uniqueness_error(guard: Guard) -> Callable[[Item], NotUnique]:
    return lambda _: NotUnique(guard.model.name, guard.unique.name, guard.values)


def _nothing_to_take(model: Model, identity: ItemIdentity) -> Callable[[Item], NothingToTake]:
    return lambda _: NothingToTake(model.name, identity)


def _count_action(
    model: Model,
    before: tuple[Counter, Parent, Decimal] | None,
    after: tuple[Counter, Parent, Decimal] | None,
    gone: bool,
    now: datetime,
) -> ItemAction | None:
    change = EXACT.subtract(after[2] if after else Decimal(0), before[2] if before else Decimal(0))
    found = after or before
    assert found is not None
    counter, whole, _ = found
    key = whole.key
    if change == 0 or (gone and after is None):
        return None
    parent = counter.parent
    name = counter.attribute.name
    clauses = [_must_exist(model, parent, whole, counter.refers, now)]
    if after is None:
        identity = item_identity(parent.table.name, key)
        clauses = [Clause(present(next(iter(key))), _nothing_to_take(parent, identity))]
        if not isinstance(counter.marker, SumOf):  # items of older code may never have been counted
            some = Comparison(">", Field((name,)), {"N": "0"})
            clauses.append(Clause(some, _nothing_to_take(parent, (*identity, name))))
    if change > 0:
        clauses += [
            _limit_clause(parent, whole.parts, limit, counter, change)
            for limit in parent.limits
            if _is_limit_of(limit, counter)
        ]
    return ItemAction(
        "update",
        parent.table.name,
        key,
        parent.name,
        steps={name: IncrementAttribute(str(change))},
        clauses=tuple(clauses),
    )


def _must_exist(model: Model, target: Model, wanted: Parent, refers: str, now: datetime) -> Clause:
    """The item exists, is not being deleted, and has not expired."""
    there = present(next(iter(wanted.key)))
    if target.owns:
        there = there & absent(BEING_DELETED)
    if target.expires is not None and target.table.ttl is not None:
        there = there & alive(target.table.ttl, expiry_second(now))
    return Clause(there, lambda _: ReferenceMissing(model.name, target.name, wanted.parts, refers))


def _is_limit_of(limit: Limit, counter: Counter) -> bool:
    condition = limit.condition
    return isinstance(condition, Comparison) and condition.field.path == (counter.attribute.field,)


def _limit_clause(parent: Model, key: dict[str, Any], limit: Limit, counter: Counter, change: Decimal) -> Clause:
    """The limit on the value before the increment: conditions cannot add, so `n + 1 <= bound` is `n < bound`."""
    condition = limit.condition
    assert isinstance(condition, Comparison)
    counted, bound = condition.field, condition.value
    allowed: Condition
    if isinstance(bound, Field):
        if change != 1:
            wrong = f"an increment of {change} cannot be checked against a limit in an attribute; increment by one"
            raise InvalidValue(parent.name, wrong)
        allowed = Comparison("<", counted, bound) | (~Exists(counted) & Comparison(">", bound, 0))
    else:
        exactly = int(change) if change == change.to_integral_value() else change
        allowed = Comparison("<=", counted, Decimal(str(bound)) - exactly)
        if change <= bound:
            allowed = allowed | ~Exists(counted)  # an older item without the counter is at zero
    bounds = counter.attribute.name
    return Clause(to_stored(parent, allowed), lambda _: limit_reached(parent, key, condition), bounds)


def limit_reached(model: Model, key: dict[str, Any], condition: Comparison) -> LimitReached:
    bound = ".".join(condition.value.path) if isinstance(condition.value, Field) else condition.value
    return LimitReached(model.name, key, ".".join(condition.field.path), condition.operator, bound)
