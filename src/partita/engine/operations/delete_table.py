"""DeleteTable: deletes a table and its indexes, unless it is protected; its streams can be read for another day.

A table with point-in-time recovery leaves a backup for 35 days.
"""

from msgspec.structs import replace

from partita.dynamodb.exceptions import ResourceInUseException, ResourceNotFoundException, ValidationException
from partita.dynamodb.requests import DeleteTable
from partita.dynamodb.responses import DeleteTableOutput
from partita.dynamodb.shapes import TableDescription
from partita.engine.catalog import name_of
from partita.engine.change_log import last_number
from partita.engine.constraints import check_members
from partita.engine.context import EngineContext, Job
from partita.engine.operations.describe_table import describe
from partita.engine.schema import StoredTable, TableRecord
from partita.engine.table_backups import SYSTEM_BACKUP_SECONDS, BackupRecord, save_backup
from partita.engine.transfers import new_id
from partita.storage.contract import StorageTransaction


def delete_table(context: EngineContext, request: DeleteTable) -> Job:
    check_members(request)

    def job(txn: StorageTransaction) -> DeleteTableOutput:
        failed = context.write_catalog.restoring.get(name_of(request.table_name or ""))
        if failed is not None and failed.record.restore is not None and failed.record.restore.error is not None:
            described = _describe_deleted(context, txn, failed)
            context.write_catalog.save(txn, None, failed.record)
            return DeleteTableOutput(table_description=described)
        context.check_not_restoring(request.table_name)
        try:
            table = context.table_for_update(request.table_name)
        except ResourceNotFoundException:
            raise ResourceNotFoundException(
                f"Requested resource not found: Table: {request.table_name} not found"
            ) from None
        if table.record.deletion_protection:
            raise ValidationException(
                "Resource cannot be deleted as it is currently protected against deletion. "
                "Disable deletion protection first."
            )
        if table.record.snapshots:
            raise ResourceInUseException(
                "Attempt to change a resource which is still in use: "
                f"A backup or restore of the table is in progress: {table.name}"
            )
        described = _describe_deleted(context, txn, table)
        record = _with_closed_stream(context, txn, table)
        if record.recovery is not None:
            save_backup(txn, _system_backup(context, txn, record))
        context.write_catalog.delete(txn, record, keeps_items=record.recovery is not None)
        return DeleteTableOutput(table_description=described)

    return job


def _system_backup(context: EngineContext, txn: StorageTransaction, record: TableRecord) -> BackupRecord:
    """The backup that a table with point-in-time recovery leaves (Developer Guide, "Point-in-time recovery")."""
    now, totals = context.clock(), txn.totals(record.space)
    return BackupRecord(
        id=new_id(now),
        name=f"{record.name}$DeletedTableBackup",
        type="SYSTEM",
        created=now,
        expires=now + SYSTEM_BACKUP_SECONDS,
        table=record,
        items=totals.rows,
        size=totals.weight,
        space=record.space,
        stored=totals.weight,
    )


def _describe_deleted(context: EngineContext, txn: StorageTransaction, table: StoredTable) -> TableDescription:
    """The few members that DynamoDB returns of a table that is being deleted (API reference, DeleteTable)."""
    whole = describe(context, txn, table, "DELETING")
    return TableDescription(
        table_name=whole.table_name,
        table_status=whole.table_status,
        provisioned_throughput=whole.provisioned_throughput,
        table_size_bytes=0,
        item_count=0,
        table_arn=whole.table_arn,
        table_id=whole.table_id,
        billing_mode_summary=whole.billing_mode_summary,
        table_class_summary=whole.table_class_summary,
        deletion_protection_enabled=whole.deletion_protection_enabled,
    )


def _with_closed_stream(context: EngineContext, txn: StorageTransaction, table: StoredTable) -> TableRecord:
    """The record of the table with its stream closed."""
    if table.stream is None:
        return table.record
    closed = replace(table.stream, closed=last_number(txn, table), closed_at=context.clock())
    return replace(table.record, streams=[*table.record.streams[:-1], closed])
