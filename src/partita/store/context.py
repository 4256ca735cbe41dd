"""The context of a store's flows: its settings, its clock, and its observers."""

import os
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from partita.errors import StoredItemInvalid
from partita.plan.design import Design
from partita.store.flows import Wait
from partita.store.key_watch import KeyWatch
from partita.store.observation import Observers
from partita.store.table_names import TableNames


def _now() -> datetime:
    return datetime.now(UTC)


def _random() -> float:
    return int.from_bytes(os.urandom(4)) / 2**32


def _token() -> str:
    return os.urandom(16).hex()


class StoreContext(msgspec.Struct, frozen=True):
    """The argument of every flow of a store."""

    design: Design | None = None
    clock: Callable[[], datetime] = _now
    random: Callable[[], float] = _random
    token: Callable[[], str] = _token
    retries: int = 8
    first_wait: float = 0.025
    longest_wait: float = 5.0
    cursor_keys: tuple[bytes, ...] = ()
    table_names: TableNames | None = None
    observers: Observers = msgspec.field(default_factory=Observers)
    key_watch: KeyWatch = msgspec.field(default_factory=KeyWatch)
    on_unreadable: Callable[[StoredItemInvalid], None] | None = None

    def pause(self, attempt: int) -> Wait:
        """The wait before the next attempt, with full jitter: anything up to a bound that doubles."""
        return Wait(self.random() * min(self.longest_wait, self.first_wait * 2 ** min(attempt, self.retries)))

    def table_name(self, name: str) -> str:
        """The backend's name of a table of the design."""
        return name if self.table_names is None else self.table_names.actual(name)

    def declared_table_name(self, name: str) -> str:
        """The design's name of a table on the backend."""
        return name if self.table_names is None else self.table_names.declared(name)
