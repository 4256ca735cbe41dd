"""An example of an entity as it lies on disk: values made from its types, written by what writes real ones.

`msgspec.Meta(examples=[...])` says a better value. Of what decides about index keys (a status, a time that may be
absent) the value is chosen with which the item is in the most indexes.
"""

import enum
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from typing import Any, Literal, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec

from partita.describe.types_in_words import bounds_of, is_struct
from partita.design.codec_factory import unwrapped_type
from partita.design.markers import Version
from partita.design.models import Attribute, Model
from partita.dynamodb.values import Item
from partita.plan.item_compiler import compiled_item
from partita.plan.items import validate_entity, values_of

_AT = datetime(2025, 1, 1, 9, tzinfo=UTC)
_PLAIN = {
    bool: True,
    bytes: b"bytes",
    datetime: _AT,
    date: date(2025, 1, 1),
    UUID: UUID("0b2f2c6e-7f0c-4d43-9a0e-2f3a7c1d5b11"),
    Any: "anything",
}
_NUMBERS: dict[Any, Iterable[Any]] = {
    int: (1, 10, 100, 1_000, 2_025, 60_000, 0),
    float: (1.5, 0.5, 15.0, 0.0),
    Decimal: (Decimal("12.5"), Decimal("0.5")),
}
_TEXTS = ("ana@example.com", "https://example.com/", "ana", "ANA", "2025-01-01", "1")


def example_of(model: Model) -> Any:
    """The entity."""
    values = {each.field: _value(model, each) for each in model.attributes.values()}
    deciding = {name: _choices(model.attributes[name], values[name]) for name in sorted(_deciding(model))}
    made = [_entity(model, values | dict(zip(deciding, chosen, strict=True))) for chosen in product(*deciding.values())]
    return max(made, key=lambda entity: _entered(model, example_item(model, entity)))


def example_item(model: Model, entity: Any) -> Item:
    return compiled_item(model, values_of(model, entity))


def _entered(model: Model, item: Item) -> int:
    """How many indexes the item is in."""
    names = [{each.name for each in several[0].attributes} for several in model.indexes.values()]
    return sum(each <= item.keys() for each in names)


def _entity(model: Model, values: dict[str, Any]) -> Any:
    return validate_entity(model, model.cls(**values))


def _deciding(model: Model) -> set[str]:
    keys = [each for several in model.indexes.values() for each in several]
    return {field for each in keys if each.when is not None for field in each.when.fields}


def _choices(attribute: Attribute, value: Any) -> list[Any]:
    several: Iterable[Any] = get_args(attribute.kind) if get_origin(attribute.kind) is Literal else ()
    if isinstance(value, enum.Enum | bool):
        several = attribute.kind if isinstance(value, enum.Enum) else (True, False)
    return list(dict.fromkeys([value, *several, *([None] if attribute.optional else [])]))


def _value(model: Model, attribute: Attribute) -> Any:
    default = 1 if attribute.marker(Version) is not None else attribute.member.default
    name = f"{model.name.lower()}_id" if attribute.field == "id" else attribute.field
    return default if _is_telling(default) else sample(attribute.hint, name)


def _is_telling(default: Any) -> bool:
    """Whether a default is as good an example as any: a number, a state, a text that is not empty."""
    return isinstance(default, str | int | float | enum.Enum | Decimal) and default != ""


def sample(hint: Any, name: str) -> Any:
    """A value of the type, for the attribute or member of this name.

    >>> sample(list[str], "tags"), sample(str, "author_id"), sample(dict[str, Any] | None, "config")
    (['tags'], 'author-1', {'name': 'anything'})
    """
    kind, metas = unwrapped_type(hint)[0], bounds_of(hint)
    given = [example for each in metas for example in each.examples or ()]
    origin, inner = get_origin(kind), get_args(kind)
    if given:
        return msgspec.convert(given[0], kind)
    if is_struct(kind):
        return _struct(kind)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return next(iter(kind))
    if origin is Literal:
        return inner[0]
    if kind is dict or origin is dict:
        return {"name": sample(inner[1] if inner else Any, "value")}
    if origin in (list, tuple, set, frozenset):
        return origin([sample(inner[0], name)])
    if kind in _NUMBERS:
        bounds = [kind(held) for each in metas for held in (each.ge, each.le) if held is not None]
        bounds += [kind(each.gt + 1) for each in metas if each.gt is not None]
        return next(each for each in (*_NUMBERS[kind], *bounds) if _fits(each, hint))
    return _PLAIN[kind] if kind in _PLAIN else _text(hint, name, metas)


def _struct(kind: Any) -> Any:
    hints = get_type_hints(kind, include_extras=True)
    fields = msgspec.structs.fields(kind)
    return kind(
        **{
            each.name: each.default if _is_telling(each.default) else sample(hints[each.name], each.name)
            for each in fields
        }
    )


def _text(hint: Any, name: str, metas: list[msgspec.Meta]) -> str:
    """The name in words, or as an id; where it must match a pattern, one of a few texts that does."""
    spoken = name.replace("_", " ")
    if re.search(r"(?:^|_|user)(?:id|sub)$", name):
        spoken = (re.sub(r"_?(?:id|sub)$", "", name) or "thing").replace("_", "-") + "-1"
    elif re.search(r"(?:^|_)(?:urls?|email)$", name):
        spoken = "ana@example.com" if name.endswith("email") else "https://example.com/"
    least = max((each.min_length or 0 for each in metas), default=0)
    return next((each for each in (spoken.ljust(least, "."), *_TEXTS) if _fits(each, hint)), spoken)


def _fits(value: Any, hint: Any) -> bool:
    try:
        msgspec.convert(value, hint, builtin_types=(Decimal,))
    except msgspec.ValidationError:
        return False
    return True
