"""Errors of nbhd.city that name the field of the caller."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from partita import ConditionFailed, InvalidValue, OpenEnum
from partita_systems.nbhd import design as d

M = TypeVar("M", bound=OpenEnum)


def checked_enum(entity: str, field: str, value: M) -> M:
    """The value, or InvalidValue if it is not a member: only other code may store unknown values."""
    members = list(type(value))
    if value not in members:
        values = ", ".join(each.value for each in members)
        raise InvalidValue(entity, f"{value.value!r} is not valid; use {values}", field)
    return value


class LastAdmin(ConditionFailed):
    """The only active admin of some neighborhoods would be no admin any more."""

    def __init__(self, did: str, neighborhood_ids: Iterable[str]) -> None:
        super().__init__(d.Membership.__name__, {"did": did})
        self.neighborhood_ids = tuple(neighborhood_ids)

    def __str__(self) -> str:
        names = ", ".join(self.neighborhood_ids)
        return f"{self.key['did']} is the only admin of {names}; make another member admin first, or close it"


@contextmanager
def condition_errors(errors: Mapping[str, InvalidValue]) -> Iterator[None]:
    """Raise the error of the entity whose condition fails inside the block."""
    try:
        yield
    except ConditionFailed as failed:
        if failed.entity not in errors:
            raise
        raise errors[failed.entity] from None
