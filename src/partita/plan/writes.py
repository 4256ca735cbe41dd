"""Creating, deleting and changing entities: from what the caller means to the actions of one request.

A change is first tried blind: if every derived attribute that it touches can be computed from the key and the new
values, it is one UpdateItem without a read. Otherwise `plan_change` is called again with the item as it was read: it
computes what is missing and fences what it has relied on, so that a racing writer makes it fail rather than go stale.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from partita.design.codecs import number_text
from partita.design.conditions import AnyOf, Comparison, Condition
from partita.design.errors import ValueRefused
from partita.design.markers import CountOf, CreatedAt, SumOf, UpdatedAt, Version
from partita.design.models import Model
from partita.design.parts import EXACT
from partita.plan import effects as effect
from partita.plan.actions import (
    Action,
    Append,
    Assign,
    Clause,
    Exclude,
    Include,
    Increment,
    Remove,
    Step,
    absent,
    alive,
    equals,
    present,
)
from partita.plan.designs import Design
from partita.plan.errors import (
    AlreadyExists,
    ConditionFailed,
    LimitReached,
    NotFound,
    Raced,
    TransitionRefused,
    VersionConflict,
)
from partita.plan.expressions import holds, on_disk
from partita.plan.items import (
    Derived,
    Values,
    derivations,
    derive,
    expiry_second,
    item_of,
    key_of,
    key_text,
    stored,
    values_of,
)
from partita.wire.values import Item


@dataclass(frozen=True)
class Edit:
    """What a draft recorded for one attribute: a new value, or a step from whatever is there."""

    kind: str  # "assign", "add", "append", "include", "exclude"
    value: Any


@dataclass(frozen=True)
class Change:
    """What is to become of the entity under `key` (the values of its key parts)."""

    model: Model
    key: dict[str, Any]
    edits: dict[str, Edit]
    now: datetime
    when: Condition | None = None
    version: int | None = None
    quietly: bool = False  # a machine's change: no edit, whatever it touches
    orphaned: set[effect.Identity] = field(default_factory=set)


@dataclass(frozen=True)
class Found:
    """An item as it was read, and what it says."""

    item: Item
    entity: Any


def fresh(model: Model, entity: Any, now: datetime) -> Any:
    """The entity as it is created: times, version and counters begin."""
    for attribute, _ in model.marked(CreatedAt, UpdatedAt):
        setattr(entity, attribute.field, now)
    for attribute, _ in model.marked(Version):
        setattr(entity, attribute.field, 1)
    for attribute, _ in model.marked(CountOf, SumOf):
        setattr(entity, attribute.field, attribute.member.default)
    return entity


def creation(design: Design, model: Model, entity: Any, now: datetime, when: Condition | None = None) -> list[Action]:
    """The entity is new; an expired item under its key counts as none."""
    values = values_of(model, entity)
    item = item_of(model, values)
    key = key_of(model, values)
    for attribute, transitions in model.transitions:
        if transitions.start is not None and values[attribute.field] not in list(transitions.start):
            raise TransitionRefused(model.name, attribute.field, values[attribute.field])
    free = absent(model.table.pk)
    if model.expires is not None and model.table.ttl is not None:
        free = free | ~alive(model.table.ttl, expiry_second(now))
    clauses = [Clause(free, lambda: AlreadyExists(model.name, key_text(key)))]
    if when is not None:
        clauses.append(Clause(on_disk(model, when), lambda: ConditionFailed(model.name, key_text(key))))
    put = Action("put", model.table.name, key, model.name, item=item, clauses=tuple(clauses))
    after = effect.effects(design, model, values, item)
    return [put, *effect.actions(model, effect.Effects(exists=False), after, set(), now)]


def plain_put(model: Model, entity: Any) -> Action:
    """Put whatever was there, for entities that nothing else depends on."""
    item = item_of(model, values_of(model, entity))
    key = {name: item[name] for name in model.table.key_names}
    return Action("put", model.table.name, key, model.name, item=item)


def stands_alone(design: Design, model: Model) -> bool:
    """Whether no other item depends on this entity's values and the store keeps none of them."""
    kept = model.one_marked(CreatedAt) or model.one_marked(Version) or any(model.counters)
    promises = model.uniques or design.counters.get(model) or design.references.get(model) or any(model.transitions)
    return not kept and not promises


