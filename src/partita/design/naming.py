"""Names on disk: attributes in camelCase or snake_case from the Python name, or exactly as `Name` says; types."""

import re
from collections.abc import Callable

from partita.errors import DesignError


def camel_case(field: str) -> str:
    """
    >>> camel_case("check_limit")
    'checkLimit'
    """
    first, *rest = field.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def snake_case(field: str) -> str:
    """Python's own form."""
    return field


def upper_case(entity: str) -> str:
    """
    >>> upper_case("CardInCollection")
    'CARD_IN_COLLECTION'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", entity).upper()


NAMINGS: dict[str, Callable[[str], str]] = {"camel": camel_case, "snake": snake_case}


def naming(where: str, name: str) -> Callable[[str], str]:
    """The naming that a table or entity asks for."""
    if name not in NAMINGS:
        raise DesignError(where, f"{name!r} is no way to name attributes", f"use one of {', '.join(NAMINGS)}")
    return NAMINGS[name]
