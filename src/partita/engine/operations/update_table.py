"""UpdateTable: throughput, billing, stream, deletion protection, class, and global indexes."""

from msgspec.structs import replace

from partita.dynamodb.exceptions import (
    INVALID,
    LimitExceededException,
    ResourceNotFoundException,
    ValidationException,
)
from partita.dynamodb.limits import GLOBAL_INDEXES, VECTOR_INDEXES
from partita.dynamodb.requests import UpdateTable
from partita.dynamodb.responses import UpdateTableOutput
from partita.dynamodb.shapes import (
    AttributeDefinition,
    IndexDescription,
    IndexUpdate,
    ProvisionedThroughput,
    SecondaryIndex,
    UpdateIndexAction,
    VectorIndexDefinition,
    VectorIndexDescription,
)
from partita.engine import change_log
from partita.engine.backfill import START, fill
from partita.engine.constraints import check_members
from partita.engine.context import EngineContext, Job
from partita.engine.operations.create_table import (
    check_global,
    check_included,
    check_projection,
    check_stream,
    check_supported,
    check_throughput,
    index_record,
    sse_type,
)
from partita.engine.operations.describe_table import describe
from partita.engine.operations.vector_definitions import (
    attribute_of,
    check_same_dimensions,
    check_vector_indexes,
    vector_record,
)
from partita.engine.schema import IndexRecord, StoredTable, TableRecord
from partita.engine.streams import new_stream
from partita.storage.contract import StorageTransaction

_ONE_AT_A_TIME = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"


UNSUPPORTED = (
    "replica_updates",
    "multi_region_consistency",
    "global_table_witness_updates",
    "global_table_settings_replication_mode",
)


def update_table(context: EngineContext, request: UpdateTable) -> Job:
    check_members(request)
    check_supported(request, UNSUPPORTED)
    _check_form(request)

    def job(txn: StorageTransaction) -> UpdateTableOutput:
        before = _find_table(context, request.table_name).record
        record = before
        for change in (_set_protection, _set_class, _set_billing, _set_stream, _set_indexes, _set_vector_indexes):
            record = change(context, txn, request, record)
        status = "ACTIVE" if record == before else "UPDATING"
        departing = _deleted_indexes(context, txn, before, record)
        departing_vectors = _deleted_vector_indexes(context, txn, before, record)
        context.write_catalog.save(txn, record, before)
        described = describe(context, txn, StoredTable(record), status)
        if departing:
            described.global_secondary_indexes = [*(described.global_secondary_indexes or []), *departing]
        if departing_vectors:
            described.vector_indexes = [*(described.vector_indexes or []), *departing_vectors]
        fill(context, record.name, txn)
        return UpdateTableOutput(table_description=described)

    return job


def _deleted_indexes(
    context: EngineContext, txn: StorageTransaction, before: TableRecord, after: TableRecord
) -> list[IndexDescription]:
    """The descriptions of the indexes that this update deletes."""
    left = {each.name for each in after.indexes}
    gone = [replace(each, status="DELETING", backfilled_to=None) for each in before.indexes if each.name not in left]
    if not gone:
        return []
    return describe(context, txn, StoredTable(replace(before, indexes=gone))).global_secondary_indexes or []


def _deleted_vector_indexes(
    context: EngineContext, txn: StorageTransaction, before: TableRecord, after: TableRecord
) -> list[VectorIndexDescription]:
    left = {each.name for each in after.vector_indexes}
    gone = [
        replace(each, status="DELETING", backfilled_to=None) for each in before.vector_indexes if each.name not in left
    ]
    if not gone:
        return []
    return describe(context, txn, StoredTable(replace(before, vector_indexes=gone))).vector_indexes or []


def _find_table(context: EngineContext, name: str | None) -> StoredTable:
    context.check_not_restoring(name)
    try:
        return context.table_for_update(name)
    except ResourceNotFoundException:
        raise ResourceNotFoundException(f"Requested resource not found: Table: {name} not found") from None


