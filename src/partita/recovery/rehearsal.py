"""Rehearsals: restores a table into a scratch table, compares its content, and deletes it again.

With point-in-time recovery, the table is read, restored as at the second after that, and read again. An item that was
the same both times has to be the same in the restored table; the others were changed meanwhile, and only counted. With
backups alone, the newest one is restored, and its items and their size have to be those that the backup was made of.

    import partita.recovery

    @jobs.cron("0 4 * * 0")
    def rehearse_restore(db: Store) -> None:
        partita.recovery.rehearse(db)
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import msgspec

from partita.dynamodb.backend import Backend
from partita.dynamodb.backup_shapes import DescribeBackup
from partita.errors import RehearsalFailed, RestorePointMissing
from partita.recovery.content import contents
from partita.recovery.restore_points import RestorePoints, restore_points
from partita.recovery.restoring import delete_table, describe, restore, restore_request, run_restore
from partita.store.store import Store

PATIENCE = timedelta(minutes=15)  # until the second that follows the first read can be restored
POLL_SECONDS = 0.2


class Rehearsal(msgspec.Struct, frozen=True):
    """The result of a rehearsal of one table that has succeeded."""

    table: str
    restored: str
    items: int
    changed: int  # items that were changed meanwhile, and not compared
    duration: timedelta  # of the restore


def rehearse(db: Store) -> list[Rehearsal]:
    """Rehearses the restore of every table of a store; raises RehearsalFailed where the content differs."""
    return [rehearse_table(db.backend, db.table_name(table), now=db.now) for table in db.design.tables]


@contextmanager
def restored_copy(db: Store, at: datetime | None = None) -> Iterator[Store]:
    """The tables of a store as they were at a second, or are now, in scratch tables that are deleted at the end.

    Stream, TTL and indexes are those of the design, as after `restore`: what has to follow a restore can be tried.
    """
    suffix = f"-rehearsal-{uuid4().hex[:8]}"
    copies = {db.table_name(table): f"{db.table_name(table)}{suffix}" for table in db.design.tables}
    try:
        restore(db, at=at, suffix=suffix)
        yield db.with_settings(table_names={table.name: copies[db.table_name(table)] for table in db.design.tables})
    finally:
        for scratch in copies.values():
            delete_table(db.backend, scratch)


def rehearse_table(
    backend: Backend, table: str, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> Rehearsal:
    """Rehearses the restore of one table."""
    points = restore_points(backend, table)
    described = describe(backend, table)
    if described is None or (points.window is None and points.newest_backup() is None):
        raise RestorePointMissing(table, "there is nothing to rehearse", ["a backup, which partita backup creates"])
    scratch = f"{table[:200]}-rehearsal-{uuid4().hex[:8]}"
    keys = [each.attribute_name or "" for each in described.key_schema or ()]
    try:
        if points.window is None:
            return _rehearse_backup(backend, points, scratch, keys)
        return _rehearse_second(backend, table, scratch, keys, now)
    finally:
        delete_table(backend, scratch)


def _rehearse_second(
    backend: Backend, table: str, scratch: str, keys: list[str], now: Callable[[], datetime]
) -> Rehearsal:
    with contents(keys, "before", "restored", "behind") as found:
        found.read(backend, table, "before")
        at = datetime.fromtimestamp(math.ceil(now().timestamp()), UTC)
        points = _reached(backend, table, at)
        planned = restore_request(backend, points, scratch, at, None)
        begun = time.monotonic()
        run_restore(backend, planned)
        duration = timedelta(seconds=time.monotonic() - begun)
        items, _ = found.read(backend, scratch, "restored")
        found.read(backend, table, "behind")
        wrong = found.count("before IS behind AND restored IS NOT before")
        if wrong:
            raise RehearsalFailed(table, planned.description, f"{wrong:,} of {items:,} items differ")
        return Rehearsal(table, planned.description, items, found.count("before IS NOT behind"), duration)


def _reached(backend: Backend, table: str, at: datetime) -> RestorePoints:
    """The moments of a table, once one of them can be restored: it is less than a second away, on Amazon minutes."""
    deadline = time.monotonic() + PATIENCE.total_seconds()
    while True:
        points = restore_points(backend, table)
        if points.window is None or points.window[1] >= at or time.monotonic() > deadline:
            return points
        time.sleep(POLL_SECONDS)


def _rehearse_backup(backend: Backend, points: RestorePoints, scratch: str, keys: list[str]) -> Rehearsal:
    backup = points.newest_backup()
    assert backup is not None
    planned = restore_request(backend, points, scratch, None, backup.backup_arn)
    details = backend.call(DescribeBackup(backup_arn=backup.backup_arn)).backup_description
    source = details.source_table_details if details else None
    begun = time.monotonic()
    run_restore(backend, planned)
    duration = timedelta(seconds=time.monotonic() - begun)
    with contents(keys, "restored") as found:
        items, size = found.read(backend, scratch, "restored")
    if source is not None and (items, size) != (source.item_count, source.table_size_bytes):
        had = f"{source.item_count:,} of {source.table_size_bytes:,} bytes"
        raise RehearsalFailed(points.table, planned.description, f"{items:,} items of {size:,} bytes in place of {had}")
    return Rehearsal(points.table, planned.description, items, 0, duration)
