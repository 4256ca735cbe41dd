"""Item collections: the items of a table and its local indexes with one partition key, and their size."""

from partita.dynamodb.responses import ItemCollectionMetrics
from partita.dynamodb.values import Item
from partita.engine import key_encoding
from partita.engine.schema import StoredTable
from partita.storage.contract import Reader

GIGABYTE = 1024**3


def collection_metrics(reader: Reader, table: StoredTable, item: Item) -> ItemCollectionMetrics:
    """The metrics of an item's collection, measured now."""
    name = table.keys.partition[0].name
    return ItemCollectionMetrics(
        item_collection_key={name: item[name]}, size_estimate_range_gb=size_range(collection_bytes(reader, table, item))
    )


def collection_bytes(reader: Reader, table: StoredTable, item: Item) -> int:
    """The billed size of an item's collection: its items, and their rows in every local index."""
    start = key_encoding.partition_hash([item[table.keys.partition[0].name]])
    end = key_encoding.prefix_end(start)
    spaces = [table.space, *(index.space for index in table.indexes.values() if not index.is_global)]
    return sum(weight for space in spaces for _, weight, _ in reader.range(space, start, end))


def size_range(size: int) -> list[float]:
    """The whole gigabytes below and above a size.

    >>> size_range(600), size_range(3 * GIGABYTE + 1)
    ([0.0, 1.0], [3.0, 4.0])
    """
    low = size // GIGABYTE
    return [float(low), float(low + 1)]
