"""Conditions that several systems use."""

from partita import Condition, F


def counter_is(name: str, value: int) -> Condition:
    """The counter still has this value; an absent counter, as in items of other code, counts as 0."""
    same: Condition = F[name] == value
    return same if value else same | F[name].is_absent()


def both(one: Condition, other: Condition | None) -> Condition:
    """Both conditions, where there are two."""
    return one if other is None else one & other
