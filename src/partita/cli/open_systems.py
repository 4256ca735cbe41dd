"""Systems on a backend: a store for each, with its tables created."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partita.errors import ConfigurationError
from partita.store.store import Store
from partita.system import System


@dataclass(frozen=True)
class OpenSystem:
    """A system and its store."""

    system: System
    db: Store

    @property
    def name(self) -> str:
        return self.system.name


def check_exists(address: str) -> None:
    """Rejects the path of a file that does not exist, for commands that work on existing data."""
    if "://" not in address and not Path(address).is_file():
        raise ConfigurationError(f"--on {address}: no such file")


def open_systems(backend: Any, systems: Iterable[System]) -> list[OpenSystem]:
    """The systems, each with its tables created; an existing table that differs from its design is an error."""
    return [open_system(backend, each) for each in systems]


@contextmanager
def opened_store(address: str, system: System) -> Iterator[Store]:
    """The store of one system on existing data, with its tables created."""
    from partita.connect import connect

    check_exists(address)
    with connect(address) as backend:
        yield open_system(backend, system).db


def open_system(backend: Any, system: System) -> OpenSystem:
    """One system, with its tables created."""
    db = Store(backend, system.design)
    differences = [each for each in db.create_tables() if not each.is_unsupported]
    if differences:
        listed = "; ".join(map(str, differences))
        raise ConfigurationError(f"{system.design.name}: the existing tables differ from the design: {listed}")
    return OpenSystem(system, db)