def blind_deletion(design: Design, model: Model) -> bool:
    """Whether deleting needs no look at the item first."""
    return not model.uniques and not design.counters.get(model)


def deletion(
    design: Design,
    model: Model,
    key: Item,
    found: Found | None,
    now: datetime,
    when: Condition | None = None,
    orphaned: set[effect.Identity] | None = None,
) -> list[Action]:
    """The entity goes, with its guards and its share of counters; `found` where those are known."""
    clauses = []
    if when is not None:
        clauses.append(Clause(on_disk(model, when), lambda: ConditionFailed(model.name, key_text(key))))
    if found is None:
        return [Action("delete", model.table.name, key, model.name, clauses=tuple(clauses))]
    values = values_of(model, found.entity)
    before = effect.effects(design, model, values, found.item)
    clauses += _fence(model, found.item, _dependencies(design, model))
    gone = Action("delete", model.table.name, key, model.name, clauses=tuple(clauses))
    after = effect.Effects(exists=False)
    return [gone, *effect.actions(model, before, after, orphaned or set(), now)]


def replacement(model: Model, entity: Any) -> dict[str, Edit]:
    """Edits that make the stored entity equal to this one; what the store keeps is left alone."""
    return {
        each.field: Edit("assign", getattr(entity, each.field))
        for each in model.attributes.values()
        if each.field not in model.key.fields and not _kept(model, each.field)
    }


def plan_change(design: Design, change: Change, found: Found | None) -> list[Action] | None:
    """The actions of a change, or None where the item has to be read first."""
    model = change.model
    edits = _with_kept(change)
    _check_edits(change)
    touched = set(edits)
    groups = [group for group in derivations(model) if group.fields & touched]
    relied = frozenset().union(*(group.fields for group in groups)) if groups else frozenset()
    others = _dependencies(design, model)
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
    settled = {name: Edit("assign", after[name]) if name in fenced else edit for name, edit in edits.items()}
    update = _update(change, settled, after, groups, _fence(model, found.item, fenced))
    was = effect.effects(design, model, before, stored(model, before))
    will = effect.effects(design, model, after, stored(model, after))
    return [update, *effect.actions(model, was, will, change.orphaned, change.now)]


def _with_kept(change: Change) -> dict[str, Edit]:
    """The edits, and the update time and version that an edit moves."""
    edits = dict(change.edits)
    model = change.model
    if change.quietly or all(model.attributes[name].quiet for name in edits):
        return edits
    for attribute, _ in model.marked(UpdatedAt):
        edits[attribute.field] = Edit("assign", change.now)
    for attribute, _ in model.marked(Version):
        edits[attribute.field] = Edit("add", 1)
    return edits


def _kept(model: Model, name: str) -> bool:
    return any(attribute.field == name for attribute, _ in model.marked(CreatedAt, UpdatedAt, Version, CountOf, SumOf))


def _check_edits(change: Change) -> None:
    for name in change.edits:
        if _kept(change.model, name):
            raise ValueRefused(f"{change.model.name}.{name}", "the store keeps this value; it cannot be set")


def _known_values(change: Change, edits: Mapping[str, Edit]) -> dict[str, Any]:
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
    change: Change, edits: Mapping[str, Edit], values: Values, groups: list[Derived], fences: tuple[Clause, ...]
) -> Action:
    model = change.model
    steps: dict[str, Step] = {}
    for name, edit in edits.items():
        steps[model.attributes[name].name] = _step(model, name, edit)
    item = stored(model, values)
    for group in groups:
        for name, value in derive(model, group, values, item).items():
            steps[name] = Remove() if value is None else Assign(value)
    key = key_of(model, change.key)
    clauses = (*_clauses(change, key), *_transition_clauses(model, edits), *fences)
    return Action("update", model.table.name, key, model.name, steps=steps, clauses=clauses)


