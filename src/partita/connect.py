"""`connect`: an address to a backend."""

from collections.abc import Callable

from partita.engine.catalog import now
from partita.engine.engine import Engine
from partita.errors import ConfigurationError
from partita.storage.memory import MemoryStorage
from partita.storage.sqlite import Durability, SqliteStorage


def connect(
    address: str,
    *,
    durability: Durability = "power",
    clock: Callable[[], float] = now,
    maintain: bool = True,
) -> Engine:
    """Opens a backend: `memory:` for one that is gone with the process, or the path of a database file.

    >>> with connect("memory:") as backend:
    ...     backend.call(ListTables()).table_names
    []
    """
    if durability not in ("power", "process"):
        raise ConfigurationError(f"durability: {durability!r} is neither 'power' nor 'process'")
    if address == "memory:":
        return Engine(MemoryStorage(), clock=clock, maintain=maintain)
    if not address:
        raise ConfigurationError("address: write memory: or the path of a database file")
    return Engine(SqliteStorage(address, durability), clock=clock, maintain=maintain)
