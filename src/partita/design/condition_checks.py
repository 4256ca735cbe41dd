"""Checks of the conditions and constants in a design: attributes exist, and values have their types.

`F.name` and the values beside it are open to every type checker, so they are checked here: when a class or a design is
loaded, or when a call is made.
"""

import enum
import types
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from partita.design.argument_checks import short_repr
from partita.design.codec_factory import unwrapped_type
from partita.design.condition_types import check_comparable_fields, check_is_number, check_type_allows, type_name
from partita.design.conditions import (
    All,
    AnyOf,
    Comparison,
    Condition,
    Field,
    FieldCondition,
    FunctionCondition,
    Not,
    OneOf,
    SizeComparison,
    Stored,
)
from partita.design.models import Model
from partita.dynamodb import limits
from partita.errors import DesignError

_MOST_LEVELS = 50
"""The levels of nested conditions: far below what Python's stack takes."""


class Operand(msgspec.Struct, frozen=True):
    """An attribute in a condition, and a value beside it with the type that it has to have."""

    field: Field
    type: Any
    value: Any
    nullable: bool = False
    inside: bool = False  # the value is one element of the attribute
    sized: bool = False  # the value is its size

    def place(self, model: Model) -> str:
        """Where the value stands, for messages."""
        path = f"{model.name}.{'.'.join(self.field.path)}"
        return f"an element of {path}" if self.inside else f"the size of {path}" if self.sized else path


def operands(where: str, model: Model, condition: Condition) -> Iterator[Operand]:
    """Every attribute of a condition with every value beside it; a DesignError for an attribute that does not exist."""
    if isinstance(condition, All | AnyOf):
        for term in condition.terms:
            yield from operands(where, model, term)
    elif isinstance(condition, Not):
        yield from operands(where, model, condition.term)
    elif isinstance(condition, FieldCondition):
        yield from _operands_beside_field(where, model, condition)
    else:
        raise DesignError(
            where, f"{short_repr(condition)} is not a condition", "write one with F, such as F.name == value"
        )


def _operands_beside_field(where: str, model: Model, condition: FieldCondition) -> Iterator[Operand]:
    kind, optional = field_type(where, model, condition.field)
    check_type_allows(where, model, condition, kind)
    if isinstance(condition, Comparison):
        yield _compared(where, model, condition, kind, optional)
    elif isinstance(condition, SizeComparison):
        if isinstance(condition.value, Field):
            field_type(where, model, condition.value)
            check_is_number(where, model, condition.value)
        yield Operand(condition.field, int, condition.value, sized=True)
    elif isinstance(condition, OneOf):
        for value in condition.values:
            yield Operand(condition.field, kind, value, optional)
    elif isinstance(condition, FunctionCondition):
        part = part_type(kind)
        yield Operand(condition.field, part, condition.value, inside=part is not kind)


def _compared(where: str, model: Model, condition: Comparison, kind: Any, optional: bool) -> Operand:
    if isinstance(condition.value, Field):
        field_type(where, model, condition.value)
        check_comparable_fields(where, model, condition.field, condition.value)
    return Operand(condition.field, kind, condition.value, optional and condition.operator in ("=", "<>"))


def check_size(where: str, condition: Condition) -> None:
    """A DesignError for a condition that is larger than DynamoDB takes, or nested deeper than it can be translated."""
    size, level = 0, [condition]
    for _ in range(_MOST_LEVELS):
        size += len(level)
        level = [
            term
            for each in level
            if isinstance(each, All | AnyOf | Not)
            for term in (each.terms if isinstance(each, All | AnyOf) else (each.term,))
        ]
        if not level:
            break
    if size > limits.EXPRESSION_OPERATORS:
        most = f"DynamoDB takes at most {limits.EXPRESSION_OPERATORS} operators"
        raise DesignError(where, f"a condition has {size} comparisons and operators; {most}", "use is_in, or fewer")
    if level:
        raise DesignError(where, f"a condition is nested deeper than {_MOST_LEVELS} levels", "combine fewer conditions")


def check_condition(where: str, model: Model, condition: Condition) -> None:
    """A DesignError for an attribute that does not exist, or a constant of another type."""
    check_size(where, condition)
    for each in operands(where, model, condition):
        if isinstance(each.value, Field | Stored) or (each.value is None and each.nullable):
            continue
        check_constant(where, each.place(model), each.type, each.value, compared=True)