def _check_form(request: UpdateTable) -> None:
    settings = (
        request.provisioned_throughput,
        request.billing_mode,
        request.stream_specification,
        request.global_secondary_index_updates or None,
        request.vector_index_updates or None,
        request.sse_specification,
        request.table_class,
        request.deletion_protection_enabled,
        request.on_demand_throughput,
        request.warm_throughput,
    )
    if all(each is None for each in settings):
        raise ValidationException(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates "
            "or SSESpecification or ReplicaUpdates is required"
        )
    if request.billing_mode == "PROVISIONED" and request.provisioned_throughput is None:
        raise ValidationException(f"{INVALID}ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
    if request.billing_mode == "PAY_PER_REQUEST" and request.provisioned_throughput is not None:
        raise ValidationException(
            f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
            "when BillingMode is PAY_PER_REQUEST"
        )
    if request.provisioned_throughput is not None:
        check_throughput(request.provisioned_throughput)
    if request.stream_specification is not None:
        check_stream(request.stream_specification.stream_enabled, request.stream_specification.stream_view_type)
    _check_index_updates(request.global_secondary_index_updates or [])
    _check_vector_updates(request)


def _check_index_updates(updates: list[IndexUpdate]) -> None:
    names: list[str | None] = []
    for update in updates:
        present = [each for each in (update.update, update.create, update.delete) if each is not None]
        if not present:
            raise ValidationException(
                f"{INVALID}One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        if len(present) > 1:
            raise ValidationException(
                f"{INVALID}Only one of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete may be given"
            )
        if present[0].index_name in names:
            raise ValidationException(
                f"{INVALID}Only one global secondary index update per index is allowed simultaneously. "
                f"Index: {present[0].index_name}"
            )
        names.append(present[0].index_name)
    if sum(update.create is not None or update.delete is not None for update in updates) > 1:
        raise LimitExceededException(_ONE_AT_A_TIME)


def _check_vector_updates(request: UpdateTable) -> None:
    updates = request.vector_index_updates or []
    for update in updates:
        if update.create is None and update.delete is None:
            raise ValidationException(
                f"{INVALID}One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete must not be null"
            )
        if update.create is not None and update.delete is not None:
            raise ValidationException(f"{INVALID}Only one vector index action is allowed per VectorIndexUpdate object")
    others = request.global_secondary_index_updates or []
    if updates and len(updates) + sum(each.create is not None or each.delete is not None for each in others) > 1:
        raise LimitExceededException(_ONE_AT_A_TIME)


def _set_protection(
    context: EngineContext, txn: StorageTransaction, request: UpdateTable, record: TableRecord
) -> TableRecord:
    if request.deletion_protection_enabled is None:
        return record
    return replace(record, deletion_protection=request.deletion_protection_enabled)


def _set_class(
    context: EngineContext, txn: StorageTransaction, request: UpdateTable, record: TableRecord
) -> TableRecord:
    if request.table_class is not None:
        record = replace(record, table_class=request.table_class)
    if request.sse_specification is not None:
        record = replace(record, sse_type=sse_type(request.sse_specification))
    if request.on_demand_throughput is not None:
        record = replace(record, on_demand=request.on_demand_throughput)
    return record


def _set_billing(
    context: EngineContext, txn: StorageTransaction, request: UpdateTable, record: TableRecord
) -> TableRecord:
    now = context.clock()
    if request.billing_mode == "PAY_PER_REQUEST" and record.billing_mode != "PAY_PER_REQUEST":
        indexes = [replace(index, throughput=None) for index in record.indexes]
        return replace(record, billing_mode="PAY_PER_REQUEST", billing_changed=now, throughput=None, indexes=indexes)
    wanted = request.provisioned_throughput
    if wanted is None:
        return record
    if record.vector_indexes:
        raise ValidationException(f"{INVALID}Tables with vector indexes must be in PAY_PER_REQUEST mode")
    if record.billing_mode == "PAY_PER_REQUEST" and request.billing_mode != "PROVISIONED":
        raise ValidationException(
            f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
            "when BillingMode is PAY_PER_REQUEST"
        )
    current = record.throughput
    if current == wanted and record.billing_mode == "PROVISIONED":
        raise ValidationException(
            "The provisioned throughput for the table will not change. The requested value equals the current value. "
            f"Current ReadCapacityUnits provisioned for the table: {wanted.read_capacity_units}. "
            f"Requested ReadCapacityUnits: {wanted.read_capacity_units}. "
            f"Current WriteCapacityUnits provisioned for the table: {wanted.write_capacity_units}. "
            f"Requested WriteCapacityUnits: {wanted.write_capacity_units}. "
            "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
        )
    raised = current is None or _exceeds(wanted, current)
    lowered = current is not None and _exceeds(current, wanted)
    return replace(
        record,
        billing_mode="PROVISIONED",
        throughput=wanted,
        throughput_raised=now if raised else record.throughput_raised,
        throughput_lowered=now if lowered else record.throughput_lowered,
    )


def _exceeds(one: ProvisionedThroughput, other: ProvisionedThroughput) -> bool:
    return (one.read_capacity_units or 0) > (other.read_capacity_units or 0) or (one.write_capacity_units or 0) > (
        other.write_capacity_units or 0
    )


def _set_stream(
    context: EngineContext, txn: StorageTransaction, request: UpdateTable, record: TableRecord
) -> TableRecord:
    wanted = request.stream_specification
    if wanted is None:
        return record
    table = StoredTable(record)
    last = change_log.last_number(txn, table)
    if wanted.stream_enabled:
        if table.stream is not None:
            raise ValidationException(f"Table already has an enabled stream: TableName: {record.name}")
        opened = new_stream(context, record.name, wanted.stream_view_type, last)
        return replace(record, streams=[*record.streams, opened])
    if table.stream is None:
        raise ValidationException(f"Table doesn't have an enabled stream: TableName: {record.name}")
    closed = replace(table.stream, closed=last, closed_at=context.clock())
    return replace(record, streams=[*record.streams[:-1], closed])


def _set_indexes(
    context: EngineContext, txn: StorageTransaction, request: UpdateTable, record: TableRecord
) -> TableRecord:
    for update in request.global_secondary_index_updates or []:
        if update.create is not None:
            record = _with_index(context, txn, request, record, update.create)
        elif update.delete is not None:
            record = _without_index(record, update.delete.index_name or "")
        elif update.update is not None:
            record = _with_throughput(record, update.update)
    return record


def _with_index(
    context: EngineContext, txn: StorageTransaction, request: UpdateTable, record: TableRecord, index: SecondaryIndex
) -> TableRecord:
    _check_can_add(record, index.index_name)
    if sum(each.is_global for each in record.indexes) >= GLOBAL_INDEXES:
        raise LimitExceededException(
            f"Subscriber limit exceeded: GlobalSecondaryIndex count exceeds the per-table limit of {GLOBAL_INDEXES}"
        )
    known = _known_attributes(request, record)
    on_demand = record.billing_mode == "PAY_PER_REQUEST"
    check_global([index], [name or "" for name in known], on_demand, [])
    included = [SecondaryIndex(projection=each.projection) for each in record.indexes]
    check_included([*included, index])
    (space,) = context.write_catalog.new_spaces(txn, 1)
    new_index = replace(index_record(index, True, space), status="CREATING", backfilled_to=START)
    return _with_used_attributes(replace(record, indexes=[*record.indexes, new_index]), known)


def _check_can_add(record: TableRecord, name: str | None) -> None:
    """Checks that no index has the name, and that none is being created."""
    indexes = record.all_indexes()
    if any(each.name == name for each in indexes):
        raise ValidationException("Attempting to create an index which already exists")
    if any(each.status == "CREATING" for each in indexes):
        raise LimitExceededException(_ONE_AT_A_TIME)


def _with_used_attributes(record: TableRecord, known: dict[str | None, AttributeDefinition]) -> TableRecord:
    """The record with the definitions of the attributes that its keys and search schemas use."""
    used = {each.attribute_name for each in record.key_schema}
    used |= {each.attribute_name for index in record.indexes for each in index.key_schema}
    used |= {each.attribute_name for index in record.vector_indexes for each in index.search_schema}
    return replace(record, attributes=[definition for name, definition in known.items() if name in used])


def _known_attributes(request: UpdateTable, record: TableRecord) -> dict[str | None, AttributeDefinition]:
    """The definitions of the table and of the request, by name."""
    known = {each.attribute_name: each for each in record.attributes}
    for definition in request.attribute_definitions or []:
        existing = known.setdefault(definition.attribute_name, definition)
        if existing != definition:
            raise ValidationException(
                f"{INVALID}Attribute {definition.attribute_name} is already defined with another type"
            )
    return known


def _without_index(record: TableRecord, name: str) -> TableRecord:
    _index(record, name)  # also one that is being backfilled (API reference, Backfilling)
    left = replace(record, indexes=[each for each in record.indexes if each.name != name])
    return _with_used_attributes(left, {each.attribute_name: each for each in record.attributes})


def _set_vector_indexes(
    context: EngineContext, txn: StorageTransaction, request: UpdateTable, record: TableRecord
) -> TableRecord:
    for update in request.vector_index_updates or []:
        if update.create is not None:
            record = _with_vector_index(context, txn, request, record, update.create)
        elif update.delete is not None:
            record = _without_vector_index(record, update.delete.index_name or "")
    return record


def _with_vector_index(
    context: EngineContext,
    txn: StorageTransaction,
    request: UpdateTable,
    record: TableRecord,
    index: VectorIndexDefinition,
) -> TableRecord:
    _check_can_add(record, index.index_name)
    if len(record.vector_indexes) >= VECTOR_INDEXES:
        raise LimitExceededException(
            f"Subscriber limit exceeded: Number of vector secondary indexes exceeds per-table limit of {VECTOR_INDEXES}"
        )
    known = _known_attributes(request, record)
    # The elements of the search schema must be defined in this very request, even those that the table has.
    defined = [each.attribute_name or "" for each in request.attribute_definitions or []]
    if attribute_of(index) in known:
        defined.append(attribute_of(index))
    check_vector_indexes([index], defined, record.billing_mode == "PAY_PER_REQUEST")
    check_projection(index)
    others = {(each.attribute, each.dimensions) for each in record.vector_indexes}
    check_same_dimensions({(attribute_of(index), index.dimensions), *others})
    space, log = context.write_catalog.new_spaces(txn, 2)
    added = replace(vector_record(index, space, log), status="CREATING", backfilled_to=START)
    return _with_used_attributes(replace(record, vector_indexes=[*record.vector_indexes, added]), known)


def _without_vector_index(record: TableRecord, name: str) -> TableRecord:
    left = [each for each in record.vector_indexes if each.name != name]
    if len(left) == len(record.vector_indexes):
        raise ResourceNotFoundException(f"Requested resource not found: Index {name} for table {record.name}")
    if any(each.status == "CREATING" and each.name != name for each in record.all_indexes()):
        raise LimitExceededException(_ONE_AT_A_TIME)
    known = {each.attribute_name: each for each in record.attributes}
    return _with_used_attributes(replace(record, vector_indexes=left), known)


def _with_throughput(record: TableRecord, update: UpdateIndexAction) -> TableRecord:
    if record.billing_mode == "PAY_PER_REQUEST" and update.provisioned_throughput is not None:
        raise ValidationException(
            f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: "
            f"{update.index_name} when BillingMode is PAY_PER_REQUEST"
        )
    changed = replace(_index(record, update.index_name or ""), throughput=update.provisioned_throughput)
    return replace(record, indexes=[changed if each.name == changed.name else each for each in record.indexes])


def _index(record: TableRecord, name: str) -> IndexRecord:
    for each in record.indexes:
        if each.name == name and each.is_global:
            return each
    raise ResourceNotFoundException(f"Requested resource not found: Index: {name} not found")
