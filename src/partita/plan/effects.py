"""Effects: the other items that an entity's invariants involve: guards of its unique values, counters, references.

A write compares the effects before and after it: a new guard is put and an old one deleted, counters are incremented
by the difference, new references are checked. A creation has no effects before it, a deletion none after it.
"""

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from partita.design.assignable import assigned
from partita.design.conditions import AnyOf, Comparison, Condition, Exists, Field
from partita.design.key_parts import EXACT, TextPart
from partita.design.markers import Limit, SumOf, Unique
from partita.design.models import Model
from partita.design.separators import HASH
from partita.design.timestamps import time_text
from partita.design.untyped_values import number_text
from partita.dynamodb import limits
from partita.dynamodb.canonical import ItemIdentity, item_identity
from partita.dynamodb.values import AttributeValue, Item
from partita.errors import InvalidValue, LimitReached, NotUnique, ReferenceMissing, StillReferenced, StoreError
from partita.plan.actions import (
    Clause,
    IncrementAttribute,
    ItemAction,
    Kind,
    RemoveAttribute,
    SetAttribute,
    Step,
    Tally,
    absent,
    alive,
    equals,
    present,
)
from partita.plan.condition_expressions import to_stored
from partita.plan.design import Counter, CounterBuild, Design, Reference, counters_of
from partita.plan.items import GUARD, Values, encode_attributes, expiry_of, expiry_second, key_of, key_parts
from partita.plan.predicates import design_predicate, evaluate
from partita.plan.races import BoundUnread, NothingToTake, ParentMissing, Raced
from partita.validation import invalid_value

OWNER = "guardOf"  # the guard's one attribute beside its key: the key of the item that holds the value
_OWNER = Field((OWNER,))

_EXACT, _FOLDED = TextPart(), TextPart(fold=True)
_NOTHING, _ONE = Decimal(0), Decimal(1)

BEING_DELETED = "partita-leaving"  # attribute of an owner, and of owned items that count, while they are being deleted
COUNTED = "partita-counted"  # attribute of a child that the tallies of a build include: the build's id


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


Count = tuple[Counter, Parent, Decimal]
"""What an item adds to a counter."""


class Effects(msgspec.Struct):
    """`counts` is by parent item and attribute; `needs` are the referenced items that must exist.

    While counters are being counted, `build` is that, and `counted` whether their tallies include the item.
    """

    exists: bool = True
    build: CounterBuild | None = None
    counted: bool = True
    guards: dict[ItemIdentity, Guard] = msgspec.field(default_factory=dict)
    counts: dict[tuple[ItemIdentity, str], Count] = msgspec.field(default_factory=dict)
    needs: dict[ItemIdentity, tuple[Reference, Parent]] = msgspec.field(default_factory=dict)


def effects(design: Design, model: Model, values: Values | None, item: Item, key: Item | None = None) -> Effects:
    """The effects of an entity with these values, whose encoded attributes are `item`; `key` where it is known."""
    found = Effects(exists=values is not None, build=design.data.build)
    if values is None:
        return found
    own_key = key_of(model, values) if model.uniques and key is None else key
    for unique in model.uniques:
        guard = guard_of(model, unique, values, item, own_key)
        if guard is not None:
            found.guards[item_identity(model.table.name, guard.key)] = guard
    for counter in design.counters.get(model, ()):
        marker = counter.marker
        if marker.when is None or design_predicate(model, marker.when)(item):
            parent = _parent(counter.parent, counter.parts, values)
            amount = _amount(values[marker.amount]) if isinstance(marker, SumOf) else _ONE
            if parent is not None:
                where = (item_identity(counter.parent.table.name, parent.key), counter.attribute.name)
                found.counts[where] = (counter, parent, amount)
    for reference in design.references.get(model, ()):
        target = _parent(reference.target, reference.parts, values)
        if target is not None:
            found.needs[item_identity(reference.target.table.name, target.key)] = (reference, target)
    return found


def is_counted(design: Design, stored: Item) -> bool:
    """Whether the tallies of the counters that are being counted include an item, if there are any."""
    build = design.data.build
    return build is None or stored.get(COUNTED) == {"S": build.id}


