"""The settings of a store, as keyword arguments."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict

from partita.setting_rules import COUNT, DURATION, FUNCTION, SettingRule

if TYPE_CHECKING:
    from typing import Literal

    from opentelemetry.trace import Tracer

    from partita.errors import StoredItemInvalid
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
    on_unreadable: "Callable[[StoredItemInvalid], None] | None"
    slow_call_seconds: float | None
    tracer: "Tracer | Literal[True] | None"


class SyncStoreSettings(StoreSettings, total=False):
    """Settings of `Store`."""

    sleep: Callable[[float], None] | None


class AsyncStoreSettings(StoreSettings, total=False):
    """Settings of `AsyncStore`."""

    sleep: Callable[[float], Awaitable[None]] | None


def _is_naming(value: Any) -> bool:
    return isinstance(value, Mapping) or callable(value)


def _are_functions(value: Any) -> bool:
    return isinstance(value, Sequence) and all(map(callable, value))


def _is_tracer(value: Any) -> bool:
    return value is True or hasattr(value, "start_span")


RULES = {
    "clock": FUNCTION,
    "sleep": FUNCTION,
    "random": FUNCTION,
    "retries": COUNT,
    "table_names": SettingRule(_is_naming, "a mapping of table names, or a function of one"),
    "on_call": SettingRule(_are_functions, "a list of functions"),
    "on_unreadable": FUNCTION,
    "slow_call_seconds": DURATION,
    "tracer": SettingRule(_is_tracer, "True, or an OpenTelemetry tracer"),
}
"""The values that each setting of a store can have."""
