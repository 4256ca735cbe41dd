"""Names on disk: of attributes by a naming (camelCase, PascalCase, or a function), unless `StoredAs` gives another."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, TypeAlias

from partita.errors import DesignError


def camel_case(field: str) -> str:
    """
    >>> camel_case("check_limit")
    'checkLimit'
    """
    first, *rest = field.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def snake_case(field: str) -> str:
    """The Python name as it is."""
    return field


def upper_case(entity: str) -> str:
    """
    >>> upper_case("CardInCollection")
    'CARD_IN_COLLECTION'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", entity).upper()


def pascal_case(field: str) -> str:
    """
    >>> pascal_case("check_limit")
    'CheckLimit'
    """
    return "".join(word[:1].upper() + word[1:] for word in field.split("_"))


Naming: TypeAlias = Literal["snake", "camel", "pascal"] | Callable[[str], str]
"""How attributes are named on disk: by a word, or by a function of the Python name."""

NAMINGS: dict[str, Callable[[str], str]] = {"camel": camel_case, "pascal": pascal_case, "snake": snake_case}


def naming(where: str, chosen: Any) -> Callable[[str], str]:
    """The function from a Python name to the name on disk."""
    if callable(chosen):
        return partial(_by_function, where, chosen)
    if not isinstance(chosen, str) or chosen not in NAMINGS:
        instead = f"use one of {', '.join(NAMINGS)}, or a function of the name"
        raise DesignError(where, f"{chosen!r} is not a naming of attributes", instead)
    return NAMINGS[chosen]


_UNREADABLE = re.compile(r'["\\\x00-\x1f\ud800-\udfff]')


def check_readable(where: str, name: str) -> None:
    """A DesignError for a name that msgspec cannot decode: it compares names as they are written in JSON."""
    if _UNREADABLE.search(name):
        wrong = f"{name!r} cannot be the name of an attribute"
        raise DesignError(where, wrong, "leave quotation marks, backslashes and control characters out")


def check_distinct(where: str, names: Mapping[str, str]) -> None:
    """A DesignError where two attributes, by their Python names, have one name on disk."""
    first: dict[str, str] = {}
    for field, name in names.items():
        other = first.setdefault(name, field)
        if other != field:
            raise DesignError(where, f"{other!r} and {field!r} are both named {name!r} on disk", "rename one of them")


def naming_name(chosen: Naming) -> str:
    """The name of a naming, for messages."""
    return chosen if isinstance(chosen, str) else getattr(chosen, "__name__", repr(chosen))


def _by_function(where: str, function: Callable[[str], Any], field: str) -> str:
    try:
        name = function(field)
    except Exception as error:  # noqa: BLE001 - whatever the function raises
        wrong = f"its naming raised {type(error).__name__}: {error}"
        raise DesignError(f"{where}.{field}", wrong, "write a function of the Python name") from None
    if not isinstance(name, str) or not name:
        raise DesignError(f"{where}.{field}", f"its naming returns {name!r}", "return a text that is not empty")
    check_readable(f"{where}.{field}", name)
    return name