def counted_mark(design: Design, model: Model) -> Item:
    """The attribute of an item that the tallies include; empty unless counters of such items are being counted."""
    build = design.data.build
    if build is None or not any(map(build.tally, design.counters.get(model, ()))):
        return {}
    return {COUNTED: {"S": build.id}}


def mark_fence(design: Design, model: Model, stored: Item) -> tuple[Clause, ...]:
    """The condition that an item is marked as it was when it was read."""
    if not counted_mark(design, model):
        return ()
    return (Clause(equals(COUNTED, stored.get(COUNTED)), lambda _: Raced(model.name)),)


def _amount(value: Any) -> Decimal:
    return Decimal(0) if value is None else Decimal(number_text(value))


def guard_of(model: Model, unique: Unique, values: Values, item: Item, owner: Item | None = None) -> Guard | None:
    """The guard of a unique value, or None where the entity does not have the value."""
    held = {name: values[name] for name in unique.fields}
    if None in held.values() or (unique.when is not None and not design_predicate(model, unique.when)(item)):
        return None
    key = guard_key(model, unique, values)
    expiry = None if model.expires is None else expiry_of(model, values, item)
    return Guard(model, unique, key, held, owner or key_of(model, values), expiry)


def guard_key(model: Model, unique: Unique, values: Values) -> Item:
    """The key of the guard of these values."""
    try:
        part = _FOLDED if unique.case_insensitive else _EXACT
        texts = [part.write(value_text(values[name])) for name in unique.fields]
    except ValueError as error:
        raise invalid_value(error, model.name, unique.name) from None
    names = model.table.key_names
    text = HASH.character.join((GUARD, model.name, unique.name, *texts))
    if len(text) * 4 > limits.PARTITION_KEY_BYTES and len(text.encode()) > limits.PARTITION_KEY_BYTES:
        most = limits.PARTITION_KEY_BYTES
        raise InvalidValue(model.name, f"it is too long: the key of its guard exceeds {most} bytes", unique.name)
    key: Item = {names[0]: {"S": text}}
    if len(names) > 1:
        key[names[1]] = {"S": GUARD}
    return key


def value_text(value: Any) -> str:
    """A unique value as its guard has it."""
    if isinstance(value, enum.Enum):
        return str(value.value)
    return time_text(value) if isinstance(value, datetime) else str(value)


def _parent(parent: Model, parts: dict[str, str], values: Values) -> Parent | None:
    found = {part: assigned(values[source], parent.attributes[part].kind) for part, source in parts.items()}
    return None if None in found.values() else Parent(key_of(parent, found), found)


def actions(
    design: Design, model: Model, before: Effects, after: Effects, skip: set[ItemIdentity], now: datetime
) -> Iterator[ItemAction]:
    """The actions on other items; those in `skip` are not decremented or deleted.

    They are parents that no longer exist, counters at zero, and guards of another owner. An action that is left out
    becomes a check that it still has nothing to take: the item may have been written since an earlier attempt.
    """
    yield from _guard_actions(before, after, skip, now)
    counted = set()
    for where in before.counts | after.counts:  # in the order of the design: the same request every time
        was, will = before.counts.get(where), after.counts.get(where)
        tally = _tally_step(before.build or after.build, was if before.counted else None, will)
        change = _count_action(design, model, was, will, skip, now, tally)
        if change is not None:
            if where in after.counts:
                counted.add(where[0])
            yield change
    for identity, (reference, target) in after.needs.items():
        if identity not in before.needs and identity not in counted:
            there = _must_exist(design, model, reference.target, target, reference.refers, now)
            table, entity = reference.target.table.name, reference.target.name
            yield ItemAction("check", table, target.key, entity, clauses=(there,), own=False)