def check_names(model: Model, condition: Condition) -> None:
    """A DesignError for an attribute that does not exist, whatever the values are."""
    check_size(model.name, condition)
    for _ in operands(model.name, model, condition):
        pass


def check_constant(where: str, place: str, kind: Any, value: Any, *, compared: bool = False) -> None:
    """A DesignError for a constant that does not have the type of its place; `compared` in a condition."""
    if not (is_comparable if compared else fits_type)(value, kind):
        naive = isinstance(value, datetime) and kind is datetime
        given = "a time without a zone" if naive else type(value).__name__
        raise DesignError(
            where,
            f"{short_repr(value)} is {given}, but {place} is {type_name(kind)}",
            f"write a value of {type_name(kind)}",
        )


def field_type(where: str, model: Model, field: Field) -> tuple[Any, bool]:
    """The type of an attribute or of a member inside it, and whether it may be None."""
    attribute = model.attributes.get(field.path[0])
    if attribute is None:
        raise DesignError(
            where,
            f"{model.name} has no attribute {field.path[0]!r}",
            f"the attributes are {', '.join(model.attributes)}",
        )
    kind, optional = attribute.kind, attribute.optional
    for at, step in enumerate(field.path[1:], 1):
        members = _members(kind)
        if members is None or (isinstance(members, Mapping) and step not in members):
            place = f"{model.name}.{'.'.join(field.path[:at])}"
            known = f"its members are {', '.join(members)}" if members else "compare it as a whole"
            raise DesignError(where, f"{place} is {type_name(kind)}, which has no member {step!r}", known)
        kind, optional = unwrapped_type(members[step] if isinstance(members, Mapping) else members)
    return kind, optional


@cache
def _members(kind: Any) -> Any:
    """The types of the members by name, or one type for all of them; None where there are no members."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return get_type_hints(kind, include_extras=True)
    if kind is Any or kind is dict or get_origin(kind) in (Union, types.UnionType):
        return Any
    return get_args(kind)[1] if get_origin(kind) is dict else None


def part_type(kind: Any) -> Any:
    """The type of what a text begins with, or of what a set or list contains."""
    inner = get_args(kind)
    return unwrapped_type(inner[0])[0] if inner and get_origin(kind) is not Literal else kind


def may_contain_none(kind: Any) -> bool:
    """Whether a list may have None among its elements."""
    inner = get_args(kind)
    return kind is Any or (bool(inner) and (inner[0] is Any or unwrapped_type(inner[0])[1]))


def fits_type(value: Any, kind: Any) -> bool:
    """Whether a value is of the type of an attribute, as an entity would have it.

    >>> fits_type(1, Decimal), fits_type(True, int), fits_type("a", Literal["a", "b"]), fits_type(1, str)
    (True, False, True, False)
    """
    kind, optional = unwrapped_type(kind)
    if kind is Any or (value is None and optional):
        return True
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return any(fits_type(value, each) for each in inner)
    if origin is Literal:
        return any(value == each and type(value) is type(each) for each in inner)
    if origin is dict:
        return isinstance(value, dict) and all(fits_type(each, inner[1]) for each in value.values())
    if origin is not None:
        return _is_sequence(value, origin) and all(fits_type(each, inner[0]) for each in value)
    return _fits_class(value, kind)


def is_comparable(value: Any, kind: Any) -> bool:
    """Whether a condition may compare an attribute of the type with the value: any number with any number.

    >>> is_comparable(1.5, int), is_comparable(True, int), is_comparable("1", int)
    (True, False, False)
    """
    if kind in (int, float, Decimal) and isinstance(value, int | float | Decimal):
        return not isinstance(value, bool | enum.Enum)
    return fits_type(value, kind)


def _fits_class(value: Any, kind: Any) -> bool:
    if isinstance(value, bool):
        return kind is bool
    if kind in (Decimal, float):
        return isinstance(value, int | kind) and not isinstance(value, enum.Enum)
    if kind is datetime:
        return isinstance(value, datetime) and value.tzinfo is not None
    if kind is date:
        return isinstance(value, date) and not isinstance(value, datetime)
    if kind in (str, int):
        return isinstance(value, kind) and not isinstance(value, enum.Enum)
    return isinstance(value, kind)


def _is_sequence(value: Any, origin: Any) -> bool:
    if origin in (set, frozenset):
        return isinstance(value, set | frozenset)
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
