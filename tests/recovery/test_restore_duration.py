"""The expected duration of a restore comes from the rows that it writes, of the table and of its indexes."""

from partita.dynamodb.backup_shapes import BackupDescription, SourceTableDetails, SourceTableFeatureDetails
from partita.dynamodb.shapes import IndexDescription, SecondaryIndex, TableDescription
from partita.recovery.restore_duration import size_of_backup, size_of_table

MILLION = 1_000_000
SIZE = 600 * MILLION


def seconds(table: TableDescription) -> float:
    return size_of_table(table).restore_duration.total_seconds()


def test_each_index_adds_its_own_rows() -> None:
    full = IndexDescription(index_name="all", item_count=MILLION, index_size_bytes=SIZE)
    sparse = IndexDescription(index_name="few", item_count=1000, index_size_bytes=600_000)
    plain = seconds(TableDescription(item_count=MILLION, table_size_bytes=SIZE))
    with_sparse = seconds(
        TableDescription(item_count=MILLION, table_size_bytes=SIZE, global_secondary_indexes=[sparse])
    )
    with_both = seconds(
        TableDescription(item_count=MILLION, table_size_bytes=SIZE, global_secondary_indexes=[sparse, full])
    )
    assert plain < with_sparse < plain + 0.1
    assert with_both > 2 * plain


def test_backup_counts_an_index_as_its_table() -> None:
    details = SourceTableDetails(item_count=MILLION, table_size_bytes=SIZE)
    features = SourceTableFeatureDetails(global_secondary_indexes=[SecondaryIndex(index_name="all")])
    index = IndexDescription(index_name="all", item_count=MILLION, index_size_bytes=SIZE)
    table = TableDescription(item_count=MILLION, table_size_bytes=SIZE, global_secondary_indexes=[index])
    backup = BackupDescription(source_table_details=details, source_table_feature_details=features)
    assert size_of_backup(backup) == size_of_table(table)


def test_source_that_is_unknown_has_no_items() -> None:
    assert size_of_table(None).items == size_of_backup(None).items == 0
