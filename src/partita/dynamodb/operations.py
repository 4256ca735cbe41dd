"""The operations: wire name, request class, and the only list of which of them read and which write."""

from typing import Any, TypeAlias

import msgspec

from partita.dynamodb import backup_shapes, statement_shapes, stream_shapes, tag_shapes, transfer_shapes
from partita.dynamodb import requests as q

RequestType: TypeAlias = type[q.Request[Any]]

_STREAMS: frozenset[RequestType] = frozenset(
    {
        stream_shapes.DescribeStream,
        stream_shapes.GetRecords,
        stream_shapes.GetShardIterator,
        stream_shapes.ListStreams,
    }
)

READS: frozenset[RequestType] = _STREAMS | {
    q.BatchGetItem,
    q.DescribeContinuousBackups,
    q.DescribeTable,
    q.DescribeTimeToLive,
    q.GetItem,
    q.ListTables,
    q.Query,
    q.Scan,
    q.SearchVectors,
    q.TransactGetItems,
    backup_shapes.DescribeBackup,
    backup_shapes.ListBackups,
    tag_shapes.DescribeEndpoints,
    tag_shapes.DescribeLimits,
    tag_shapes.ListTagsOfResource,
    transfer_shapes.DescribeBulkOperation,
    transfer_shapes.DescribeExport,
    transfer_shapes.DescribeImport,
    transfer_shapes.ListBulkOperations,
    transfer_shapes.ListExports,
    transfer_shapes.ListImports,
}

STATEMENTS: frozenset[RequestType] = frozenset(
    {
        statement_shapes.BatchExecuteStatement,
        statement_shapes.ExecuteStatement,
        statement_shapes.ExecuteTransaction,
    }
)
"""PartiQL: these read or write, depending on their statements (`is_read`)."""

ITEM_WRITES: frozenset[RequestType] = STATEMENTS | {
    q.BatchWriteItem,
    q.DeleteItem,
    q.PutItem,
    q.TransactWriteItems,
    q.UpdateItem,
}
"""Operations that may change items, and nothing else."""

WRITES: frozenset[RequestType] = ITEM_WRITES | {
    q.CreateTable,
    q.DeleteTable,
    q.UpdateContinuousBackups,
    q.UpdateTable,
    q.UpdateTimeToLive,
    backup_shapes.CreateBackup,
    backup_shapes.DeleteBackup,
    backup_shapes.RestoreTableFromBackup,
    backup_shapes.RestoreTableToPointInTime,
    tag_shapes.TagResource,
    tag_shapes.UntagResource,
    transfer_shapes.CancelBulkOperation,
    transfer_shapes.ExportTableToPointInTime,
    transfer_shapes.ImportTable,
    transfer_shapes.StartBulkPutItems,
}
"""Operations that may change something, including a table's settings."""


def is_read(request: q.Request[Any]) -> bool:
    """Whether a request cannot change anything; PartiQL is decided by its statements."""
    kind = type(request)
    return kind in READS or (kind in STATEMENTS and statement_shapes.only_selects(request))


class Operation(msgspec.Struct, frozen=True):
    """`writes` is true where the operation may change something, including a table's settings."""

    name: str
    request: RequestType
    writes: bool

    @property
    def target(self) -> str:
        """The `X-Amz-Target` header of a request; DynamoDB Streams is a service of its own."""
        service = "DynamoDBStreams_20120810" if self.request in _STREAMS else "DynamoDB_20120810"
        return f"{service}.{self.name}"


OPERATIONS: dict[str, Operation] = {
    request.__name__: Operation(request.__name__, request, request in WRITES)
    for request in sorted(READS | WRITES, key=lambda each: each.__name__)
}

TARGETS: dict[str, str] = {operation.target: name for name, operation in OPERATIONS.items()}
"""From the `X-Amz-Target` header to the operation's name."""
