"""Creating, putting and deleting entities: from an entity to the actions of one request."""

import copy
from collections.abc import Iterable, Set
from datetime import datetime
from functools import cache
from typing import Any

import msgspec

from partita.design.conditions import Condition
from partita.design.markers import CountOf, CreatedAt, SumOf, UpdatedAt, Version
from partita.design.models import Model
from partita.design.own_rules import rule_fields
from partita.dynamodb.canonical import ItemIdentity
from partita.dynamodb.values import Item
from partita.errors import AlreadyExists, ConditionFailed, InvalidTransition, StoreError
from partita.plan import effects as effect
from partita.plan.actions import (
    Clause,
    ItemAction,
    RemoveAttribute,
    SetAttribute,
    Step,
    alive,
    equals,
    present,
)
from partita.plan.changes import StoredItem, is_free
from partita.plan.condition_expressions import to_stored
from partita.plan.design import Counter, Design
from partita.plan.fences import condition_fields, dependencies, fence, whole_fence
from partita.plan.item_compiler import compiled_item
from partita.plan.items import (
    Values,
    check_own_rules,
    encode_fields,
    expiry_second,
    key_in_item,
    key_of,
    key_parts,
    values_of,
)
from partita.plan.predicates import evaluate
from partita.plan.races import Raced

_NOW: Any = object()


def with_initial_values(model: Model, entity: Any, now: datetime) -> Any:
    """The entity with the initial values of its automatic fields: times, version, counters."""
    initial_values = _initial_values(model)
    for field, initial in initial_values:
        setattr(entity, field, now if initial is _NOW else initial)
    if any(field in rule_fields(model) for field, _ in initial_values):
        check_own_rules(model, copy.copy(entity))  # it was validated without them
    return entity


@cache
def _initial_values(model: Model) -> tuple[tuple[str, Any], ...]:
    """The initial value of each automatic field."""
    times = [(attribute.field, _NOW) for attribute, _ in model.marked(CreatedAt, UpdatedAt)]
    versions = [(attribute.field, 1) for attribute, _ in model.marked(Version)]
    counters = [(attribute.field, attribute.member.default) for attribute, _ in model.marked(CountOf, SumOf)]
    return (*times, *versions, *counters)


def creation(
    design: Design, model: Model, entity: Any, now: datetime, when: Condition | None = None, *, raced: bool = False
) -> list[ItemAction]:
    """The actions that create an entity; an expired item under its key counts as absent.

    `raced`: the key was read and was free, so an item under it is another writer's, and the write is planned again.
    """
    values = values_of(model, entity)
    item = compiled_item(model, values)
    key = key_of(model, values)
    for attribute, transitions in model.transitions:
        if transitions.start is not None and values[attribute.field] not in list(transitions.start):
            raise InvalidTransition(model.name, attribute.field, values[attribute.field], new=True)
    effect.check_limits(model, {}, values)

    def already_exists(_: Item) -> StoreError:
        return Raced(model.name) if raced else AlreadyExists(model.name, key_parts(model, values))

    clauses = [Clause(is_free(model, now), already_exists)]
    if when is not None:
        clauses.append(_condition_clause(model, values, when, now))
    after = effect.effects(design, model, values, item)
    if mark := effect.counted_mark(design, model):
        item = {**item, **mark}
    put = ItemAction("put", model.table.name, key, model.name, item=item, clauses=tuple(clauses))
    return [put, *effect.actions(design, model, effect.Effects(exists=False), after, set(), now)]


def unconditional_put(model: Model, entity: Any) -> ItemAction:
    """The put of an entity without invariants, whether or not it exists."""
    values = values_of(model, entity)
    effect.check_limits(model, {}, values)
    item = compiled_item(model, values)
    return ItemAction("put", model.table.name, key_in_item(model, item), model.name, item=item)


def has_no_invariants(design: Design, model: Model) -> bool:
    """Whether a put may replace an item unread: no other item depends on it, and no value of it must survive."""
    return not (model.must_be_read or design.counters.get(model) or design.references.get(model))


def can_delete_without_read(design: Design, model: Model) -> bool:
    """Whether an item can be deleted without reading it first."""
    return not model.uniques and not design.counters.get(model)


