"""`partita restore`: brings the tables of a design back, as new tables with the design's settings."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from partita.cli.backup import opened
from partita.cli.options import Address
from partita.cli.progress import progress_line
from partita.quantities import quantity

if TYPE_CHECKING:
    from partita.design.tables import Table
    from partita.recovery.restoring import RestoreRequest
    from partita.store.store import Store

At = Annotated[
    datetime | None,
    Parameter(help="The second to go back to, such as 2026-01-31T12:00:00Z; local time without a zone."),
]

Tables = Annotated[tuple[str, ...], Parameter(name="--table", negative=(), show_default=False)]


def restore(
    what: str,
    /,
    *,
    on: Address = "partita.db",
    at: At = None,
    backup: str | None = None,
    tables: Tables = (),
    suffix: Annotated[str, Parameter(allow_leading_hyphen=True)] = "-restored",
) -> None:
    """Restore the tables of a design, as new tables beside the present ones; those are not changed.

    The new tables have the items and indexes of the moment, TTL, stream and recovery of the design, and the tags of the
    present table. Without --at and --backup it is the latest state, or the newest backup of a table without
    point-in-time recovery. To use the new tables, name them: connect(..., table_names={"shop": "shop-restored"}).

    Parameters
    ----------
    what
        An installed system, or module or module:attribute of your own: shop.design.
    on
        Where the data is: a file, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION.
    at
        The second to go back to; it must be in the recovery window.
    backup
        The name or the ARN of a backup; of several with one name, the newest.
    tables
        A table of the design; all by default. Can be given more than once.
    suffix
        Added to the names of the new tables. A table that does not exist any more gets its own name again.
    """
    from partita.errors import ConfigurationError
    from partita.recovery.restoring import planned_restore

    if at is not None and backup is not None:
        raise ConfigurationError("--at and --backup exclude each other; give one of them")
    with opened(what, on) as db:
        chosen = chosen_tables(db, tables)
        moment = at if at is None or at.tzinfo is not None else at.astimezone()
        restores = [(table, planned_restore(db, table, moment, backup, suffix)) for table in chosen]
        for table, planned in restores:
            _run(db, table, planned, is_amazon=on.startswith("dynamodb://"))


def chosen_tables(db: "Store", names: tuple[str, ...]) -> "list[Table]":
    """The tables of a design that --table names; all without a name."""
    from partita.errors import ConfigurationError

    known = {table.name: table for table in db.design.tables}
    for name in names:
        if name not in known:
            raise ConfigurationError(f"--table {name}: the design has {', '.join(known)}")
    return [table for name, table in known.items() if not names or name in names]


def _run(db: "Store", table: "Table", planned: "RestoreRequest", *, is_amazon: bool) -> None:
    from partita.recovery.restoring import finish_restore

    expected = f"about {max(1, planned.source.restore_duration.total_seconds()):,.0f} s"
    if is_amazon:
        expected = "20 minutes to some hours on Amazon, whatever its size"
    size = quantity(planned.items, "item")
    print(f"{db.table_name(table)} {planned.description}, {size}: expected {expected}", flush=True)
    with progress_line(planned.target) as progress:
        done = finish_restore(db, table, planned, lambda items: progress(items, max(items, planned.items)))
    print(f"{done.name}: {quantity(done.items, 'item')} in {done.duration.total_seconds():.1f} s")
    if done.unsupported:
        print(f"{done.name}: this backend does not support {', '.join(done.unsupported)}")
