"""Changes: from what a draft recorded to the actions of one request.

A change is first tried blind: if every derived attribute that it touches can be computed from the key and the new
values, it is one UpdateItem without a read. Otherwise `plan_change` is called again with the item as it was read: it
computes what is missing and fences what it has relied on, so that a racing writer makes it fail rather than go stale.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from partita.design.conditions import AnyOf, Comparison, Condition
from partita.design.key_parts import EXACT
from partita.design.markers import CountOf, CreatedAt, SumOf, UpdatedAt, Version
from partita.design.models import Model
from partita.design.untyped_values import number_text
from partita.dynamodb.canonical import Identity
from partita.dynamodb.values import Item
from partita.errors import (
    AlreadyExists,
    ConditionFailed,
    InvalidTransition,
    InvalidValue,
    LimitReached,
    NotFound,
    VersionConflict,
)
from partita.plan import effects as effect
from partita.plan.actions import (
    AddToSet,
    AppendToList,
    Clause,
    DeleteFromSet,
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
from partita.plan.design import Design
from partita.plan.fences import dependencies, fence
from partita.plan.items import (
    Derived,
    Values,
    derivations,
    derived_attributes,
    encode_attributes,
    expiry_second,
    item_of,
    key_of,
    key_text,
    values_of,
)
from partita.plan.predicates import design_predicate
from partita.plan.races import Raced


@dataclass(frozen=True)
class Edit:
    """What a draft recorded for one attribute: a new value, or a step from whatever is there."""

    kind: str  # "assign", "add", "append", "include", "exclude"
    value: Any


@dataclass(frozen=True)
class ItemChange:
    """What is to become of the entity under `key` (the values of its key parts)."""

    model: Model
    key: dict[str, Any]
    edits: dict[str, Edit]
    now: datetime
    when: Condition | None = None
    version: int | None = None
    system_change: bool = False  # a machine's change: no edit, whatever it touches
    skip: set[Identity] = field(default_factory=set)


@dataclass(frozen=True)
class StoredItem:
    """An item as it was read, and what it says."""

    item: Item
    entity: Any


def edits_to_replace(model: Model, entity: Any) -> dict[str, Edit]:
    """Edits that make the stored entity equal to this one; what the store keeps is left alone."""
    return {
        each.field: Edit("assign", getattr(entity, each.field))
        for each in model.attributes.values()
        if each.field not in model.key.fields and not _is_automatic(model, each.field)
    }


def plan_change(design: Design, change: ItemChange, found: StoredItem | None) -> list[ItemAction] | None:
    """The actions of a change, or None where the item has to be read first."""
    model = change.model
    edits = _with_automatic_fields(change)
    _check_edits(change)
    touched = set(edits)
    groups = [group for group in derivations(model) if group.fields & touched]
    relied = frozenset().union(*(group.fields for group in groups)) if groups else frozenset()
    others = dependencies(design, model)
    limited = _limited(model, touched)
    if found is None:
        known = set(change.key) | {name for name, edit in edits.items() if edit.kind == "assign"}
        blind = relied <= known and not (others | set(model.key.fields) | limited) & touched
        return [_update(change, edits, _known_values(change, edits), groups, ())] if blind else None
    before = values_of(model, found.entity)
    after = {**before, **{name: _applied(before[name], edit) for name, edit in edits.items()}}
    _check_limits(model, before, after, limited)
    if set(model.key.fields) & {name for name in touched if before[name] != after[name]}:
        return _move(design, change, found, before, after)
    fenced = set(relied) | limited | (others if others & touched else set())
    assigned = {name: Edit("assign", after[name]) if name in fenced else edit for name, edit in edits.items()}
    update = _update(change, assigned, after, groups, fence(model, found.item, fenced))
    was = effect.effects(design, model, before, encode_attributes(model, before))
    will = effect.effects(design, model, after, encode_attributes(model, after))
    return [update, *effect.actions(model, was, will, change.skip, change.now)]


def changed_values(change: ItemChange, found: StoredItem) -> dict[str, Any]:
    """What a change makes of the attributes that it moves, the kept ones among them."""
    before = values_of(change.model, found.entity)
    return {name: _applied(before[name], edit) for name, edit in _with_automatic_fields(change).items()}


def _with_automatic_fields(change: ItemChange) -> dict[str, Edit]:
    """The edits, and the update time and version that an edit moves."""
    edits = dict(change.edits)
    model = change.model
    if change.system_change or all(model.attributes[name].untracked for name in edits):
        return edits
    for attribute, _ in model.marked(UpdatedAt):
        edits[attribute.field] = Edit("assign", change.now)
    for attribute, _ in model.marked(Version):
        edits[attribute.field] = Edit("add", 1)
    return edits


def _is_automatic(model: Model, name: str) -> bool:
    return any(attribute.field == name for attribute, _ in model.marked(CreatedAt, UpdatedAt, Version, CountOf, SumOf))


def _check_edits(change: ItemChange) -> None:
    for name in change.edits:
        if _is_automatic(change.model, name):
            raise InvalidValue(f"{change.model.name}.{name}", "the store keeps this value; it cannot be set")


def _known_values(change: ItemChange, edits: Mapping[str, Edit]) -> dict[str, Any]:
    return {**change.key, **{name: edit.value for name, edit in edits.items() if edit.kind == "assign"}}


def _applied(value: Any, edit: Edit) -> Any:
    if edit.kind == "assign":
        return edit.value
    if edit.kind == "add":
        exact = isinstance(value, Decimal) or isinstance(edit.value, Decimal)
        return EXACT.add(value or 0, edit.value) if exact else (value or 0) + edit.value
    if edit.kind == "append":
        return [*(value or ()), *edit.value]
    held = set(value or ())
    return held | edit.value if edit.kind == "include" else held - edit.value


def _update(
    change: ItemChange, edits: Mapping[str, Edit], values: Values, groups: list[Derived], fences: tuple[Clause, ...]
) -> ItemAction:
    model = change.model
    steps: dict[str, Step] = {}
    for name, edit in edits.items():
        steps[model.attributes[name].name] = _step(model, name, edit)
    item = encode_attributes(model, values)
    for group in groups:
        for name, value in derived_attributes(model, group, values, item).items():
            steps[name] = RemoveAttribute() if value is None else SetAttribute(value)
    key = key_of(model, change.key)
    clauses = (*_clauses(change, key), *_transition_clauses(model, edits), *fences)
    return ItemAction("update", model.table.name, key, model.name, steps=steps, clauses=clauses)


def _clauses(change: ItemChange, key: Item) -> Iterator[Clause]:
    """The item is there, alive, at the version that the caller saw, and as the caller wants it."""
    model = change.model
    text = key_text(key)
    yield Clause(present(model.table.pk), lambda: NotFound(model.name, text))
    if model.expires is not None and model.table.ttl is not None:
        yield Clause(alive(model.table.ttl, expiry_second(change.now)), lambda: NotFound(model.name, text))
    if model.owns:
        yield Clause(absent(effect.BEING_DELETED), lambda: NotFound(model.name, text))
    version = model.one_marked(Version)
    if change.version is not None:
        if version is None:
            raise InvalidValue(model.name, "it has no version; mark an attribute with Version()")
        seen = change.version
        same = equals(version.name, {"N": str(seen)})
        if seen == version.member.default:
            same = same | absent(version.name)  # an older item without a version was read with the default
        yield Clause(same, lambda: VersionConflict(model.name, text, seen))
    if change.when is not None:
        yield Clause(to_stored(model, change.when), lambda: ConditionFailed(model.name, text))


def _transition_clauses(model: Model, edits: Mapping[str, Edit]) -> Iterator[Clause]:
    for attribute, transitions in model.transitions:
        edit = edits.get(attribute.field)
        if edit is None:
            continue
        to = edit.value
        before = [each for each, following in transitions.allowed.items() if to in list(following)]
        allowed = [attribute.codec.encode(each) for each in (*before, to)]
        if attribute.member.default in (*before, to):
            allowed.append(None)  # an older item without the attribute has its default
        conditions = tuple(equals(attribute.name, value) for value in allowed)
        yield Clause(AnyOf(conditions), _transition_error(model, attribute.field, to))


def _transition_error(model: Model, name: str, to: Any) -> Any:
    return lambda: InvalidTransition(model.name, name, to)


def _step(model: Model, name: str, edit: Edit) -> Step:
    attribute = model.attributes[name]
    if edit.kind == "add":
        default = attribute.member.default
        return IncrementAttribute(number_text(edit.value), number_text(default) if isinstance(default, int) else "0")
    written = encode_attributes(model, {name: edit.value}).get(attribute.name)
    if edit.kind == "assign":
        return RemoveAttribute() if written is None else SetAttribute(written)
    if written is None:
        raise InvalidValue(f"{model.name}.{name}", "nothing to add or take away")
    if edit.kind == "append":
        return AppendToList(written)
    return AddToSet(written) if edit.kind == "include" else DeleteFromSet(written)


def _limited(model: Model, touched: set[str]) -> set[str]:
    """The attributes of limits whose growing side is touched by hand."""
    return {
        each
        for limit in model.limits
        if isinstance(limit.condition, Comparison) and limit.condition.field.path[0] in touched
        for each in limit.condition.fields
    }


def _check_limits(model: Model, before: Values, after: Values, limited: set[str]) -> None:
    for limit in model.limits:
        condition = limit.condition
        assert isinstance(condition, Comparison)
        name = condition.field.path[0]
        grew = after[name] is not None and (before[name] is None or after[name] > before[name])
        if name in limited and grew and not design_predicate(model, condition)(encode_attributes(model, after)):
            raise LimitReached(model.name, key_text(key_of(model, before)), effect.limit_text(condition))


def _move(
    design: Design, change: ItemChange, found: StoredItem, before: dict[str, Any], after: dict[str, Any]
) -> list[ItemAction]:
    """The key changes: the old item goes and the new one comes in one transaction, with all it held."""
    model = change.model
    _check_no_dependents(design, model, before, after)
    old_key = key_of(model, before)
    every = [
        Clause(equals(name, value), lambda: Raced("it changed"))
        for name, value in found.item.items()
        if name not in old_key
    ]
    gone = ItemAction("delete", model.table.name, old_key, model.name, clauses=(*_clauses(change, old_key), *every))
    new_key = key_of(model, after)
    item = merged_with_unknown(model, found.item, before, after)
    taken = Clause(absent(model.table.pk), lambda: AlreadyExists(model.name, key_text(new_key)))
    edits = {name: Edit("assign", after[name]) for name in change.edits}
    transitions = tuple(_transition_clauses(model, edits))
    here = ItemAction("put", model.table.name, new_key, model.name, item=item, clauses=(taken,))
    gone = replace(gone, clauses=(*gone.clauses, *transitions))
    was = effect.effects(design, model, before, encode_attributes(model, before))
    will = effect.effects(design, model, after, item)
    return [gone, here, *effect.actions(model, was, will, change.skip, change.now)]


def _check_no_dependents(design: Design, model: Model, before: Values, after: Values) -> None:
    """Children are found by their parent's values, and would stay where they are."""
    moved = {name for name in before if before[name] != after[name]}
    owned = [each.child for each in design.ownerships.get(model, ()) if moved & set(each.parts.values())]
    counted = [
        child
        for child, counters in design.counters.items()
        for each in counters
        if each.parent is model and moved & set(each.parts) and before[each.attribute.field]
    ]
    for child in (*owned, *counted):
        names = ", ".join(sorted(moved & set(model.key.fields)))
        raise InvalidValue(model.name, f"{names} cannot change: its {child.name} items would be left behind")


def merged_with_unknown(model: Model, old: Item, before: Values, after: Values) -> Item:
    """The old item with what follows from the new values; attributes that other code wrote stay."""
    mine = set(item_of(model, before)) | {name for group in derivations(model) for name in group.names}
    return {name: value for name, value in old.items() if name not in mine} | item_of(model, after)
