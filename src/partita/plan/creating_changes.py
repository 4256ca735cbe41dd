"""Changes that create their item where it does not exist: the first increment of a counter row.

    with db.change(visits("home", day), create=True) as draft:
        draft.views += 1

The item follows from its key, the defaults of its attributes and the edits. Where nothing else depends on what is
stored, the change is one UpdateItem without a condition: it sets what is absent and steps the rest, whether the item
exists or not. Otherwise the item is read first: it is created under the condition that there is still none, or changed
as usual.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from partita.design.markers import Version
from partita.design.models import Attribute, Model
from partita.design.own_rules import rule_fields
from partita.dynamodb.canonical import item_identity
from partita.errors import InvalidValue
from partita.plan.actions import Clause, ItemAction, RemoveAttribute, SetAttribute, SetIfAbsent, Step, absent, alive
from partita.plan.changes import EditForm, ItemChange, change_shape, edit_steps
from partita.plan.design import Design
from partita.plan.edits import Append, Assign, Exclude, Include
from partita.plan.fences import dependencies
from partita.plan.items import (
    derivations,
    derived_attributes,
    encode_attributes,
    entity_with,
    expiry_second,
    validate_entity,
)
from partita.plan.races import HasExpired
from partita.plan.value_rules import bound_clauses
from partita.plan.writes import creation, with_initial_values


def check_can_create(change: ItemChange) -> None:
    """An InvalidValue where the change does not say enough to create the item, or more than it could."""
    model = change.model
    if change.when is not None or change.version is not None:
        wrong = "a change that may create the item has no `when` and no `version`; use db.create, then db.change"
        raise InvalidValue(model.name, wrong)
    for name in change.all_edits:
        if name in model.key.fields:
            raise InvalidValue(model.name, "it is part of the key of the item that the change may create", name)
    for name, attribute in model.attributes.items():
        if name not in change.edits and name not in model.key.fields and _start(attribute) is msgspec.NODEFAULT:
            wrong = "it has no default and does not follow from the key; assign it in the change"
            raise InvalidValue(model.name, wrong, name)


def _start(attribute: Attribute) -> Any:
    """The value of an attribute before the first edit; NODEFAULT if it is required."""
    return attribute.member.default_when_absent


def can_create_unread(design: Design, change: ItemChange) -> bool:
    """Whether one update does the same, whether the item exists or not.

    An item that has expired is still there: the update then fails, and the change is planned again with a read.
    """
    if not change.edits or item_identity(change.model.table.name, change.stored_key) in change.skip:
        return False
    if not _is_independent(design, change.model, change.form):
        return False
    collections = [name for name, edit in change.edits.items() if isinstance(edit, Append | Include | Exclude)]
    starts = [_start(change.model.attributes[name]) for name in collections]
    return not any(start for start in starts if start is not msgspec.NODEFAULT)


@lru_cache(maxsize=4096)
def _is_independent(design: Design, model: Model, form: EditForm) -> bool:
    """No other item and no stored value decides what is written."""
    assigned = frozenset(name for name, kind in form if kind is Assign)
    referenced = any(each.target is model for several in design.references.values() for each in several)
    if referenced or dependencies(design, model) or model.counters or model.owns or rule_fields(model):
        return False
    if model.limits or model.transitions or not model.automatic_fields.issubset(name for name, _ in form):
        return False  # such as the time of creation, which an older item may lack
    version = model.one_marked(Version)
    if version is not None and isinstance(version.member.default, int) and version.member.default != 0:
        return False
    if change_shape(design, model, form).needs_read:
        return False
    return all(group.fields <= assigned | model.known_fields for group in derivations(model))


def plan_unread_creation(change: ItemChange) -> list[ItemAction]:
    """The one update of a change that creates its item unless it exists."""
    model, edits = change.model, change.all_edits
    known = {name: value for name, value in change.key.items() if name in model.known_fields}
    values = known | {name: edit.value for name, edit in edits.items() if isinstance(edit, Assign)}
    item = encode_attributes(model, values)
    steps: dict[str, Step] = dict(_initial_steps(change))
    steps |= edit_steps(model, edits, item)
    for group in derivations(model):
        for name, value in derived_attributes(model, group, values, item).items():
            if value is not None:
                steps[name] = SetAttribute(value)
            elif group.fields & edits.keys():
                steps[name] = RemoveAttribute()
    clauses = (*_alive_or_absent(change), *bound_clauses(model, edits))
    key = change.stored_key
    return [ItemAction("update", model.table.name, key, model.name, steps=steps, clauses=clauses)]


def _initial_steps(change: ItemChange) -> Iterator[tuple[str, Step]]:
    """What an item has from the start, other than what the change edits."""
    model = change.model
    values = {
        name: change.key[name] if name in change.key else _start(attribute)
        for name, attribute in model.attributes.items()
        if name not in change.all_edits and not attribute.member.automatic
    }
    for name, value in encode_attributes(model, values).items():
        if name not in model.table.key_names:
            yield name, SetIfAbsent(value)
    if model.table.type_attribute:
        yield model.table.type_attribute, SetIfAbsent({"S": model.type_name})


def _alive_or_absent(change: ItemChange) -> Iterator[Clause]:
    """The item has not expired: an expired one would lend its old values to the new item."""
    model = change.model
    if model.expires is not None and model.table.ttl is not None:
        identity = item_identity(model.table.name, change.stored_key)
        valid = absent(model.table.pk) | alive(model.table.ttl, expiry_second(change.now))
        yield Clause(valid, lambda _: HasExpired(model.name, identity))


def plan_creation(design: Design, change: ItemChange) -> list[ItemAction]:
    """The actions that create the item of a change, which was read and did not exist."""
    model = change.model
    values = {name: change.key[name] if name in change.key else _start(each) for name, each in model.attributes.items()}
    for name, edit in change.edits.items():
        start = values[name]
        values[name] = edit.after(None if start is msgspec.NODEFAULT else start)
    entity = with_initial_values(model, validate_entity(model, entity_with(model, values)), change.now)
    put, *others = creation(design, model, entity, change.now, raced=True)
    if any(not isinstance(edit, Assign) for edit in change.edits.values()):
        put = msgspec.structs.replace(put, from_read=True)  # an equal item may be another writer's first increment
    return [put, *others]
