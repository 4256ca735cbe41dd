"""The moments that a table can be restored to: its recovery window, and its backups."""

from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from partita.dynamodb.backend import Backend
from partita.dynamodb.backup_shapes import BackupSummary, ListBackups
from partita.dynamodb.exceptions import ResourceNotFoundException, TableNotFoundException
from partita.dynamodb.requests import DescribeContinuousBackups
from partita.errors import RestorePointMissing


class RestorePoints(msgspec.Struct, frozen=True):
    """The window is None without point-in-time recovery; backups are sorted by time."""

    table: str
    window: tuple[datetime, datetime] | None
    backups: list[BackupSummary]

    def newest_backup(self, name: str | None = None) -> BackupSummary | None:
        """The newest backup that is complete, of a name or an ARN."""
        found = [
            each
            for each in self.backups
            if each.backup_status == "AVAILABLE" and name in (None, each.backup_name, each.backup_arn)
        ]
        return found[-1] if found else None

    def check(self, at: datetime) -> None:
        """Raises RestorePointMissing, with the nearest moments, for a second outside the window."""
        if self.window is None or not self.window[0] <= at <= self.window[1]:
            raise RestorePointMissing(self.table, f"{text(at)} cannot be restored", self.nearest(at))

    def nearest(self, at: datetime) -> list[str]:
        """The moments nearest to one, in words."""
        seconds = at.timestamp()
        found = [] if self.window is None else [f"any second from {text(self.window[0])} to {text(self.window[1])}"]
        before = [each for each in self.backups if (each.backup_creation_date_time or 0) <= seconds]
        behind = [each for each in self.backups if (each.backup_creation_date_time or 0) > seconds]
        return found + [backup_text(each) for each in (*before[-1:], *behind[:1])]


def restore_points(backend: Backend, table: str) -> RestorePoints:
    """The moments that a table can be restored to; of a deleted one, its backups."""
    return RestorePoints(table, _window(backend, table), sorted(_backups(backend, table), key=_created))


def _window(backend: Backend, table: str) -> tuple[datetime, datetime] | None:
    try:
        described = backend.call(DescribeContinuousBackups(table_name=table)).continuous_backups_description
    except (TableNotFoundException, ResourceNotFoundException):
        return None
    recovery = described.point_in_time_recovery_description if described else None
    if recovery is None or recovery.earliest_restorable_date_time is None:
        return None
    latest = recovery.latest_restorable_date_time or recovery.earliest_restorable_date_time
    return _moment(recovery.earliest_restorable_date_time), _moment(latest)


def _backups(backend: Backend, table: str) -> Iterator[BackupSummary]:
    start: str | None = None
    while True:
        page = backend.call(
            ListBackups(table_name=table, backup_type="ALL", limit=100, exclusive_start_backup_arn=start)
        )
        yield from page.backup_summaries or ()
        start = page.last_evaluated_backup_arn
        if start is None:
            return


def _created(backup: BackupSummary) -> float:
    return backup.backup_creation_date_time or 0.0


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def text(at: datetime) -> str:
    """A moment as people write it, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def backup_text(backup: BackupSummary) -> str:
    """A backup as people call it."""
    return f"backup {backup.backup_name} of {text(_moment(_created(backup)))}"
