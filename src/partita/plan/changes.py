"""Changes: from the edits of a draft to the actions of one request.

A change is blind where every derived attribute that it touches follows from the key and the new values: one UpdateItem
without a read. Otherwise the item is read first. The values that the change relies on are then fenced: the write has a
condition that they are unchanged, so a concurrent write makes it fail, and it is planned again. `needs_read` decides
which of the two it is, by the shape of the change alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any

import msgspec

from partita.design.conditions import Comparison, Condition
from partita.design.markers import AUTO, UpdatedAt, Version
from partita.design.models import Model
from partita.design.own_rules import rule_fields
from partita.design.untyped_values import number_text
from partita.dynamodb.canonical import ItemIdentity
from partita.dynamodb.values import Item
from partita.errors import (
    AlreadyExists,
    ConditionFailed,
    InvalidValue,
    NotFound,
    StoreError,
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
    Kind,
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
from partita.plan.edits import Add, Append, Assign, Edit, Include
from partita.plan.fences import condition_fields, dependencies, fence, whole_fence
from partita.plan.item_compiler import compiled_item
from partita.plan.items import (
    Derived,
    Values,
    derivations,
    derived_attributes,
    derived_by_own_rules,
    derived_from_known,
    encode_attributes,
    encode_fields,
    expiry_second,
    key_of,
    key_parts,
    normalize_value,
    settled,
    values_of,
)
from partita.plan.lazy import lazy
from partita.plan.migrated_edits import migrated_edits, with_old_values
from partita.plan.predicates import evaluate
from partita.plan.races import Raced
from partita.plan.value_rules import bound_clauses, bounded_fields, judged_by_value, transition_clauses

EditForm = tuple[tuple[str, type[Edit]], ...]

_REMOVE = RemoveAttribute()
_NEXT = Add(1)


class ItemChange(msgspec.Struct, frozen=True, dict=True):
    """The edits of the entity under `key` (the values of its key parts), and the conditions of the change.

    `system_change` is for changes by a program: version and update time stay. `skip` lists items from which nothing is
    taken, because an earlier attempt found nothing there.
    """

    model: Model
    key: dict[str, Any]
    edits: dict[str, Edit]
    now: datetime
    when: Condition | None = None
    version: int | None = None
    system_change: bool = False
    create: bool = False  # the item is created where it does not exist
    skip: set[ItemIdentity] = msgspec.field(default_factory=set)

    @property
    def says_nothing(self) -> bool:
        """Whether the change has neither edits nor conditions, and does not create the item."""
        return not self.edits and self.when is None and self.version is None and not self.create

    @lazy
    def all_edits(self) -> dict[str, Edit]:
        """The edits with those of update time and version; an InvalidValue where an automatic field is edited."""
        model, edits = self.model, migrated_edits(self.model, self.edits) if self.model.migrations else self.edits
        if not model.automatic_fields.isdisjoint(edits):
            name = next(name for name in edits if name in model.automatic_fields)
            raise InvalidValue(model.name, "it is set automatically and cannot be changed", name)
        if self.system_change or model.untracked_fields.issuperset(edits):
            return edits
        every = dict(edits)
        for attribute, _ in model.marked(UpdatedAt):
            every[attribute.field] = Assign(self.now)
        for attribute, _ in model.marked(Version):
            every[attribute.field] = _NEXT
        return every

    @lazy
    def form(self) -> EditForm:
        """The attributes that are edited, each with the kind of its edit."""
        return tuple([(name, type(edit)) for name, edit in self.all_edits.items()])

    @lazy
    def stored_key(self) -> Item:
        """The key under which the item is stored before the change."""
        return key_of(self.model, self.key)


class StoredItem(msgspec.Struct, frozen=True):
    """An item as it was read, and its entity.

    `old_key` is the key of one that is stored under an old key: a write moves it to its current key. `owners`, where
    its guards were read, has the owner that each of them names; the others are another item's, or do not exist.
    """

    item: Item
    entity: Any
    old_key: Item | None = None
    owners: Mapping[ItemIdentity, Item] | None = None

    def effects(
        self, design: Design, model: Model, values: Values, item: Item, key: Item | None = None
    ) -> effect.Effects:
        """The effects that the item has before it is written; `item` has its encoded attributes."""
        found = effect.effects(design, model, values, item, key)
        found.counted = effect.is_counted(design, self.item)
        owners = self.owners
        if owners is not None:
            found.guards = {
                identity: msgspec.structs.replace(guard, owner=owners[identity])
                for identity, guard in found.guards.items()
                if identity in owners
            }
        return found

    def unchanged(self, model: Model) -> ItemAction:
        """The check that the item is still stored under its old key, as it was read."""
        assert self.old_key is not None
        clauses = whole_fence(model, self.item)
        return ItemAction("check", model.table.name, self.old_key, model.name, clauses=clauses, at_old_key=True)

    def check(self, model: Model, clauses: Iterable[Clause]) -> None:
        """Raises the error of the first clause that is false for the item as it would be stored now."""
        values = values_of(model, self.entity)
        item = merged_with_unknown(model, self.item, values, values)
        for clause in clauses:
            if not evaluate(clause.condition, item):
                raise clause.on_failure(item)


class ChangeShape(msgspec.Struct, frozen=True, eq=False):
    """Facts about all changes that edit the same attributes in the same way."""

    derived: tuple[Derived, ...]  # the derived attributes to compute again
    limited: frozenset[str]  # the attributes of limits that the change may exceed
    fenced: frozenset[str]  # the attributes that must not have changed since they were read
    computed: frozenset[str]  # the stepped attributes of which the new value is written, since it was judged
    conditions: frozenset[str]  # the attributes in conditions of the design, such as that of a counter
    encoded: frozenset[str]  # the attributes whose new values are written or judged
    needs_read: bool
    edits_key: bool
    is_judged: bool  # a transition or the bounds of a type judge a new value
    is_ruled: bool  # `__post_init__` uses an edited attribute
    affects_others: bool  # guards, counters and references have to be looked at


@lru_cache(maxsize=4096)
def change_shape(design: Design, model: Model, form: EditForm) -> ChangeShape:
    """The shape of a change that assigns some attributes and steps others, such as `count += 1`."""
    assigned = frozenset(name for name, kind in form if kind is Assign)
    stepped = frozenset(name for name, kind in form if kind is not Assign)
    touched = assigned | stepped
    derived = tuple(group for group in derivations(model) if group.fields & touched)
    sources = frozenset(field for group in derived for field in group.fields)
    limited = frozenset(_limited(model, touched))
    others = dependencies(design, model)
    judged = stepped & judged_by_value(model)
    ruled = rule_fields(model) if rule_fields(model) & touched else frozenset()
    fenced = sources | limited | judged | ruled | (others if others & touched else set())
    alone = not (others | limited | judged | frozenset(model.key.fields)) & touched
    needs_read = not alone or not sources <= assigned | model.known_fields
    conditions = condition_fields(design, model)
    return ChangeShape(
        derived,
        limited,
        fenced,
        stepped & fenced,
        conditions,
        touched | conditions,
        needs_read,
        edits_key=not touched.isdisjoint(model.key.fields),
        is_judged=bool(model.transitions or bounded_fields(model).keys() & touched),
        affects_others=bool(others & touched),
        is_ruled=bool(ruled),
    )


def needs_read(design: Design, change: ItemChange) -> bool:
    """Whether the item must be read before the change can be planned."""
    shape = _shape(design, change)
    if shape.needs_read or not shape.is_ruled:
        return shape.needs_read
    completed = _completed_unread(change)
    return completed is None or _shape(design, completed).needs_read


def _shape(design: Design, change: ItemChange) -> ChangeShape:
    return change_shape(design, change.model, change.form)


def plan_blind_change(design: Design, change: ItemChange) -> list[ItemAction]:
    """The one update of a change that needs no read."""
    change = _completed_unread(change) or change
    values = _known_values(change)
    item = encode_attributes(change.model, values)
    return [_update(design, change, change.all_edits, values, item, _shape(design, change), ())]


def _known_values(change: ItemChange) -> dict[str, Any]:
    """The values of the changed item that are known unread: those in its key, and those that are assigned."""
    known = {name: value for name, value in change.key.items() if name in change.model.known_fields}
    return known | {name: edit.value for name, edit in change.all_edits.items() if isinstance(edit, Assign)}


def plan_fenced_change(design: Design, change: ItemChange, found: StoredItem) -> list[ItemAction]:
    """The actions of a change of an item that was read; they fail with `Raced` where the item has changed since."""
    change = completed_change(change, found)
    model, edits, shape = change.model, change.all_edits, _shape(design, change)
    before = values_of(model, found.entity)
    after = {**before, **_values_after(model, edits, before)}
    if shape.limited:
        effect.check_limits(model, before, after, shape.limited)
    if found.old_key is not None and not edits:
        found.check(model, _clauses(design, change))
        return [found.unchanged(model)]
    if found.old_key is not None or (shape.edits_key and key_of(model, before) != key_of(model, after)):
        return _move(design, change, found, before, after)
    if shape.computed:
        edits = {**edits, **{name: Assign(after[name]) for name in shape.computed}}
    item = encode_fields(model, shape.encoded, after)
    fences = fence(model, found.item, shape.fenced)
    update = _update(design, change, edits, after, item, shape, fences)
    if not shape.affects_others:
        return [update]
    encoded = encode_fields(model, shape.conditions, before)
    was = found.effects(design, model, before, encoded, update.key)
    will = effect.effects(design, model, after, item, update.key)
    mark = effect.counted_mark(design, model)
    if mark:
        steps = update.steps | {name: SetAttribute(value) for name, value in mark.items()}
        clauses = (*update.clauses, *effect.mark_fence(design, model, found.item))
        update = msgspec.structs.replace(update, kind="update", steps=steps, clauses=clauses)
    return [update, *effect.actions(design, model, was, will, change.skip, change.now)]


def completed_change(change: ItemChange, found: StoredItem) -> ItemChange:
    """The change with what `__post_init__` derives from it, as for a reader; an InvalidValue where it rejects it."""
    model = change.model
    if rule_fields(model).isdisjoint(change.all_edits):
        return change
    before = values_of(model, found.entity)
    derived = derived_by_own_rules(model, {**before, **_values_after(model, change.all_edits, before)})
    return _with_assigned(change, derived)


def _completed_unread(change: ItemChange) -> ItemChange | None:
    """The same where `__post_init__` uses nothing but values that are known unread; None where it uses others."""
    model = change.model
    if rule_fields(model).isdisjoint(change.all_edits):
        return change
    derived = derived_from_known(model, _known_values(change))
    return None if derived is None else _with_assigned(change, derived)


def _with_assigned(change: ItemChange, values: Values) -> ItemChange:
    if not values:
        return change
    edits = {**change.edits, **{name: Assign(value) for name, value in values.items()}}
    return msgspec.structs.replace(change, edits=edits)


def edits_to_replace(model: Model, entity: Any) -> dict[str, Edit]:
    """Edits that make the stored entity equal to this one, apart from what its key tells and its automatic fields."""
    return {
        name: Assign(value)
        for name, value in values_of(model, entity).items()
        if name not in model.known_fields and name not in model.automatic_fields
    }


def changed_values(change: ItemChange, found: StoredItem) -> dict[str, Any]:
    """The new values of the attributes that a change edits, with what follows: update time, version, derived ones."""
    change = completed_change(change, found)
    return _values_after(change.model, change.all_edits, values_of(change.model, found.entity))


def _values_after(model: Model, edits: Mapping[str, Edit], before: Values) -> dict[str, Any]:
    """The settled values of the edited attributes."""
    after = {name: edit.after(before[name]) for name, edit in edits.items()}
    for name, value in after.items():
        if type(edits[name]) is Assign:
            continue  # it is valid and settled already
        attribute = model.attributes[name]
        if name in judged_by_value(model) or name in bounded_fields(model):
            after[name] = normalize_value(model, attribute, value)
        elif attribute.member.settles:
            after[name] = settled(model, attribute, value, value)
    return with_old_values(model, after) if model.migrations else after


def _update(
    design: Design,
    change: ItemChange,
    edits: Mapping[str, Edit],
    values: Values,
    item: Item,
    shape: ChangeShape,
    fences: tuple[Clause, ...],
) -> ItemAction:
    """The update; `item` holds the encoded `values`, from which the derived attributes are computed."""
    model = change.model
    steps = edit_steps(model, edits, item)
    for group in shape.derived:
        for name, value in derived_attributes(model, group, values, item).items():
            steps[name] = _REMOVE if value is None else SetAttribute(value)
    judged = (*transition_clauses(model, edits), *bound_clauses(model, edits)) if shape.is_judged else ()
    clauses = (*_clauses(design, change), *judged, *fences)
    kind: Kind = "update" if steps else "check"
    key, from_read = change.stored_key, bool(shape.computed)
    return ItemAction(kind, model.table.name, key, model.name, None, steps, clauses, from_read=from_read)


def edit_steps(model: Model, edits: Mapping[str, Edit], item: Item) -> dict[str, Step]:
    """The steps of the edits; `item` has the encoded values of what is assigned."""
    steps: dict[str, Step] = {}
    names = _stored_names(model)
    for field, edit in edits.items():
        name = names.get(field)
        if name is None:
            continue  # it is in the key alone, which stays
        if type(edit) is Assign:
            value = item.get(name)
            steps[name] = _REMOVE if value is None else SetAttribute(value)
        else:
            steps[name] = _step(model, field, edit)
    return steps


@cache
def _stored_names(model: Model) -> dict[str, str]:
    """The names on disk of the attributes that are stored outside of keys, by their names in Python."""
    members = (each for each in model.members if each.name not in model.table.key_names)
    return {member.field: member.name for member in members}


def _clauses(design: Design, change: ItemChange) -> Iterator[Clause]:
    """The item exists, has not expired, and has the version and the condition that the caller asks for."""
    model = change.model

    def missing(_: Item) -> StoreError:
        return Raced(model.name) if change.create else NotFound(model.name, change.key)

    yield Clause(present(model.table.pk), missing)
    if model.expires is not None and model.table.ttl is not None:
        yield Clause(alive(model.table.ttl, expiry_second(change.now)), missing)
    if model in design.markable:
        yield Clause(absent(effect.BEING_DELETED), lambda _: NotFound(model.name, change.key))
    if change.version is not None:
        version = model.one_marked(Version)
        if version is None:
            raise InvalidValue(model.name, "it has no version; mark an attribute with Version()")
        seen = change.version
        same = absent(version.name) if seen is AUTO else equals(version.name, {"N": str(seen)})
        if seen == version.member.default:
            same = same | absent(version.name)  # an older item without a version is read with the default
        yield Clause(same, lambda _: VersionConflict(model.name, change.key, seen))
    if change.when is not None:
        yield Clause(to_stored(model, change.when), lambda _: ConditionFailed(model.name, change.key))


def _step(model: Model, name: str, edit: Edit) -> Step:
    """The step of an edit that is not an assignment."""
    attribute = model.attributes[name]
    if isinstance(edit, Add):
        default = attribute.member.default
        start = number_text(default) if isinstance(default, int | float | Decimal) else "0"
        return IncrementAttribute(number_text(edit.value), start)
    encoded = encode_attributes(model, {name: edit.value}).get(attribute.name)
    if encoded is None:
        raise InvalidValue(model.name, "there is nothing to add or remove", name)
    if isinstance(edit, Append):
        return AppendToList(encoded)
    return AddToSet(encoded) if isinstance(edit, Include) else DeleteFromSet(encoded)


def _limited(model: Model, touched: frozenset[str]) -> set[str]:
    """The attributes of the limits whose bounded attribute is edited."""
    return {
        each
        for limit in model.limits
        if isinstance(limit.condition, Comparison) and limit.condition.field.path[0] in touched
        for each in limit.condition.fields
    }


def _move(
    design: Design, change: ItemChange, found: StoredItem, before: dict[str, Any], after: dict[str, Any]
) -> list[ItemAction]:
    """The key changes: one transaction deletes the old item and puts the new one, with every attribute it had."""
    model = change.model
    _check_no_dependents(design, model, before, after)
    required = (
        *_clauses(design, change),
        *transition_clauses(model, {name: Assign(after[name]) for name in change.edits}),
    )
    if found.old_key is not None:
        found.check(model, required)  # conditions on an old key would mean something else
        required = ()
    clauses = (*required, *whole_fence(model, found.item), *effect.mark_fence(design, model, found.item))
    key, is_old = found.old_key or key_of(model, before), found.old_key is not None
    gone = ItemAction("delete", model.table.name, key, model.name, clauses=clauses, at_old_key=is_old)
    item = merged_with_unknown(model, found.item, before, after) | effect.counted_mark(design, model)
    taken = Clause(is_free(model, change.now), lambda _: AlreadyExists(model.name, key_parts(model, after)))
    here = ItemAction("put", model.table.name, key_of(model, after), model.name, item=item, clauses=(taken,))
    was = found.effects(design, model, before, encode_attributes(model, before))
    will = effect.effects(design, model, after, item)
    return [gone, here, *effect.actions(design, model, was, will, change.skip, change.now)]


def _check_no_dependents(design: Design, model: Model, before: Values, after: Values) -> None:
    """An InvalidValue where children refer to the entity by its old key, under which they would stay."""
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
        raise InvalidValue(model.name, f"{names} cannot change: its {child.name} items would keep the old value")


def is_free(model: Model, now: datetime) -> Condition:
    """Nothing is stored under a key, or something that has expired."""
    free = absent(model.table.pk)
    if model.expires is not None and model.table.ttl is not None:
        free = free | ~alive(model.table.ttl, expiry_second(now))
    return free


def merged_with_unknown(model: Model, old: Item, before: Values, after: Values) -> Item:
    """The new item with those attributes of the old one that the design does not know."""
    new = compiled_item(model, after)
    mine = new if before is after else compiled_item(model, before)
    derived = _derived_names(model)
    return {name: value for name, value in old.items() if name not in mine and name not in derived} | new


@cache
def _derived_names(model: Model) -> frozenset[str]:
    """The attributes that are made from others: keys of indexes, the TTL."""
    return frozenset(name for group in derivations(model) for name in group.names)
