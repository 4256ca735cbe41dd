"""The list of operations: the name on the wire, the request's class, and whether it writes."""

from dataclasses import dataclass
from typing import Any

from partita.wire import requests as q


@dataclass(frozen=True, slots=True)
class Operation:
    """`writes` is true where the operation changes anything, a table's settings included."""

    name: str
    request: type[q.Request[Any]]
    writes: bool


_READS: tuple[type[q.Request[Any]], ...] = (
    q.BatchGetItem,
    q.DescribeContinuousBackups,
    q.DescribeTable,
    q.DescribeTimeToLive,
    q.GetItem,
    q.ListTables,
    q.Query,
    q.Scan,
    q.TransactGetItems,
)

_WRITES: tuple[type[q.Request[Any]], ...] = (
    q.BatchWriteItem,
    q.CreateTable,
    q.DeleteItem,
    q.DeleteTable,
    q.PutItem,
    q.TransactWriteItems,
    q.UpdateContinuousBackups,
    q.UpdateItem,
    q.UpdateTable,
    q.UpdateTimeToLive,
)

OPERATIONS: dict[str, Operation] = {
    request.__name__: Operation(request.__name__, request, request in _WRITES)
    for request in sorted(_READS + _WRITES, key=lambda each: each.__name__)
}
