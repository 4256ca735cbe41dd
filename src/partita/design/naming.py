"""Names on disk: of attributes in camelCase or snake_case, unless `StoredAs` gives another, and of types."""

import re
from collections.abc import Callable, Sized

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


NAMINGS: dict[str, Callable[[str], str]] = {"camel": camel_case, "snake": snake_case}


def naming(where: str, name: str) -> Callable[[str], str]:
    """The function from a Python name to the name on disk."""
    if name not in NAMINGS:
        raise DesignError(where, f"{name!r} is not a naming of attributes", f"use one of {', '.join(NAMINGS)}")
    return NAMINGS[name]


def quantity(things: Sized, one: str, several: str = "") -> str:
    """How many there are, with the noun.

    >>> quantity("ab", "entity", "entities"), quantity("a", "table")
    ('2 entities', '1 table')
    """
    return f"{len(things)} {one if len(things) == 1 else several or one + 's'}"
