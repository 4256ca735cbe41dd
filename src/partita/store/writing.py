"""Flows that write one entity: create, put, replace, change, update, delete."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from partita.design.conditions import Condition
from partita.design.markers import Unique, Version
from partita.design.models import Model
from partita.design.reads import EntityKey, Query, Read
from partita.dynamodb.canonical import ItemIdentity
from partita.dynamodb.values import Item
from partita.errors import AlreadyExists, Fault, NotFound, StoredItemInvalid
from partita.plan.actions import Clause, ItemAction, equals, present
from partita.plan.changes import (
    ItemChange,
    StoredItem,
    changed_values,
    edits_to_replace,
    needs_read,
    plan_blind_change,
    plan_fenced_change,
)
from partita.plan.design import Design, Ownership
from partita.plan.edits import Assign, Edit
from partita.plan.effects import BEING_DELETED, guard_key
from partita.plan.items import key_in_item, key_of, normalize_value, validate_entity, values_of
from partita.plan.races import Raced
from partita.plan.writes import (
    can_delete_without_read,
    creation,
    deletion,
    has_no_invariants,
    mark_being_deleted,
    unconditional_put,
    with_initial_values,
)
from partita.store.batches import batch_write, deletion_of
from partita.store.context import StoreContext
from partita.store.decoding import decoder_of
from partita.store.execution import execute, retry_on_race
from partita.store.flows import Flow
from partita.store.reading import fetch_found, fetch_raw_page
from partita.validation import FaultyValue, invalid_value

E = TypeVar("E")


def create(context: StoreContext, design: Design, model: Model, entity: E, when: Condition | None = None) -> Flow[E]:
    """The entity as it was stored: validated, with its times, version and counters."""
    made: E = with_initial_values(model, validate_entity(model, entity), context.clock())
    yield from execute(context, creation(design, model, made, context.clock(), when))
    return made


def put(context: StoreContext, design: Design, model: Model, entity: E) -> Flow[E]:
    """Create it, or replace what is there."""
    if has_no_invariants(design, model):
        made: E = with_initial_values(model, validate_entity(model, entity), context.clock())
        yield from execute(context, [unconditional_put(model, made)])
        return made
    entity = validate_entity(model, entity)

    def plan(orphaned: set[ItemIdentity]) -> Flow[list[ItemAction]]:
        found = yield from fetch_found(context, model, key_of(model, values_of(model, entity)))
        if found is None:
            return creation(design, model, with_initial_values(model, entity, context.clock()), context.clock())
        wanted = _replacing(context, model, entity, orphaned)
        if not wanted.edits:
            return []
        planned = plan_fenced_change(design, wanted, found)
        for name in model.attributes:
            setattr(entity, name, getattr(found.entity, name))
        for name, value in changed_values(wanted, found).items():
            setattr(entity, name, value)
        return planned

    yield from retry_on_race(context, model.name, plan)
    return entity


def _replacing(
    context: StoreContext, model: Model, entity: Any, orphaned: set[ItemIdentity], version: int | None = None
) -> ItemChange:
    key = {name: getattr(entity, name) for name in model.key.fields}
    return ItemChange(model, key, edits_to_replace(model, entity), context.clock(), version=version, skip=orphaned)


def replace(context: StoreContext, design: Design, model: Model, entity: Any) -> Flow[None]:
    """Make the stored entity equal to this one; the version that this one was read with must still stand."""
    entity = validate_entity(model, entity)
    versioned = model.one_marked(Version)
    version = getattr(entity, versioned.field) if versioned is not None else None
    change_ = _replacing(context, model, entity, set(), version)
    yield from change(context, design, change_)


def change(context: StoreContext, design: Design, wanted: ItemChange) -> Flow[None]:
    """A change, blind where that is enough, and otherwise read and fenced."""
    if not wanted.edits:
        return
    model = wanted.model

    def plan(orphaned: set[ItemIdentity]) -> Flow[list[ItemAction]]:
        return (yield from planned_change(context, design, _excusing(wanted, orphaned)))

    yield from retry_on_race(context, model.name, plan)


def planned_change(context: StoreContext, design: Design, wanted: ItemChange) -> Flow[list[ItemAction]]:
    if not needs_read(design, wanted):
        return plan_blind_change(design, wanted)
    key = key_of(wanted.model, wanted.key)
    found = yield from fetch_found(context, wanted.model, key)
    if found is None:
        raise NotFound(wanted.model.name, wanted.key)
    return plan_fenced_change(design, wanted, found)


def _excusing(wanted: ItemChange, orphaned: set[ItemIdentity]) -> ItemChange:
    return msgspec.structs.replace(wanted, skip=orphaned)


def update(
    context: StoreContext, design: Design, model: Model, key: dict[str, Any], edit: Callable[[E], None]
) -> Flow[E]:
    """Read, let `edit` change the entity, write what it changed; again from the start when somebody was faster."""
    result: list[E] = []

    def plan(orphaned: set[ItemIdentity]) -> Flow[list[ItemAction]]:
        found = yield from fetch_found(context, model, key_of(model, key))
        if found is None:
            raise NotFound(model.name, key)
        entity: E = decoder_of(model).from_item(found.item)
        edit(entity)
        wanted = ItemChange(model, key, _edits(model, found.entity, entity), context.clock(), skip=orphaned)
        result[:] = [entity]
        if not wanted.edits:
            return []
        planned = _on_what_was_read(model, plan_fenced_change(design, wanted, found), found)
        for name, value in changed_values(wanted, found).items():
            setattr(entity, name, value)
        return planned

    yield from retry_on_race(context, model.name, plan)
    return result[0]


def _edits(model: Model, before: Any, after: Any) -> dict[str, Edit]:
    """What was changed, checked by its type; what was not may be longer or other than its type allows today."""
    edits: dict[str, Edit] = {}
    for attribute in model.attributes.values():
        held, value = getattr(before, attribute.field), getattr(after, attribute.field)
        if held is value or (held == value and not attribute.codec.open):
            continue
        if value is None and not attribute.optional:
            raise invalid_value(FaultyValue(Fault("null")), model.name, attribute.field)
        fitted = None if value is None else normalize_value(model, attribute, value)
        setattr(after, attribute.field, fitted)
        if not attribute.codec.same(held, fitted):
            edits[attribute.field] = Assign(fitted)
    return edits


def _on_what_was_read(model: Model, actions: list[ItemAction] | None, found: StoredItem) -> list[ItemAction]:
    """The same actions, refused if any attribute of the entity has changed since."""
    if not actions:
        return []
    first, *others = actions
    names = [member.name for member in model.members if member.name not in model.table.key_names]
    relied = [Clause(equals(name, found.item.get(name)), lambda _: Raced(model.name)) for name in names]
    return [msgspec.structs.replace(first, clauses=(*first.clauses, *relied)), *others]


def delete(
    context: StoreContext,
    design: Design,
    model: Model,
    key: dict[str, Any],
    when: Condition | None = None,
    check: Callable[[Any], None] | None = None,
) -> Flow[Any]:
    """The entity goes, after what it owns; answers with what it was, or None where there was none.

    `check` may raise when it is given the entity; what it has let pass is what is deleted. An owner is marked first:
    from then on it gets no more children, and where this is interrupted it is still there, to be deleted again.
    """
    if design.ownerships.get(model):
        found = yield from _mark(context, design, model, key, when, check)
        if found is None:
            return None
        for ownership in design.ownerships[model]:
            yield from _delete_owned(context, design, model, ownership, found.entity)
        return (yield from _delete_marked(context, design, model, key))
    last: list[StoredItem | None] = [None]

    def plan(orphaned: set[ItemIdentity]) -> Flow[list[ItemAction]]:
        actions, last[0] = yield from planned_deletion(context, design, model, key, when, orphaned, check)
        return actions

    reply = yield from retry_on_race(context, model.name, plan)
    if last[0] is not None:
        return last[0].entity
    attributes = getattr(reply, "attributes", None)
    return None if attributes is None else decoder_of(model)(attributes, int(context.clock().timestamp()))


def _mark(
    context: StoreContext,
    design: Design,
    model: Model,
    key: dict[str, Any],
    when: Condition | None,
    check: Callable[[Any], None] | None,
) -> Flow[StoredItem | None]:
    """Under the conditions of its deletion the entity is marked as leaving."""
    last: list[StoredItem | None] = [None]
    stored_key = key_of(model, key)

    def plan(orphaned: set[ItemIdentity]) -> Flow[list[ItemAction]]:
        last[0] = found = yield from fetch_found(context, model, stored_key)
        if found is None:
            return []
        marking = [mark_being_deleted(model, key, when)]
        if check is not None:
            check(found.entity)
            return _on_what_was_read(model, marking, found)
        return marking

    yield from retry_on_race(context, model.name, plan)
    return last[0]


def _delete_marked(context: StoreContext, design: Design, model: Model, key: dict[str, Any]) -> Flow[Any]:
    """The owner goes; where another has deleted it, and somebody perhaps made it anew, there is nothing to do."""
    gone: list[Any] = [None]

    def plan(orphaned: set[ItemIdentity]) -> Flow[list[ItemAction]]:
        found = yield from fetch_found(context, model, key_of(model, key))
        gone[0] = None if found is None or BEING_DELETED not in found.item else found.entity
        if found is None or gone[0] is None:
            return []
        first, *others = deletion(design, model, key, found, context.clock(), None, orphaned)
        marked = Clause(present(BEING_DELETED), lambda _: Raced(model.name))
        return [msgspec.structs.replace(first, clauses=(*first.clauses, marked)), *others]

    yield from retry_on_race(context, model.name, plan)
    return gone[0]


def planned_deletion(
    context: StoreContext,
    design: Design,
    model: Model,
    key: dict[str, Any],
    when: Condition | None,
    orphaned: set[ItemIdentity],
    check: Callable[[Any], None] | None = None,
) -> Flow[tuple[list[ItemAction], StoredItem | None]]:
    if check is None and can_delete_without_read(design, model):
        return deletion(design, model, key, None, context.clock(), when), None
    found = yield from fetch_found(context, model, key_of(model, key))
    if found is None:
        return [], None
    actions = deletion(design, model, key, found, context.clock(), when, orphaned)
    if check is not None:
        check(found.entity)
        actions = _on_what_was_read(model, actions, found)
    return actions, found


def _delete_owned(context: StoreContext, design: Design, model: Model, ownership: Ownership, parent: Any) -> Flow[None]:
    """All children, page by page, under the keys that they have; in batches where nothing depends on them."""
    child = ownership.child
    read = Read((EntityKey(child, ownership.keys),), ownership.query_values(parent))
    at_once = can_delete_without_read(design, child) and not design.ownerships.get(child)
    cursor: str | None = None
    while True:
        query = Query[Any](read)
        page = yield from fetch_raw_page(context, query, cursor=cursor, consistent=True)
        items: list[Item] = [msgspec.json.decode(raw) for raw in page.items]
        if items and not (yield from _is_leaving(context, model, parent)):
            return  # another has deleted it; these may be of a new one
        if at_once:
            yield from batch_write(context, [deletion_of(child, key_in_item(child, item)) for item in items])
        else:
            for item in items:
                yield from _delete_child(context, design, child, item)
        cursor = page.cursor
        if cursor is None:
            return


def _is_leaving(context: StoreContext, model: Model, parent: Any) -> Flow[bool]:
    found = yield from fetch_found(context, model, key_of(model, values_of(model, parent)))
    return found is not None and BEING_DELETED in found.item


def _delete_child(context: StoreContext, design: Design, child: Model, item: Item) -> Flow[None]:
    """One with promises of its own; where other code wrote its key in another form, it is moved to ours first.

    What cannot be read, or is there under both keys, has nothing more to keep: the row goes.
    """
    from partita.store.adoption import adopt_item

    try:
        entity = decoder_of(child).from_item(item)
        if key_of(child, values_of(child, entity)) != key_in_item(child, item):
            yield from adopt_item(context, design, child, item)
    except (StoredItemInvalid, AlreadyExists):
        yield from batch_write(context, [deletion_of(child, key_in_item(child, item))])
        return
    yield from delete(context, design, child, {name: getattr(entity, name) for name in child.key.fields})


def release(context: StoreContext, model: Model, unique: Unique, values: dict[str, Any]) -> Flow[None]:
    """Let go of a held unique value."""
    gone = ItemAction("delete", model.table.name, guard_key(model, unique, values), model.name)
    yield from execute(context, [gone])
