"""The tables that a request names, and a request with other table names.

>>> from partita.dynamodb.requests import GetItem
>>> tables_of(GetItem(table_name="shop", key={"pk": {"S": "1"}}))
['shop']
>>> with_table_names(GetItem(table_name="shop"), lambda name: f"prod-{name}").table_name
'prod-shop'
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec

from partita.dynamodb.requests import (
    BatchGetItem,
    BatchWriteItem,
    Request,
    TransactGetItem,
    TransactGetItems,
    TransactWriteItem,
    TransactWriteItems,
)

Reply = TypeVar("Reply")


def tables_of(request: Request[Any]) -> list[str]:
    """The names of a request's tables, each once, in the order of the request."""
    if isinstance(request, BatchGetItem | BatchWriteItem):
        return list(request.request_items or ())
    if isinstance(request, TransactGetItems | TransactWriteItems):
        names = (action.table_name for item in request.transact_items or () for _, action in _actions(item))
        return list(dict.fromkeys(name for name in names if name is not None))
    name = getattr(request, "table_name", None)
    return [] if name is None else [name]


def with_table_names(request: Request[Reply], rename: Callable[[str], str]) -> Request[Reply]:
    """A copy of a request whose tables have the names that `rename` gives them."""
    changes: dict[str, Any]
    if isinstance(request, BatchGetItem | BatchWriteItem):
        changes = {"request_items": {rename(name): asked for name, asked in (request.request_items or {}).items()}}
    elif isinstance(request, TransactGetItems | TransactWriteItems):
        changes = {"transact_items": [_renamed(item, rename) for item in request.transact_items or ()]}
    else:
        name = getattr(request, "table_name", None)
        changes = {} if name is None else {"table_name": rename(name)}
    return msgspec.structs.replace(request, **changes)


def _actions(item: TransactGetItem | TransactWriteItem) -> Iterator[tuple[str, Any]]:
    """The actions of one entry of a transaction, each with the member that holds it."""
    for field in item.__struct_fields__:
        action = getattr(item, field)
        if action is not None:
            yield field, action


def _renamed(item: Any, rename: Callable[[str], str]) -> Any:
    actions = {
        field: msgspec.structs.replace(action, table_name=rename(action.table_name)) for field, action in _actions(item)
    }
    return msgspec.structs.replace(item, **actions)
