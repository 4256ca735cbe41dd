"""Errors of nbhd.city that name the field of the caller."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from partita import ConditionFailed, InvalidValue, OpenEnum

M = TypeVar("M", bound=OpenEnum)


def checked_enum(entity: str, field: str, value: M) -> M:
    """The value, or InvalidValue if it is not a member: only other code may store unknown values."""
    members = list(type(value))
    if value not in members:
        values = ", ".join(each.value for each in members)
        raise InvalidValue(entity, f"{value.value!r} is not valid; use {values}", field)
    return value


@contextmanager
def condition_errors(errors: Mapping[str, InvalidValue]) -> Iterator[None]:
    """Raise the error of the entity whose condition fails inside the block."""
    try:
        yield
    except ConditionFailed as failed:
        if failed.entity not in errors:
            raise
        raise errors[failed.entity] from None
