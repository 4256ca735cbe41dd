"""Arguments of declarations: what each may be, and one check that names the argument that is something else.

    check_arguments("Was", name=(name, TEXT), to=(to, optional(CONVERTER)), removed=(removed, FLAG))

Type checkers know most of this; at run time a wrong argument would otherwise be an error of some function far below,
or be accepted and have no effect.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, get_type_hints

import msgspec

from partita.design.conditions import Condition
from partita.errors import DesignError

_SHOWN = 80  # characters of a value in an error


class Kind(msgspec.Struct, frozen=True):
    """What an argument may be: in words, as a test, and as an example."""

    words: str
    fits: Callable[[Any], bool]
    example: str = ""


def check_arguments(where: str, /, **given: tuple[Any, Kind]) -> None:
    """A DesignError that names the first argument that is not of its kind."""
    for name, (value, kind) in given.items():
        if not kind.fits(value):
            raise DesignError(where, f"{name}={short_repr(value)} is not {kind.words}", kind.example)


def short_repr(value: object) -> str:
    """A value as an error shows it: not too long, and whatever its `repr` does."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a value of any class, or a number with more digits than Python writes
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def optional(kind: Kind) -> Kind:
    """The same, or None."""
    return Kind(f"{kind.words}, or None", lambda value: value is None or kind.fits(value), kind.example)


def either(*kinds: Kind) -> Kind:
    """One of several kinds."""
    words = " or ".join(each.words for each in kinds)
    return Kind(words, lambda value: any(each.fits(value) for each in kinds), kinds[0].example)


def one_of(*values: str) -> Kind:
    """One of these texts."""
    listed = ", ".join(f'"{value}"' for value in values)
    return Kind("one of its values", lambda value: isinstance(value, str) and value in values, f"use {listed}")


def list_of(kind: Kind, what: str, example: str) -> Kind:
    """A tuple or list of a kind."""
    return Kind(what, lambda value: isinstance(value, tuple | list) and all(map(kind.fits, value)), example)


def _is_text(value: Any) -> bool:
    """Whether it is text that can be encoded."""
    return isinstance(value, str) and not any("\ud800" <= each <= "\udfff" for each in value)


def _is_number(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value.is_finite()
    return isinstance(value, int) and not isinstance(value, bool)


def _takes_one_value(value: Any) -> bool:
    """Whether it can be called with one value, as far as that is known."""
    if not callable(value):
        return False
    try:
        inspect.signature(value).bind(None)
    except TypeError:
        return False
    except ValueError:  # a function without a signature
        return True
    return True


def _is_via(value: Any) -> bool:
    return isinstance(value, Mapping) and all(_is_text(each) for pair in value.items() for each in pair)


TEXT = Kind("text", _is_text, "write a text")
NAME = Kind("a name", lambda value: _is_text(value) and bool(value), 'write a text, such as "name"')
NAMES = either(NAME, list_of(NAME, "a tuple of names", 'write ("one", "other")'))
FLAG = Kind("True or False", lambda value: value is True or value is False, "write True or False")
COUNT = Kind("a number of at least 0", lambda value: type(value) is int and value >= 0, "write a number")
NUMBER = Kind("a number", _is_number, "write an int or a Decimal")
CONVERTER = Kind("a function of one value", _takes_one_value, "write def cents(price: str) -> int: ...")
CONDITION = Kind("a condition", lambda value: isinstance(value, Condition), "write one with F, such as F.name == value")
VIA = Kind("a dict of names of attributes", _is_via, "write via={<part of the key>: <attribute>}")
TEMPLATES = optional(
    either(
        Kind("a template", _is_text, 'write "ORDER#{order_id}"'),
        list_of(optional(TEXT), "a tuple of templates", 'write ("CUSTOMER#{customer_id}", "ORDER#{order_id}")'),
    )
)


def hints_of(where: str, declared: Any, *, include_extras: bool = True) -> dict[str, Any]:
    """The types of a class's attributes or of a function's parameters; a DesignError where they cannot be read."""
    try:
        return get_type_hints(declared, include_extras=include_extras)
    except NameError as error:
        name = getattr(declared, "__name__", "it")
        raise DesignError(where, f"its types: {error}", f"import or declare it above {name}") from None
    except Exception as error:  # noqa: BLE001 - an annotation is any expression, and may raise anything
        raise DesignError(where, f"its types cannot be read: {type(error).__name__}: {error}", "write types") from None


def check_is_type(where: str, kind: Any) -> None:
    """A DesignError for an annotation that no type can be, such as a list."""
    try:
        hash(kind)
    except TypeError:
        raise DesignError(where, f"{short_repr(kind)} is not a type", "write a type, such as str") from None


def check_known(where: str, given: Iterable[str], known: Iterable[str]) -> None:
    """A DesignError for an argument that a declaration does not have."""
    names = tuple(known)
    unknown = next((each for each in given if each not in names), None)
    if unknown is not None:
        raise DesignError(where, f"it has no argument {unknown!r}", f"its arguments are {', '.join(names)}")
