"""UpdateTimeToLive and DescribeTimeToLive: the attribute with the expiry time of items."""

from msgspec.structs import replace

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.requests import DescribeTimeToLive, UpdateTimeToLive
from partita.dynamodb.responses import DescribeTimeToLiveOutput, UpdateTimeToLiveOutput
from partita.dynamodb.shapes import TimeToLiveDescription, TimeToLiveSpecification
from partita.engine.backfill import START, fill
from partita.engine.constraints import check_members
from partita.engine.context import EngineContext, Job
from partita.engine.schema import TableRecord
from partita.storage.contract import StorageTransaction


def describe_time_to_live(context: EngineContext, request: DescribeTimeToLive) -> DescribeTimeToLiveOutput:
    check_members(request)
    context.catalog.refresh()
    record = context.table(request.table_name).record
    status = "DISABLED"
    if record.ttl_attribute is not None:
        status = "ENABLED" if record.ttl_filled_to is None else "ENABLING"
    return DescribeTimeToLiveOutput(
        time_to_live_description=TimeToLiveDescription(time_to_live_status=status, attribute_name=record.ttl_attribute)
    )


def update_time_to_live(context: EngineContext, request: UpdateTimeToLive) -> Job:
    check_members(request)
    wanted = request.time_to_live_specification or TimeToLiveSpecification()

    def job(txn: StorageTransaction) -> UpdateTimeToLiveOutput:
        context.check_not_restoring(request.table_name)
        before = context.table_for_update(request.table_name).record
        _check_change(before, wanted)
        if wanted.enabled:
            (space,) = context.write_catalog.new_spaces(txn, 1)
            after = replace(before, ttl_attribute=wanted.attribute_name, ttl_space=space, ttl_filled_to=START)
        else:
            after = replace(before, ttl_attribute=None, ttl_space=None, ttl_filled_to=None)
        context.write_catalog.save(txn, after, before)
        context.write_catalog.refresh(txn)
        fill(context, after.name, txn)
        return UpdateTimeToLiveOutput(time_to_live_specification=wanted)

    return job


def _check_change(record: TableRecord, wanted: TimeToLiveSpecification) -> None:
    if wanted.enabled:
        if record.ttl_attribute is not None:
            raise ValidationException("TimeToLive is already enabled")
        return
    if record.ttl_attribute is None:
        raise ValidationException("TimeToLive is already disabled")
    if record.ttl_attribute != wanted.attribute_name:
        raise ValidationException(
            f"TimeToLive is active on a different AttributeName: current AttributeName is {record.ttl_attribute}"
        )
