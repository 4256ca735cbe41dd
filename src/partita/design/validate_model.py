"""What only the whole declaration of an entity shows: markers that do not suit their attributes, rules nobody keeps."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

import msgspec

from partita.design.conditions import Comparison, Condition, Field
from partita.design.markers import Compressed, CountOf, CreatedAt, Limit, SumOf, Unique, UpdatedAt, Version
from partita.design.models import Attribute, EntityKeys, Model
from partita.errors import DesignError

_KEEPS: dict[type, tuple[type, ...]] = {
    CountOf: (int,),
    Version: (int,),
    SumOf: (Decimal, int, float),
    CreatedAt: (datetime,),
    UpdatedAt: (datetime,),
}
_KEY = "a key that is made from it"
_COLLECTIONS = ("L", "M", "SS", "NS", "BS", "")


def validate_model(model: Model) -> None:
    """Refuses what cannot work."""
    for keys in _all_keys(model):
        _check_fields(keys.where, model, keys.when)
    for attribute in model.attributes.values():
        _check_markers(model, attribute)
    for unique in model.uniques:
        _check_unique(model, unique)
    for limit in model.limits:
        _check_limit(model, limit)
    for field in model.key.fields:
        if model.attributes[field].optional:
            raise DesignError(f"{model.name}.{field}", "a part of the table's key may not be None")
    _check_in_key(model)
    _check_expiry(model)
    _check_names(model)
    _check_counted(model)


def _all_keys(model: Model) -> tuple[EntityKeys, ...]:
    return (model.key, *model.old_keys, *(each for several in model.indexes.values() for each in several))


def _check_markers(model: Model, attribute: Attribute) -> None:
    where = f"{model.name}.{attribute.field}"
    for marker, kinds in _KEEPS.items():
        if attribute.marker(marker) is not None and attribute.kind not in kinds:
            wrong = f"{marker.__name__} keeps {_name(kinds[0])}, and it is {_name(attribute.kind)}"
            raise DesignError(where, wrong, f"write {attribute.field}: Annotated[{_name(kinds[0])}, ...]")
    counts = attribute.marker(CountOf) or attribute.marker(SumOf)
    if counts is not None and attribute.member.default is msgspec.NODEFAULT:
        raise DesignError(
            where, "a counter begins with its default, and it has none", f"write {attribute.field}: ... = 0"
        )


def _check_unique(model: Model, unique: Unique) -> None:
    for field in unique.fields:
        _known(f"{model.name}.{unique.name}", model, field)
        attribute = model.attributes[field]
        if attribute.codec.tag in _COLLECTIONS or attribute.marker(Compressed) is not None:
            wrong = f"{field!r} is {_name(attribute.kind)}, which has no one text to be unique by"
            raise DesignError(f"{model.name}.{unique.name}", wrong, "make text, a number or a time unique")
    _check_fields(model.name, model, unique.when)


def _check_limit(model: Model, limit: Limit) -> None:
    """Growth is bounded by a condition on what is before it, which only `<=` can be turned into."""
    condition = limit.condition
    if isinstance(condition, Condition):
        _check_fields(model.name, model, condition)
    if not isinstance(condition, Comparison) or condition.operator != "<=" or not _is_bound(model, condition):
        raise DesignError(
            model.name,
            "a limit that is not of the form attribute <= bound would not be kept",
            "write Limit(F.count <= 10) or Limit(F.count <= F.most), one for each",
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
        wrong = f"Expires takes a time, and {expires.at!r} is {_name(model.attributes[expires.at].kind)}"
        raise DesignError(f"{model.name}.{expires.at}", wrong, f"write {expires.at}: datetime")
    if model.table.ttl is None:
        raise DesignError(
            model.name,
            f"Expires needs the TTL attribute of table {model.table.name!r}",
            'write Table(..., ttl="TTL")',
        )


def _check_names(model: Model) -> None:
    stored = [attribute for attribute in model.attributes.values() if not attribute.in_key]
    names = [attribute.name for attribute in stored]
    doubled = next((each for each in names if names.count(each) > 1), None)
    if doubled is not None:
        raise DesignError(model.name, f"two attributes are stored as {doubled!r}", "rename one with StoredAs")
    for attribute in stored:
        where = f"{model.name}.{attribute.field}"
        rename = "rename it with StoredAs"
        if attribute.name == model.table.type_attribute:
            raise DesignError(where, f"{attribute.name!r} holds the type of every item of the table", rename)
        if attribute.name == model.table.ttl and (model.expires is not None or attribute.kind is not int):
            raise DesignError(where, f"{attribute.name!r} is the table's TTL, which Expires writes", rename)


def _check_in_key(model: Model) -> None:
    held = {
        segment.field
        for key in model.key.attributes
        if key.template is not None
        for segment in key.template.parts
        if segment.form is not None and segment.form.lossless
    }
    for attribute in model.attributes.values():
        if attribute.in_key and attribute.field not in held:
            raise DesignError(
                f"{model.name}.{attribute.field}",
                "InKey, but no key template holds it in full",
                "remove InKey, or name it in the key",
            )


def _check_counted(model: Model) -> None:
    """A counter moves while its item is not read, so nothing may follow from it; as an index key itself it may."""
    counted = {attribute.field for attribute, _ in model.counters}
    for where, what, fields in _derived_from(model):
        field = next((each for each in fields if each in counted), None)
        if field is not None:
            wrong = f"{field!r} is kept by counting, so {what} would go stale"
            way_out = "count in a service"
            if what == _KEY:
                way_out = f"use the attribute itself as the index's key, or {way_out}"
            raise DesignError(where, wrong, way_out)


def _derived_from(model: Model) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Where, what, and the attributes that it follows from."""
    for keys in _all_keys(model):
        written = [field for each in keys.attributes if each.template is not None for field in each.template.fields]
        yield keys.where, _KEY, (*written, *condition_fields(keys.when))
    for unique in model.uniques:
        yield f"{model.name}.{unique.name}", "what is unique by it", (*unique.fields, *condition_fields(unique.when))
    if model.expires is not None:
        yield model.name, "the expiry that follows from it", tuple(condition_fields(model.expires.when))


def condition_fields(condition: Condition | None) -> Iterator[str]:
    """The attributes that a condition reads."""
    return iter(()) if condition is None else condition.fields


def _check_fields(where: str, model: Model, condition: Condition | None) -> None:
    for field in condition_fields(condition):
        check_field(where, model, field)


def check_field(where: str, model: Model, field: str) -> None:
    """A condition finds the attribute in the stored item."""
    _known(where, model, field)
    if model.attributes[field].in_key:
        wrong = f"a condition names {field!r}, which is stored in the key alone"
        raise DesignError(where, wrong, "remove InKey, or leave it out of the condition")


def _known(where: str, model: Model, field: str) -> None:
    if field not in model.attributes:
        raise DesignError(
            where, f"{model.name} has no attribute {field!r}", f"the attributes are {', '.join(model.attributes)}"
        )


def _name(kind: object) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)
