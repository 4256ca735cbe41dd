"""CreateTable: checks the request in DynamoDB's order, creates the spaces of the table and writes its record."""

from collections.abc import Iterable
from typing import Any

from partita.dynamodb.canonical import text_size
from partita.dynamodb.exceptions import (
    INVALID,
    LimitExceededException,
    ResourceInUseException,
    ValidationException,
)
from partita.dynamodb.limits import (
    GLOBAL_INDEXES,
    INCLUDED_ATTRIBUTES,
    INDEX_KEY_ATTRIBUTES,
    KEY_NAME_BYTES,
    LOCAL_INDEXES,
    TABLES_PER_REGION,
)
from partita.dynamodb.requests import CreateTable
from partita.dynamodb.responses import CreateTableOutput
from partita.dynamodb.shapes import (
    AttributeDefinition,
    KeySchemaElement,
    ProvisionedThroughput,
    SearchSchemaElement,
    SecondaryIndex,
    SSESpecification,
    VectorIndexDefinition,
)
from partita.engine.catalog import new_table_id
from partita.engine.constraints import check_members
from partita.engine.context import EngineContext, Job
from partita.engine.operations.describe_table import describe
from partita.engine.operations.tags import check_tags
from partita.engine.operations.vector_definitions import check_vector_indexes, vector_record
from partita.engine.parameters import pascal
from partita.engine.schema import IndexRecord, StoredTable, TableRecord
from partita.engine.streams import new_stream
from partita.storage.contract import StorageTransaction

UNSUPPORTED = (
    "resource_policy",
    "global_table_source_arn",
    "global_table_settings_replication_mode",
)
MANY_INDEXES = 100  # too many to check each before their number
_MAX_THROUGHPUT = 1_000_000_000_000


def create_table(context: EngineContext, request: CreateTable) -> Job:
    if request.table_name is None:
        raise ValidationException("The parameter 'TableName' is required but was not present in the request")
    check_members(request)
    check_supported(request, UNSUPPORTED)
    check_form(request)

    def job(txn: StorageTransaction) -> CreateTableOutput:
        name = request.table_name or ""
        if name in context.write_catalog.all_tables:
            raise ResourceInUseException(f"Table already exists: {name}")
        check_table_count(context)
        record = new_record(context, txn, request)
        context.write_catalog.save(txn, record, None)
        table = StoredTable(record)
        return CreateTableOutput(table_description=describe(context, txn, table, "CREATING"))

    return job


def check_table_count(context: EngineContext) -> None:
    if len(context.write_catalog.all_tables) >= TABLES_PER_REGION:
        raise LimitExceededException(
            f"Subscriber limit exceeded: The number of tables has reached its limit of {TABLES_PER_REGION} for this "
            "region"
        )


def new_record(context: EngineContext, txn: StorageTransaction, request: CreateTable) -> TableRecord:
    """The record of a table that is created now, with spaces of its own."""
    local, shared = request.local_secondary_indexes or [], request.global_secondary_indexes or []
    vectors = request.vector_indexes or []
    spaces = iter(context.write_catalog.new_spaces(txn, 1 + len(local) + len(shared) + 2 * len(vectors)))
    (log,) = context.write_catalog.new_spaces(txn, 1, "log")
    now = context.clock()
    stream = request.stream_specification
    sse = request.sse_specification
    return TableRecord(
        name=request.table_name or "",
        id=new_table_id(),
        created=now,
        attributes=request.attribute_definitions or [],
        key_schema=request.key_schema or [],
        space=next(spaces),
        changes=log,
        indexes=[
            index_record(index, is_global, next(spaces))
            for index, is_global in [(each, False) for each in local] + [(each, True) for each in shared]
        ],
        vector_indexes=[vector_record(each, next(spaces), next(spaces)) for each in vectors],
        billing_mode=request.billing_mode or "PROVISIONED",
        billing_changed=now if request.billing_mode == "PAY_PER_REQUEST" else None,
        throughput=request.provisioned_throughput,
        on_demand=request.on_demand_throughput,
        table_class=request.table_class,
        deletion_protection=bool(request.deletion_protection_enabled),
        tags={tag.key or "": tag.value or "" for tag in request.tags or []},
        sse_type=sse_type(sse),
        streams=[new_stream(context, request.table_name or "", stream.stream_view_type, 0)]
        if stream and stream.stream_enabled
        else [],
    )


def sse_type(specification: SSESpecification | None) -> str | None:
    return (specification.sse_type or "KMS") if specification and specification.enabled else None


def index_record(index: SecondaryIndex, is_global: bool, space: str) -> IndexRecord:
    if index.projection is None:
        raise ValidationException(f"{INVALID}Unknown ProjectionType: null")
    return IndexRecord(
        name=index.index_name or "",
        is_global=is_global,
        key_schema=index.key_schema or [],
        projection=index.projection,
        space=space,
        throughput=index.provisioned_throughput,
        on_demand=index.on_demand_throughput,
    )