def _guard_actions(before: Effects, after: Effects, skip: set[ItemIdentity], now: datetime) -> Iterator[ItemAction]:
    for identity, guard in after.guards.items():
        held = _guard_attributes(guard)
        earlier = before.guards.get(identity)
        if earlier is None:
            free = absent(next(iter(guard.key)))
            if guard.model.expires is not None and guard.model.table.ttl is not None:
                free = free | ~alive(guard.model.table.ttl, expiry_second(now))
            taken = Clause(free, _uniqueness_error(guard))
            yield _of_guard("put", guard, taken, item=guard.key | held)
        elif _guard_attributes(earlier) != held:
            mine = Clause(_owned_by(earlier.owner), _uniqueness_error(guard))
            steps: dict[str, Step] = {name: SetAttribute(value) for name, value in held.items()}
            steps |= {name: RemoveAttribute() for name in _guard_attributes(earlier) if name not in held}
            yield _of_guard("update", guard, mine, steps=steps)
    for identity, guard in before.guards.items():
        if identity in after.guards or (guard.unique.keep_after_delete and not after.exists):
            continue
        owned = _owned_by(guard.owner)
        if identity in skip:
            yield _of_guard("check", guard, _still(guard.model, ~owned))
        else:
            yield _of_guard("delete", guard, Clause(owned, _nothing_to_take(guard.model, identity)))


def guard_has_expired(model: Model, guard: Item, now: datetime) -> bool:
    """Whether a stored guard has expired with its item, so that its value is free."""
    if model.expires is None or model.table.ttl is None:
        return False
    return not evaluate(alive(model.table.ttl, expiry_second(now)), guard)


def _owned_by(owner: Item) -> Condition:
    """The item is a guard of this owner; a guard of older code names none."""
    return AnyOf((absent(OWNER), Comparison("=", _OWNER, {"M": owner})))


def _of_guard(
    kind: Kind, guard: Guard, clause: Clause, item: Item | None = None, steps: dict[str, Step] | None = None
) -> ItemAction:
    model = guard.model
    return ItemAction(kind, model.table.name, guard.key, model.name, item, steps or {}, (clause,), own=False)


def _guard_attributes(guard: Guard) -> Item:
    """The attributes of a guard beside its key."""
    held: Item = {OWNER: {"M": guard.owner}}
    if guard.expiry is not None and guard.model.table.ttl is not None:
        held[guard.model.table.ttl] = guard.expiry
    return held


def _uniqueness_error(guard: Guard) -> Callable[[Item], NotUnique]:
    unique = guard.unique
    name = unique.fields[0] if unique.is_former else unique.name
    return lambda _: NotUnique(guard.model.name, name, guard.values)


def _nothing_to_take(model: Model, identity: ItemIdentity) -> Callable[[Item], NothingToTake]:
    return lambda _: NothingToTake(model.name, identity)


def _still(model: Model, nothing: Condition) -> Clause:
    """There is still nothing to take; otherwise the write is planned again."""
    return Clause(nothing, lambda _: Raced(model.name))


def _difference(before: Count | None, after: Count | None) -> Decimal:
    return EXACT.subtract(after[2] if after else _NOTHING, before[2] if before else _NOTHING)


def _tally_step(build: CounterBuild | None, counted: Count | None, after: Count | None) -> dict[str, Step]:
    """The step of the attribute in which the counter is being counted."""
    found = after or counted
    if build is None or found is None:
        return {}
    name = build.tally(found[0])
    change = _difference(counted, after)
    return {} if name is None or change == 0 else {name: IncrementAttribute(str(change))}


