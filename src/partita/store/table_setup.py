"""Flows that create a design's tables, and change existing ones as far as DynamoDB allows it."""

from partita.design.tables import Table
from partita.dynamodb import requests as wire
from partita.dynamodb.exceptions import (
    ResourceInUseException,
    ResourceNotFoundException,
    SerializationException,
    UnknownOperationException,
    UnlistedError,
    ValidationException,
)
from partita.dynamodb.shapes import TableDescription
from partita.plan.design import Design
from partita.plan.table_definitions import (
    Difference,
    create_table,
    differences,
    settings,
    without_vector_indexes,
)
from partita.store.context import StoreContext
from partita.store.flows import Flow, Wait
from partita.store.retries import send_idempotent
from partita.store.table_names import actual_table

_POLL = Wait(0.5)


def create_tables(context: StoreContext, design: Design) -> Flow[list[Difference]]:
    """Creates missing tables, indexes and settings; returns the differences that DynamoDB does not allow to change."""
    from partita.store.design_records import check_recorded_design, record_public_design

    left: list[Difference] = []
    created: list[str] = []
    for declared, table in zip(design.tables, _actual_tables(context, design), strict=True):
        try:
            left += yield from _create(context, table)
            created.append(declared.name)
        except ResourceInUseException:
            yield from check_recorded_design(context, design, declared)
            left += yield from _adapt(context, table)
        left += yield from activate(context, table)
    if created:
        yield from record_public_design(context, design, created)
    return left


def activate(context: StoreContext, table: Table) -> Flow[list[Difference]]:
    """Waits for a table and makes its settings; returns those that the backend does not have."""
    yield from active_table(context, table.name)
    return (yield from make_settings(context, table))


def make_settings(context: StoreContext, table: Table) -> Flow[list[Difference]]:
    """Makes the settings of a table that can be used; returns those that the backend does not have."""
    left: list[Difference] = []
    for request in settings(table):
        try:
            yield from send_idempotent(context, request)
        except ValidationException as refusal:
            if "already" not in str(refusal):
                raise
        except UnknownOperationException:  # DynamoDB Local restores no tables
            unsupported = f"table {table.name}: {type(request).__name__} is not supported by this backend"
            left.append(Difference(unsupported, is_unsupported=True))
    return left


def _create(context: StoreContext, table: Table) -> Flow[list[Difference]]:
    """Creates a table; without its vector indexes, and with a difference that says so, where a backend has none."""
    rejection: Exception | None = None
    try:
        yield from send_idempotent(context, create_table(table))
    except (ValidationException, SerializationException, UnlistedError) as error:
        # A backend that ignores the member, or does not know it, says that nothing uses the search attributes, or so.
        if not table.vector_indexes or "vector" in str(error).lower().replace("vectorindexes", ""):
            raise
        yield from send_idempotent(context, without_vector_indexes(table))
        rejection = error
    if not table.vector_indexes:
        return []
    description = yield from active_table(context, table.name)
    if rejection is None and description.vector_indexes:
        return []
    return [Difference(f"table {table.name}: this backend has no vector indexes", is_unsupported=True)]


def table_differences(context: StoreContext, design: Design) -> Flow[list[Difference]]:
    """The differences between the design and the existing tables."""
    found: list[Difference] = []
    for table in _actual_tables(context, design):
        try:
            description = yield from active_table(context, table.name)
        except ResourceNotFoundException:
            found.append(Difference(f"table {table.name} is missing", create_table(table)))
        else:
            found += differences(table, description)
    return found


def _actual_tables(context: StoreContext, design: Design) -> list[Table]:
    return [actual_table(context.table_names, table) for table in design.tables]


def _adapt(context: StoreContext, table: Table) -> Flow[list[Difference]]:
    left = []
    for difference in differences(table, (yield from active_table(context, table.name))):
        if difference.request is None:
            left.append(difference)
            continue
        yield from send_idempotent(context, difference.request)
        yield from active_table(context, table.name)
    return left


def active_table(context: StoreContext, name: str) -> Flow[TableDescription]:
    """The table once it and all of its indexes can be used."""
    while True:
        reply = yield from send_idempotent(context, wire.DescribeTable(table_name=name))
        table = reply.table or TableDescription()
        indexes = (*(table.global_secondary_indexes or ()), *(table.vector_indexes or ()))
        states = {table.table_status, *(each.index_status for each in indexes)}
        if states <= {"ACTIVE", None}:
            return table
        yield _POLL
