"""Rehearsals: restores a table into a scratch table, compares its content, and deletes it again.

With point-in-time recovery, the table is read, restored as at the second after that, and read again. An item that was
the same both times has to be the same in the restored table; the others were changed meanwhile, and only counted. An
item may also have been changed and changed back, as a lock is that somebody takes and gives back: so where some differ,
the rehearsal is repeated, and fails if one of them differs each time. With backups alone, the newest one is restored,
and its items and their size have to be those that the backup was made of; Amazon's numbers are approximate.

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
from partita.dynamodb.backup_shapes import BackupSummary, DescribeBackup
from partita.errors import RehearsalFailed, RestorePointMissing
from partita.quantities import quantity
from partita.recovery.content import Contents, contents
from partita.recovery.restore_points import RestorePoints, restore_points, text
from partita.recovery.restoring import delete_table, describe, restore, restore_request, run_restore
from partita.store.store import Store

PATIENCE = timedelta(minutes=15)  # until the second that follows the first read can be restored
POLL_SECONDS = 0.2
REPORT_AFTER = 2.0  # seconds
ATTEMPTS = 4
MOST_DIFFERENT = 1000  # items that differ, and may have been changed and changed back

Report = Callable[[str], None]


class Rehearsal(msgspec.Struct, frozen=True):
    """The result of a rehearsal of one table that has succeeded."""

    table: str
    restored: str
    items: int
    changed: int  # items that were changed meanwhile, and not compared
    duration: timedelta  # of the restore
    is_compared: bool = True  # not for a backup on Amazon, whose number of items is approximate


def rehearse(db: Store, report: Report = lambda _: None) -> list[Rehearsal]:
    """Rehearses the restore of every table of a store; raises RehearsalFailed where the content differs.

    `report` is called with what a rehearsal waits for, or why it is repeated.
    """
    names = [db.table_name(table) for table in db.design.tables]
    return [rehearse_table(db.backend, name, now=db.now, report=report) for name in names]


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
    backend: Backend,
    table: str,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    report: Report = lambda _: None,
) -> Rehearsal:
    """Rehearses the restore of one table."""
    points = restore_points(backend, table)
    described = describe(backend, table)
    if described is None or (points.window is None and points.newest_backup() is None):
        raise RestorePointMissing(table, "there is nothing to rehearse", ["a backup, which partita backup creates"])
    keys = [each.attribute_name or "" for each in described.key_schema or ()]
    if points.window is None:
        return _rehearse_backup(backend, points, keys)
    return _rehearse_seconds(backend, table, keys, now, report)


@contextmanager
def _scratch_table(backend: Backend, table: str) -> Iterator[str]:
    """The name of a table that is deleted at the end."""
    scratch = f"{table[:200]}-rehearsal-{uuid4().hex[:8]}"
    try:
        yield scratch
    finally:
        delete_table(backend, scratch)


def _rehearse_seconds(
    backend: Backend, table: str, keys: list[str], now: Callable[[], datetime], report: Report
) -> Rehearsal:
    """Rehearses until no item differs that has differed each time before."""
    different: set[bytes] | None = None
    for attempt in range(ATTEMPTS):
        with contents(keys, "before", "restored", "behind") as found, _scratch_table(backend, table) as scratch:
            done = _rehearse_second(backend, table, scratch, now, found, report)
            count = found.count(_DIFFERENT)
            if count <= MOST_DIFFERENT:
                now_different = set(found.keys(_DIFFERENT))
                different = now_different if different is None else different & now_different
                count = len(different)
        if not count:
            return done
        if attempt == ATTEMPTS - 1 or count > MOST_DIFFERENT:
            break
        differ = quantity(count, "item differs, or was", "items differ, or were")
        report(f"{table}: {differ} changed and changed back meanwhile; rehearsing again")
    raise RehearsalFailed(table, done.restored, f"{count:,} of {quantity(done.items, 'item')} differ")


_DIFFERENT = "before IS behind AND restored IS NOT before"


def _rehearse_second(
    backend: Backend, table: str, scratch: str, now: Callable[[], datetime], found: Contents, report: Report
) -> Rehearsal:
    found.read(backend, table, "before")
    at = datetime.fromtimestamp(math.ceil(now().timestamp()), UTC)
    points = _reached(backend, table, at, report)
    planned = restore_request(backend, points, scratch, at, None)
    begun = time.monotonic()
    run_restore(backend, planned)
    duration = timedelta(seconds=time.monotonic() - begun)
    items, _ = found.read(backend, scratch, "restored")
    found.read(backend, table, "behind")
    return Rehearsal(table, planned.description, items, found.count("before IS NOT behind"), duration)


def _reached(backend: Backend, table: str, at: datetime, report: Report) -> RestorePoints:
    """The moments of a table, once one of them can be restored: it is less than a second away, on Amazon minutes."""
    begun = time.monotonic()
    while True:
        points = restore_points(backend, table)
        waited = time.monotonic() - begun
        if points.window is None or points.window[1] >= at or waited > PATIENCE.total_seconds():
            return points
        if waited > REPORT_AFTER:
            minutes = round(PATIENCE.total_seconds() / 60)
            report(f"waiting: {table} can be restored as at {text(at)} soon, in {minutes} minutes at most")
        time.sleep(POLL_SECONDS)


def _rehearse_backup(backend: Backend, points: RestorePoints, keys: list[str]) -> Rehearsal:
    with _scratch_table(backend, points.table) as scratch:
        return _rehearse_backup_as(backend, points, scratch, keys)


def _rehearse_backup_as(backend: Backend, points: RestorePoints, scratch: str, keys: list[str]) -> Rehearsal:
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
    count, length = (0, 0) if source is None else (source.item_count or 0, source.table_size_bytes or 0)
    is_compared = source is not None and _counts_are_exact(backup)
    if (items, size) != (count, length) if is_compared else (count > 0 and not items):
        had = f"{count:,} of {quantity(length, 'byte')}"
        has = f"{quantity(items, 'item')} of {quantity(size, 'byte')}"
        raise RehearsalFailed(points.table, planned.description, f"{has} in place of {had}")
    return Rehearsal(points.table, planned.description, items, 0, duration, is_compared)


def _counts_are_exact(backup: BackupSummary) -> bool:
    """Whether a backup knows how many items it has: Amazon updates the numbers of a table every six hours."""
    return ":000000000000:" in (backup.backup_arn or "")
