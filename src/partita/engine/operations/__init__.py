"""One file for each operation. A read is answered at once; a write is prepared first, then run in a transaction."""

from collections.abc import Callable
from typing import Any, TypeAlias

from partita.dynamodb import requests as q
from partita.dynamodb import statement_shapes, stream_shapes, tag_shapes
from partita.dynamodb.operations import READS, WRITES, RequestType, is_read
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

Handler: TypeAlias = Callable[[EngineContext, Any], Any]

HANDLERS: dict[RequestType, Handler] = {
    q.BatchGetItem: batch_get_item,
    q.BatchWriteItem: batch_write_item,
    q.CreateTable: create_table,
    q.DeleteItem: delete_item,
    q.DeleteTable: delete_table,
    q.DescribeContinuousBackups: describe_continuous_backups,
    q.DescribeTable: describe_table,
    q.DescribeTimeToLive: describe_time_to_live,
    q.GetItem: get_item,
    q.ListTables: list_tables,
    q.PutItem: put_item,
    q.Query: query,
    q.Scan: scan,
    q.TransactGetItems: transact_get_items,
    q.TransactWriteItems: transact_write_items,
    q.UpdateContinuousBackups: update_continuous_backups,
    q.UpdateItem: update_item,
    q.UpdateTable: update_table,
    q.UpdateTimeToLive: update_time_to_live,
    statement_shapes.BatchExecuteStatement: batch_write,
    statement_shapes.ExecuteStatement: execute_write,
    statement_shapes.ExecuteTransaction: transaction_write,
    stream_shapes.DescribeStream: describe_stream,
    stream_shapes.GetRecords: get_records,
    stream_shapes.GetShardIterator: get_shard_iterator,
    stream_shapes.ListStreams: list_streams,
    tag_shapes.DescribeEndpoints: describe_endpoints,
    tag_shapes.DescribeLimits: describe_limits,
    tag_shapes.ListTagsOfResource: list_tags_of_resource,
    tag_shapes.TagResource: tag_resource,
    tag_shapes.UntagResource: untag_resource,
}
"""How each operation is answered; a write gives a `Job` to run in a transaction."""

_SELECTS: dict[RequestType, Handler] = {
    statement_shapes.BatchExecuteStatement: batch_select,
    statement_shapes.ExecuteStatement: execute_select,
    statement_shapes.ExecuteTransaction: transaction_select,
}
"""How PartiQL is answered when all of its statements are SELECTs."""

READERS = {request: HANDLERS[request] for request in READS}
WRITERS: dict[RequestType, Callable[[EngineContext, Any], Job]] = {request: HANDLERS[request] for request in WRITES}


def select_reader(request: Any) -> Handler | None:
    """The handler of a PartiQL request that only reads; None for all other requests."""
    select = _SELECTS.get(type(request))
    return select if select is not None and is_read(request) else None
