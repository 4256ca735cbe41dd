"""Commands of nbhd.city: sites as files, and rehearsals of a restore."""

import sys
from datetime import datetime
from pathlib import Path

from cyclopts import App

from partita import PartitaError, Store, connect
from partita_systems.nbhd import design as d
from partita_systems.nbhd.recovery import PROMISED, rehearse_restore, replay_purges
from partita_systems.nbhd.site_folder import read_sites, write_sites

app = App(name="python -m partita_systems.nbhd", help="Sites as files, and rehearsals of a restore.")


@app.command
def write(folder: Path, /, *, on: str = "partita.db") -> None:
    """Write every site as a file of JSON, for version control."""
    with _opened(on) as db:
        print(f"{write_sites(db, folder):,} sites in {folder}")


@app.command
def read(folder: Path, /, *, on: str = "partita.db") -> None:
    """Put the sites of a folder back, as `write` has written them; the next build of each shows it."""
    with _opened(on) as db:
        changed, problems = read_sites(db, folder)
    print(f"{changed:,} sites have changed")
    for each in problems:
        print(each, file=sys.stderr)
    if problems:
        sys.exit(1)


@app.command
def rehearse(*, on: str = "partita.db", at: datetime | None = None) -> None:
    """Restore the table into a scratch table, repeat the purges since, and delete it again.

    Parameters
    ----------
    on
        Where the data is: a file, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION.
    at
        The second to go back to, such as 2026-01-31T12:00:00Z; the latest state by default.
    """
    with _opened(on) as db:
        done = rehearse_restore(db, at if at is None or at.tzinfo is not None else at.astimezone())
    print(f"{done.accounts:,} accounts and {done.sites:,} sites restored in {done.duration.total_seconds():.1f} s")
    print(f"{len(done.replayed):,} purges repeated; no purged account is left")
    if not done.is_in_time:
        print(f"the promise is {PROMISED}", file=sys.stderr)
        sys.exit(1)


@app.command
def replay(table: str, /, *, on: str = "partita.db") -> None:
    """Repeat in a restored table the purges since its moment, before it takes the place of the present one."""
    with _opened(on) as db:
        done = replay_purges(db, db.with_settings(table_names={d.nbhd.name: table}))
    print(f"{len(done):,} purges repeated in {table}")


def _opened(address: str) -> Store:
    return connect(address, d.design)


if __name__ == "__main__":
    try:
        app()
    except PartitaError as error:
        print(f"nbhd: {error}", file=sys.stderr)
        sys.exit(2)
