"""The writes of single items, shared by PutItem, UpdateItem, DeleteItem, batches and transactions."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, Self

import msgspec
from msgspec import Raw

from partita.dynamodb.canonical import attribute_size, checked_item, item_size
from partita.dynamodb.exceptions import INVALID, ConditionalCheckFailedException, EmptyKeyValue, ValidationException
from partita.dynamodb.limits import ITEM_BYTES
from partita.dynamodb.responses import ItemCollectionMetrics, WriteOutput
from partita.dynamodb.values import Item
from partita.engine import legacy_parameters
from partita.engine.consumed_capacity import TableUsage, consumed_capacity
from partita.engine.context import EngineContext
from partita.engine.expressions.condition import BoundCondition
from partita.engine.expressions.projection import project
from partita.engine.expressions.scope import Scope, run_expression
from partita.engine.expressions.update import BoundUpdate, item_too_large, update_of_text
from partita.engine.item_collections import collection_metrics
from partita.engine.schema import MISMATCH, StoredTable
from partita.engine.write import ItemVersion, load_version, writes_for
from partita.storage.contract import Reader, StorageTransaction, Write

_encode = msgspec.json.encode
_NO_PLACEHOLDERS = Scope()


class WriteIntent(Protocol):
    """The change that a request makes to one item."""

    def storage_key(self, table: StoredTable) -> bytes:
        """Checks the request against the table's keys; returns the storage key of the item."""
        ...

    def after(self, table: StoredTable, before: ItemVersion | None) -> ItemVersion | None:
        """The item after the write; None when it is deleted."""
        ...


class PutIntent(msgspec.Struct, frozen=True):
    item: Item
    size: int

    @classmethod
    def of(cls, item: Item) -> Self:
        canonical, size = checked_item(item)
        return cls(canonical, size)

    def check_size(self) -> None:
        if self.size > ITEM_BYTES:
            raise ValidationException("Item size has exceeded the maximum allowed size")

    def storage_key(self, table: StoredTable) -> bytes:
        table.check_item(self.item)
        return table.keys.storage_key(self.item)

    def after(self, table: StoredTable, before: ItemVersion | None) -> ItemVersion | None:
        return ItemVersion.of(self.item, self.size)


class BatchPutIntent(PutIntent, frozen=True):
    """A put of a batch: a key that is missing or of another type has the error of a `Key` parameter."""

    def storage_key(self, table: StoredTable) -> bytes:
        for name, kind in table.keys.all:
            if kind not in self.item.get(name, ()):
                raise ValidationException(MISMATCH)
        return super().storage_key(table)


class DeleteIntent(msgspec.Struct, frozen=True):
    key: Item

    def storage_key(self, table: StoredTable) -> bytes:
        return table.storage_key(self.key)

    def after(self, table: StoredTable, before: ItemVersion | None) -> ItemVersion | None:
        return None


class CheckIntent(msgspec.Struct, frozen=True):
    """A condition check: the item does not change."""

    key: Item

    def storage_key(self, table: StoredTable) -> bytes:
        return table.storage_key(self.key)

    def after(self, table: StoredTable, before: ItemVersion | None) -> ItemVersion | None:
        return before


class UpdateIntent(msgspec.Struct, frozen=True):
    key: Item
    update: BoundUpdate | None

    def storage_key(self, table: StoredTable) -> bytes:
        if self.update:
            compiled = self.update.compiled
            for name in table.keys.names:
                if name in compiled.touched:
                    raise ValidationException(
                        f"{INVALID}Cannot update attribute {name}. This attribute is part of the key"
                    )
            if compiled.nested_paths:
                table.check_scalar_paths(compiled.nested_paths)
        return table.storage_key(self.key)

    def after(self, table: StoredTable, before: ItemVersion | None) -> ItemVersion | None:
        if before is None and self.update and self.update.compiled.only_removes:
            return None  # removals create no item (scylladb/scylladb#5862, tried on the service)
        old = before.item if before else table.primary_key(self.key)[0]
        size = before.size if before else item_size(old)
        if self.update is None:
            return ItemVersion.of(old, size)
        item, touched = self.update.apply(old), self.update.compiled.touched
        size -= sum([attribute_size(name, old) for name in touched])
        for name in touched:
            size += attribute_size(name, item)
            if size > ITEM_BYTES:  # there may be hundreds of large attributes
                raise item_too_large()
        if not table.index_key_names.isdisjoint(touched):
            self._check_index_keys(table, item)
        if table.vector_indexes:
            table.check_vectors(item, touched)
        return ItemVersion.of(item, size)

    def _check_index_keys(self, table: StoredTable, item: Item) -> None:
        for name in table.index_key_names:
            if name in item and (item[name].get("S") == "" or item[name].get("B") == ""):
                what = "string" if "S" in item[name] else "binary"
                raise EmptyKeyValue(
                    "One or more parameter values are not valid. The update expression attempted to update a secondary "
                    "index key to a value that is not supported. The AttributeValue for a key attribute cannot contain "
                    f"an empty {what} value."
                )
        table.check_index_keys(item)


