"""Backups and restores of a store's tables, and the settings that a restore leaves out.

A restore checks everything before the first table is restored: all can be done, or nothing is.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import msgspec

from partita.design.tables import Table
from partita.dynamodb.backend import Backend
from partita.dynamodb.backup_shapes import (
    BackupDetails,
    CreateBackup,
    DescribeBackup,
    RestoreTableFromBackup,
    RestoreTableToPointInTime,
)
from partita.dynamodb.exceptions import ResourceNotFoundException, UnknownOperationException
from partita.dynamodb.requests import DeleteTable, DescribeTable, Request, UpdateTable
from partita.dynamodb.shapes import StreamSpecification, TableDescription, Tag
from partita.dynamodb.tag_shapes import ListTagsOfResource, TagResource
from partita.errors import ConfigurationError, RestoreFailed, RestorePointMissing
from partita.plan.table_definitions import settings
from partita.recovery.restore_duration import TableSize, size_of_backup, size_of_table
from partita.recovery.restore_points import RestorePoints, backup_text, restore_points, text
from partita.store.store import Store

Progress = Callable[[int], None]

POLL_SECONDS = 0.2
MAX_POLL_SECONDS = 10.0


class RestoreRequest(msgspec.Struct, frozen=True):
    """A restore that can be started: of a second, of the latest state, or of a backup."""

    request: Request[Any]
    description: str
    target: str
    source: TableSize

    @property
    def items(self) -> int:
        return self.source.items


class RestoredTable(msgspec.Struct, frozen=True):
    """A restored table; `unsupported` are the requests for settings that the backend does not have."""

    name: str
    items: int
    duration: timedelta
    unsupported: list[str]


def back_up(db: Store, name: str) -> dict[str, BackupDetails]:
    """Backs up every table of a store and waits until it is done; returns the backups by their tables."""
    return {db.table_name(table): back_up_table(db.backend, db.table_name(table), name) for table in db.design.tables}


def restore(
    db: Store, *, at: datetime | None = None, backup: str | None = None, suffix: str = "-restored"
) -> list[RestoredTable]:
    """Restores every table of a store as a new table: as at a second, or from the newest backup of a name or ARN.

    Without either it is the latest state, or the newest backup of a table without point-in-time recovery. A table that
    does not exist any more gets its own name, others get the suffix. Raises RestorePointMissing, with the nearest
    moments, where a table cannot be restored so; then none is.
    """
    planned = [(table, planned_restore(db, table, at, backup, suffix)) for table in db.design.tables]
    return [finish_restore(db, table, each) for table, each in planned]


def planned_restore(db: Store, table: Table, at: datetime | None, backup: str | None, suffix: str) -> "RestoreRequest":
    """The restore of one table, checked and not begun."""
    name = db.table_name(table)
    target = name if describe(db.backend, name) is None else name + suffix
    if describe(db.backend, target) is not None:
        raise ConfigurationError(f"table {target} exists already; use another suffix, or delete the table")
    return restore_request(db.backend, restore_points(db.backend, name), target, at, backup)


def finish_restore(
    db: Store, table: Table, planned: "RestoreRequest", progress: Progress | None = None
) -> RestoredTable:
    """Restores one table, waits for it, and sets what a restore leaves out."""
    tags = tags_of(db.backend, db.table_name(table))
    begun = time.monotonic()
    described = run_restore(db.backend, planned, progress)
    duration = timedelta(seconds=time.monotonic() - begun)
    unsupported = apply_settings(db.backend, table, planned.target, tags)
    return RestoredTable(planned.target, described.item_count or 0, duration, unsupported)


def restore_request(
    backend: Backend, points: RestorePoints, target: str, at: datetime | None, backup: str | None
) -> RestoreRequest:
    """The request that restores a table; a moment that cannot be reached is an error with the nearest ones.

    Without a moment or a backup it is the latest state, or the newest backup of a table without recovery.
    """
    present = size_of_table(describe(backend, points.table))
    if at is not None:
        points.check(at)
        request: Request[Any] = RestoreTableToPointInTime(
            source_table_name=points.table, target_table_name=target, restore_date_time=int(at.timestamp())
        )
        return RestoreRequest(request, f"as at {text(at)}", target, present)
    if backup is None and points.window is not None:
        request = RestoreTableToPointInTime(
            source_table_name=points.table, target_table_name=target, use_latest_restorable_time=True
        )
        return RestoreRequest(request, "at its latest state", target, present)
    found = points.newest_backup(backup)
    if found is None:
        missing = f"there is no backup {backup!r}" if backup else "it has neither recovery nor a backup"
        known = [f"backup {each.backup_name}" for each in points.backups[-3:]]
        raise RestorePointMissing(points.table, missing, known)
    details = backend.call(DescribeBackup(backup_arn=found.backup_arn)).backup_description
    request = RestoreTableFromBackup(backup_arn=found.backup_arn, target_table_name=target)
    return RestoreRequest(request, f"from {backup_text(found)}", target, size_of_backup(details))


def describe(backend: Backend, table: str) -> TableDescription | None:
    """The description of a table; None where it does not exist."""
    try:
        return backend.call(DescribeTable(table_name=table)).table
    except ResourceNotFoundException:
        return None


def run_restore(backend: Backend, restore: RestoreRequest, progress: Progress | None = None) -> TableDescription:
    """Starts a restore and waits until its table can be used."""
    backend.call(restore.request)
    return active_table(backend, restore.target, progress)


def active_table(backend: Backend, table: str, progress: Progress | None = None) -> TableDescription:
    """The description of a table, once it can be used and changed."""
    wait = POLL_SECONDS
    while True:
        described = describe(backend, table)
        if described is None:
            raise RestoreFailed(table)
        if described.table_status == "ACTIVE":
            return described
        if progress is not None:
            progress(described.item_count or 0)
        time.sleep(wait)
        wait = min(wait * 1.5, MAX_POLL_SECONDS)


def apply_settings(backend: Backend, table: Table, target: str, tags: list[Tag]) -> list[str]:
    """Gives a restored table what restores leave out: stream, TTL and recovery of the design, tags of the source.

    Returns what the backend does not have.
    """
    requests = [
        *_stream(table, target),
        *(msgspec.structs.replace(each, table_name=target) for each in settings(table)),
    ]
    if tags:
        requests.append(TagResource(resource_arn=active_table(backend, target).table_arn, tags=tags))
    missing = []
    for request in requests:
        active_table(backend, target)
        try:
            backend.call(request)
        except UnknownOperationException:
            missing.append(type(request).__name__)
    return missing


def _stream(table: Table, target: str) -> list[Request[Any]]:
    if table.stream is None:
        return []
    wanted = StreamSpecification(stream_enabled=True, stream_view_type=table.stream)
    return [UpdateTable(table_name=target, stream_specification=wanted)]


def tags_of(backend: Backend, table: str) -> list[Tag]:
    """The tags of a table; none where it does not exist, or the backend has no tags."""
    described = describe(backend, table)
    found: list[Tag] = []
    token: str | None = None
    try:
        while described is not None:
            page = backend.call(ListTagsOfResource(resource_arn=described.table_arn, next_token=token))
            found += page.tags or []
            token = page.next_token
            if token is None:
                break
    except UnknownOperationException:
        pass
    return [tag for tag in found if not (tag.key or "").startswith("aws:")]


def back_up_table(backend: Backend, table: str, name: str) -> BackupDetails:
    """Creates a backup and waits until it is complete."""
    created = backend.call(CreateBackup(table_name=table, backup_name=name)).backup_details
    wait = POLL_SECONDS
    while created is not None and created.backup_status == "CREATING":
        time.sleep(wait)
        wait = min(wait * 1.5, MAX_POLL_SECONDS)
        described = backend.call(DescribeBackup(backup_arn=created.backup_arn)).backup_description
        created = described.backup_details if described else None
    assert created is not None
    return created


def delete_table(backend: Backend, table: str) -> None:
    """Deletes a scratch table, if it is there."""
    with suppress(ResourceNotFoundException, RestoreFailed):
        active_table(backend, table)
        backend.call(DeleteTable(table_name=table))