def _clauses(change: Change, key: Item) -> Iterator[Clause]:
    """The item is there, alive, at the version that the caller saw, and as the caller wants it."""
    model = change.model
    text = key_text(key)
    yield Clause(present(model.table.pk), lambda: NotFound(model.name, text))
    if model.expires is not None and model.table.ttl is not None:
        yield Clause(alive(model.table.ttl, expiry_second(change.now)), lambda: NotFound(model.name, text))
    version = model.one_marked(Version)
    if change.version is not None:
        if version is None:
            raise ValueRefused(model.name, "it has no version; mark an attribute with Version()")
        seen = change.version
        yield Clause(equals(version.name, {"N": str(seen)}), lambda: VersionConflict(model.name, text, seen))
    if change.when is not None:
        yield Clause(on_disk(model, change.when), lambda: ConditionFailed(model.name, text))


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
        yield Clause(AnyOf(conditions), _refused(model, attribute.field, to))


def _refused(model: Model, name: str, to: Any) -> Any:
    return lambda: TransitionRefused(model.name, name, to)


def _step(model: Model, name: str, edit: Edit) -> Step:
    attribute = model.attributes[name]
    if edit.kind == "add":
        default = attribute.member.default
        return Increment(number_text(edit.value), number_text(default) if isinstance(default, int) else "0")
    written = stored(model, {name: edit.value}).get(attribute.name)
    if edit.kind == "assign":
        return Remove() if written is None else Assign(written)
    if written is None:
        raise ValueRefused(f"{model.name}.{name}", "nothing to add or take away")
    if edit.kind == "append":
        return Append(written)
    return Include(written) if edit.kind == "include" else Exclude(written)


def _dependencies(design: Design, model: Model) -> set[str]:
    """The attributes that other items depend on."""
    fields: set[str] = set()
    for unique in model.uniques:
        fields |= {*unique.fields, *(unique.when.fields if unique.when is not None else ())}
        if model.expires is not None:
            fields |= {model.expires.at, *(model.expires.when.fields if model.expires.when is not None else ())}
    for counter in design.counters.get(model, ()):
        fields |= counter.fields
    for reference in design.references.get(model, ()):
        fields |= set(reference.parts.values())
    return fields


def _fence(model: Model, item: Item, fields: set[str] | frozenset[str]) -> tuple[Clause, ...]:
    """What was relied on has not changed."""
    names = sorted(
        model.attributes[each].name
        for each in fields
        if each not in model.key.fields and not model.attributes[each].in_key
    )
    return tuple(Clause(equals(name, item.get(name)), lambda: Raced("what was read has changed")) for name in names)


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
        if (
            name in limited
            and after[name] > before[name]
            and not holds(on_disk(model, condition), stored(model, after))
        ):
            raise LimitReached(model.name, key_text(key_of(model, before)), effect.limit_text(condition))


def _move(design: Design, change: Change, found: Found, before: dict[str, Any], after: dict[str, Any]) -> list[Action]:
    """The key changes: the old item goes and the new one comes in one transaction, with all it held."""
    model = change.model
    old_key = key_of(model, before)
    every = [
        Clause(equals(name, value), lambda: Raced("it changed"))
        for name, value in found.item.items()
        if name not in old_key
    ]
    gone = Action("delete", model.table.name, old_key, model.name, clauses=(*_clauses(change, old_key), *every))
    new_key = key_of(model, after)
    item = carried(model, found.item, before, after)
    taken = Clause(absent(model.table.pk), lambda: AlreadyExists(model.name, key_text(new_key)))
    edits = {name: Edit("assign", after[name]) for name in change.edits}
    transitions = tuple(_transition_clauses(model, edits))
    here = Action("put", model.table.name, new_key, model.name, item=item, clauses=(taken,))
    gone = replace(gone, clauses=(*gone.clauses, *transitions))
    was = effect.effects(design, model, before, stored(model, before))
    will = effect.effects(design, model, after, item)
    return [gone, here, *effect.actions(model, was, will, change.orphaned, change.now)]


def carried(model: Model, old: Item, before: Values, after: Values) -> Item:
    """The old item with what follows from the new values; attributes that other code wrote stay."""
    mine = set(item_of(model, before)) | {name for group in derivations(model) for name in group.names}
    return {name: value for name, value in old.items() if name not in mine} | item_of(model, after)
