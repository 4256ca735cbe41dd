"""Tables in the engine: the stored record of a table, and the keys and indexes derived from it."""

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from partita.dynamodb.canonical import checked_value
from partita.dynamodb.exceptions import INVALID, EmptyKeyValue, ValidationException
from partita.dynamodb.limits import PARTITION_KEY_BYTES, SORT_KEY_BYTES
from partita.dynamodb.shapes import (
    AttributeDefinition,
    KeySchemaElement,
    OnDemandThroughput,
    Projection,
    ProvisionedThroughput,
)
from partita.dynamodb.values import AttributeValue, Item, type_of
from partita.engine import key_encoding
from partita.engine.vector_indexes import StoredVectorIndex, VectorIndexRecord

_SHORT = SORT_KEY_BYTES // 4  # characters, of at most four bytes each

MISMATCH = "The provided key element does not match the schema"

_NOTHING: AttributeValue = {}


class IndexRecord(msgspec.Struct, kw_only=True, frozen=True):
    """The record of a secondary index in the catalogue."""

    name: str
    is_global: bool
    key_schema: list[KeySchemaElement]
    projection: Projection
    space: str
    status: str = "ACTIVE"
    backfilled_to: str | None = None  # hex of the last table key that is in the index; None: complete
    throughput: ProvisionedThroughput | None = None
    on_demand: OnDemandThroughput | None = None


class StoredStream(msgspec.Struct, kw_only=True, frozen=True):
    """One stream of a table: the change log from number `first` on, up to `closed` if the stream was disabled."""

    label: str
    view_type: str
    first: int
    closed: int | None = None
    closed_at: float | None = None


class LogMark(msgspec.Struct, frozen=True, array_like=True):
    """The newest number in a change log at a time: records up to it are at least that old."""

    number: int
    at: float


class RecoveryRecord(msgspec.Struct, kw_only=True, frozen=True):
    """Point-in-time recovery of a table: since when, for how many days, and the space of its compressed history.

    The history is complete from `since` on. That lies in the future where the clock was set back: until the clock gets
    there, the history counts from `set_back` on. Changes with numbers below `first` are older than recovery: a stream
    has them, whatever their times are. `by_item` is the space of the index of the history; None in records of versions
    that had none.
    """

    since: float
    days: int
    history: str
    by_item: str | None = None
    set_back: float | None = None
    first: int = 0

    def beginning(self, now: float) -> float:
        """The moment from which on the history is complete."""
        return self.since if self.since <= now or self.set_back is None else self.set_back

    def with_clock(self, now: float) -> "RecoveryRecord":
        """The record after a look at the clock."""
        return self if self.since <= now or self.set_back is not None else replace(self, set_back=now)

    def cut(self, moment: float) -> "RecoveryRecord":
        """The record of a history that is not complete before a moment any more."""
        return replace(self, since=max(self.since, moment), set_back=max(self.set_back or moment, moment))


class SnapshotRecord(msgspec.Struct, kw_only=True, frozen=True):
    """A snapshot of a table that is being copied (`snapshots`): its saved items, and how far the copy is."""

    saved: str  # the space of items that have changed since, as they were
    copied_to: str = ""  # hex of the last storage key that has been copied
    backup: str | None = None  # the id of the backup that it is copied to
    export: str | None = None  # the id of the export that it is written to; without either it is a restore


class RestoreRecord(msgspec.Struct, kw_only=True, frozen=True):
    """The restore that created a table; it is running until the table has all of its items."""

    at: float
    source: str  # the name of the table
    source_arn: str
    backup: str | None = None  # the ARN of a backup
    is_running: bool = True
    error: str | None = None  # of a restore that has failed
    saved: str | None = None  # the snapshot of the source
    undo_below: int | None = None  # changes below this number may have to be undone; None: all are
    copied_to: str = ""  # of a backup, as SnapshotRecord.copied_to


