"""The list of operations: the name on the wire, the request's class, and whether it writes."""

from dataclasses import dataclass
from typing import Any

from partita.wire import requests as q
from partita.wire import resources, statements, streams

_STREAMS = (streams.DescribeStream, streams.GetRecords, streams.GetShardIterator, streams.ListStreams)


@dataclass(frozen=True, slots=True)
class Operation:
    """`writes` is true where the operation changes anything, a table's settings included."""

    name: str
    request: type[q.Request[Any]]
    writes: bool

    @property
    def target(self) -> str:
        """The `X-Amz-Target` of a request; the streams' operations are a service of their own."""
        service = "DynamoDBStreams_20120810" if self.request in _STREAMS else "DynamoDB_20120810"
        return f"{service}.{self.name}"


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
    resources.DescribeEndpoints,
    resources.DescribeLimits,
    resources.ListTagsOfResource,
    *_STREAMS,
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
    resources.TagResource,
    resources.UntagResource,
    statements.BatchExecuteStatement,
    statements.ExecuteStatement,
    statements.ExecuteTransaction,
)

OPERATIONS: dict[str, Operation] = {
    request.__name__: Operation(request.__name__, request, request in _WRITES)
    for request in sorted(_READS + _WRITES, key=lambda each: each.__name__)
}

TARGETS: dict[str, str] = {operation.target: name for name, operation in OPERATIONS.items()}
