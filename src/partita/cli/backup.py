"""`partita backup`: backs up the tables of a design, copies a file in use, and rehearses a restore."""

import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from partita.cli.options import Address, Flag
from partita.cli.progress import progress_line
from partita.quantities import quantity

if TYPE_CHECKING:
    from partita.recovery.restore_points import RestorePoints
    from partita.store.store import Store


def backup(
    what: str | None = None,
    /,
    *,
    on: Address = "partita.db",
    name: str | None = None,
    rehearse: Flag = False,
    show: Annotated[bool, Parameter(name="--list", negative=(), show_default=False)] = False,
    copy: Path | None = None,
) -> None:
    """Back up the tables of a design, while they are in use; partita restore brings them back.

    Parameters
    ----------
    what
        An installed system, or module or module:attribute of your own: shop.design. Not needed for --copy.
    on
        Where the data is: a file, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION.
    name
        The name of the backups; the time by default.
    rehearse
        Back up nothing. Restore each table into a scratch table, compare it with the table, report the duration, and
        delete it again: as at a recent second, or of its newest backup where it has no point-in-time recovery.
    show
        Back up nothing. List the moments that each table can be restored to.
    copy
        Copy the whole file of --on, which may be in use, to this new file, and verify the copy.
    """
    from partita.errors import ConfigurationError

    if copy is not None:
        _copy(on, copy)
    if what is None:
        if copy is None:
            raise ConfigurationError("name what to back up: partita backup shop.design, or copy a file with --copy")
        return
    with opened(what, on) as db:
        if show:
            _show(db)
        elif rehearse:
            _rehearse(db)
        elif copy is None or name is not None:
            _back_up(db, name or f"{datetime.now():%Y-%m-%d-%H%M%S}")


def opened(
    what: str, address: str, *, buckets: Path | None = None, creates: bool = False, option: str = "--on"
) -> "Store":
    """The store of a design on existing data; its tables are neither created nor changed."""
    from partita.cli.design_loader import load_system
    from partita.connect import connect
    from partita.errors import ConfigurationError
    from partita.store.store import Store

    if "://" not in address and not creates and not Path(address).is_file():
        raise ConfigurationError(f"{option} {address}: no such file")
    design = load_system(what, "design").design
    return Store(connect(address, buckets=buckets), design)


def _back_up(db: "Store", name: str) -> None:
    from partita.recovery.restoring import back_up_table

    for table in db.design.tables:
        begun = time.monotonic()
        details = back_up_table(db.backend, db.table_name(table), name)
        took = time.monotonic() - begun
        size = quantity(details.backup_size_bytes or 0, "byte")
        print(f"{db.table_name(table)}: {size} in {took:.1f} s: {details.backup_arn}")


def _rehearse(db: "Store") -> None:
    from partita.cli.evolve import progress_line as reporting
    from partita.recovery.rehearsal import rehearse_table

    for table in db.design.tables:
        with reporting() as report:
            done = rehearse_table(db.backend, db.table_name(table), now=db.now, report=report)
        items = quantity(done.items, "item is as it should be", "items are as they should be")
        if not done.is_compared:
            items = f"{quantity(done.items, 'item')}; Amazon does not know how many it had"
        changed = f"; {done.changed:,} were changed meanwhile" if done.changed else ""
        print(f"{done.table}: restored {done.restored} in {done.duration.total_seconds():.1f} s; {items}{changed}")


def _show(db: "Store") -> None:
    from partita.recovery.restore_points import restore_points

    for table in db.design.tables:
        name = db.table_name(table)
        points = restore_points(db.backend, name)
        print("\n".join(_lines(points, _history_size(db, name) if points.window else None)))


def _lines(points: "RestorePoints", history: int | None) -> list[str]:
    from partita.recovery.restore_points import backup_text, text

    size = "" if history is None else f", {history / 1e6:,.1f} MB of history"
    window = "no point-in-time recovery"
    if points.window is not None:
        window = f"any second from {text(points.window[0])} to {text(points.window[1])}{size}"
    sized = [(each, quantity(each.backup_size_bytes or 0, "byte")) for each in points.backups]
    backups = [f"  {backup_text(each)}, {size}, {each.backup_status}: {each.backup_arn}" for each, size in sized]
    return [f"{points.table}: {window}", *backups]


def _history_size(db: "Store", table: str) -> int | None:
    """The size of a table's history on a file; DynamoDB's API has no place for it."""
    from partita.engine.engine import Engine

    return db.backend.history_bytes(table) if isinstance(db.backend, Engine) else None


def _copy(address: str, target: Path) -> None:
    from partita.cli.verify import problems_of_file
    from partita.errors import ConfigurationError
    from partita.storage.live_copy import copy_file

    if "://" in address or not Path(address).is_file():
        raise ConfigurationError(f"--copy copies a database file; --on {address} is not a file")
    begun = time.monotonic()

    def check(copied: str) -> None:
        problems = problems_of_file(Path(copied))
        if problems:
            raise ConfigurationError(f"{target}: the copy has problems, and is removed:\n" + "\n".join(problems[:20]))

    with progress_line("copying pages") as progress:
        copy_file(address, str(target), progress, check)
    size, took = target.stat().st_size / 1e6, time.monotonic() - begun
    print(f"{target}: {size:,.1f} MB copied and verified in {took:.1f} s")