def _count_action(
    design: Design,
    model: Model,
    before: Count | None,
    after: Count | None,
    skip: set[ItemIdentity],
    now: datetime,
    tally: dict[str, Step],
) -> ItemAction | None:
    change = _difference(before, after)
    found = after or before
    assert found is not None
    counter, whole, _ = found
    key = whole.key
    if change == 0 and not tally:
        return None
    parent = counter.parent
    name = counter.attribute.name
    if after is not None and change != 0:
        clauses = [_must_exist(design, model, parent, whole, counter.refers, now)]
    else:
        identity = item_identity(parent.table.name, key)
        there = present(next(iter(key)))
        some = Comparison(">", Field((name,)), {"N": "0"})
        if identity in skip:
            return _of_parent("check", counter, key, (_still(parent, ~there),), {})
        if (*identity, name) in skip:
            return _of_parent("update" if tally else "check", counter, key, (_still(parent, ~some),), tally)
        clauses = [Clause(there, _missing(parent, whole, _nothing_to_take(parent, identity)))]
        if change == 0:
            return _of_parent("update", counter, key, tuple(clauses), tally)
        if not isinstance(counter.marker, SumOf):  # items of older code may never have been counted
            clauses.append(Clause(some, _nothing_to_take(parent, (*identity, name))))
    bounds = [each for each in parent.limits if _is_limit_of(each, counter)] if change > 0 else ()
    tallies = tuple([_limit_tally(parent, whole.parts, each) for each in bounds])
    return _of_parent("update", counter, key, tuple(clauses), {name: IncrementAttribute(str(change)), **tally}, tallies)


def _of_parent(
    kind: Kind,
    counter: Counter,
    key: Item,
    clauses: tuple[Clause, ...],
    steps: dict[str, Step],
    tallies: tuple[Tally, ...] = (),
) -> ItemAction:
    parent = counter.parent
    return ItemAction(kind, parent.table.name, key, parent.name, None, steps, clauses, tallies, own=False)


def _must_exist(design: Design, model: Model, target: Model, wanted: Parent, refers: str, now: datetime) -> Clause:
    """The item exists, is not being deleted, and has not expired."""
    there = present(next(iter(wanted.key)))
    if target in design.markable:
        there = there & absent(BEING_DELETED)
    if target.expires is not None and target.table.ttl is not None:
        there = there & alive(target.table.ttl, expiry_second(now))
    missing = _missing(target, wanted, lambda _: ReferenceMissing(model.name, target.name, wanted.parts, refers))
    return Clause(there, missing, after=True)


def _missing(target: Model, wanted: Parent, error: Callable[[Item], StoreError]) -> Callable[[Item], StoreError]:
    """The error of a parent that is not under its key; one with old keys is looked up under them first."""
    if not target.old_keys:
        return error
    return lambda item: ParentMissing(target, wanted.parts, error(item))


def _is_limit_of(limit: Limit, counter: Counter) -> bool:
    condition = limit.condition
    return isinstance(condition, Comparison) and condition.field.path == (counter.attribute.field,)


def _limit_tally(parent: Model, key: dict[str, Any], limit: Limit) -> Tally:
    """A limit on a counter: `n + 1 <= bound` is `n <= bound - 1` of the value before."""
    condition = limit.condition
    assert isinstance(condition, Comparison)
    counter = parent.attributes[condition.field.path[0]]
    stored = to_stored(parent, condition)

    def error(_: Item) -> LimitReached:
        return limit_reached(parent, key, condition)

    def before(total: Decimal, known: Item, seen: Item | None, stepped: Mapping[str, Decimal]) -> Clause | None:
        if total <= 0:
            return None
        bound = _bound(parent, condition.value, known)
        field = parent.attributes[bound.path[0]].name if isinstance(bound, Field) else ""
        step = stepped.get(field, Decimal(0))
        start = _default_bound(parent, bound)
        if isinstance(bound, Field) and total == 1 and counter.kind is int and step == 0:
            under = Comparison("<", condition.field, bound) | (~Exists(condition.field) & Comparison(">", bound, 0))
            if start is not None:
                under = under | (~Exists(bound) & _room(condition.field, start, total))
            return Clause(to_stored(parent, under), error)
        same: Condition | None = None
        if isinstance(bound, Field):
            if seen is None:
                raise BoundUnread(parent.name, parent.table.name, key_of(parent, key))
            if field not in seen and start is None:
                return Clause(present(field), error)
            same = equals(field, seen.get(field))
            bound = EXACT.add(Decimal(seen[field]["N"]) if field in seen else start or Decimal(0), step)
        allowed = to_stored(parent, _room(condition.field, bound, total))
        return Clause(allowed, error) if same is None else _fenced(parent, same, allowed, error)

    return Tally(counter.name, repr(stored), stored, error, before)


