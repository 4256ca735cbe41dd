"""`partita work`: runs consumers, as a process of its own."""

import signal
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

from partita.cli.options import Address

if TYPE_CHECKING:
    from partita.cli.open_systems import OpenSystem
    from partita.consumers.worker import Worker
    from partita.system import System


def work(*what: str, on: Address = "partita.db") -> None:
    """Run the consumers of systems until interrupted: their handlers react to changes by any process.

    Several processes may run the same consumers: one of them runs each, and another takes over when it ends.

    Parameters
    ----------
    what
        Installed systems, or module or module:attribute of your own: shop.consumers. Every installed system by default.
    on
        Where the data is: a file, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION. On a file, changes are
        handled as they are committed; elsewhere, they are looked for every second.
    """
    from partita.cli.design_loader import load_installed_systems, load_system
    from partita.cli.open_systems import open_systems
    from partita.connect import connect
    from partita.errors import ConfigurationError

    names = list(dict.fromkeys(what))
    systems = [load_system(each, "design", "consumers") for each in names] or load_installed_systems("consumers")
    if not any(each.consumers for each in systems):
        listed = ", ".join(each.name for each in systems)
        raise ConfigurationError(f"{listed}: no consumers to run; name a module that declares some")
    if on == "memory:":
        raise ConfigurationError("memory: belongs to one process; use a file, or partita serve, which works as well")
    stopping = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: stopping.set())
    with connect(on) as backend, ExitStack() as running:
        for opened in open_systems(backend, [each for each in systems if each.consumers]):
            running.enter_context(worker_of(opened))
        print(f"partita: working on {', '.join(consumer_names(systems))}, data in {on}", flush=True)
        stopping.wait()


def consumer_names(systems: "list[System]") -> list[str]:
    return [each.name for system in systems for each in system.consumers]


def worker_of(opened: "OpenSystem") -> "Worker":
    """A worker for the consumers of a system, not started yet."""
    from partita.consumers.worker import Worker

    return Worker(opened.db, opened.system.consumers)
