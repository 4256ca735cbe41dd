"""The list of operations: the name on the wire, the request's class, and whether it writes."""

from dataclasses import dataclass
from typing import Any

from partita.dynamodb import requests as q
from partita.dynamodb import statement_shapes, stream_shapes, tag_shapes

_STREAMS = (
    stream_shapes.DescribeStream,
    stream_shapes.GetRecords,
    stream_shapes.GetShardIterator,
    stream_shapes.ListStreams,
)


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
    tag_shapes.DescribeEndpoints,
    tag_shapes.DescribeLimits,
    tag_shapes.ListTagsOfResource,
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
    tag_shapes.TagResource,
    tag_shapes.UntagResource,
    statement_shapes.BatchExecuteStatement,
    statement_shapes.ExecuteStatement,
    statement_shapes.ExecuteTransaction,
)

OPERATIONS: dict[str, Operation] = {
    request.__name__: Operation(request.__name__, request, request in _WRITES)
    for request in sorted(_READS + _WRITES, key=lambda each: each.__name__)
}

TARGETS: dict[str, str] = {operation.target: name for name, operation in OPERATIONS.items()}
