"""CreateBackup, DescribeBackup, ListBackups, DeleteBackup and RestoreTableFromBackup."""

from collections.abc import Iterator

from msgspec.structs import replace

from partita.dynamodb.backup_shapes import (
    BackupDescription,
    BackupDetails,
    BackupOutput,
    BackupSummary,
    CreateBackup,
    CreateBackupOutput,
    DeleteBackup,
    DescribeBackup,
    ListBackups,
    ListBackupsOutput,
    RestoreOutput,
    RestoreTableFromBackup,
    SourceTableDetails,
    SourceTableFeatureDetails,
)
from partita.dynamodb.exceptions import (
    BackupInUseException,
    BackupNotFoundException,
    TableInUseException,
    TableNotFoundException,
)
from partita.dynamodb.limits import BACKUP_LIST
from partita.dynamodb.shapes import (
    ProvisionedThroughput,
    SecondaryIndex,
    SSEDescription,
    StreamSpecification,
    TimeToLiveDescription,
    VectorAttribute,
    VectorIndexDefinition,
)
from partita.engine.catalog import name_of
from partita.engine.constraints import check_members
from partita.engine.context import EngineContext, Job
from partita.engine.operations.restore_table import check_target, create_target
from partita.engine.schema import IndexRecord, RestoreRecord, SnapshotRecord, StoredTable, TableRecord
from partita.engine.table_backups import (
    BackupRecord,
    backup_arn,
    backups,
    drop_backup,
    find_backup,
    save_backup,
)
from partita.engine.transfers import new_id
from partita.storage.contract import Reader, StorageTransaction


def create_backup(context: EngineContext, request: CreateBackup) -> Job:
    check_members(request)
    name = name_of(request.table_name or "")

    def job(txn: StorageTransaction) -> CreateBackupOutput:
        table = _source(context, name)
        now, totals = context.clock(), txn.totals(table.space)
        space, saved = context.write_catalog.new_spaces(txn, 2)
        backup = BackupRecord(
            id=new_id(now),
            name=request.backup_name or "",
            type="USER",
            created=now,
            table=replace(table.record, snapshots=[]),
            items=totals.rows,
            size=totals.weight,
            space=space,
        )
        save_backup(txn, backup)
        snapshots = [*table.record.snapshots, SnapshotRecord(saved=saved, backup=backup.id)]
        context.write_catalog.save(txn, replace(table.record, snapshots=snapshots), table.record)
        return CreateBackupOutput(backup_details=_details(context, backup))

    return job


def _source(context: EngineContext, name: str) -> StoredTable:
    if name in context.write_catalog.restoring:
        raise TableInUseException(f"Table is being created: {name}")
    table = context.write_catalog.tables.get(name)
    if table is None:
        raise TableNotFoundException(f"Table not found: {name}")
    if any(each.backup is not None for each in table.record.snapshots):
        raise BackupInUseException(f"A backup of the table is being created: {name}")
    return table


def describe_backup(context: EngineContext, request: DescribeBackup) -> BackupOutput:
    check_members(request)
    return BackupOutput(
        backup_description=_description(context, _existing_backup(context, context.storage, request.backup_arn))
    )


def delete_backup(context: EngineContext, request: DeleteBackup) -> Job:
    check_members(request)

    def job(txn: StorageTransaction) -> BackupOutput:
        backup = _available(context, txn, request.backup_arn)
        restoring = (each.record.restore for each in context.write_catalog.restoring.values())
        if any(each is not None and each.backup == request.backup_arn and not each.error for each in restoring):
            raise BackupInUseException(f"Backup is being restored to a table: {request.backup_arn}")
        drop_backup(txn, backup)
        described = _description(context, backup)
        described.backup_details = _details(context, backup, "DELETED")
        return BackupOutput(backup_description=described)

    return job


def restore_from_backup(context: EngineContext, request: RestoreTableFromBackup) -> Job:
    check_members(request)

    def job(txn: StorageTransaction) -> RestoreOutput:
        backup = _available(context, txn, request.backup_arn)
        check_target(context, request.target_table_name or "")
        restore = RestoreRecord(
            at=context.clock(),
            source=backup.table.name,
            source_arn=context.table_arn(backup.table.name),
            backup=request.backup_arn,
        )
        return create_target(context, txn, request, backup.table, restore)

    return job


def _existing_backup(context: EngineContext, reader: Reader, arn: str | None) -> BackupRecord:
    backup = find_backup(context, reader, arn)
    if backup is None:
        raise BackupNotFoundException(f"Backup not found: {arn}")
    return backup


