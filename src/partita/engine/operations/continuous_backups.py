"""DescribeContinuousBackups: no table has backups. UpdateContinuousBackups is rejected: no table can be restored."""

from partita.dynamodb.exceptions import UnknownOperationException
from partita.dynamodb.requests import DescribeContinuousBackups, UpdateContinuousBackups
from partita.dynamodb.responses import DescribeContinuousBackupsOutput
from partita.dynamodb.shapes import ContinuousBackupsDescription, PointInTimeRecoveryDescription
from partita.engine.constraints import check_members
from partita.engine.context import EngineContext, Job


def describe_continuous_backups(
    context: EngineContext, request: DescribeContinuousBackups
) -> DescribeContinuousBackupsOutput:
    check_members(request)
    context.catalog.refresh()
    context.table(request.table_name)
    described = ContinuousBackupsDescription(
        continuous_backups_status="DISABLED",
        point_in_time_recovery_description=PointInTimeRecoveryDescription(point_in_time_recovery_status="DISABLED"),
    )
    return DescribeContinuousBackupsOutput(continuous_backups_description=described)


def update_continuous_backups(context: EngineContext, request: UpdateContinuousBackups) -> Job:
    """A table that promises a recovery which does not exist would be found out too late."""
    raise UnknownOperationException
