"""Flows that create a design's tables, and change existing ones as far as DynamoDB allows it."""

from partita.design.tables import Table
from partita.dynamodb import requests as wire
from partita.dynamodb.exceptions import (
    ResourceInUseException,
    ResourceNotFoundException,
    UnknownOperationException,
    ValidationException,
)
from partita.dynamodb.shapes import TableDescription
from partita.plan.design import Design
from partita.plan.table_definitions import Difference, create_table, differences, settings
from partita.store.context import StoreContext
from partita.store.flows import Flow, Wait
from partita.store.retries import send_idempotent
from partita.store.table_names import actual_table

_POLL = Wait(0.5)


def create_tables(context: StoreContext, design: Design) -> Flow[list[Difference]]:
    """Creates missing tables, indexes and settings; returns the differences that DynamoDB does not allow to change."""
    left: list[Difference] = []
    for table in _actual_tables(context, design):
        try:
            yield from send_idempotent(context, create_table(table))
        except ResourceInUseException:
            left += yield from _adapt(context, table)
        yield from _active(context, table.name)
        for request in settings(table):
            try:
                yield from send_idempotent(context, request)
            except ValidationException as refusal:
                if "already" not in str(refusal):
                    raise
            except UnknownOperationException:  # DynamoDB Local and our own engine restore no tables
                unsupported = f"table {table.name}: {type(request).__name__} is not supported by this backend"
                left.append(Difference(unsupported, is_unsupported=True))
    return left


def table_differences(context: StoreContext, design: Design) -> Flow[list[Difference]]:
    """The differences between the design and the existing tables."""
    found: list[Difference] = []
    for table in _actual_tables(context, design):
        try:
            description = yield from _active(context, table.name)
        except ResourceNotFoundException:
            found.append(Difference(f"table {table.name} is missing", create_table(table)))
        else:
            found += differences(table, description)
    return found


def _actual_tables(context: StoreContext, design: Design) -> list[Table]:
    return [actual_table(context.table_names, table) for table in design.tables]


def _adapt(context: StoreContext, table: Table) -> Flow[list[Difference]]:
    left = []
    for difference in differences(table, (yield from _active(context, table.name))):
        if difference.request is None:
            left.append(difference)
            continue
        yield from send_idempotent(context, difference.request)
        yield from _active(context, table.name)
    return left


def _active(context: StoreContext, name: str) -> Flow[TableDescription]:
    """The table once it and all of its indexes can be used."""
    while True:
        reply = yield from send_idempotent(context, wire.DescribeTable(table_name=name))
        table = reply.table or TableDescription()
        states = {table.table_status, *(each.index_status for each in table.global_secondary_indexes or ())}
        if states <= {"ACTIVE", None}:
            return table
        yield _POLL
