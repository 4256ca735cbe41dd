"""`partita adopt`: migrates data that other code has stored to a design."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from partita.cli.evolve import opened_store, print_result, progress_line, progress_of
from partita.cli.options import Address
from partita.quantities import quantity

if TYPE_CHECKING:
    from partita.store.adoption import Adoption
    from partita.store.store import Store

Progress = Callable[["Adoption"], None]


def adopt(what: str, /, *, on: Address) -> None:
    """Migrate data that other code has stored to a design: old keys, missing items, wrong counters.

    Runs the steps of the system, which read every item and leave correct ones unchanged, and then applies the design:
    `partita apply` verifies the data and records its design. For a design without steps of its own it is `partita
    apply`. An interrupted run is resumed by running it again; a further run finds nothing to do.

    Parameters
    ----------
    what
        An installed system, or module or module:attribute of your own: shop.design.
    on
        Where the data is: a file, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION.
    """
    from partita.cli.design_loader import load_system

    if not load_system(what, "design", "adopt").has_adoption:
        _apply(what, on)
        return
    with progress_spinner() as progress:
        done = adopt_data(what, on, progress)
    print("\n".join(report_lines(done)))
    if done.refused:
        sys.exit(1)


def _apply(what: str, address: str) -> None:
    from partita.evolution.apply import apply_design

    with opened_store(what, address, "adopt") as db, progress_line() as show:
        done = apply_design(db, progress=progress_of(show))
    print_result(db.design.name, done)


def adopt_data(what: str, address: str, progress: Progress) -> "Adoption":
    """Adopts the data at an address for the system or design that `what` names."""
    from partita.cli.design_loader import load_system
    from partita.cli.open_systems import open_system
    from partita.connect import connect
    from partita.errors import ConfigurationError

    if "://" not in address and not Path(address).is_file():
        raise ConfigurationError(f"--on {address}: no such file; adopt works on existing data")
    system = load_system(what, "design", "adopt")
    with connect(address) as backend:
        db = open_system(backend, system).db
        done = system.adopt(db, progress)
        if not done.refused:
            apply_to(db, done)
        return done


def apply_to(db: "Store", done: "Adoption") -> None:
    """Applies the design to adopted data: verifies every item, counts again what is wrong, and records the design."""
    from partita.errors import MigrationBlocked
    from partita.evolution.apply import apply_design

    try:
        result = apply_design(db, patience=0)
    except MigrationBlocked as blocked:
        done.refused += blocked.reasons
        return
    done.counted += result.counters_set


def report_lines(done: "Adoption") -> Iterator[str]:
    """The result for people: counts, then the items that no entity matches and those that cannot be adopted."""
    yield (
        f"{quantity(done.seen, 'item')}: {done.rewritten:,} rewritten, {quantity(done.guards_created, 'guard')} and "
        f"{quantity(done.created, 'other item')} created, {quantity(done.counted, 'counter')} set"
    )
    if done.unknown:
        yield f"{len(done.unknown):,} that no entity matches, left unchanged:"
        yield from (f"  {each}" for each in done.unknown)
    if done.refused:
        yield f"{len(done.refused):,} that cannot be adopted, left unchanged:"
        yield from (f"  {each}" for each in done.refused)


@contextmanager
def progress_spinner() -> Iterator[Progress]:
    """A line with the number of items so far, on a terminal only."""
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    console = Console(stderr=True)
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("adopting", total=None)
        yield lambda done: bar.update(task, description=f"{quantity(done.seen, 'item')}, {done.rewritten:,} rewritten")
