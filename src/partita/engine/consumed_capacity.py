"""The ConsumedCapacity member of a reply."""

import msgspec

from partita.dynamodb.capacity import read_units
from partita.dynamodb.shapes import Capacity, ConsumedCapacity, VectorCapacity
from partita.engine.schema import StoredTable


class TableUsage(msgspec.Struct):
    """The capacity that one request used of one table and its indexes."""

    table: StoredTable
    units: float = 0.0
    indexes: dict[str, float] = msgspec.field(default_factory=dict)
    vectors: dict[str, float] | None = None  # bytes written to vector indexes

    def add_index(self, name: str, units: float) -> None:
        self.indexes[name] = self.indexes.get(name, 0.0) + units

    def add_vectors(self, name: str, size: float) -> None:
        if self.vectors is None:
            self.vectors = {}
        self.vectors[name] = self.vectors.get(name, 0.0) + size

    def add(self, other: "TableUsage") -> None:
        self.units += other.units
        for name, units in other.indexes.items():
            self.add_index(name, units)
        for name, size in (other.vectors or {}).items():
            self.add_vectors(name, size)


def consumed_capacity(usage: TableUsage, mode: str | None, kind: str | None = None) -> ConsumedCapacity | None:
    """The ConsumedCapacity of a usage; `kind` is "read" or "write" where the operation (a transaction) reports it."""
    if mode is None or mode == "NONE":
        return None
    total = usage.units + sum(usage.indexes.values())
    reply = ConsumedCapacity(table_name=usage.table.name, capacity_units=total)
    _set_units(reply, total, kind)
    if mode == "INDEXES":
        reply.table = _capacity(usage.units, kind)
        reply.local_secondary_indexes = _of_indexes(usage, False, kind)
        reply.global_secondary_indexes = _of_indexes(usage, True, kind)
        if usage.vectors:
            reply.vector_indexes = {
                name: VectorCapacity(vector_write_request_bytes=size) for name, size in usage.vectors.items()
            }
    return reply


def consumed_capacity_of_get(
    table: StoredTable, size: int, mode: str, consistent: bool | None
) -> ConsumedCapacity | None:
    """The ConsumedCapacity of reading one item of that size."""
    units = read_units(size, consistent)
    if mode == "TOTAL":
        return ConsumedCapacity(table_name=table.name, capacity_units=units)
    return consumed_capacity(TableUsage(table, units), mode)


def _of_indexes(usage: TableUsage, is_global: bool, kind: str | None) -> dict[str, Capacity] | None:
    known = usage.table.indexes
    found = {
        name: _capacity(units, kind)
        for name, units in usage.indexes.items()
        if name in known and known[name].is_global is is_global
    }
    return found or None


def _capacity(units: float, kind: str | None) -> Capacity:
    reply = Capacity(capacity_units=units)
    _set_units(reply, units, kind)
    return reply


def _set_units(reply: Capacity | ConsumedCapacity, units: float, kind: str | None) -> None:
    if kind == "read":
        reply.read_capacity_units = units
    elif kind == "write":
        reply.write_capacity_units = units
