"""`partita work`: runs consumers and jobs, as a process of its own."""

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from partita.cli.options import Address

if TYPE_CHECKING:
    from partita.cli.open_systems import OpenSystem
    from partita.system import System

PARTS = ("design", "consumers", "jobs")
JOB_THREADS = 4


def work(*what: str, on: Address = "partita.db") -> None:
    """Run the consumers and jobs of systems until interrupted: they react to changes by any process, and to the time.

    Several processes may run the same ones: one of them runs each, and another takes over when it ends.

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
    systems = [load_system(each, *PARTS) for each in names] or load_installed_systems(*PARTS)
    working = [each for each in systems if each.consumers or each.jobs]
    if not working:
        listed = ", ".join(each.name for each in systems)
        raise ConfigurationError(f"{listed}: no consumers or jobs to run; name a module that declares some")
    if on == "memory:":
        raise ConfigurationError("memory: belongs to one process; use a file, or partita serve, which works as well")
    stopping = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: stopping.set())
    with connect(on) as backend, ExitStack() as running:
        for opened in open_systems(backend, working):
            running.enter_context(at_work(opened))
        print(f"partita: working on {', '.join(names_of(working))}, data in {on}", flush=True)
        stopping.wait()


def names_of(systems: "list[System]") -> list[str]:
    """The names of the consumers and jobs of systems."""
    consumers = [each.name for system in systems for each in system.consumers]
    return consumers + [each.name for system in systems for each in system.jobs or ()]


@contextmanager
def at_work(opened: "OpenSystem") -> Iterator[None]:
    """Runs the consumers and jobs of a system while the context lasts."""
    with ExitStack() as running:
        if opened.system.consumers:
            from partita.consumers.worker import Worker

            running.enter_context(Worker(opened.db, opened.system.consumers))
        if opened.system.jobs is not None:
            from partita.jobs.job_runner import JobRunner

            runner = JobRunner(opened.db, opened.system.jobs)
            runner.create_tables()
            thread = threading.Thread(target=runner.run, kwargs={"threads": JOB_THREADS}, name="partita-jobs")
            thread.start()
            running.callback(thread.join)
            running.callback(runner.stop)
        yield
