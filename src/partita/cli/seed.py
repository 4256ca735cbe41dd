"""`partita seed`: demo data for systems, resumed where an earlier run stopped."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partita.cli.options import Address, Scale

if TYPE_CHECKING:
    from partita.cli.open_systems import OpenSystem
    from partita.system import System

Progress = Callable[[str, int, int], None]


def seed(*systems: str, on: Address = "partita.db", scale: Scale = 1.0, random_seed: int = 1) -> None:
    """Write demo data; an interrupted run is resumed where it stopped.

    Parameters
    ----------
    systems
        Installed systems, or module or module:attribute of your own System. Every installed one by default.
    on
        Where the data is: a file, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION.
    scale
        How much data: 1 is a few hundred items for each system.
    random_seed
        The same number gives the same data.
    """
    from partita.cli.design_loader import load_installed_systems, load_system
    from partita.cli.open_systems import open_systems
    from partita.connect import connect
    from partita.errors import ConfigurationError

    parts = ("design", "seed")
    chosen = [load_system(each, *parts) for each in dict.fromkeys(systems)] or load_installed_systems(*parts)
    if on == "memory:":
        raise ConfigurationError(
            "--on memory: data in memory is lost when this command ends; partita serve --on memory: seeds its own"
        )
    with connect(on) as backend, progress_bar() as progress:
        opened = open_systems(backend, chosen)
        complete = [each.name for each in opened if seed_system(each, scale, random_seed, progress) == 0]
    if complete:
        print(f"already complete: {', '.join(complete)}")


def seed_system(opened: "OpenSystem", scale: float, random_seed: int, progress: Progress) -> int:
    """Writes a system's demo data, and returns the number of steps written by this call."""
    from partita.store.seeding import is_loaded, load

    data = opened.system.seed
    total = data.total(scale)
    title = f"{opened.name}-{scale:g}-{random_seed}"
    if is_loaded(opened.db, title, total):
        return 0
    steps = data.steps(scale, random_seed)
    return load(opened.db, title, steps, lambda done: progress(opened.name, done, total))


def seed_file(systems: "Iterable[System]", path: str, scale: float) -> None:
    """Writes demo data into a file, with the faster durability: after a loss of power it could be written again."""
    from partita.cli.open_systems import open_systems
    from partita.connect import connect

    with connect(Path(path), durability="process", maintain=False) as backend, progress_bar() as progress:
        for opened in open_systems(backend, (each for each in systems if each.has_seed)):
            seed_system(opened, scale, 1, progress)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A progress bar for each system, shown from the first report on."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    bar = Bar(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    tasks: dict[str, Any] = {}

    def report(name: str, done: int, total: int) -> None:
        if not tasks:
            bar.start()
        if name not in tasks:
            tasks[name] = bar.add_task(f"seeding {name}", total=total)
        bar.update(tasks[name], completed=done)

    try:
        yield report
    finally:
        if tasks:
            bar.stop()
