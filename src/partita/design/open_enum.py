"""Open enums: a value that other code wrote and the design does not list can still be read."""

import enum
from typing import Self


class OpenEnum(str, enum.Enum):
    """An enum of texts; any other text is a valid value without a name.

    >>> class Tier(OpenEnum):
    ...     FREE = "FREE"
    >>> Tier("GOLD").value, Tier("GOLD") == Tier("GOLD"), Tier("FREE") is Tier.FREE
    ('GOLD', True, True)
    """

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        unknown = str.__new__(cls, value)
        unknown._name_ = value
        unknown._value_ = value
        return unknown

    def __str__(self) -> str:
        return str(self.value)
