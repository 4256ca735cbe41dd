"""`partita jobs`: the state of jobs, and running one by hand."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cyclopts import App

from partita.cli.options import Address
from partita.cli.tables import print_table

if TYPE_CHECKING:
    from partita.jobs.job_runner import JobRunner

jobs = App(name="jobs", help="Show the jobs of a design, or run one now.")


@jobs.default
def show(what: str, /, *, on: Address = "partita.db") -> None:
    """Show the jobs of a design: their schedule, their last run and their next one.

    Parameters
    ----------
    what
        An installed system, or module or module:attribute of your own: shop.jobs.
    on
        Where the data is: a file, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION.
    """
    from rich.table import Table

    table = Table("job", "schedule", "state", "progress", "last run", "outcome", "next run")
    with _runner(what, on) as runner:
        for each in runner.status():
            last = each.last_run
            total = "" if each.total is None else f" of {each.total:,}"
            table.add_row(
                each.name,
                each.schedule,
                each.status,
                "" if each.done is None else f"{each.done:,}{total}",
                "" if last is None else f"{last.scheduled_at:%Y-%m-%d %H:%M:%S}Z",
                "" if last is None else f"{last.outcome.value} {last.error or ''}".strip(),
                f"{each.next_run:%Y-%m-%d %H:%M:%S}Z",
            )
    print_table(table)


@jobs.command
def run(what: str, name: str, /, *, on: Address = "partita.db") -> None:
    """Run a job now, in this process, and record it; its schedule stays as it is.

    Parameters
    ----------
    what
        An installed system, or module or module:attribute of your own: shop.jobs.
    name
        The name of the job.
    on
        Where the data is.
    """
    from partita.errors import ConfigurationError

    with _runner(what, on) as runner:
        known = [each.name for each in runner.jobs]
        if name not in known:
            raise ConfigurationError(f"{what} has no job {name!r}; it has {', '.join(known)}")
        logging.getLogger("partita.jobs").setLevel(logging.CRITICAL)  # its error is shown below
        done = runner.run_now(name)
    if done is None:
        print(f"{name}: interrupted; partita work continues it")
    elif done.error:
        raise ConfigurationError(f"{name} failed: {done.error}")
    else:
        print(f"{name}: {done.outcome.value}")


@contextmanager
def _runner(what: str, address: str) -> "Iterator[JobRunner]":
    from partita.cli.design_loader import load_system
    from partita.cli.open_systems import check_exists, open_system
    from partita.connect import connect
    from partita.errors import ConfigurationError
    from partita.jobs.job_runner import JobRunner

    system = load_system(what, "design", "jobs")
    if system.jobs is None:
        raise ConfigurationError(f'{what} has no jobs; declare them with jobs = Jobs("name")')
    check_exists(address)
    with connect(address) as backend:
        runner = JobRunner(open_system(backend, system).db, system.jobs)
        runner.create_tables()
        yield runner
