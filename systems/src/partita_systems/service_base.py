"""The base of every service: a store, the store's clock, and a source of ids."""

from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, TypeVar

from partita import Get, Store, new_id

E = TypeVar("E")

MakeId = Callable[[str, datetime], str]
"""Makes an id from a prefix and the current time, as `partita.new_id` does; tests and seeds pass their own."""


class ServiceBase:
    """A service on a store. `now()` is the store's clock, `new_id("c")` is a new id with this prefix."""

    def __init__(self, db: Store, make_id: MakeId = new_id) -> None:
        self.db = db
        self.now = db.now
        self._make_id = make_id

    def new_id(self, prefix: str) -> str:
        return self._make_id(prefix, self.now())

    def assign(self, call: Get[E], **values: Any) -> E:
        """Set fields of an entity; returns its new state."""

        def edit(found: E) -> None:
            for name, value in values.items():
                setattr(found, name, value)

        return self.db.update(call, edit)

    def existing(self, calls: Sequence[Get[E]], *, consistent: bool = False) -> list[E]:
        """The entities that exist, in the order of the calls."""
        return [found for found in self.db.get_many(calls, consistent=consistent) if found is not None]


def ids_from(random_bits: Callable[[int], int]) -> MakeId:
    """Ids whose random part comes from `random_bits`: the same numbers give the same ids.

    >>> from datetime import UTC
    >>> ids_from(lambda bits: 7)("c", datetime(2025, 1, 1, tzinfo=UTC))
    'c_01JGFJJZ000000000000000007'
    """
    return lambda prefix, now: new_id(prefix, now, random_bits)


def derived_id(prefix: str, at: datetime, *cause: str) -> str:
    """An id that follows from its cause: the same whenever it is made again, and sorted by time like every other.

    >>> from datetime import UTC
    >>> derived_id("n", datetime(2025, 1, 1, tzinfo=UTC), "like", "p_1", "u_1")
    'n_01JGFJJZ00KYS41BC64NB827W6'
    """
    digest = sha256("\0".join(cause).encode()).digest()
    return new_id(prefix, at, lambda bits: int.from_bytes(digest) >> (len(digest) * 8 - bits))