def check_supported(request: Any, members: Iterable[str]) -> None:
    """Rejects members whose effect the engine does not have: without it a program would work with another table."""
    for member in members:
        if getattr(request, member) is not None:
            raise ValidationException(f"{INVALID}{pascal(member)} is not supported by this engine; leave it out")


def check_form(request: CreateTable) -> None:
    """Checks everything that does not depend on other tables."""
    on_demand = request.billing_mode == "PAY_PER_REQUEST"
    _check_billing(request.provisioned_throughput, on_demand)
    defined = [each.attribute_name or "" for each in request.attribute_definitions or []]
    if len(set(defined)) < len(defined):
        raise ValidationException("Cannot have two attributes with the same name")
    schema = request.key_schema or []
    if len(schema) > len(defined):
        raise ValidationException("Invalid KeySchema: Some index key attribute have no definition")
    _check_defined(schema, defined)
    check_schema(schema)
    local, shared = request.local_secondary_indexes, request.global_secondary_indexes
    vectors = request.vector_indexes
    if vectors is not None:
        check_vector_indexes(vectors, defined, on_demand)
    searched = [each for index in vectors or [] for each in index.search_schema or []]
    if local is None and shared is None and not searched and len(schema) != len(defined):
        raise ValidationException(
            f"{INVALID}Number of attributes in KeySchema does not exactly match number of attributes "
            "defined in AttributeDefinitions"
        )
    names: list[str] = []
    if local is not None:
        _check_local(local, schema, defined, names)
    if shared is not None:
        check_global(shared, defined, on_demand, names)
    for index in vectors or []:
        check_projection(index)
        _check_name(index, names)
    _check_unused(request.attribute_definitions or [], schema, [*(local or []), *(shared or [])], searched)
    check_included([*(local or []), *(shared or [])])
    stream = request.stream_specification
    if stream:
        check_stream(stream.stream_enabled, stream.stream_view_type)
    check_tags(request.tags or [])


def _check_billing(throughput: ProvisionedThroughput | None, on_demand: bool) -> None:
    if on_demand:
        if throughput is not None:
            raise ValidationException(
                f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
                "when BillingMode is PAY_PER_REQUEST"
            )
        return
    if throughput is None:
        raise ValidationException(
            f"{INVALID}ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
        )
    check_throughput(throughput)


def check_throughput(throughput: ProvisionedThroughput) -> None:
    for name, units in (
        ("ReadCapacityUnits", throughput.read_capacity_units),
        ("WriteCapacityUnits", throughput.write_capacity_units),
    ):
        if units is not None and units > _MAX_THROUGHPUT:
            raise ValidationException(f"Given value {units} for {name} is out of bounds")


def _check_defined(schema: list[KeySchemaElement], defined: list[str]) -> None:
    keys = [each.attribute_name or "" for each in schema]
    if any(key not in defined for key in keys):
        raise ValidationException(
            f"{INVALID}Some index key attributes are not defined in AttributeDefinitions. "
            f"Keys: [{', '.join(keys)}], AttributeDefinitions: [{', '.join(defined)}]"
        )


