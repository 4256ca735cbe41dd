"""Which types an attribute may have that names something: those whose every value is a value of what it names.

    bool, a time, ...       the same type
    str                     also an enum or a Literal of texts
    Literal["a", "b"]       also an enum or a Literal of some of these texts
    int, Decimal, float     also an enum of whole numbers; Decimal and float also int

Equal values of two such types have one text in a key, once they are `assigned`.
"""

import enum
from decimal import Decimal
from functools import cache
from typing import Any, Literal, get_args, get_origin

from partita.design.open_enum import OpenEnum


@cache
def is_assignable(kind: Any, to: Any) -> bool:
    """Whether every value of a type, once it is assigned, is a value of another type.

    >>> is_assignable(int, Decimal), is_assignable(str, int), is_assignable(Literal["a"], str)
    (True, False, True)
    """
    if kind == to:
        return True
    if to is str:
        return kind is not str and _values(kind, str) is not None
    if to in (int, Decimal, float):
        return (kind is int and to is not int) or _values(kind, int) is not None
    if get_origin(to) is Literal:
        held = _values(kind, str)
        return held is not None and bool(held) and held <= set(get_args(to))
    return False


def assigned(value: Any, to: Any) -> Any:
    """A value of a type that is assignable to another one, as a value of that one: of an enum's member its value."""
    if not isinstance(value, enum.Enum) or (isinstance(to, type) and issubclass(to, enum.Enum)):
        return value
    return value.value


def _values(kind: Any, of: type) -> frozenset[Any] | None:
    """The values of a type that lists them, if all are of this type; of an open enum none, since any text is one."""
    if isinstance(kind, type) and issubclass(kind, OpenEnum):
        return frozenset() if of is str else None
    listed = get_args(kind) if get_origin(kind) is Literal else ()
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        listed = tuple(member.value for member in kind)
    return frozenset(listed) if listed and all(type(each) is of for each in listed) else None