class FillRecord(msgspec.Struct, kw_only=True, frozen=True):
    """The fill of a new table's indexes (`index_fill`): how far it is in the first index that is not complete."""

    filled_to: str = ""  # hex of the last key of the index that has been added


class TableRecord(msgspec.Struct, kw_only=True, frozen=True):
    """The record of a table in the catalogue."""

    name: str
    id: str
    created: float
    attributes: list[AttributeDefinition]
    key_schema: list[KeySchemaElement]
    indexes: list[IndexRecord]
    space: str
    changes: str  # the space of the change log
    billing_mode: str = "PROVISIONED"
    billing_changed: float | None = None
    throughput: ProvisionedThroughput | None = None
    throughput_raised: float | None = None
    throughput_lowered: float | None = None
    on_demand: OnDemandThroughput | None = None
    table_class: str | None = None
    deletion_protection: bool = False
    tags: dict[str, str] = {}
    sse_type: str | None = None
    streams: list[StoredStream] = []
    ttl_attribute: str | None = None
    ttl_space: str | None = None
    ttl_filled_to: str | None = None  # as IndexRecord.backfilled_to
    log_marks: list[LogMark] = []  # while the clock is behind the numbers of the change log
    vector_indexes: list[VectorIndexRecord] = []
    recovery: RecoveryRecord | None = None
    snapshots: list[SnapshotRecord] = []
    restore: RestoreRecord | None = None
    fill: FillRecord | None = None
    importing: str | None = None  # the id of the import that fills the table
    moved_to: str | None = None  # where the items are now: writes of items are rejected

    def all_indexes(self) -> list[IndexRecord | VectorIndexRecord]:
        return [*self.indexes, *self.vector_indexes]


class KeySchemaAttribute(NamedTuple):
    name: str
    type: str


class KeySchema:
    """The key attributes of a table or index, in order: partition attributes, then sort attributes."""

    def __init__(self, schema: list[KeySchemaElement], types: dict[str, str]) -> None:
        self.all = [KeySchemaAttribute(each.attribute_name or "", types[each.attribute_name or ""]) for each in schema]
        self.partition = [key for key, each in zip(self.all, schema, strict=True) if each.key_type == "HASH"]
        self.sort = self.all[len(self.partition) :]
        self.names = [key.name for key in self.all]

    def storage_key(self, item: Item) -> bytes:
        """The key in storage of an item whose key values are checked and canonical."""
        head = key_encoding.partition_hash([item[key.name] for key in self.partition])
        for key in self.sort:
            head += key_encoding.sort_bytes(item[key.name])
        return head

    def same_key(self, one: Item, other: Item) -> bool:
        """Whether two items have the same values in these attributes, or lack the same ones."""
        for name in self.names:  # noqa: SIM110 - for each index of each write, and a generator takes three times as long
            if one.get(name) != other.get(name):
                return False
        return True

    def key_of(self, item: Item) -> Item:
        """The key attributes of an item."""
        return {name: item[name] for name in self.names}


