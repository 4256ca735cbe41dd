"""Flows that write one entity: create, put, replace, change, update."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import msgspec

from partita.design.conditions import Condition
from partita.design.markers import AUTO, Unique, Version
from partita.design.models import Model
from partita.dynamodb.canonical import ItemIdentity
from partita.dynamodb.values import Item
from partita.errors import (
    Fault,
    InvalidValue,
    NotFound,
    ReservedKey,
    item_name,
)
from partita.plan.actions import Clause, ItemAction, equals
from partita.plan.changes import (
    ItemChange,
    StoredItem,
    changed_values,
    edits_to_replace,
    needs_read,
    plan_blind_change,
    plan_fenced_change,
)
from partita.plan.creating_changes import can_create_unread, check_can_create, plan_creation, plan_unread_creation
from partita.plan.design import Design
from partita.plan.edits import Assign, Edit
from partita.plan.effects import OWNER, guard_key, guard_of
from partita.plan.items import Values, key_of, key_parts, normalize_value, validate_entity, values_of
from partita.plan.races import Raced
from partita.plan.writes import (
    creation,
    fenced_by_item,
    has_no_invariants,
    unconditional_put,
    with_initial_values,
)
from partita.store.context import StoreContext
from partita.store.decoding import decoder_of
from partita.store.execution import ATTEMPTS, Planning, SkippedItems, execute, retries_exhausted, retry_on_race
from partita.store.flows import Flow
from partita.store.item_reads import fetch_item
from partita.store.old_keys import (
    deletions_under_old_keys,
    fetch_for_write,
    fetch_with_copies,
    has_old_keys,
    settle_key_change,
)
from partita.store.readiness import check_writable, without_unready_counters
from partita.store.reading import fetch_stored_item
from partita.validation import FaultyValue, invalid_value

E = TypeVar("E")


def create(context: StoreContext, design: Design, model: Model, entity: E, when: Condition | None = None) -> Flow[E]:
    """Stores a new entity; returns it as it was stored: validated, with its times, version and counters."""
    check_writable(design, model, when)
    complete: E = with_initial_values(model, validate_entity(model, entity), context.clock())
    yield from execute(context, creation(design, model, complete, context.clock(), when))
    return complete


def put(context: StoreContext, design: Design, model: Model, entity: E) -> Flow[E]:
    """Creates the entity, or replaces the stored one; returns it as it was stored."""
    check_writable(design, model)
    if has_no_invariants(design, model):
        return (yield from _put_unread(context, model, entity))
    entity = validate_entity(model, entity)

    def plan(skip: SkippedItems) -> Planning:
        found, deletions = yield from _fetch_to_put(context, design, model, values_of(model, entity))
        if found is None:
            complete = with_initial_values(model, entity, context.clock())
            return creation(design, model, complete, context.clock(), raced=True)
        wanted = _replacement(context, model, entity, skip)
        planned = [*(plan_fenced_change(design, wanted, found) if wanted.edits else []), *deletions]
        for name in model.attributes:
            setattr(entity, name, getattr(found.entity, name))
        for name, value in changed_values(wanted, found).items():
            setattr(entity, name, value)
        return planned

    for _ in range(ATTEMPTS):
        try:
            yield from retry_on_race(context, model.name, plan)
        except NotFound:
            if (yield from fetch_stored_item(context, model, key_of(model, values_of(model, entity)))) is not None:
                raise  # an owner that is being deleted
            continue  # it was deleted since it was read, so it is created
        stored: E = without_unready_counters(design, (model,), entity)
        return stored
    raise retries_exhausted(model.name)


def _put_unread(context: StoreContext, model: Model, entity: E) -> Flow[E]:
    """Puts an entity without invariants; what it has under old keys is deleted."""
    complete: E = with_initial_values(model, validate_entity(model, entity), context.clock())

    if not model.old_keys:
        yield from execute(context, [unconditional_put(model, complete)])
        return complete

    def plan(skip: SkippedItems) -> Planning:
        deletions = yield from deletions_under_old_keys(context, model, values_of(model, complete))
        return [unconditional_put(model, complete), *deletions]

    yield from retry_on_race(context, model.name, plan)
    return complete


def _fetch_to_put(
    context: StoreContext, design: Design, model: Model, values: Values
) -> Flow[tuple[StoredItem | None, list[ItemAction]]]:
    if model.old_keys:
        return (yield from fetch_with_copies(context, design, model, values))
    return (yield from fetch_stored_item(context, model, key_of(model, values))), []


def _replacement(
    context: StoreContext, model: Model, entity: Any, skip: set[ItemIdentity], version: int | None = None
) -> ItemChange:
    key = {name: getattr(entity, name) for name in model.key.fields}
    return ItemChange(model, key, edits_to_replace(model, entity), context.clock(), version=version, skip=skip)


def replace(context: StoreContext, design: Design, model: Model, entity: Any) -> Flow[None]:
    """Makes the stored entity equal to this one, if it still has the version that this one was read with."""
    entity = validate_entity(model, entity)
    versioned = model.one_marked(Version)
    version = getattr(entity, versioned.field) if versioned is not None else None
    yield from change(context, design, _replacement(context, model, entity, set(), version))


def change(context: StoreContext, design: Design, wanted: ItemChange) -> Flow[None]:
    """Changes an entity: without a read if the edits allow it, else with a read and a fenced write.

    A change without edits still requires what it says: it creates the item with `create`, and the item must exist and
    have the condition and the version that are given. One that says nothing sends nothing.
    """
    check_writable(design, wanted.model, wanted.when)
    if wanted.says_nothing:
        return
    model = wanted.model

    def plan(skip: SkippedItems, *, read: bool = False) -> Planning:
        again = msgspec.structs.replace(wanted, skip=skip) if skip else wanted
        return (yield from planned_change(context, design, again, read=read))

    try:
        yield from retry_on_race(context, model.name, plan)
    except ReservedKey:
        if wanted.create:
            raise
        raise NotFound(model.name, key_parts(model, wanted.key)) from None
    except NotFound:
        if not has_old_keys(model, wanted.key):
            raise
        yield from retry_on_race(context, model.name, partial(plan, read=True))


def planned_change(
    context: StoreContext, design: Design, wanted: ItemChange, *, read: bool = False
) -> Flow[list[ItemAction]]:
    """The actions of a change, after a read if it needs one, or with `read`: then old keys are looked up as well."""
    if wanted.create:
        return (yield from _planned_creating_change(context, design, wanted))
    if not read and not needs_read(design, wanted):
        return plan_blind_change(design, wanted)
    found = yield from fetch_for_write(context, design, wanted.model, wanted.key)
    if found is None:
        raise NotFound(wanted.model.name, wanted.key)
    return (yield from _planned_from_read(context, design, wanted, found))


def _planned_from_read(
    context: StoreContext, design: Design, wanted: ItemChange, found: StoredItem
) -> Flow[list[ItemAction]]:
    if not wanted.model.old_keys:
        return plan_fenced_change(design, wanted, found)
    deletions = yield from settle_key_change(context, design, wanted, found)
    return [*plan_fenced_change(design, wanted, found), *deletions]


def _planned_creating_change(context: StoreContext, design: Design, wanted: ItemChange) -> Flow[list[ItemAction]]:
    """The actions of a change that creates its item where it does not exist."""
    check_can_create(wanted)
    if wanted.model.old_keys:  # what is stored under an old key is changed, not doubled
        found = yield from fetch_for_write(context, design, wanted.model, wanted.key)
    elif can_create_unread(design, wanted):
        return plan_unread_creation(wanted)
    else:
        found = yield from fetch_stored_item(context, wanted.model, wanted.stored_key)
    if found is None:
        return plan_creation(design, wanted)
    if not wanted.edits:
        return []
    if found.old_key is None and not needs_read(design, wanted):
        return plan_blind_change(design, wanted)
    return (yield from _planned_from_read(context, design, wanted, found))


def update(
    context: StoreContext, design: Design, model: Model, key: dict[str, Any], edit: Callable[[E], None]
) -> Flow[E]:
    """Reads an entity, lets `edit` change it and writes the difference; again if the item changed meanwhile."""
    check_writable(design, model)
    result: list[E] = []

    def plan(skip: SkippedItems) -> Planning:
        found = yield from fetch_for_write(context, design, model, key)
        if found is None:
            raise NotFound(model.name, key)
        entity: E = without_unready_counters(design, (model,), decoder_of(model).from_item(found.item))
        edit(entity)
        for attribute, _ in model.counters:
            if getattr(entity, attribute.field) is AUTO:  # it is not ready
                setattr(entity, attribute.field, getattr(found.entity, attribute.field))
        wanted = ItemChange(model, key, _edits(model, found.entity, entity), context.clock(), skip=skip)
        result[:] = [entity]
        if not wanted.edits:
            return []
        planned = yield from _planned_from_read(context, design, wanted, found)
        first, *others = fenced_by_item(model, planned, found)
        for name, value in changed_values(wanted, found).items():
            setattr(entity, name, value)
        return [msgspec.structs.replace(first, from_read=True), *others]

    try:
        yield from retry_on_race(context, model.name, plan)
    except ReservedKey:
        raise NotFound(model.name, key_parts(model, key)) from None
    updated: E = without_unready_counters(design, (model,), result[0])
    return updated


def _edits(model: Model, before: Any, after: Any) -> dict[str, Edit]:
    """The edits between two states of an entity. Changed values are validated; others may violate today's type."""
    edits: dict[str, Edit] = {}
    for attribute in model.attributes.values():
        old, value = getattr(before, attribute.field), getattr(after, attribute.field)
        if old is value or (old == value and not attribute.codec.open):
            continue
        if value is None and not attribute.optional:
            raise invalid_value(FaultyValue(Fault("null")), model.name, attribute.field)
        new = None if value is None else normalize_value(model, attribute, value)
        setattr(after, attribute.field, new)
        if not attribute.codec.same(old, new):
            edits[attribute.field] = Assign(new)
    return edits


def release(context: StoreContext, model: Model, unique: Unique, values: dict[str, Any]) -> Flow[None]:
    """Frees a unique value that was kept after a deletion; an InvalidValue if a stored item has it.

    While the guard is there, no item can get the value, so its deletion needs no other condition.
    """
    key = guard_key(model, unique, values)

    def plan(skip: SkippedItems) -> Planning:
        raw = yield from fetch_item(context, model.table.name, key)
        if raw is None:
            return []
        owner: Item | None = msgspec.json.decode(raw).get(OWNER, {}).get("M")
        found = None if owner is None else (yield from fetch_stored_item(context, model, owner))
        if found is not None:
            holder = values_of(model, found.entity)
            guard = guard_of(model, unique, holder, found.item)
            if guard is not None and guard.key == key:
                name = item_name(model.name, key_parts(model, holder))
                raise InvalidValue(model.name, f"{name} has the value; change or delete it first", unique.name)
        same = Clause(equals(OWNER, None if owner is None else {"M": owner}), lambda _: Raced(model.name))
        return [ItemAction("delete", model.table.name, key, model.name, clauses=(same,))]

    yield from retry_on_race(context, model.name, plan)
