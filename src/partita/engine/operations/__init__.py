"""One file for each operation. A read is answered at once; a write is prepared first, then run in a transaction.

The module of an operation is imported when the operation is first requested: an engine in a short program starts with
the few that the program uses.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

from partita.dynamodb import backup_shapes, statement_shapes, stream_shapes, tag_shapes, transfer_shapes
from partita.dynamodb import requests as q
from partita.dynamodb.operations import READS, WRITES, RequestType, is_read
from partita.engine.context import EngineContext, Job

Handler: TypeAlias = Callable[[EngineContext, Any], Any]

HANDLERS: dict[RequestType, str] = {
    q.BatchGetItem: "batch_get_item.batch_get_item",
    q.BatchWriteItem: "batch_write_item.batch_write_item",
    q.CreateTable: "create_table.create_table",
    q.DeleteItem: "delete_item.delete_item",
    q.DeleteTable: "delete_table.delete_table",
    q.DescribeContinuousBackups: "continuous_backups.describe_continuous_backups",
    q.DescribeTable: "describe_table.describe_table",
    q.DescribeTimeToLive: "time_to_live.describe_time_to_live",
    q.GetItem: "get_item.get_item",
    q.ListTables: "list_tables.list_tables",
    q.PutItem: "put_item.put_item",
    q.Query: "query.query",
    q.Scan: "scan.scan",
    q.SearchVectors: "search_vectors.search_vectors",
    q.TransactGetItems: "transact_get_items.transact_get_items",
    q.TransactWriteItems: "transact_write_items.transact_write_items",
    q.UpdateContinuousBackups: "continuous_backups.update_continuous_backups",
    q.UpdateItem: "update_item.update_item",
    q.UpdateTable: "update_table.update_table",
    q.UpdateTimeToLive: "time_to_live.update_time_to_live",
    backup_shapes.CreateBackup: "backup_requests.create_backup",
    backup_shapes.DeleteBackup: "backup_requests.delete_backup",
    backup_shapes.DescribeBackup: "backup_requests.describe_backup",
    backup_shapes.ListBackups: "backup_requests.list_backups",
    backup_shapes.RestoreTableFromBackup: "backup_requests.restore_from_backup",
    backup_shapes.RestoreTableToPointInTime: "restore_table.restore_to_point_in_time",
    statement_shapes.BatchExecuteStatement: "batch_execute_statement.batch_write",
    statement_shapes.ExecuteStatement: "execute_statement.execute_write",
    statement_shapes.ExecuteTransaction: "execute_transaction.transaction_write",
    stream_shapes.DescribeStream: "describe_stream.describe_stream",
    stream_shapes.GetRecords: "get_records.get_records",
    stream_shapes.GetShardIterator: "get_shard_iterator.get_shard_iterator",
    stream_shapes.ListStreams: "list_streams.list_streams",
    tag_shapes.DescribeEndpoints: "describe_account.describe_endpoints",
    tag_shapes.DescribeLimits: "describe_account.describe_limits",
    tag_shapes.ListTagsOfResource: "tags.list_tags_of_resource",
    tag_shapes.TagResource: "tags.tag_resource",
    tag_shapes.UntagResource: "tags.untag_resource",
    transfer_shapes.CancelBulkOperation: "bulk_operations.cancel_bulk_operation",
    transfer_shapes.DescribeBulkOperation: "bulk_operations.describe_bulk_operation",
    transfer_shapes.DescribeExport: "export_table.describe_export",
    transfer_shapes.DescribeImport: "import_table.describe_import",
    transfer_shapes.ExportTableToPointInTime: "export_table.export_to_point_in_time",
    transfer_shapes.ImportTable: "import_table.import_table",
    transfer_shapes.ListBulkOperations: "bulk_operations.list_bulk_operations",
    transfer_shapes.ListExports: "export_table.list_exports",
    transfer_shapes.ListImports: "import_table.list_imports",
    transfer_shapes.StartBulkPutItems: "bulk_operations.start_bulk_put_items",
}
"""The module and function that answer each operation; the function of a write returns a `Job`, run in a transaction."""

_SELECTS: dict[RequestType, str] = {
    statement_shapes.BatchExecuteStatement: "batch_execute_statement.batch_select",
    statement_shapes.ExecuteStatement: "execute_statement.execute_select",
    statement_shapes.ExecuteTransaction: "execute_transaction.transaction_select",
}
"""How PartiQL is answered when all of its statements are SELECTs."""


def _loading(handlers: dict[RequestType, Handler], request_type: RequestType, path: str) -> Handler:
    """A handler that imports the real one, puts it in its own place, and calls it."""

    def load_and_answer(context: EngineContext, request: Any) -> Any:
        module, _, function = path.partition(".")
        handler: Handler = getattr(import_module(f"partita.engine.operations.{module}"), function)
        handlers[request_type] = handler
        return handler(context, request)

    return load_and_answer


def _handlers(paths: dict[RequestType, str]) -> dict[RequestType, Handler]:
    handlers: dict[RequestType, Handler] = {}
    for request_type, path in paths.items():
        handlers[request_type] = _loading(handlers, request_type, path)
    return handlers


READERS = _handlers({request: HANDLERS[request] for request in READS})
WRITERS: dict[RequestType, Callable[[EngineContext, Any], Job]] = _handlers(
    {request: HANDLERS[request] for request in WRITES}
)
_SELECT_READERS = _handlers(_SELECTS)


def select_reader(request: Any) -> Handler | None:
    """The handler of a PartiQL request that only reads; None for all other requests."""
    select = _SELECT_READERS.get(type(request))
    return select if select is not None and is_read(request) else None
