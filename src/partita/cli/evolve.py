"""`partita plan` and `partita apply`: what a changed design means for stored data, and doing it."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from partita.cli.options import Address, Flag
from partita.quantities import quantity

if TYPE_CHECKING:
    from partita.evolution.apply import ApplyResult, Progress
    from partita.store.store import Store

LOG_EVERY = 30.0
"""Seconds between two lines of a log about the same phase."""


def plan(what: str, /, *, on: Address, exact: Flag = False, json: Flag = False) -> None:
    """Print what a design means for stored data: tables, index keys, counters, guards, attributes, and their cost.

    Nothing is changed. The exit status is 0 if there is nothing to do, 1 if there is, 2 after an error.

    Parameters
    ----------
    what
        An installed system, or module or module:attribute of your own: shop.design.
    on
        Where the data is: a file, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION.
    exact
        Read every item. Without it, the numbers of a table with more than 2,000 items come from a sample.
    json
        Print JSON.
    """
    import msgspec

    from partita.evolution.migration_plan import plan_migration, plan_text

    with opened_store(what, on, "plan") as db, progress_line() as show:
        found = plan_migration(db, exact=exact, progress=lambda items: show(f"{quantity(items, 'item')} read"))
    if json:
        print(msgspec.json.encode(found).decode())
    else:
        print(plan_text(found))
        if found.has_work and not found.blocked:
            print(f"\nto do it: partita apply {what} --on {on}")
    if found.has_work:
        sys.exit(1)


def apply(
    what: str,
    /,
    *,
    on: Address,
    rate: Annotated[float, Parameter(validator=Number(gte=0.1))] = 250,
    wait: Annotated[float | None, Parameter(validator=Number(gte=0))] = None,
    table_wait: Annotated[float, Parameter(validator=Number(gte=0))] = 3600,
    rollback: Flag = False,
) -> None:
    """Bring stored data to a design, while programs read and write it.

    An interrupted run goes on where it was when it is started again; a finished one has nothing to do. While programs
    with the earlier design work, it waits for them: deploy the new version meanwhile. Until all items are verified,
    `--rollback` returns to the earlier design.

    Parameters
    ----------
    what
        An installed system, or module or module:attribute of your own: shop.design.
    on
        Where the data is: a file, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION.
    rate
        The most items to read, and write, in a second. The default leaves writes of programs nearly as fast as before;
        all items are read about three times, or five times for new counters.
    wait
        The most seconds to wait for programs with the earlier design; without it, as long as it takes.
    table_wait
        The most seconds to wait for each table or index that is being created or deleted; then the command ends with an
        error, and the next run goes on.
    rollback
        Give up an unfinished application; the data has the earlier design again. Run `partita doctor --repair` with the
        earlier module afterwards.
    """
    from partita.errors import ConfigurationError
    from partita.evolution.apply import apply_design, roll_back

    with opened_store(what, on, "apply") as db:
        if rollback:
            if not roll_back(db):
                raise ConfigurationError(
                    "no design is being applied; where it is public already, apply the earlier one instead"
                )
            print(f"{db.design.name}: rolled back to the earlier design")
            print("Programs of the new one may have written without what it drops: run partita doctor --repair")
            print("with the earlier module.")
            return
        try:
            with progress_line() as show:
                done = apply_design(
                    db, items_per_second=rate, patience=wait, table_patience=table_wait, progress=progress_of(show)
                )
        except KeyboardInterrupt:
            raise KeyboardInterrupt("; the same command goes on, and --rollback gives up") from None
    print_result(db.design.name, done)


def progress_of(show: Callable[[str], None]) -> "Callable[[Progress], None]":
    """Shows the phase of an application, and the numbers of a phase that reads items."""

    def progress(at: "Progress") -> None:
        numbers = "" if at.phase.startswith("waiting") else f": {quantity(at.items, 'item')}, {at.written:,} written"
        show(f"{at.phase}{numbers}")

    return progress


def print_result(design: str, done: "ApplyResult") -> None:
    """Prints what an application has done, and the items that it has left alone."""
    for each in done.tables:
        print(each)
    for (entity, kind, name), count in sorted(done.done.items()):
        print(f"{entity}: {kind}{name and f' {name}'}: {quantity(count, 'item')}")
    if done.counters_set:
        print(f"{quantity(done.counters_set, 'counter')} set")
    for title, several in (("that no entity explains", done.unexplained), ("that cannot be read", done.unreadable)):
        if several:
            print(f"{quantity(len(several), 'item')} {title}, left unchanged:")
            print("\n".join(f"  {each}" for each in several[:20]))
    print(f"{design}: the data has the design, verified item by item")


@contextmanager
def opened_store(what: str, address: str, command: str) -> "Iterator[Store]":
    """A store of the design that `what` names on existing data, which need not satisfy it."""
    from partita.cli.design_loader import load_system
    from partita.connect import connect
    from partita.errors import ConfigurationError
    from partita.store.store import Store

    if "://" not in address and not Path(address).is_file():
        raise ConfigurationError(f"--on {address}: no such file; {command} works on existing data")
    design = load_system(what, "design").design
    with connect(address) as backend:
        yield Store(backend, design)


@contextmanager
def progress_line() -> Iterator[Callable[[str], None]]:
    """Says on standard error how far the work is: a line that is renewed on a terminal, else lines for a log."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield ProgressLog()
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda text: bar.update(task, description=text)


class ProgressLog:
    """Prints each new phase at once, and how far a phase is from time to time."""

    def __init__(self) -> None:
        self._phase = ""
        self._printed_at = time.monotonic()

    def __call__(self, text: str) -> None:
        phase = text if text.startswith("waiting") else text.partition(":")[0] if ":" in text else ""
        now = time.monotonic()
        if phase != self._phase or now - self._printed_at >= LOG_EVERY:
            self._phase, self._printed_at = phase, now
            print(text, file=sys.stderr, flush=True)
