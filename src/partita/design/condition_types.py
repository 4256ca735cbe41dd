"""Which conditions a type allows: order, a beginning, elements and a size.

DynamoDB compares stored values, and some types have no stored form with the meaning that Python gives to the operator:
an order of two sets, the size of a time, the beginning of a compressed text. Such a condition is rejected.
"""

import enum
import types
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal, Union, get_args, get_origin
from uuid import UUID

from partita.design.codecs import AttributeMember, Codec, CompressedCodec, StructCodec
from partita.design.conditions import (
    Comparison,
    Condition,
    Exists,
    Field,
    FunctionCondition,
    OneOf,
    SizeComparison,
    Stored,
)
from partita.design.models import Model
from partita.errors import DesignError

_ORDER, _BEGINNING, _ELEMENTS, _SIZE = "order", "beginning", "elements", "size"
_EVERY = frozenset({_ORDER, _BEGINNING, _ELEMENTS, _SIZE})
_WRONG = {
    _ORDER: ("has no order", "compare it with == or !="),
    _BEGINNING: ("has no beginning", "compare its value, or use contains() for a set or list"),
    _ELEMENTS: ("has no elements to look for", "compare its value, or test a member with exists()"),
    _SIZE: ("has no size", "compare its value"),
}


def check_type_allows(where: str, model: Model, condition: Condition, kind: Any) -> None:
    """A DesignError for a condition that the attribute's type does not allow; `kind` is the type."""
    if not isinstance(condition, Comparison | SizeComparison | OneOf | FunctionCondition | Exists):
        return
    value = condition.value if isinstance(condition, Comparison) else None
    if _is_compressed(model, condition.field) and not _is_presence(condition):
        raise DesignError(
            where, f"{_place(model, condition.field)} is stored compressed", "test it with exists() or is_absent()"
        )
    needed = _needed(condition)
    if needed is not None and not isinstance(value, Stored) and needed not in _allowed(kind):
        wrong, instead = _WRONG[needed]
        raise DesignError(where, f"{_place(model, condition.field)} is {type_name(kind)}, which {wrong}", instead)


def check_comparable_fields(where: str, model: Model, field: Field, other: Field) -> None:
    """A DesignError for two attributes that DynamoDB cannot compare, or never finds equal."""
    if field.path == other.path:
        raise DesignError(
            where, f"{_place(model, field)} is compared with itself", "compare it with another attribute or a value"
        )
    for each in (field, other):
        if _is_compressed(model, each):
            raise DesignError(where, f"{_place(model, each)} is stored compressed", "compare another attribute")
    codec, beside = _codec_at(model, field), _codec_at(model, other)
    if codec is not None and beside is not None and codec.tag and beside.tag and codec.tag != beside.tag:
        wrong = f"{_place(model, field)} and {_place(model, other)} have different types, and are never equal"
        raise DesignError(where, wrong, "compare attributes of one type")


def check_is_number(where: str, model: Model, field: Field) -> None:
    """A DesignError for an attribute that is not a number beside the size of another one."""
    codec = _codec_at(model, field)
    if codec is not None and codec.tag not in ("N", ""):
        raise DesignError(where, f"{_place(model, field)} is not a number", "compare a size with a number")


def member_at(model: Model, field: Field) -> AttributeMember | None:
    """The declaration of an attribute or of a struct's member; None inside of values without a declared type."""
    member: AttributeMember | None = model.attributes[field.path[0]].member
    for step in field.path[1:]:
        members = member.codec.members if member is not None and isinstance(member.codec, StructCodec) else ()
        member = next((each for each in members if each.field == step), None)
    return member


def _codec_at(model: Model, field: Field) -> Codec | None:
    member = member_at(model, field)
    return None if member is None else member.codec


@lru_cache(maxsize=4096)
def _is_compressed_at(model: Model, path: tuple[str, ...]) -> bool:
    return any(isinstance(_codec_at(model, Field(path[:end])), CompressedCodec) for end in range(1, len(path) + 1))


def _is_compressed(model: Model, field: Field) -> bool:
    return _is_compressed_at(model, field.path)


def _is_presence(condition: Condition) -> bool:
    if isinstance(condition, Exists):
        return len(condition.field.path) == 1
    compared = isinstance(condition, Comparison) and condition.operator in ("=", "<>")
    return compared and condition.value is None and len(condition.field.path) == 1  # type: ignore[attr-defined]


def _needed(condition: Condition) -> str | None:
    if isinstance(condition, Comparison):
        return None if condition.operator in ("=", "<>") else _ORDER
    if isinstance(condition, FunctionCondition):
        return _BEGINNING if condition.function == "begins_with" else _ELEMENTS
    return _SIZE if isinstance(condition, SizeComparison) else None


@lru_cache(maxsize=4096)
def _allowed(kind: Any) -> frozenset[str]:
    """What conditions may ask of values of a type."""
    origin = get_origin(kind) or kind
    if origin in (Any, Union, types.UnionType, str, bytes, Literal):
        return _EVERY
    if origin in (set, frozenset, list, tuple):
        return frozenset({_ELEMENTS, _SIZE})
    if origin is dict:
        return frozenset({_SIZE})
    if isinstance(origin, type) and issubclass(origin, enum.Enum):
        return _EVERY if issubclass(origin, str) else frozenset({_ORDER}) if issubclass(origin, int) else frozenset()
    ordered = origin in (int, float, Decimal, datetime, date, UUID)
    return frozenset({_ORDER}) if ordered else frozenset()


def _place(model: Model, field: Field) -> str:
    return f"{model.name}.{'.'.join(field.path)}"


def type_name(kind: Any) -> str:
    """The name of a type as a program writes it."""
    return kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind).replace("typing.", "")