def mark_being_deleted(
    model: Model,
    key: Values,
    stored_key: Item,
    counters: Iterable[Counter],
    now: datetime,
    missing: Raced,
    when: Condition | None = None,
) -> ItemAction:
    """Marks an item that is being deleted, if these counters of it are zero: no new item may refer to it."""
    clauses = [Clause(present(model.table.pk), lambda _: missing)]
    clauses += effect.counts_nothing(model, key, counters, now)
    if when is not None:
        clauses.append(_condition_clause(model, key, when))
    steps: dict[str, Step] = {effect.BEING_DELETED: SetAttribute({"BOOL": True})}
    return ItemAction("update", model.table.name, stored_key, model.name, steps=steps, clauses=tuple(clauses))


def unmark(model: Model, stored_key: Item) -> ItemAction:
    """Removes the mark of an item that cannot be deleted."""
    marked = Clause(present(effect.BEING_DELETED), lambda _: Raced(model.name))
    steps: dict[str, Step] = {effect.BEING_DELETED: RemoveAttribute()}
    return ItemAction("update", model.table.name, stored_key, model.name, steps=steps, clauses=(marked,))


def _condition_clause(model: Model, values: Values, when: Condition, now: datetime | None = None) -> Clause:
    """The caller's condition; with `now`, an item that has expired is judged as one that does not exist."""
    stored = to_stored(model, when)
    required = stored if now is None else of_live_item(model, stored, now)
    return Clause(required, lambda _: ConditionFailed(model.name, key_parts(model, values)))


def of_live_item(model: Model, condition: Condition, now: datetime) -> Condition:
    """A condition on stored attributes that holds for an expired item where it holds for none."""
    if model.expires is None or model.table.ttl is None:
        return condition
    is_alive = alive(model.table.ttl, expiry_second(now))
    return condition | ~is_alive if evaluate(condition, {}) else condition & is_alive


def fenced_by_item(model: Model, actions: list[ItemAction], found: StoredItem) -> list[ItemAction]:
    """The same actions under the condition that no attribute of the entity has changed since it was read."""
    first, *others = actions
    names = [member.name for member in model.stored_members if member.name not in model.table.key_names]
    names += dict.fromkeys(each.name for each in model.index_key_fields.values())
    fences = [Clause(equals(name, found.item.get(name)), lambda _: Raced(model.name)) for name in names]
    return [msgspec.structs.replace(first, clauses=(*first.clauses, *fences)), *others]


def deletion(
    design: Design,
    model: Model,
    key: Values,
    found: StoredItem | None,
    now: datetime,
    when: Condition | None = None,
    skip: set[ItemIdentity] | None = None,
    *,
    gone: Set[Model] = frozenset(),
    expired: bool = False,
) -> list[ItemAction]:
    """The actions that delete an entity, its guards and what it added to counters; `found` where it was read.

    `gone`: the entities of which nothing that it counts is left. `expired`: it has expired, and counters are left
    alone, as by its TTL.
    """
    clauses = []
    if when is not None:
        clauses.append(_condition_clause(model, key, when, now))
    stored_key = key_of(model, key)
    tallies = effect.no_children_tallies(design, model, key, now, gone)
    if found is None:
        return [ItemAction("delete", model.table.name, stored_key, model.name, clauses=tuple(clauses), tallies=tallies)]
    values = values_of(model, found.entity)
    before = found.effects(design, model, values, encode_fields(model, condition_fields(design, model), values))
    if found.old_key is not None:
        found.check(model, clauses)  # a condition on an old key would mean something else
        stored_key, clauses = found.old_key, [*whole_fence(model, found.item)]
    else:
        there = present(model.table.pk)  # or counters would be decremented twice
        if expired:
            before.counts.clear()
            there = there & ~alive(model.table.ttl or "", expiry_second(now))
        clauses.append(Clause(there, lambda _: Raced(model.name)))
        clauses += fence(model, found.item, dependencies(design, model))
    clauses += effect.mark_fence(design, model, found.item)
    delete = ItemAction(
        "delete",
        model.table.name,
        stored_key,
        model.name,
        clauses=tuple(clauses),
        tallies=tallies,
        at_old_key=found.old_key is not None,
    )
    after = effect.Effects(exists=False)
    return [delete, *effect.actions(design, model, before, after, skip or set(), now)]
