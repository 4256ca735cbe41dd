"""The JSON of replies: entities and structs without the attributes that are marked `Internal`."""

import dataclasses
import functools
import operator
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from partita.design.json_codec import encoded
from partita.design.markers import Internal


def encoded_reply(value: Any) -> bytes:
    """The JSON of an entity or struct as clients get it."""
    kind: Any = type(value)
    shown = _reply_struct(kind)
    return encoded(value if shown is None else msgspec.convert(value, shown, from_attributes=True))


@functools.cache
def internal_members(struct: type[Any]) -> frozenset[str]:
    """The members of a struct that replies leave out, by their names in JSON."""
    fields = msgspec.structs.fields(struct)
    return frozenset(each.encode_name for each in fields if any(isinstance(one, Internal) for one in _markers(each)))


def _markers(field: msgspec.structs.FieldInfo) -> tuple[Any, ...]:
    return get_args(field.type)[1:] if get_origin(field.type) is Annotated else ()


@functools.cache
def _reply_struct(kind: type[Any]) -> Any:
    """The struct of what clients get of a value of this type; None if that is all of it."""
    if dataclasses.is_dataclass(kind):
        hidden, hints = frozenset[str](), get_type_hints(kind, include_extras=True)
        fields = [(each.name, each.name, hints[each.name]) for each in dataclasses.fields(kind)]
    elif issubclass(kind, msgspec.Struct):
        hidden = internal_members(kind)
        fields = [(each.name, each.encode_name, each.type) for each in msgspec.structs.fields(kind)]
    else:
        return None
    types = {name: _reply_type(hint) for name, sent_name, hint in fields if sent_name not in hidden}
    if not hidden and not any(types.values()):
        return None
    return msgspec.defstruct(
        kind.__name__,
        [(name, shown or Any) for name, shown in types.items()],
        rename={name: sent_name for name, sent_name, _ in fields if name in types},
    )


def _reply_type(hint: Any) -> Any:
    """The type of what clients get of a value with this annotation; None if that is all of it."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _reply_type(inner[0])
    if isinstance(hint, type) and not inner:
        return _reply_struct(hint)
    shown = [_reply_type(each) for each in inner]
    if not any(shown):
        return None
    if origin in (list, dict):
        return origin[tuple(each or Any for each in shown)]
    return functools.reduce(operator.or_, [each or one for each, one in zip(shown, inner, strict=True)], NoneType)
