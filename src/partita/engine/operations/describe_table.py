"""DescribeTable: the description of a table, which CreateTable, UpdateTable and DeleteTable return too."""

from partita.dynamodb.exceptions import ResourceNotFoundException
from partita.dynamodb.requests import DescribeTable
from partita.dynamodb.responses import DescribeTableOutput
from partita.dynamodb.shapes import (
    BillingModeSummary,
    IndexDescription,
    ProvisionedThroughput,
    RestoreSummary,
    SSEDescription,
    StreamSpecification,
    TableClassSummary,
    TableDescription,
    ThroughputDescription,
    VectorAttribute,
    VectorIndexDescription,
    WarmThroughputDescription,
)
from partita.engine.backfill import START
from partita.engine.catalog import name_of
from partita.engine.constraints import check_members
from partita.engine.context import EngineContext
from partita.engine.schema import RestoreRecord, StoredIndex, StoredTable, TableRecord
from partita.engine.vector_indexes import VectorIndexRecord
from partita.storage.contract import Reader

_ON_DEMAND_READS, _ON_DEMAND_WRITES = 12000, 4000  # units per second of a new on-demand table


def describe_table(context: EngineContext, request: DescribeTable) -> DescribeTableOutput:
    check_members(request)
    table = find_table(context, request.table_name)
    return DescribeTableOutput(table=describe(context, context.storage, table))


def find_table(context: EngineContext, name: str | None) -> StoredTable:
    """The table as it is in storage now; the error names the table."""
    context.catalog.refresh()
    restoring = context.catalog.restoring.get(name_of(name or ""))
    if restoring is not None:
        return restoring
    try:
        return context.table(name)
    except ResourceNotFoundException:
        raise ResourceNotFoundException(f"Requested resource not found: Table: {name} not found") from None


def describe(context: EngineContext, reader: Reader, table: StoredTable, status: str | None = None) -> TableDescription:
    record = table.record
    status = status or ("CREATING" if table.is_restoring else "ACTIVE")
    totals = reader.totals(table.space)
    local = [_describe_index(context, reader, record, each) for each in table.indexes.values() if not each.is_global]
    shared = [_describe_index(context, reader, record, each) for each in table.indexes.values() if each.is_global]
    latest = record.streams[-1] if record.streams else None
    on_demand = record.billing_mode == "PAY_PER_REQUEST"
    return TableDescription(
        attribute_definitions=record.attributes,
        table_name=record.name,
        key_schema=record.key_schema,
        table_status=status,
        creation_date_time=record.created,
        provisioned_throughput=_throughput(record, record.throughput),
        table_size_bytes=totals.weight,
        item_count=totals.rows,
        table_arn=context.table_arn(record.name),
        table_id=record.id,
        billing_mode_summary=BillingModeSummary(
            billing_mode=record.billing_mode, last_update_to_pay_per_request_date_time=record.billing_changed
        )
        if on_demand or record.billing_changed
        else None,
        local_secondary_indexes=local or None,
        global_secondary_indexes=shared or None,
        stream_specification=StreamSpecification(stream_enabled=True, stream_view_type=table.stream.view_type)
        if table.stream
        else None,
        latest_stream_label=latest.label if latest else None,
        latest_stream_arn=stream_arn(context, record.name, latest.label) if latest else None,
        restore_summary=_restore_summary(record.restore) if record.restore else None,
        sse_description=SSEDescription(status="ENABLED", sse_type=record.sse_type) if record.sse_type else None,
        table_class_summary=TableClassSummary(table_class=record.table_class) if record.table_class else None,
        deletion_protection_enabled=record.deletion_protection,
        on_demand_throughput=record.on_demand,
        warm_throughput=_warm(record.throughput if not on_demand else None),
        vector_indexes=[_describe_vectors(context, reader, record, each) for each in record.vector_indexes] or None,
    )


def _restore_summary(restore: RestoreRecord) -> RestoreSummary:
    return RestoreSummary(
        source_backup_arn=restore.backup,
        source_table_arn=restore.source_arn,
        restore_date_time=restore.at,
        restore_in_progress=restore.is_running,
    )


def stream_arn(context: EngineContext, table: str, label: str) -> str:
    return f"{context.table_arn(table)}/stream/{label}"


def _throughput(record: TableRecord, units: ProvisionedThroughput | None) -> ThroughputDescription:
    return ThroughputDescription(
        last_increase_date_time=record.throughput_raised,
        last_decrease_date_time=record.throughput_lowered,
        number_of_decreases_today=0,
        read_capacity_units=units.read_capacity_units if units else 0,
        write_capacity_units=units.write_capacity_units if units else 0,
    )


def _warm(units: ProvisionedThroughput | None) -> WarmThroughputDescription:
    return WarmThroughputDescription(
        read_units_per_second=(units.read_capacity_units if units else None) or _ON_DEMAND_READS,
        write_units_per_second=(units.write_capacity_units if units else None) or _ON_DEMAND_WRITES,
        status="ACTIVE",
    )


def _describe_index(
    context: EngineContext, reader: Reader, record: TableRecord, index: StoredIndex
) -> IndexDescription:
    totals = reader.totals(index.space)
    described = IndexDescription(
        index_name=index.name,
        key_schema=index.record.key_schema,
        projection=index.record.projection,
        index_size_bytes=totals.weight,
        item_count=totals.rows,
        index_arn=f"{context.table_arn(record.name)}/index/{index.name}",
    )
    if index.is_global:
        on_demand = record.billing_mode == "PAY_PER_REQUEST"
        described.index_status = "CREATING" if StoredTable(record).is_restoring else index.record.status
        described.backfilling = _is_backfilling(index.record.backfilled_to)
        described.provisioned_throughput = _throughput(record, index.record.throughput)
        described.on_demand_throughput = index.record.on_demand
        described.warm_throughput = _warm(index.record.throughput if not on_demand else None)
    return described


def _describe_vectors(
    context: EngineContext, reader: Reader, record: TableRecord, index: VectorIndexRecord
) -> VectorIndexDescription:
    totals = reader.totals(index.space)
    return VectorIndexDescription(
        index_name=index.name,
        search_schema=index.search_schema or None,
        projection=index.projection,
        vector_attribute=VectorAttribute(attribute_name=index.attribute),
        dimensions=index.dimensions,
        distance_function=index.distance,
        index_status=index.status,
        backfilling=_is_backfilling(index.backfilled_to),
        index_size_bytes=totals.weight,
        item_count=totals.rows,
        index_arn=f"{context.table_arn(record.name)}/index/{index.name}",
    )


def _is_backfilling(filled_to: str | None) -> bool | None:
    return None if filled_to is None else filled_to != START
