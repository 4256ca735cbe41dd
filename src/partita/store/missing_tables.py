"""Names the table that does not exist: the backend's ResourceNotFoundException may not."""

from typing import Any

from partita.dynamodb import requests as wire
from partita.dynamodb.exceptions import ResourceNotFoundException
from partita.dynamodb.operations import ITEM_WRITES
from partita.dynamodb.request_tables import tables_of
from partita.errors import TableNotFound
from partita.store.flows import Flow

_ON_ITEMS = ITEM_WRITES | {wire.GetItem, wire.Query, wire.Scan, wire.SearchVectors}
_ON_ITEMS |= {wire.BatchGetItem, wire.TransactGetItems}


def raise_table_not_found(request: wire.Request[Any], error: ResourceNotFoundException) -> Flow[None]:
    """Raises TableNotFound where a request on items failed because a table of it does not exist."""
    tables = tables_of(request) if type(request) in _ON_ITEMS else []
    for table in tables:
        if len(tables) == 1 or not (yield from _exists(table)):
            raise TableNotFound(table) from error


def _exists(table: str) -> Flow[bool]:
    try:
        yield wire.DescribeTable(table_name=table)
    except ResourceNotFoundException:
        return False
    return True
