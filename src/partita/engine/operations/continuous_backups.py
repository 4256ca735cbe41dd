"""UpdateContinuousBackups and DescribeContinuousBackups: point-in-time recovery of a table, and its period."""

from msgspec.structs import replace

from partita.dynamodb.limits import HISTORY_DAYS
from partita.dynamodb.requests import DescribeContinuousBackups, UpdateContinuousBackups
from partita.dynamodb.responses import DescribeContinuousBackupsOutput, UpdateContinuousBackupsOutput
from partita.dynamodb.shapes import (
    ContinuousBackupsDescription,
    PointInTimeRecoveryDescription,
    PointInTimeRecoverySpecification,
)
from partita.engine.constraints import check_members
from partita.engine.context import EngineContext, Job
from partita.engine.schema import TableRecord
from partita.storage.contract import StorageTransaction


def describe_continuous_backups(
    context: EngineContext, request: DescribeContinuousBackups
) -> DescribeContinuousBackupsOutput:
    check_members(request)
    context.catalog.refresh()
    record = context.table(request.table_name).record
    return DescribeContinuousBackupsOutput(continuous_backups_description=_describe(context, record))


def update_continuous_backups(context: EngineContext, request: UpdateContinuousBackups) -> Job:
    check_members(request)
    wanted = request.point_in_time_recovery_specification or PointInTimeRecoverySpecification()

    def job(txn: StorageTransaction) -> UpdateContinuousBackupsOutput:
        before = context.table_for_write(request.table_name).record
        if wanted.point_in_time_recovery_enabled:
            days = wanted.recovery_period_in_days or before.recovery_days or HISTORY_DAYS
            after = replace(before, recovery_days=days, recovery_since=before.recovery_since or context.clock())
        else:
            after = replace(before, recovery_days=None, recovery_since=None)
        context.write_catalog.save(txn, after, before)
        return UpdateContinuousBackupsOutput(continuous_backups_description=_describe(context, after))

    return job


def _describe(context: EngineContext, record: TableRecord) -> ContinuousBackupsDescription:
    recovery = PointInTimeRecoveryDescription(point_in_time_recovery_status="DISABLED")
    if record.recovery_days is not None and record.recovery_since is not None:
        now = context.clock()
        recovery = PointInTimeRecoveryDescription(
            point_in_time_recovery_status="ENABLED",
            recovery_period_in_days=record.recovery_days,
            earliest_restorable_date_time=max(record.recovery_since, now - record.recovery_days * 86400),
            latest_restorable_date_time=now,
        )
    return ContinuousBackupsDescription(
        continuous_backups_status="ENABLED", point_in_time_recovery_description=recovery
    )