def _room(counter: Field, bound: Decimal, total: Decimal) -> Condition:
    """The counter does not exceed the bound once the total is added; an older item without it is at zero."""
    allowed: Condition = Comparison("<=", counter, EXACT.subtract(bound, total))
    return allowed | ~Exists(counter) if total <= bound else allowed


def _default_bound(parent: Model, bound: Decimal | Field) -> Decimal | None:
    """The bound of an older item that does not have the attribute: its default."""
    if not isinstance(bound, Field):
        return None
    default = parent.attributes[bound.path[0]].member.default_when_absent
    return Decimal(number_text(default)) if isinstance(default, int | float | Decimal) else None


def _fenced(parent: Model, same: Condition, allowed: Condition, error: Callable[[Item], LimitReached]) -> Clause:
    """A clause that holds while the bound is as it was read; the write is planned again where it is not."""

    def failed(item: Item) -> StoreError:
        return error(item) if evaluate(same, item) else Raced(parent.name)

    return Clause(same & allowed, failed)


def _bound(parent: Model, bound: Any, known: Item) -> Decimal | Field:
    """The bound of a limit as a number, where the design or the transaction gives one."""
    if not isinstance(bound, Field):
        return Decimal(str(bound))
    stored = known.get(parent.attributes[bound.path[0]].name)
    return Decimal(stored["N"]) if stored is not None else bound


def no_children_tallies(
    design: Design, model: Model, key: Values, now: datetime, gone: Set[Model]
) -> tuple[Tally, ...]:
    """The deletion of an item requires that nothing it counts is left: created again, it would count from zero.

    Children of the entities in `gone` were deleted before it. An item that has expired is deleted whatever it counts,
    as by its TTL.
    """
    return tuple(_no_children(model, key, each, now) for child, each in counters_of(design, model) if child not in gone)


def counts_nothing(model: Model, key: Values, counters: Iterable[Counter], now: datetime) -> Iterator[Clause]:
    """The conditions that these counters of an item are zero, or that it has expired."""
    for counter in counters:
        tally = _no_children(model, key, counter, now)
        yield Clause(tally.condition, tally.on_failure)


def _no_children(model: Model, key: Values, counter: Counter, now: datetime) -> Tally:
    name = counter.attribute.name
    expired = None
    if model.expires is not None and model.table.ttl is not None:
        expired = present(model.table.ttl) & ~alive(model.table.ttl, expiry_second(now))

    def allowed(condition: Condition) -> Condition:
        return condition if expired is None else condition | expired

    nothing = allowed(Comparison("=", Field((name,)), {"N": "0"}) | absent(name))
    child = counter.marker.child().__name__

    def error(item: Item) -> StillReferenced:
        return StillReferenced(model.name, dict(key), child, counter.attribute.field)

    def before(total: Decimal, known: Item, seen: Item | None, stepped: Mapping[str, Decimal]) -> Clause | None:
        if total == 0:
            return Clause(nothing, error)
        return Clause(allowed(Comparison("=", Field((name,)), {"N": str(-total)})), error)

    return Tally(name, "no children", nothing, error, before, of_deleted=True)


def check_limits(model: Model, before: Values, after: Values, limited: frozenset[str] | None = None) -> None:
    """A LimitReached where a value has grown beyond its limit; `limited` are the attributes to look at, or all."""
    for limit in model.limits:
        condition = limit.condition
        assert isinstance(condition, Comparison)
        name = condition.field.path[0]
        if limited is not None and name not in limited:
            continue
        old, new = before.get(name), after[name]
        grew = new is not None and (old is None or new > old)
        if grew and not design_predicate(model, condition)(encode_attributes(model, after)):
            raise limit_reached(model, key_parts(model, after), condition)


def limit_reached(model: Model, key: dict[str, Any], condition: Comparison) -> LimitReached:
    bound = ".".join(condition.value.path) if isinstance(condition.value, Field) else condition.value
    return LimitReached(model.name, key, ".".join(condition.field.path), condition.operator, bound)
