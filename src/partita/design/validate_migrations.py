"""Checks of attributes that were stored otherwise before: nothing may rely on the stored value of one of the two."""

from collections.abc import Iterator

from partita.design.markers import AUTOMATIC, InKey, Transitions
from partita.design.models import Model
from partita.errors import DesignError


def check_migrations(model: Model) -> None:
    """A DesignError for the first migration that cannot work."""
    for where, wrong, way_out in _faults(model):
        raise DesignError(f"{model.name}.{where}", wrong, way_out)


def _faults(model: Model) -> Iterator[tuple[str, str, str]]:
    stored = [each.old.name for each in model.migrations]
    limited = {field for limit in model.limits for field in limit.condition.fields}
    reserved = (*model.table.key_names, model.table.ttl, model.table.type_attribute)
    for each in model.migrations:
        field, old = each.new.field, each.old
        attribute = model.attributes[field]
        if old.name == each.new.name or stored.count(old.name) > 1:
            yield field, f"{old.name!r} is the name of another attribute too", "store it under another name"
        if old.name in reserved:
            yield field, f"{old.name!r} is an attribute of the table", "change the key with old_keys"
        if attribute.name in model.table.key_names:
            yield field, "it is itself the key of the table", "change the key with old_keys"
        if any(attribute.marker(kind) is not None for kind in (*AUTOMATIC, InKey, Transitions)):
            yield field, "an attribute that the store sets or judges cannot be migrated", "remove the other marker"
        if field in limited:
            yield field, "a limit names it, and it may be stored under its old name", "remove the limit meanwhile"
        if old.field and each.marker.removed:
            yield field, f"{old.field!r} is removed and still declared", f"remove {old.field!r} from the entity"
        if old.field and old.field in _relied_on(model):
            yield old.field, "it is being migrated, and a key or an invariant names it", f"name {field!r} there"


def _relied_on(model: Model) -> set[str]:
    """The attributes that keys, conditions and invariants of an entity name."""
    keys = [model.key, *model.old_keys, *(each for several in model.indexes.values() for each in several)]
    conditions = [*(each.when for each in keys), *(each.when for each in model.uniques)]
    found = {field for each in keys for field in each.fields}
    found |= {field for when in conditions if when is not None for field in when.fields}
    found |= {field for unique in model.uniques for field in unique.fields}
    if model.expires is not None:
        found |= {model.expires.at, *(model.expires.when.fields if model.expires.when is not None else ())}
    return found | {attribute.field for attribute, _ in model.references}
