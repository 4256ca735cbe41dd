"""RestoreTableToPointInTime: creates a table that background work fills (`restore_steps`)."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from msgspec.structs import replace

from partita.dynamodb.backup_shapes import RestoreOutput, RestoreOverrides, RestoreTableToPointInTime
from partita.dynamodb.exceptions import (
    INVALID,
    InvalidRestoreTimeException,
    PointInTimeRecoveryUnavailableException,
    TableAlreadyExistsException,
    TableInUseException,
    TableNotFoundException,
    ValidationException,
)
from partita.dynamodb.shapes import SecondaryIndex, VectorIndexDefinition
from partita.engine.backfill import START
from partita.engine.catalog import name_of, new_table_id
from partita.engine.change_log import last_number
from partita.engine.constraints import check_members
from partita.engine.context import EngineContext, Job
from partita.engine.history import window
from partita.engine.operations.create_table import check_table_count, check_throughput, sse_type
from partita.engine.operations.describe_table import describe
from partita.engine.schema import IndexRecord, RestoreRecord, SnapshotRecord, StoredTable, TableRecord
from partita.engine.vector_indexes import VectorIndexRecord
from partita.storage.contract import StorageTransaction

AnyIndex = TypeVar("AnyIndex", IndexRecord, VectorIndexRecord)


def restore_to_point_in_time(context: EngineContext, request: RestoreTableToPointInTime) -> Job:
    check_members(request)
    source_name = _source_name(request)
    if request.use_latest_restorable_time and request.restore_date_time is not None:
        raise ValidationException(f"{INVALID}RestoreDateTime and UseLatestRestorableTime exclude each other")
    if not request.use_latest_restorable_time and request.restore_date_time is None:
        raise ValidationException(f"{INVALID}Specify either RestoreDateTime or UseLatestRestorableTime")

    def job(txn: StorageTransaction) -> RestoreOutput:
        source = context.write_catalog.tables.get(source_name)
        if source is None:
            raise TableNotFoundException(f"Table not found: {source_name}")
        check_target(context, request.target_table_name or "")
        if source.record.recovery is None:
            raise PointInTimeRecoveryUnavailableException(
                f"Point in time recovery is not enabled for table '{source_name}'"
            )
        at = _target_time(context, request, source.record)
        (saved,) = context.write_catalog.new_spaces(txn, 1)
        restore = RestoreRecord(
            at=at,
            source=source_name,
            source_arn=context.table_arn(source_name),
            saved=saved,
            undo_below=None if request.use_latest_restorable_time else last_number(txn, source) + 1,
        )
        snapshots = [*source.record.snapshots, SnapshotRecord(saved=saved)]
        context.write_catalog.save(txn, replace(source.record, snapshots=snapshots), source.record)
        return create_target(context, txn, request, source.record, restore)

    return job


def _source_name(request: RestoreTableToPointInTime) -> str:
    if request.source_table_name is not None:
        return request.source_table_name
    if request.source_table_arn is None:
        raise ValidationException(f"{INVALID}Specify either SourceTableArn or SourceTableName")
    return name_of(request.source_table_arn)


def check_target(context: EngineContext, name: str) -> None:
    """Rejects the name of a table that exists."""
    if name in context.write_catalog.restoring:
        raise TableInUseException(f"Table is being created: {name}")
    if name in context.write_catalog.tables:
        raise TableAlreadyExistsException(f"Table already exists: {name}")
    check_table_count(context)


def _target_time(context: EngineContext, request: RestoreTableToPointInTime, source: TableRecord) -> float:
    """The second to restore to; one that cannot be reached is rejected with the nearest that can."""
    now = context.clock()
    if request.restore_date_time is None:
        return now
    second = int(request.restore_date_time)
    earliest, latest = window(source, now)
    if earliest <= second <= latest:
        assert source.recovery is not None
        return max(second, source.recovery.beginning(now))  # the first second means the moment of enabling
    reachable = f"from {_text(earliest)} to {_text(latest)}"
    raise InvalidRestoreTimeException(
        "An invalid restore time was specified. RestoreDateTime must be between EarliestRestorableDateTime and "
        f"LatestRestorableDateTime: {_text(second)} is not in {reachable}"
    )


def _text(second: int) -> str:
    try:
        return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):  # not a year that people write
        return str(second)


def create_target(
    context: EngineContext,
    txn: StorageTransaction,
    request: RestoreOverrides,
    source: TableRecord,
    restore: RestoreRecord,
) -> RestoreOutput:
    """Creates the table of a restore, with the settings of its source and the overrides of the request."""
    record = _with_overrides(request, source)
    vectors = record.vector_indexes
    spaces = iter(context.write_catalog.new_spaces(txn, 1 + len(record.indexes) + 2 * len(vectors)))
    (log,) = context.write_catalog.new_spaces(txn, 1, "log")
    record = replace(
        record,
        name=request.target_table_name or "",
        id=new_table_id(),
        created=context.clock(),
        space=next(spaces),
        changes=log,
        indexes=[replace(each, space=next(spaces), status="ACTIVE", backfilled_to=START) for each in record.indexes],
        vector_indexes=[
            replace(each, space=next(spaces), log=next(spaces), status="ACTIVE", backfilled_to=None) for each in vectors
        ],
        deletion_protection=False,
        tags={},
        streams=[],
        ttl_attribute=None,
        ttl_space=None,
        ttl_filled_to=None,
        log_marks=[],
        recovery=None,
        snapshots=[],
        restore=restore,
        moved_to=None,
        fill=None,
        importing=None,
    )
    context.write_catalog.save(txn, record, None)
    return RestoreOutput(table_description=describe(context, txn, StoredTable(record)))


def _with_overrides(request: RestoreOverrides, source: TableRecord) -> TableRecord:
    local_indexes = _remaining(
        request.local_secondary_index_override, [each for each in source.indexes if not each.is_global]
    )
    global_indexes = _remaining(
        request.global_secondary_index_override, [each for each in source.indexes if each.is_global]
    )
    vectors = _remaining(request.vector_index_override, source.vector_indexes)
    record = _with_billing(request, replace(source, indexes=[*local_indexes, *global_indexes], vector_indexes=vectors))
    if request.sse_specification_override is not None:
        record = replace(record, sse_type=sse_type(request.sse_specification_override))
    if request.on_demand_throughput_override is not None:
        record = replace(record, on_demand=request.on_demand_throughput_override)
    used = {each.attribute_name for each in record.key_schema}
    used |= {each.attribute_name for index in record.indexes for each in index.key_schema}
    used |= {each.attribute_name for index in vectors for each in index.search_schema}
    return replace(record, attributes=[each for each in source.attributes if each.attribute_name in used])


def _remaining(
    override: Sequence[SecondaryIndex | VectorIndexDefinition] | None, indexes: Iterable[AnyIndex]
) -> list[AnyIndex]:
    """The indexes that an override names; it may only leave some out."""
    indexes = list(indexes)
    if override is None:
        return indexes
    wanted = {each.index_name: each for each in override}
    for name, index in wanted.items():
        found = next((each for each in indexes if each.name == name), None)
        if found is None or not _is_same(index, found):
            raise ValidationException(
                f"{INVALID}Index {name} of the override is not an index of the source; "
                "an override can leave indexes out, and change nothing else"
            )
    return [each for each in indexes if each.name in wanted]


def _is_same(override: SecondaryIndex | VectorIndexDefinition, index: IndexRecord | VectorIndexRecord) -> bool:
    if override.projection != index.projection:
        return False
    if isinstance(override, SecondaryIndex):
        return isinstance(index, IndexRecord) and override.key_schema == index.key_schema
    attribute = override.vector_attribute.attribute_name if override.vector_attribute else None
    return isinstance(index, VectorIndexRecord) and (
        (attribute, override.search_schema or [], override.dimensions, override.distance_function)
        == (index.attribute, index.search_schema, index.dimensions, index.distance)
    )


def _with_billing(request: RestoreOverrides, record: TableRecord) -> TableRecord:
    mode = request.billing_mode_override or record.billing_mode
    units = request.provisioned_throughput_override
    if mode == "PAY_PER_REQUEST":
        if units is not None:
            raise ValidationException(
                f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
                "when BillingMode is PAY_PER_REQUEST"
            )
        indexes = [replace(each, throughput=None) for each in record.indexes]
        return replace(record, billing_mode=mode, throughput=None, indexes=indexes)
    units = units or record.throughput
    if units is None:
        raise ValidationException(
            f"{INVALID}ProvisionedThroughputOverride must be specified when BillingModeOverride is PROVISIONED"
        )
    if record.vector_indexes:
        raise ValidationException(f"{INVALID}Tables with vector indexes must be in PAY_PER_REQUEST mode")
    check_throughput(units)
    named = {each.index_name: each.provisioned_throughput for each in request.global_secondary_index_override or []}
    indexes = [
        replace(each, throughput=named.get(each.name) or each.throughput or units) if each.is_global else each
        for each in record.indexes
    ]
    return replace(record, billing_mode=mode, throughput=units, indexes=indexes)
