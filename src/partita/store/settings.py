"""The settings of a store, as keyword arguments."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from typing import Literal

    from opentelemetry.trace import Tracer

    from partita.store.observation import SentRequest
    from partita.store.table_names import TableNaming


class StoreSettings(TypedDict, total=False):
    """Settings of a store, sync or async; `Store` describes each of them."""

    clock: Callable[[], datetime] | None
    random: Callable[[], float] | None
    retries: int | None
    cursor_keys: Sequence[bytes] | None
    table_names: "TableNaming | None"
    on_call: "Sequence[Callable[[SentRequest], None]] | None"
    slow_call_seconds: float | None
    tracer: "Tracer | Literal[True] | None"


class SyncStoreSettings(StoreSettings, total=False):
    """Settings of `Store`."""

    sleep: Callable[[float], None] | None


class AsyncStoreSettings(StoreSettings, total=False):
    """Settings of `AsyncStore`."""

    sleep: Callable[[float], Awaitable[None]] | None
