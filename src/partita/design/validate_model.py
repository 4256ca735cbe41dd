"""Checks of one entity that need its whole declaration: its markers fit its attributes, its invariants can hold."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

import msgspec

from partita.design.condition_checks import check_condition
from partita.design.condition_text import condition_text
from partita.design.conditions import Comparison, Condition, Field, conjuncts
from partita.design.keys import Keys
from partita.design.markers import (
    AUTOMATIC,
    Compressed,
    CountOf,
    CreatedAt,
    Expires,
    Limit,
    Owns,
    SumOf,
    Transitions,
    Unique,
    UpdatedAt,
    Version,
)
from partita.design.models import Attribute, EntityKeys, Model
from partita.design.validate_attributes import validate_attributes
from partita.design.validate_defaults import check_defaults
from partita.design.validate_migrations import check_migrations
from partita.errors import DesignError

_TYPES: dict[type, tuple[type, ...]] = {
    CountOf: (int,),
    Version: (int,),
    SumOf: (Decimal, int, float),
    CreatedAt: (datetime,),
    UpdatedAt: (datetime,),
}
RESERVED_PREFIX = "partita-"  # of attributes that the store adds to items
_STATEMENTS = (Limit, Owns, Expires, Keys)
_KEY = "a key that contains it"
_COLLECTIONS = ("L", "M", "SS", "NS", "BS", "")


def validate_model(model: Model) -> None:
    """A DesignError for the first declaration that cannot work."""
    validate_attributes(model)
    for keys in _all_keys(model):
        _check_fields(keys.where, model, keys.when)
        _check_sparse(model, keys)
    optional = {each.field for each in model.attributes.values() if each.optional}
    for several in model.indexes.values():
        _check_all_are_used(several, optional)
    for attribute in model.attributes.values():
        _check_markers(model, attribute)
        _check_default(model, attribute)
    for unique in model.uniques:
        _check_unique(model, unique)
    for limit in model.limits:
        _check_limit(model, limit)
    for field in model.key.required_fields:
        if model.attributes[field].optional:
            wrong = "it is part of the table's key and cannot be None"
            way_out = f"remove `| None`, or write {{{field}?}} as the last part, before which the key may end"
            raise DesignError(f"{model.name}.{field}", wrong, way_out)
    _check_in_key(model)
    _check_expiry(model)
    _check_names(model)
    _check_counted(model)
    check_defaults(model)
    check_migrations(model)


def _all_keys(model: Model) -> tuple[EntityKeys, ...]:
    return (model.key, *model.old_keys, *(each for several in model.indexes.values() for each in several))


def _check_markers(model: Model, attribute: Attribute) -> None:
    where = f"{model.name}.{attribute.field}"
    for statement in _STATEMENTS:
        if attribute.marker(statement) is not None:
            name = statement.__name__
            wrong = f"{name} is a statement of the class; as an annotation it has no effect"
            raise DesignError(where, wrong, f"write name = {name}(...) in the body of {model.name}")
    for marker, kinds in _TYPES.items():
        if attribute.marker(marker) is not None and attribute.kind not in kinds:
            wrong = f"{marker.__name__} needs {_name(kinds[0])}, but it is {_name(attribute.kind)}"
            raise DesignError(where, wrong, f"write {attribute.field}: Annotated[{_name(kinds[0])}, ...]")
    counts = attribute.marker(CountOf) or attribute.marker(SumOf)
    if counts is not None and attribute.member.default is msgspec.NODEFAULT:
        raise DesignError(
            where, "a counter starts at its default, and it has none", f"write {attribute.field}: ... = 0"
        )


def _check_sparse(model: Model, keys: EntityKeys) -> None:
    """A condition keeps an item out of an index by leaving a template's attribute out."""
    written = [each for each in keys.attributes if each.template is not None and each.name not in model.table.key_names]
    if keys.when is not None and not written:
        wrong = "its key is made of stored attributes alone, so `when` cannot keep an item out of the index"
        raise DesignError(keys.where, wrong, "filter with .where(...), or write a template for one of its attributes")


def _check_all_are_used(several: tuple[EntityKeys, ...], optional: set[str]) -> None:
    """An item has the first keys of an index that apply to it, so no keys may apply only where earlier ones do."""
    for at, keys in enumerate(several):
        if any(_is_covered(keys, first, optional) for first in several[:at]):
            wrong = "an item has the first Keys that apply to it, and earlier ones apply wherever these do"
            way_out = "give them conditions that exclude each other (when=F...), or use another index"
            raise DesignError(keys.where, wrong, way_out)


