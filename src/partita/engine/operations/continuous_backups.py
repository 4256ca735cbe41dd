"""UpdateContinuousBackups and DescribeContinuousBackups: point-in-time recovery, and the window that it reaches."""

from msgspec.structs import replace

from partita.dynamodb.exceptions import (
    ContinuousBackupsUnavailableException,
    ResourceNotFoundException,
    TableNotFoundException,
)
from partita.dynamodb.requests import DescribeContinuousBackups, UpdateContinuousBackups
from partita.dynamodb.responses import DescribeContinuousBackupsOutput, UpdateContinuousBackupsOutput
from partita.dynamodb.shapes import (
    ContinuousBackupsDescription,
    PointInTimeRecoveryDescription,
    PointInTimeRecoverySpecification,
)
from partita.engine.catalog import name_of
from partita.engine.change_log import last_number
from partita.engine.constraints import check_members
from partita.engine.context import EngineContext, Job
from partita.engine.history import DAY, window
from partita.engine.schema import RecoveryRecord, StoredTable, TableRecord
from partita.storage.contract import StorageTransaction

MAX_DAYS = 35  # and the default


def describe_continuous_backups(
    context: EngineContext, request: DescribeContinuousBackups
) -> DescribeContinuousBackupsOutput:
    check_members(request)
    context.catalog.refresh()
    table = context.catalog.all_tables.get(name_of(request.table_name or ""))
    if table is None:
        raise TableNotFoundException(f"Table not found: {request.table_name}")
    return DescribeContinuousBackupsOutput(continuous_backups_description=_description(context, table.record))


def update_continuous_backups(context: EngineContext, request: UpdateContinuousBackups) -> Job:
    check_members(request)
    wanted = request.point_in_time_recovery_specification or PointInTimeRecoverySpecification()

    def job(txn: StorageTransaction) -> UpdateContinuousBackupsOutput:
        before = _table(context, request.table_name).record
        change = _enabled if wanted.point_in_time_recovery_enabled else _disabled
        after = change(context, txn, before, wanted)
        if after != before:
            context.write_catalog.save(txn, after, before)
        return UpdateContinuousBackupsOutput(continuous_backups_description=_description(context, after))

    return job


def _table(context: EngineContext, name: str | None) -> StoredTable:
    if name_of(name or "") in context.write_catalog.restoring:
        raise ContinuousBackupsUnavailableException(
            f"Backups are being enabled for the table: {name}. Please retry later"
        )
    try:
        return context.table_for_update(name)
    except ResourceNotFoundException:
        raise TableNotFoundException(f"Table not found: {name}") from None


def _enabled(
    context: EngineContext, txn: StorageTransaction, record: TableRecord, wanted: PointInTimeRecoverySpecification
) -> TableRecord:
    """The record with recovery; a window that is open keeps its beginning, and a longer one grows from there."""
    now = context.clock()
    if record.recovery is not None:
        days = wanted.recovery_period_in_days or record.recovery.days
        cut = record.recovery.cut(now - record.recovery.days * DAY) if days > record.recovery.days else record.recovery
        return replace(record, recovery=replace(cut, days=days))
    history, by_item = context.write_catalog.new_spaces(txn, 2)
    days = wanted.recovery_period_in_days or MAX_DAYS
    first = last_number(txn, StoredTable(record)) + 1
    enabled = RecoveryRecord(since=now, days=days, history=history, by_item=by_item, first=first)
    return replace(record, recovery=enabled)


def _disabled(
    context: EngineContext, txn: StorageTransaction, record: TableRecord, _: PointInTimeRecoverySpecification
) -> TableRecord:
    """The record without recovery; its history is dropped with it, but for what a stream still needs."""
    if record.recovery is None:
        return record
    if record.snapshots:
        raise ContinuousBackupsUnavailableException(
            f"A backup or restore of the table is in progress: {record.name}. Please retry later"
        )
    if record.streams:
        return replace(record, recovery=None)
    (space,) = context.write_catalog.new_spaces(txn, 1)
    return replace(record, recovery=None, changes=space)


def _description(context: EngineContext, record: TableRecord) -> ContinuousBackupsDescription:
    described = PointInTimeRecoveryDescription(point_in_time_recovery_status="DISABLED")
    if record.recovery is not None:
        earliest, latest = window(record, context.clock())
        described = PointInTimeRecoveryDescription(
            point_in_time_recovery_status="ENABLED",
            recovery_period_in_days=record.recovery.days,
            earliest_restorable_date_time=earliest,
            latest_restorable_date_time=latest,
        )
    return ContinuousBackupsDescription(
        continuous_backups_status="ENABLED", point_in_time_recovery_description=described
    )