def _available(context: EngineContext, txn: StorageTransaction, arn: str | None) -> BackupRecord:
    backup = _existing_backup(context, txn, arn)
    if not backup.is_available:
        raise BackupInUseException(f"Backup is being created: {arn}")
    return backup


def list_backups(context: EngineContext, request: ListBackups) -> ListBackupsOutput:
    check_members(request)
    limit = request.limit or BACKUP_LIST
    start = (request.exclusive_start_backup_arn or "").rpartition("/backup/")[2]
    page: list[BackupRecord] = []
    for backup in backups(context.storage, start):
        if not _is_listed(request, backup):
            continue
        if len(page) == limit:
            last = backup_arn(context, page[-1])
            return ListBackupsOutput(backup_summaries=_summaries(context, page), last_evaluated_backup_arn=last)
        page.append(backup)
    return ListBackupsOutput(backup_summaries=_summaries(context, page))


def _is_listed(request: ListBackups, backup: BackupRecord) -> bool:
    if request.table_name is not None and name_of(request.table_name) != backup.table.name:
        return False
    if request.time_range_lower_bound is not None and backup.created < request.time_range_lower_bound:
        return False
    if request.time_range_upper_bound is not None and backup.created >= request.time_range_upper_bound:
        return False
    wanted = request.backup_type or "USER"
    return wanted in ("ALL", backup.type)


def _summaries(context: EngineContext, page: list[BackupRecord]) -> list[BackupSummary]:
    return [
        BackupSummary(
            table_name=each.table.name,
            table_id=each.table.id,
            table_arn=context.table_arn(each.table.name),
            backup_arn=backup_arn(context, each),
            backup_name=each.name,
            backup_creation_date_time=each.created,
            backup_expiry_date_time=each.expires,
            backup_status="AVAILABLE" if each.is_available else "CREATING",
            backup_type=each.type,
            backup_size_bytes=each.size,
        )
        for each in page
    ]


def _details(context: EngineContext, backup: BackupRecord, status: str | None = None) -> BackupDetails:
    return BackupDetails(
        backup_arn=backup_arn(context, backup),
        backup_name=backup.name,
        backup_size_bytes=backup.size,
        backup_status=status or ("AVAILABLE" if backup.is_available else "CREATING"),
        backup_type=backup.type,
        backup_creation_date_time=backup.created,
        backup_expiry_date_time=backup.expires,
    )


def _description(context: EngineContext, backup: BackupRecord) -> BackupDescription:
    table = backup.table
    units = table.throughput or ProvisionedThroughput(read_capacity_units=0, write_capacity_units=0)
    return BackupDescription(
        backup_details=_details(context, backup),
        source_table_details=SourceTableDetails(
            table_name=table.name,
            table_id=table.id,
            table_arn=context.table_arn(table.name),
            table_size_bytes=backup.size,
            key_schema=table.key_schema,
            table_creation_date_time=table.created,
            provisioned_throughput=units,
            on_demand_throughput=table.on_demand,
            item_count=backup.items,
            billing_mode=table.billing_mode,
        ),
        source_table_feature_details=_features(table),
    )


def _features(table: TableRecord) -> SourceTableFeatureDetails:
    stream = StoredTable(table).stream
    return SourceTableFeatureDetails(
        local_secondary_indexes=list(_index_infos(table.indexes, is_global=False)) or None,
        global_secondary_indexes=list(_index_infos(table.indexes, is_global=True)) or None,
        stream_description=StreamSpecification(stream_enabled=True, stream_view_type=stream.view_type)
        if stream
        else None,
        time_to_live_description=TimeToLiveDescription(
            time_to_live_status="ENABLED", attribute_name=table.ttl_attribute
        )
        if table.ttl_attribute
        else None,
        sse_description=SSEDescription(status="ENABLED", sse_type=table.sse_type) if table.sse_type else None,
        vector_indexes=[
            VectorIndexDefinition(
                index_name=each.name,
                vector_attribute=VectorAttribute(attribute_name=each.attribute),
                search_schema=each.search_schema or None,
                projection=each.projection,
                dimensions=each.dimensions,
                distance_function=each.distance,
            )
            for each in table.vector_indexes
        ]
        or None,
    )


def _index_infos(indexes: list[IndexRecord], *, is_global: bool) -> Iterator[SecondaryIndex]:
    for index in indexes:
        if index.is_global == is_global:
            yield SecondaryIndex(
                index_name=index.name,
                key_schema=index.key_schema,
                projection=index.projection,
                provisioned_throughput=index.throughput if is_global else None,
                on_demand_throughput=index.on_demand if is_global else None,
            )
