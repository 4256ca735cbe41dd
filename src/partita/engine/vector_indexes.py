"""Vector indexes in the engine: the stored record of one, and the row that each of its items has in it.

An index has two spaces, both written in the item's own transaction:

    rows   | hash of the HASH value, 16 bytes, where the search schema has one | storage key of the item |
           -> the vector as 32-bit floats, little-endian, then the values of the search schema as JSON
    log    | number of the change | -> the key of the row that was added, changed or removed

A search ranks the rows, and reads the attributes of the best from the table itself, so nothing else is copied. The log
tells a process which rows of its matrix in memory are outdated (`vector_matrix`). Its oldest records are trimmed.
"""

from itertools import islice
from typing import NamedTuple

import msgspec

from partita.dynamodb.canonical import item_size, text_size
from partita.dynamodb.exceptions import EmptyKeyValue, ValidationException
from partita.dynamodb.shapes import Projection, SearchSchemaElement
from partita.dynamodb.values import AttributeValue, Item, type_of
from partita.dynamodb.vectors import FLOAT_BYTES, vector_error, vector_of
from partita.engine.key_encoding import HASH_BYTES, partition_hash
from partita.storage.contract import Reader, Row, Write

LOG_RECORDS = 10_000  # that trimming keeps; a process that is further behind loads all rows again
_NUMBER_BYTES = 8
_CHECKED_NUMBERS = 32_768  # of vectors that are remembered between the check and the write of their items

_encode = msgspec.json.encode


class VectorIndexRecord(msgspec.Struct, kw_only=True, frozen=True):
    """The record of a vector index in the catalogue."""

    name: str
    attribute: str
    dimensions: int
    distance: str
    search_schema: list[SearchSchemaElement]
    projection: Projection
    space: str
    log: str
    status: str = "ACTIVE"
    backfilled_to: str | None = None  # as IndexRecord.backfilled_to


class SearchAttribute(NamedTuple):
    """An element of a search schema."""

    name: str
    type: str
    is_hash: bool


class VectorRow(NamedTuple):
    """The row of an item in a vector index."""

    key: bytes
    row: Row


