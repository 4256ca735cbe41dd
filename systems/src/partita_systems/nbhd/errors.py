"""How nbhd.city says no: by the field that the caller gave."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from partita import ConditionFailed, InvalidValue, OpenEnum

M = TypeVar("M", bound=OpenEnum)


def known(entity: str, field: str, value: M) -> M:
    """A value that the system itself has a name for; only other code may write others."""
    named = list(type(value))
    if value not in named:
        raise InvalidValue(entity, f"{value.value!r} is none of {', '.join(each.value for each in named)}", field)
    return value


@contextmanager
def refusing(refusals: Mapping[str, InvalidValue]) -> Iterator[None]:
    """A condition on another entity that fails inside is told as the field of the caller's that it is about."""
    try:
        yield
    except ConditionFailed as failed:
        if failed.entity not in refusals:
            raise
        raise refusals[failed.entity] from None