class StoredIndex:
    """A secondary index: the storage keys and the attributes of its rows."""

    def __init__(self, record: IndexRecord, table_keys: KeySchema, types: dict[str, str]) -> None:
        self.record = record
        self.name = record.name
        self.is_global = record.is_global
        self.space = record.space
        self.keys = KeySchema(record.key_schema, types)
        self.is_composite = len(self.keys.partition) > 1 or len(self.keys.sort) > 1
        self.projects_all = record.projection.projection_type == "ALL"
        self.start_names = list(dict.fromkeys([*table_keys.names, *self.keys.names]))
        self._projected = frozenset([*self.start_names, *(record.projection.non_key_attributes or [])])

    def projects(self, attribute: str) -> bool:
        return self.projects_all or attribute in self._projected

    def project(self, item: Item) -> Item:
        if self.projects_all:
            return item
        return {name: value for name, value in item.items() if name in self._projected}

    def storage_key(self, item: Item, primary: bytes) -> bytes | None:
        """The key of an item's row in the index; None when the item is not in the index.

        It is not where it lacks a key attribute, or was written before the index with a value of another type.
        """
        for name, kind in self.keys.all:
            content = item.get(name, _NOTHING).get(kind)
            if not content or (len(content) > _SHORT and not self._fits(item)):
                return None
        if self.is_composite and not self._fits(item):
            return None
        return self.keys.storage_key(item) + key_encoding.row_hash(primary)

    def _fits(self, item: Item) -> bool:
        try:
            self.check_sizes(item)
        except ValidationException:
            return False
        return True

    def check_sizes(self, item: Item) -> None:
        """Checks the total size of the partition attributes, and of the sort attributes."""
        for kind, keys, limit in (
            ("HASH", self.keys.partition, PARTITION_KEY_BYTES),
            ("RANGE", self.keys.sort, SORT_KEY_BYTES),
        ):
            size = sum(checked_value(item[key.name])[1] for key in keys if key.name in item)
            if size > limit:
                raise ValidationException(
                    f"Aggregate size for {kind} key attributes {', '.join(key.name for key in keys)} of index "
                    f"{self.name} has exceeded limit {limit} bytes, with actual size {size} bytes"
                )


class StoredTable:
    """A table with its keys and indexes; created once for each version of its record."""

    def __init__(self, record: TableRecord) -> None:
        self.record = record
        self.name = record.name
        self.space = record.space
        types = {each.attribute_name or "": each.attribute_type or "" for each in record.attributes}
        self.keys = KeySchema(record.key_schema, types)
        self.indexes = {each.name: StoredIndex(each, self.keys, types) for each in record.indexes}
        self.vector_indexes = {
            each.name: StoredVectorIndex(each, self.keys.names, types)
            for each in sorted(record.vector_indexes, key=lambda each: each.name)
        }
        self.has_local_indexes = any(not each.is_global for each in record.indexes)
        self.stream = next((each for each in record.streams if each.closed is None), None)
        self.is_logged = self.stream is not None or record.recovery is not None
        self.is_restoring = record.importing is not None or (record.restore is not None and record.restore.is_running)
        self.snapshots = [(each.saved, bytes.fromhex(each.copied_to)) for each in record.snapshots]
        self._partition_name = self.keys.partition[0].name
        self._sort_name = self.keys.sort[0].name if self.keys.sort else None
        self._text_keys = len(self.keys.all) if all(key.type == "S" for key in self.keys.all) else -1

    @cached_property
    def index_keys(self) -> list[tuple[StoredIndex, KeySchemaAttribute]]:
        return [(index, key) for index in self.indexes.values() for key in index.keys.all]

    def storage_key(self, key: Item) -> bytes:
        """Checks a `Key` parameter and returns the storage key of its item; short text keys take a fast path."""
        if len(key) == self._text_keys:
            partition = key.get(self._partition_name, _NOTHING)
            text = partition.get("S")
            if type(text) is str and 0 < len(text) <= _SHORT and len(partition) == 1:
                if self._sort_name is None:
                    return key_encoding.text_hash(text)
                sort = key.get(self._sort_name, _NOTHING)
                ending = sort.get("S")
                if type(ending) is str and 0 < len(ending) <= _SHORT and len(sort) == 1:
                    return key_encoding.text_hash(text) + key_encoding.escape(ending.encode()) + b"\0\1"
        return self.primary_key(key)[1]

    @cached_property
    def index_key_names(self) -> frozenset[str]:
        return frozenset(key.name for _, key in self.index_keys)

    def primary_key(self, key: Item) -> tuple[Item, bytes]:
        """Checks a `Key` parameter; returns it in canonical form, and the storage key of its item."""
        if len(key) != len(self.keys.all):
            raise ValidationException(MISMATCH)
        canonical = {name: self._key_value(key, name, kind) for name, kind in self.keys.all}
        return canonical, self.keys.storage_key(canonical)

    def _key_value(self, key: Item, name: str, kind: str) -> AttributeValue:
        value = key.get(name)
        if value is None or kind not in value:
            for each in key.values():
                checked_value(each)
            raise ValidationException(MISMATCH)
        canonical, _ = checked_value(value)
        check_key_value(name, canonical, self._partition_name == name)
        return canonical

    def check_item(self, item: Item) -> None:
        """Checks that a new item has its keys, and that its index keys have their declared types."""
        for name, kind in self.keys.all:
            value = item.get(name)
            if value is None:
                raise ValidationException(f"{INVALID}Missing the key {name} in the item")
            if kind not in value:
                raise ValidationException(
                    f"{INVALID}Type mismatch for key {name} expected: {kind} actual: {type_of(value)}"
                )
            if kind != "S" or not 0 < len(value["S"]) <= _SHORT:
                check_key_value(name, value, self._partition_name == name)
        if self.indexes:
            self.check_index_keys(item)
        if self.vector_indexes:
            self.check_vectors(item)

    def check_vectors(self, item: Item, touched: frozenset[str] | None = None) -> None:
        """Checks the vectors and search attributes of a new item, or those that an update has touched."""
        for index in self.vector_indexes.values():
            index.check_item(item, touched)

    def check_index_keys(self, item: Item) -> None:
        for index, (name, kind) in self.index_keys:
            value = item.get(name)
            if value is None or name in self.keys.names:
                continue
            if kind not in value:
                raise ValidationException(
                    f"{INVALID}Type mismatch for Index Key {name} Expected: {kind} "
                    f"Actual: {type_of(value)} IndexName: {index.name}"
                )
            check_not_empty(name, value, index)
            check_key_size(value, name in [key.name for key in index.keys.partition])
        for index in self.composite_indexes:
            index.check_sizes(item)

    @cached_property
    def composite_indexes(self) -> list[StoredIndex]:
        return [index for index in self.indexes.values() if index.is_composite]

    def check_scalar_paths(self, paths: Iterable[tuple[str | int, ...]]) -> None:
        """Rejects paths that lead into a key attribute."""
        for path in paths:
            if len(path) < 2:
                continue
            if path[0] in self.keys.names:
                raise _not_scalar("Key", path[0])
            if any(key.name == path[0] for _, key in self.index_keys):
                raise _not_scalar("IndexKey", path[0])