def update_of(request: Any, scope: Scope | None) -> BoundUpdate | None:
    """The update of a request, in either form."""
    if request.update_expression is not None:
        changes: BoundUpdate = run_expression(
            "UpdateExpression", lambda: update_of_text(request.update_expression, scope or _NO_PLACEHOLDERS)
        )
        return changes
    updates = getattr(request, "attribute_updates", None)
    return legacy_parameters.attribute_updates(updates) if updates else None


class WriteOutcome(NamedTuple):
    """The change of one item, not yet applied."""

    table: StoredTable
    before: ItemVersion | None
    after: ItemVersion | None
    writes: list[Write]
    usage: TableUsage


def decide(
    context: EngineContext,
    reader: Reader,
    table: StoredTable,
    storage_key: bytes,
    intent: WriteIntent,
    condition: BoundCondition | None,
    return_old: bool,
    offset: int = 0,
) -> WriteOutcome:
    """Reads the item, checks the condition and returns all writes of the change."""
    if condition is not None:
        table.check_scalar_paths(condition.paths)
    before = load_version(reader, table, storage_key)
    if before is None and (condition is not None or type(intent) is UpdateIntent):
        reader.check_missing(table.space, storage_key)
    if condition is not None and not condition.keep(before.item if before else {}):
        raise ConditionalCheckFailedException(before.item if before and return_old else None)
    after = intent.after(table, before)
    writes, usage = writes_for(reader, table, storage_key, before, after, context.clock(), offset=offset)
    return WriteOutcome(table, before, after, writes, usage)


def write_job(
    context: EngineContext, request: Any, intent: WriteIntent, condition: BoundCondition | None, reply: WriteOutput
) -> Callable[[StorageTransaction], WriteOutput]:
    """The job of one PutItem, UpdateItem or DeleteItem."""
    return_old = request.return_values_on_condition_check_failure == "ALL_OLD"

    def job(txn: StorageTransaction) -> WriteOutput:
        table = context.table_for_write(request.table_name)
        storage_key = intent.storage_key(table)
        outcome = decide(context, txn, table, storage_key, intent, condition, return_old)
        txn.apply(outcome.writes)
        reply.attributes = returned_attributes(request.return_values, intent, outcome)
        reply.consumed_capacity = consumed_capacity(outcome.usage, request.return_consumed_capacity)
        reply.item_collection_metrics = metrics_of(txn, request, outcome)
        return reply

    return job


def returned_attributes(return_values: str | None, intent: WriteIntent, outcome: WriteOutcome) -> Raw | None:
    """The attributes for ReturnValues."""
    if return_values is None or return_values == "NONE":
        return None
    image = outcome.after if return_values.endswith("NEW") else outcome.before
    if image is None:
        return None
    if return_values.startswith("ALL"):
        return Raw(image.row.value)
    paths = intent.update.compiled.paths if isinstance(intent, UpdateIntent) and intent.update else []
    touched = project(image.item, paths)
    return Raw(_encode(touched)) if touched else None


def metrics_of(reader: Reader, request: Any, outcome: WriteOutcome) -> ItemCollectionMetrics | None:
    """The ItemCollectionMetrics, where the request asks for them and the table has a local index."""
    image = outcome.after or outcome.before
    wanted = getattr(request, "return_item_collection_metrics", None)
    if wanted != "SIZE" or not outcome.table.has_local_indexes or image is None:
        return None
    return collection_metrics(reader, outcome.table, image.item)
