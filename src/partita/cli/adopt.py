"""Adopting a table that a team's own code has filled, from the command line."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from partita.cli.design_loader import imported_design
from partita.cli.serve import store_with_tables
from partita.connect import connect
from partita.errors import ConfigurationError
from partita.store.adoption import Adoption
from partita_systems import NAMES, part_of

Progress = Callable[[Adoption], None]


def adopt(what: str, address: str, progress: Progress) -> Adoption:
    """Brings what is stored to what a system's design says, or the design in a module."""
    if "://" not in address and not Path(address).is_file():
        raise ConfigurationError(f"--on {address}: there is no such file; adopting is for data that is there")
    design = part_of(what, "design").design if what in NAMES else imported_design(what)
    with connect(address) as backend:
        db = store_with_tables(backend, design)
        done: Adoption = part_of(what, "adoption").adopt(db, progress) if what in NAMES else db.adopt(progress)
        return done


def report_lines(done: Adoption) -> Iterator[str]:
    """What was done, and what stands as it was."""
    yield (
        f"{done.seen:,} items: {done.rewritten:,} rewritten, {done.guards_created:,} guards and {done.created:,} other "
        f"items created, {done.counted:,} counters set"
    )
    if done.unknown:
        yield f"{len(done.unknown):,} of no entity, left alone:"
        yield from (f"  {each}" for each in done.unknown)
    if done.refused:
        yield f"{len(done.refused):,} that cannot be adopted, left as they were:"
        yield from (f"  {each}" for each in done.refused)


@contextmanager
def progress_spinner() -> Iterator[Progress]:
    """How many items have been looked at, while somebody watches."""
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    console = Console(stderr=True)
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("adopting", total=None)
        yield lambda done: bar.update(task, description=f"{done.seen:,} items, {done.rewritten:,} written anew")