def _not_scalar(kind: str, name: str | int) -> ValidationException:
    return ValidationException(
        f"Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: {kind}: {name}"
    )


def check_key_value(name: str, value: AttributeValue, is_partition: bool) -> None:
    """Checks that a key value is neither empty nor too long."""
    check_not_empty(name, value, None)
    check_key_size(value, is_partition)


def check_not_empty(name: str, value: AttributeValue, index: StoredIndex | None) -> None:
    kind = type_of(value)
    if kind == "N" or value[kind]:
        return
    empty = f"cannot contain an empty {'string' if kind == 'S' else 'binary'} value"
    if index is None:
        raise EmptyKeyValue(
            f"One or more parameter values are not valid. The AttributeValue for a key attribute {empty}. Key: {name}"
        )
    raise EmptyKeyValue(
        "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "
        f"The AttributeValue for a key attribute {empty}. IndexName: {index.name}, IndexKey: {name}"
    )


def check_key_size(value: AttributeValue, is_partition: bool) -> None:
    kind = type_of(value)
    if kind == "N" or len(value[kind]) <= _SHORT:
        return
    size = len(key_encoding.scalar_bytes(value))
    if is_partition and size > PARTITION_KEY_BYTES:
        raise ValidationException(
            f"{INVALID}Size of hashkey has exceeded the maximum size limit of{PARTITION_KEY_BYTES} bytes"
        )
    if not is_partition and size > SORT_KEY_BYTES:
        raise ValidationException(
            f"{INVALID}Aggregated size of all range keys has exceeded the size limit of {SORT_KEY_BYTES} bytes"
        )