def _is_covered(keys: EntityKeys, first: EntityKeys, optional: set[str]) -> bool:
    """Whether all that the first keys need, conditions and parts that may be None, is needed by these, too."""
    needed, given = (set(map(condition_text, conjuncts(each.when))) for each in (first, keys))
    return needed <= given and optional & set(first.required_fields) <= set(keys.required_fields)


def _check_default(model: Model, attribute: Attribute) -> None:
    """An attribute that is not stored is read as its default, so None must be the default where it is not stored."""
    default = attribute.member.default_when_absent
    if attribute.optional and default is not None and not attribute.member.automatic:
        wrong = f"None is not stored, so it would be read as the default {default!r}"
        raise DesignError(f"{model.name}.{attribute.field}", wrong, "make the default None, or remove `| None`")


def _check_unique(model: Model, unique: Unique) -> None:
    for field in unique.fields:
        _known(f"{model.name}.{unique.name}", model, field)
        attribute = model.attributes[field]
        if attribute.codec.tag in _COLLECTIONS or attribute.marker(Compressed) is not None:
            wrong = f"{field!r} is {_name(attribute.kind)}, which cannot be unique"
            raise DesignError(f"{model.name}.{unique.name}", wrong, "use text, a number or a time")
    _check_fields(model.name, model, unique.when)


def _check_limit(model: Model, limit: Limit) -> None:
    """A limit is checked on the value before the increment, and only `<=` can be rewritten for that."""
    condition = limit.condition
    if isinstance(condition, Condition):
        for field in condition.fields:
            _known(model.name, model, field)
            if model.attributes[field].in_key:
                wrong = f"a limit names {field!r}, which is stored in the key only"
                raise DesignError(model.name, wrong, "remove InKey, or use another attribute")
    if not isinstance(condition, Comparison) or condition.operator != "<=" or not _is_bound(model, condition):
        raise DesignError(
            model.name,
            "a limit must have the form attribute <= bound",
            "write Limit(F.count <= 10) or Limit(F.count <= F.maximum), one for each attribute",
        )


def _is_bound(model: Model, condition: Comparison) -> bool:
    sides = [each for each in (condition.field, condition.value) if isinstance(each, Field)]
    numbers = all(len(each.path) == 1 and _is_number(model.attributes[each.path[0]]) for each in sides)
    constant = isinstance(condition.value, int | float | Decimal) and not isinstance(condition.value, bool)
    return numbers and (constant or isinstance(condition.value, Field))


def _is_number(attribute: Attribute) -> bool:
    return attribute.codec.tag == "N"


def _check_expiry(model: Model) -> None:
    expires = model.expires
    if expires is None:
        return
    _known(model.name, model, expires.at)
    _check_fields(model.name, model, expires.when)
    if model.attributes[expires.at].kind is not datetime:
        wrong = f"Expires needs a time, but {expires.at!r} is {_name(model.attributes[expires.at].kind)}"
        raise DesignError(f"{model.name}.{expires.at}", wrong, f"write {expires.at}: datetime")
    if model.table.ttl is None:
        raise DesignError(
            model.name,
            f"Expires needs a TTL attribute, and table {model.table.name!r} has none",
            'write Table(..., ttl="TTL")',
        )


def _check_names(model: Model) -> None:
    stored = [attribute for attribute in model.attributes.values() if not attribute.in_key]
    names = [attribute.name for attribute in stored]
    doubled = next((each for each in names if names.count(each) > 1), None)
    if doubled is not None:
        raise DesignError(model.name, f"two attributes are stored as {doubled!r}", "rename one of them with StoredAs")
    for attribute in stored:
        where = f"{model.name}.{attribute.field}"
        rename = "rename it with StoredAs"
        if attribute.name.startswith(RESERVED_PREFIX):
            raise DesignError(where, f"names that begin with {RESERVED_PREFIX!r} are reserved for the store", rename)
        if attribute.name == model.table.type_attribute:
            raise DesignError(where, f"{attribute.name!r} is the type attribute of the table", rename)
        if attribute.name == model.table.ttl and (model.expires is not None or attribute.kind is not int):
            raise DesignError(where, f"{attribute.name!r} is the TTL attribute of the table, set by Expires", rename)


def _check_in_key(model: Model) -> None:
    for attribute in model.attributes.values():
        if attribute.index_key is not None:
            _check_in_index_key(model, attribute, attribute.index_key)
        elif attribute.in_key and attribute.field not in model.known_fields:
            raise DesignError(
                f"{model.name}.{attribute.field}",
                "it is marked InKey, but no key template holds its whole value",
                "remove InKey, or add it to the key",
            )