class StoredVectorIndex:
    """A vector index: the keys and the contents of its rows."""

    def __init__(self, record: VectorIndexRecord, key_names: list[str], types: dict[str, str]) -> None:
        self.record = record
        self.name = record.name
        self.space = record.space
        self.log = record.log
        self.attribute = record.attribute
        self.dimensions = record.dimensions
        self.schema = [
            SearchAttribute(name, types[name], each.search_schema_element_type == "HASH")
            for each in record.search_schema
            if (name := each.attribute_name) is not None
        ]
        self.hash = next((each for each in self.schema if each.is_hash), None)
        self.vector_bytes = record.dimensions * FLOAT_BYTES
        self.watched = frozenset([self.attribute, *(each.name for each in self.schema)])
        self._checked: dict[int, tuple[AttributeValue, bytes]] = {}
        self._vector_size = self.vector_bytes + text_size(self.attribute)
        self._projects_all = record.projection.projection_type == "ALL"
        included = record.projection.non_key_attributes or []
        self._projected = frozenset([*key_names, *(each.name for each in self.schema), *included])

    def projects(self, attribute: str) -> bool:
        return self._projects_all or attribute in self._projected

    def check_item(self, item: Item, touched: frozenset[str] | None = None) -> None:
        """Raises DynamoDB's error for an item that the index cannot have; `touched` are the attributes of an update."""
        vector = item.get(self.attribute)
        is_checked = touched is None or self.attribute in touched
        if vector is not None and is_checked:
            self._check_vector(vector)
        for element in self.schema:
            value = item.get(element.name)
            if value is not None and (touched is None or element.name in touched):
                self._check_element(element, value, touched is not None)

    def _check_element(self, element: SearchAttribute, value: AttributeValue, is_update: bool) -> None:
        kind = type_of(value)
        if kind != element.type:
            raise ValidationException(
                f"One or more parameter values were invalid. Attribute '{element.name}' type mismatch. "
                f"Expected: {element.type}, Actual: {kind}. IndexName: {self.name}"
            )
        if not element.is_hash or kind == "N" or value[kind]:
            return
        empty = f"cannot contain an empty {'string' if kind == 'S' else 'binary'} value"
        if is_update:
            raise EmptyKeyValue(
                "One or more parameter values are not valid. The update expression attempted to update a secondary "
                f"index key to a value that is not supported. The AttributeValue for a key attribute {empty}."
            )
        raise EmptyKeyValue(
            "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "
            f"The AttributeValue for a key attribute {empty}. IndexName: {self.name}, IndexKey: {element.name}"
        )

    def row(self, item: Item, storage_key: bytes) -> VectorRow | None:
        """The row of an item; None when the item is not in the index.

        It is not where it lacks the vector or the HASH attribute, or was written before the index with values that the
        index rejects.
        """
        vector = self._vector(item.get(self.attribute))
        if vector is None or not all(self._has_type(item, element) for element in self.schema):
            return None
        values = [item.get(element.name) for element in self.schema]
        return VectorRow(
            self.prefix(item.get(self.hash.name) if self.hash else None) + storage_key,
            Row(self._entry_size(item), vector + (_encode(values) if values else b"")),
        )

    def _check_vector(self, value: AttributeValue) -> None:
        """Raises DynamoDB's error for a value that is not a vector; one that is will be stored soon."""
        found = vector_of(value, self.dimensions)
        if found is None:
            raise vector_error(self.attribute, value, self.dimensions, self.name)
        if len(self._checked) * self.dimensions >= _CHECKED_NUMBERS:
            self._checked = {}  # of requests that were rejected for another reason
        self._checked[id(value)] = value, found

    def _vector(self, value: AttributeValue | None) -> bytes | None:
        """The vector of a value; where a write has just checked the same value, it is known."""
        value_again, found = self._checked.pop(id(value), (None, None))
        return found if value is not None and value_again is value else vector_of(value, self.dimensions)

    def _has_type(self, item: Item, element: SearchAttribute) -> bool:
        value = item.get(element.name)
        if value is None:
            return not element.is_hash
        content = value.get(element.type)
        return content is not None and (not element.is_hash or content != "")

    def prefix(self, value: AttributeValue | None) -> bytes:
        """The beginning of the keys of the rows with one HASH value; empty for an index without HASH."""
        return partition_hash([value]) if value is not None else b""

    def storage_key(self, key: bytes) -> bytes:
        """The storage key of the item of a row."""
        return key[HASH_BYTES:] if self.hash else key

    def _entry_size(self, item: Item) -> int:
        """The billed size: the vector at 32 bits a number, and the other projected attributes."""
        rest = {name: value for name, value in item.items() if name != self.attribute and self.projects(name)}
        return self._vector_size + item_size(rest)

    def is_ahead(self, storage_key: bytes) -> bool:
        """Whether the backfill has not reached an item; it will add the version that is there then."""
        filled_to = self.record.backfilled_to
        return filled_to is not None and storage_key > bytes.fromhex(filled_to)


def row_writes(index: StoredVectorIndex, old: VectorRow | None, new: VectorRow | None) -> list[Write]:
    """The writes to the rows that change one item."""
    if old is not None and new is not None and old.key == new.key:
        return [] if old.row == new.row else [Write(index.space, old.key, old.row, new.row)]
    writes = [Write(index.space, old.key, old.row, None)] if old is not None else []
    return writes if new is None else [*writes, Write(index.space, new.key, None, new.row)]


def logged(reader: Reader, index: StoredVectorIndex, writes: list[Write], offset: int) -> list[Write]:
    """The writes with their records in the log; `offset` is the number of earlier items in the same transaction."""
    first = last_number(reader, index) + 1 + 2 * offset  # at most two rows change for an item
    records = [
        Write(index.log, (first + at).to_bytes(_NUMBER_BYTES, "big"), None, Row(0, write.key))
        for at, write in enumerate(writes)
    ]
    return [*writes, *records]


def last_number(reader: Reader, index: StoredVectorIndex) -> int:
    """The number of the newest record in the log; 0 when it is empty."""
    return int.from_bytes(reader.last_key(index.log) or b"", "big")


def changed_keys(reader: Reader, index: StoredVectorIndex, after: int) -> set[bytes] | None:
    """The keys of the rows that changed after a record; None where that record is not in the log any more."""
    records = reader.range(index.log, after.to_bytes(_NUMBER_BYTES, "big"), None)
    for key, _, _ in records:
        if int.from_bytes(key, "big") != after:
            return None
        return {row_key for _, _, row_key in records}
    return None if after else set()


def outdated_records(reader: Reader, index: StoredVectorIndex, limit: int) -> list[Write]:
    """The writes that delete the oldest records of the log, at most `limit`, beyond those that are kept."""
    surplus = min(limit, reader.totals(index.log).rows - LOG_RECORDS)
    if surplus <= 0:
        return []
    oldest = islice(reader.range(index.log, b"", None), surplus)
    return [Write(index.log, key, Row(weight, value), None) for key, weight, value in oldest]
