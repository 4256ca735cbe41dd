"""One file an operation. A read answers at once; a write is prepared first and run inside a transaction."""

from collections.abc import Callable
from typing import Any

from partita.dynamodb import requests as q
from partita.dynamodb import statement_shapes, stream_shapes, tag_shapes
from partita.engine.context import EngineContext, Job
from partita.engine.operations.batch_execute_statement import batch_select, batch_write
from partita.engine.operations.batch_get_item import batch_get_item
from partita.engine.operations.batch_write_item import batch_write_item
from partita.engine.operations.continuous_backups import describe_continuous_backups, update_continuous_backups
from partita.engine.operations.create_table import create_table
from partita.engine.operations.delete_item import delete_item
from partita.engine.operations.delete_table import delete_table
from partita.engine.operations.describe_account import describe_endpoints, describe_limits
from partita.engine.operations.describe_stream import describe_stream
from partita.engine.operations.describe_table import describe_table
from partita.engine.operations.execute_statement import execute_select, execute_write
from partita.engine.operations.execute_transaction import transaction_select, transaction_write
from partita.engine.operations.get_item import get_item
from partita.engine.operations.get_records import get_records
from partita.engine.operations.get_shard_iterator import get_shard_iterator
from partita.engine.operations.list_streams import list_streams
from partita.engine.operations.list_tables import list_tables
from partita.engine.operations.put_item import put_item
from partita.engine.operations.query import query
from partita.engine.operations.scan import scan
from partita.engine.operations.tags import list_tags_of_resource, tag_resource, untag_resource
from partita.engine.operations.time_to_live import describe_time_to_live, update_time_to_live
from partita.engine.operations.transact_get_items import transact_get_items
from partita.engine.operations.transact_write_items import transact_write_items
from partita.engine.operations.update_item import update_item
from partita.engine.operations.update_table import update_table

READS: dict[type, Callable[[EngineContext, Any], Any]] = {
    q.BatchGetItem: batch_get_item,
    q.DescribeContinuousBackups: describe_continuous_backups,
    q.DescribeTable: describe_table,
    q.DescribeTimeToLive: describe_time_to_live,
    q.GetItem: get_item,
    q.ListTables: list_tables,
    q.Query: query,
    q.Scan: scan,
    q.TransactGetItems: transact_get_items,
    tag_shapes.DescribeEndpoints: describe_endpoints,
    tag_shapes.DescribeLimits: describe_limits,
    tag_shapes.ListTagsOfResource: list_tags_of_resource,
    stream_shapes.DescribeStream: describe_stream,
    stream_shapes.GetRecords: get_records,
    stream_shapes.GetShardIterator: get_shard_iterator,
    stream_shapes.ListStreams: list_streams,
}

SELECTS: dict[type, Callable[[EngineContext, Any], Any]] = {
    statement_shapes.BatchExecuteStatement: batch_select,
    statement_shapes.ExecuteStatement: execute_select,
    statement_shapes.ExecuteTransaction: transaction_select,
}
"""How a request of PartiQL is read when all of its statements are SELECTs."""


def selecting(request: Any) -> Callable[[EngineContext, Any], Any] | None:
    """How a request of PartiQL is answered without writing; None: it writes, or is no such request."""
    found = SELECTS.get(type(request))
    return found if found is not None and statement_shapes.only_selects(request) else None


WRITES: dict[type, Callable[[EngineContext, Any], Job]] = {
    q.BatchWriteItem: batch_write_item,
    q.CreateTable: create_table,
    q.DeleteItem: delete_item,
    q.DeleteTable: delete_table,
    q.PutItem: put_item,
    q.TransactWriteItems: transact_write_items,
    q.UpdateContinuousBackups: update_continuous_backups,
    q.UpdateItem: update_item,
    q.UpdateTable: update_table,
    q.UpdateTimeToLive: update_time_to_live,
    tag_shapes.TagResource: tag_resource,
    tag_shapes.UntagResource: untag_resource,
    statement_shapes.BatchExecuteStatement: batch_write,
    statement_shapes.ExecuteStatement: execute_write,
    statement_shapes.ExecuteTransaction: transaction_write,
}
