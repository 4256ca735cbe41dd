"""Numbers of things in words."""

from collections.abc import Sized


def quantity(things: Sized | int, one: str, several: str = "") -> str:
    """How many there are, with the noun, or with a phrase that begins with it.

    >>> quantity("ab", "entity", "entities"), quantity(1, "table"), quantity(1000, "item")
    ('2 entities', '1 table', '1,000 items')
    """
    number = things if isinstance(things, int) else len(things)
    return f"{number:,} {one if number == 1 else several or one + 's'}"
