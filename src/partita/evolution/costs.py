"""The cost of writes: the units that DynamoDB bills for a change of an item, and their price."""

import math
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from partita.design.tables import Index, Table
from partita.dynamodb.canonical import item_size
from partita.dynamodb.capacity import write_units
from partita.dynamodb.shapes import IndexDescription, Projection, TableDescription
from partita.dynamodb.values import Item


class Prices(msgspec.Struct, frozen=True):
    """What Amazon charges for requests on demand, at a date."""

    date: str
    source: str
    region: str
    table_class: str
    dollars_per_million_write_units: float
    dollars_per_million_read_units: float

    def dollars(self, writes: float, reads: float = 0.0) -> float:
        """The price of some units."""
        both = writes * self.dollars_per_million_write_units + reads * self.dollars_per_million_read_units
        return both / 1_000_000


@cache
def prices() -> Prices:
    """The prices in `prices.json`."""
    text = resources.files("partita.evolution").joinpath("prices.json").read_text(encoding="utf-8")
    return msgspec.json.decode(text, type=Prices)


class BilledTable(msgspec.Struct, frozen=True):
    """What of a table decides the price of a write: its keys, and its indexes with those that a design drops."""

    key_names: tuple[str, ...]
    indexes: tuple[Index, ...]


def billed_table(table: Table, description: TableDescription) -> BilledTable:
    """A table of the design with the indexes that it has beside those of the design, until they are dropped."""
    declared = {index.name for index in table.indexes}
    others = (each for each in description.global_secondary_indexes or () if each.index_name not in declared)
    return BilledTable(table.key_names, (*table.indexes, *map(_index, others)))


def _index(described: IndexDescription) -> Index:
    names: dict[str | None, list[str]] = {"HASH": [], "RANGE": []}
    for each in described.key_schema or ():
        names[each.key_type].append(each.attribute_name or "")
    projection = described.projection or Projection()
    project: Any = projection.projection_type or "ALL"
    if project == "INCLUDE":
        project = tuple(projection.non_key_attributes or ())
    return Index(described.index_name or "", tuple(names["HASH"]), tuple(names["RANGE"]), project=project)


def change_units(table: BilledTable, before: Item | None, after: Item | None, *, in_transaction: bool) -> float:
    """The write units of a change of one item, those of its indexes included."""
    own = write_units(_size(before), _size(after)) * (2 if in_transaction else 1)
    return own + sum(_index_units(table, index, before, after) for index in table.indexes)


def _size(item: Item | None) -> int:
    return 0 if item is None else item_size(item)


def _index_units(table: BilledTable, index: Index, before: Item | None, after: Item | None) -> float:
    old, new = _entry(table, index, before), _entry(table, index, after)
    if old == new:
        return 0.0
    if old is not None and new is not None and all(old[name] == new[name] for name in index.pk + index.sk):
        return write_units(_size(old), _size(new))
    return sum(write_units(_size(each), 0) for each in (old, new) if each is not None)


def _entry(table: BilledTable, index: Index, item: Item | None) -> Item | None:
    """What an index holds of an item, or None."""
    keys = (*index.pk, *index.sk)
    if item is None or not all(name in item for name in keys):
        return None
    if index.project == "ALL":
        return item
    wanted = {*keys, *table.key_names, *(() if isinstance(index.project, str) else index.project)}
    return {name: value for name, value in item.items() if name in wanted}


def read_units_of_scan(size: int) -> float:
    """The read units of a strongly consistent scan over some bytes."""
    return float(math.ceil(size / 4096))