def _check_in_index_key(model: Model, attribute: Attribute, name: str) -> None:
    """An index key holds the attribute whole, and every item has that index key."""
    where = f"{model.name}.{attribute.field}"
    marker = next((each for each in (*AUTOMATIC, Transitions) if attribute.marker(each) is not None), None)
    if marker is not None:
        wrong = f"it is stored in {name!r} only, so {marker.__name__} has no attribute to compare"
        raise DesignError(where, wrong, "remove InKey, so that it is stored")
    written = _written_index_keys(model)
    if name not in written:
        wrong = f"it is stored in {name!r}, but no template of {model.name} writes an index key of this name"
        raise DesignError(where, wrong, f"name one of {', '.join(written)}" if written else "remove InKey")
    for keys in written[name]:
        reason = _sometimes_absent(model, keys)
        if reason:
            wrong = f"it is stored in {name!r}, which an item of {model.name} may lack: {reason}"
            raise DesignError(where, wrong, "remove InKey, or use an index key that every item has")
    template = next(each.template for keys in written[name] for each in keys.attributes if each.name == name)
    parts = template.parts if template is not None else ()
    if not any(part.field == attribute.field and part.form is not None and part.form.lossless for part in parts):
        wrong = f"it is stored in {name!r}, whose template does not hold its whole value"
        raise DesignError(where, wrong, f"remove InKey, or write {{{attribute.field}}} in the template")


def _written_index_keys(model: Model) -> dict[str, list[EntityKeys]]:
    """The index key attributes that templates write, each with its keys."""
    found: dict[str, list[EntityKeys]] = {}
    for several in model.indexes.values():
        for keys in several:
            for each in keys.attributes:
                if each.template is not None and each.name not in model.table.key_names:
                    found.setdefault(each.name, []).append(keys)
    return found


def _sometimes_absent(model: Model, keys: EntityKeys) -> str:
    """Why an item may not have an index key; empty where every item has it."""
    assert keys.index is not None
    if len(model.indexes[keys.index]) > 1:
        return f"{keys.index} has several Keys"
    if keys.when is not None:
        return f"the Keys of {keys.index} have a condition"
    templates = [each for each in keys.attributes if each.template is not None]
    for field in (field for each in templates for field in each.required_fields):
        attribute = model.attributes[field]
        if attribute.optional or attribute.member.automatic:
            return f"{field!r} may be {'None' if attribute.optional else 'AUTO'}"
    return ""


def _check_counted(model: Model) -> None:
    """A counter changes without a read of its item, so nothing may be derived from it. It may be an index key."""
    counted = {attribute.field for attribute, _ in model.counters}
    for where, what, fields in _derived_from(model):
        field = next((each for each in fields if each in counted), None)
        if field is not None:
            wrong = f"{field!r} is a counter, so {what} would become stale"
            instead = "count in a service"
            if what == _KEY:
                instead = f"use the attribute itself as the key of the index, or {instead}"
            raise DesignError(where, wrong, instead)


def _derived_from(model: Model) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Every derived value: where it is declared, its name in an error, and the attributes that it is derived from."""
    for keys in _all_keys(model):
        parts = [field for each in keys.attributes if each.template is not None for field in each.template.fields]
        yield keys.where, _KEY, (*parts, *condition_fields(keys.when))
    for unique in model.uniques:
        fields = (*unique.fields, *condition_fields(unique.when))
        yield f"{model.name}.{unique.name}", "a unique value that contains it", fields
    if model.expires is not None:
        yield model.name, "an expiry that depends on it", tuple(condition_fields(model.expires.when))


def condition_fields(condition: Condition | None) -> Iterator[str]:
    """The attributes that a condition reads."""
    return iter(()) if condition is None else condition.fields


def _check_fields(where: str, model: Model, condition: Condition | None) -> None:
    if condition is not None:
        check_stored_condition(where, model, condition)


def check_stored_condition(where: str, model: Model, condition: Condition) -> None:
    """A condition can only name attributes that the stored item has, and compare them with values of their types."""
    check_condition(where, model, condition)
    for field in condition.fields:
        if model.attributes[field].in_key:
            wrong = f"a condition names {field!r}, which is stored in the key only"
            raise DesignError(where, wrong, "remove InKey, or leave it out of the condition")


def _known(where: str, model: Model, field: str) -> None:
    if field not in model.attributes:
        raise DesignError(
            where, f"{model.name} has no attribute {field!r}", f"the attributes are {', '.join(model.attributes)}"
        )


def _name(kind: object) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)