def check_schema(schema: list[KeySchemaElement]) -> None:
    """Checks for one HASH, then at most one RANGE."""
    _check_lengths(schema)
    names = [each.attribute_name for each in schema]
    if len(set(names)) != len(names):
        raise ValidationException("Both the Hash Key and the Range Key element in the KeySchema have the same name")
    if schema[0].key_type != "HASH":
        raise ValidationException("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if len(schema) > 1 and schema[1].key_type != "RANGE":
        raise ValidationException("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")


def _check_global_schema(schema: list[KeySchemaElement]) -> None:
    """Checks for up to four HASH attributes, then up to four RANGE attributes."""
    _check_lengths(schema)
    kinds = [each.key_type for each in schema]
    if len(schema) <= 2 and kinds != ["HASH", "HASH"]:
        check_schema(schema)
        return
    names = [each.attribute_name for each in schema]
    if len(set(names)) != len(names):
        raise ValidationException(f"{INVALID}Duplicate attribute names in the KeySchema of an index")
    if kinds[0] != "HASH" or kinds != sorted(kinds, key=lambda kind: kind != "HASH"):
        raise ValidationException(
            f"{INVALID}The KeySchema of a global secondary index must list its HASH attributes "
            "before its RANGE attributes"
        )
    for kind, name in (("HASH", "partition"), ("RANGE", "sort")):
        if kinds.count(kind) > INDEX_KEY_ATTRIBUTES:
            raise ValidationException(f"Too many {name} keys. GSI can have at most {INDEX_KEY_ATTRIBUTES} {name} keys")


def _check_local(
    indexes: list[SecondaryIndex], table: list[KeySchemaElement], defined: list[str], names: list[str]
) -> None:
    if not indexes:
        raise ValidationException(f"{INVALID}List of LocalSecondaryIndexes is empty")
    if len(indexes) > MANY_INDEXES:
        raise _too_many_local()
    if len(table) != 2:
        raise ValidationException(
            f"{INVALID}Table KeySchema does not have a range key, which is required when specifying a "
            "LocalSecondaryIndex"
        )
    for index in indexes:
        schema = index.key_schema or []
        _check_defined(schema, defined)
        check_schema(schema)
        if len(schema) != 2:
            raise ValidationException(
                f"{INVALID}Index KeySchema does not have a range key for index: {index.index_name}"
            )
        if schema[0].attribute_name != table[0].attribute_name:
            raise ValidationException(
                f"{INVALID}Index KeySchema does not have the same leading hash key as table KeySchema for index: "
                f"{index.index_name}. index hash key: {schema[0].attribute_name}, "
                f"table hash key: {table[0].attribute_name}"
            )
        check_projection(index)
        _check_name(index, names)
    if len(indexes) > LOCAL_INDEXES:
        raise _too_many_local()


def check_global(indexes: list[SecondaryIndex], defined: list[str], on_demand: bool, names: list[str]) -> None:
    if not indexes:
        raise ValidationException(f"{INVALID}List of GlobalSecondaryIndexes is empty")
    if len(indexes) > MANY_INDEXES:
        raise _too_many_global()
    for index in indexes:
        schema = index.key_schema or []
        _check_defined(schema, defined)
        _check_global_schema(schema)
        check_projection(index)
        if on_demand and index.provisioned_throughput is not None:
            raise ValidationException(
                f"{INVALID}ProvisionedThroughput should not be specified for index: {index.index_name} "
                "when BillingMode is PAY_PER_REQUEST"
            )
        if not on_demand and index.provisioned_throughput is None:
            raise ValidationException(f"{INVALID}ProvisionedThroughput must be specified for index: {index.index_name}")
        _check_name(index, names)
    if len(indexes) > GLOBAL_INDEXES:
        raise _too_many_global()


def _too_many_local() -> ValidationException:
    return ValidationException(f"{INVALID}Number of LocalSecondaryIndexes exceeds per-table limit of {LOCAL_INDEXES}")


def _too_many_global() -> ValidationException:
    return ValidationException(f"{INVALID}GlobalSecondaryIndex count exceeds the per-table limit of {GLOBAL_INDEXES}")


def check_projection(index: SecondaryIndex | VectorIndexDefinition) -> None:
    kind = index.projection.projection_type if index.projection else None
    if index.projection is None or kind is None:
        raise ValidationException(f"{INVALID}Unknown ProjectionType: null")
    listed = index.projection.non_key_attributes
    if listed is not None and kind != "INCLUDE":
        raise ValidationException(f"{INVALID}ProjectionType is {kind}, but NonKeyAttributes is specified")
    if listed is None and kind == "INCLUDE":
        raise ValidationException(f"{INVALID}ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    if listed is not None and len(set(listed)) != len(listed):
        raise ValidationException(f"{INVALID}Duplicate attribute in NonKeyAttributes of index: {index.index_name}")
    for name in listed or ():
        _check_length(name)


def _check_lengths(schema: list[KeySchemaElement]) -> None:
    for each in schema:
        _check_length(each.attribute_name or "")


def _check_length(name: str) -> None:
    if not name or (len(name) * 4 > KEY_NAME_BYTES and text_size(name) > KEY_NAME_BYTES):
        raise ValidationException(
            "Names of key attributes and attributes projected into an index must be between 1 and "
            f"{KEY_NAME_BYTES} characters, inclusive"
        )


def check_included(indexes: list[SecondaryIndex]) -> None:
    included = sum(len(each.projection.non_key_attributes or []) for each in indexes if each.projection)
    if included > INCLUDED_ATTRIBUTES:
        raise ValidationException(
            f"{INVALID}Number of NonKeyAttributes exceeds the per-table limit of {INCLUDED_ATTRIBUTES}"
        )


def _check_name(index: SecondaryIndex | VectorIndexDefinition, names: list[str]) -> None:
    name = index.index_name or ""
    if name in names:
        raise ValidationException(f"{INVALID}Duplicate index name: {name}")
    names.append(name)


def _check_unused(
    definitions: list[AttributeDefinition],
    schema: list[KeySchemaElement],
    indexes: list[SecondaryIndex],
    searched: list[SearchSchemaElement],
) -> None:
    used = {each.attribute_name for each in schema} | {each.attribute_name for each in searched}
    used |= {each.attribute_name for index in indexes for each in index.key_schema or []}
    if any(each.attribute_name not in used for each in definitions):
        raise ValidationException(
            f"{INVALID}Some AttributeDefinitions are not used. AttributeDefinitions: "
            f"[{', '.join(each.attribute_name or '' for each in definitions)}], "
            f"keys used: [{', '.join(sorted(name or '' for name in used))}]"
        )


def check_stream(enabled: bool | None, view_type: str | None) -> None:
    if enabled and view_type is None:
        raise ValidationException(f"{INVALID}StreamViewType must be specified when StreamEnabled is true")
    if not enabled and view_type is not None:
        raise ValidationException(f"{INVALID}StreamViewType can not be specified when StreamEnabled is false")
