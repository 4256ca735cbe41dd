"""Writes of attributes that are being migrated: a write of either of two sets both.

While programs of the earlier design may work, the old attribute alone is stored: they would change or remove it, and
leave the new one as it is.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from partita.design.migrations import Migration
from partita.design.models import Model
from partita.dynamodb.values import Item
from partita.errors import InvalidValue
from partita.plan.actions import ItemAction, RemoveAttribute
from partita.plan.design import DataState
from partita.plan.edits import Assign, Edit, SetMember


def migrated_edits(model: Model, edits: Mapping[str, Edit]) -> dict[str, Edit]:
    """The edits with those of an old attribute as edits of the new one, from which the old one is derived."""
    found = dict(edits)
    for migration in model.migrations:
        edit = found.pop(migration.old.field, None)
        if edit is None:
            continue
        field = migration.new.field
        if not isinstance(edit, Assign):
            raise InvalidValue(model.name, f"it is converted into {field!r}; assign a value", migration.old.field)
        if field in found:
            _check_same(model, migration, edit.value, found[field])
        elif migration.marker.member is not None:
            found[field] = SetMember(edit.value, migration)
        else:
            found[field] = Assign(migration.new_value(edit.value))
    return found


def _check_same(model: Model, migration: Migration, old: Any, edit: Edit) -> None:
    new = edit.value if isinstance(edit, Assign) else None
    if not isinstance(edit, Assign) or not migration.old.codec.same(migration.old_value(new), old):
        wrong = f"it differs from {migration.new.field!r}, into which it is converted; set one"
        raise InvalidValue(model.name, wrong, migration.old.field)


def with_old_values(model: Model, values: dict[str, Any]) -> dict[str, Any]:
    """The values with those of the declared attributes that some of them were before."""
    for migration in model.migrations:
        if migration.old.field and migration.new.field in values:
            values[migration.old.field] = migration.old_value(values[migration.new.field])
    return values


def stored_action(state: DataState, action: ItemAction) -> ItemAction:
    """A write without the attributes that are stored in their earlier form alone."""
    names = state.unwritten.get(action.entity)
    if names is None:
        return action
    item = None if action.item is None else stored_item(state, action.entity, action.item)
    steps = {name: RemoveAttribute() if name in names else step for name, step in action.steps.items()}
    return msgspec.structs.replace(action, item=item, steps=steps)


def stored_item(state: DataState, entity: str, item: Item) -> Item:
    """An item without the attributes that are stored in their earlier form alone."""
    names = state.unwritten.get(entity, frozenset())
    return {name: value for name, value in item.items() if name not in names}
