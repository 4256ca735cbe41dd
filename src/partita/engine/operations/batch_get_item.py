"""BatchGetItem: up to a hundred items of several tables; those beyond the size of a reply stay unprocessed."""

import msgspec
from msgspec import Raw

from partita.dynamodb.capacity import read_units
from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.limits import BATCH_GET_BYTES, BATCH_GET_KEYS
from partita.dynamodb.requests import BatchGetItem, KeysAndAttributes
from partita.dynamodb.responses import BatchGetItemOutput
from partita.dynamodb.shapes import ConsumedCapacity
from partita.dynamodb.values import ResolvedPath
from partita.engine.constraints import check_members
from partita.engine.consumed_capacity import TableUsage, consumed_capacity
from partita.engine.context import EngineContext
from partita.engine.expressions.projection import project
from partita.engine.parameters import check_combination, check_one_form, projection_of, scope_of
from partita.engine.write import decode_item
from partita.storage.contract import Reader

_encode = msgspec.json.encode
DUPLICATES = "Provided list of item keys contains duplicates"


def batch_get_item(context: EngineContext, request: BatchGetItem) -> BatchGetItemOutput:
    check_members(request)
    wanted = request.request_items or {}
    if not wanted:
        raise ValidationException("The requestItems parameter is required for BatchGetItem")
    check_one_form(*(_used(field, wanted) for field in ("projection_expression", "attributes_to_get")))
    paths = {name: _check_keys(name, each) for name, each in wanted.items()}
    if sum(len(each.keys or []) for each in wanted.values()) > BATCH_GET_KEYS:
        raise ValidationException("Too many items requested for the BatchGetItem call")
    storage_keys = {name: _storage_keys(context, name, each) for name, each in wanted.items()}
    for name, each in paths.items():
        context.table(name).check_scalar_paths(iter(each or []))
    with context.storage.snapshot() as reader:
        return _BatchRead(context, reader, request).read(paths, storage_keys)


class _BatchRead:
    """The read of one batch, up to the maximum size of a reply."""

    def __init__(self, context: EngineContext, reader: Reader, request: BatchGetItem) -> None:
        self._context = context
        self._reader = reader
        self._request = request
        self._size = 0
        self._left: dict[str, KeysAndAttributes] = {}

    def read(
        self, paths: dict[str, list[ResolvedPath] | None], storage_keys: dict[str, list[bytes]]
    ) -> BatchGetItemOutput:
        reply = BatchGetItemOutput(responses={})
        used: list[ConsumedCapacity] = []
        for name, each in (self._request.request_items or {}).items():
            usage = TableUsage(self._context.table(name))
            found = self._read_table(name, each, paths[name], storage_keys[name], usage)
            reply.responses[usage.table.name] = found  # type: ignore[index]
            if (capacity := consumed_capacity(usage, self._request.return_consumed_capacity)) is not None:
                used.append(capacity)
        reply.unprocessed_keys = Raw(_encode(self._left))
        reply.consumed_capacity = used or None
        return reply

    def _read_table(
        self,
        name: str,
        each: KeysAndAttributes,
        paths: list[ResolvedPath] | None,
        storage_keys: list[bytes],
        usage: TableUsage,
    ) -> list[Raw]:
        found: list[Raw] = []
        for at, storage_key in enumerate(storage_keys):
            row = self._reader.get(usage.table.space, storage_key)
            if row and self._size + row.weight > BATCH_GET_BYTES:
                self._left[name] = msgspec.structs.replace(each, keys=(each.keys or [])[at:])
                break
            usage.units += read_units(row.weight if row else 0, each.consistent_read)
            if row is None:
                continue
            self._size += row.weight
            found.append(Raw(row.value if paths is None else _encode(project(decode_item(row.value), paths))))
        return found


def _used(field: str, wanted: dict[str, KeysAndAttributes]) -> list[str]:
    """The field, in a list, if a table of the batch has it: the service does not allow both forms in one batch."""
    return [field] if any(getattr(each, field) is not None for each in wanted.values()) else []


def _check_keys(name: str, each: KeysAndAttributes) -> list[ResolvedPath] | None:
    if each.keys is None:
        raise ValidationException(
            f"1 validation error detected: Value null at 'requestItems.{name}.member.keys' "
            "failed to satisfy constraint: Member must not be null"
        )
    if len(each.keys) > BATCH_GET_KEYS or not each.keys:
        bound = f"less than or equal to {BATCH_GET_KEYS}" if each.keys else "greater than or equal to 1"
        raise ValidationException(
            f"1 validation error detected: Value at 'RequestItems.{name}.member.Keys' "
            f"failed to satisfy constraint: Member must have length {bound}"
        )
    check_combination(each, ["projection_expression"], ["attributes_to_get"])
    scope = scope_of(each)
    paths = projection_of(each, scope)
    if scope:
        scope.check_all_used()
    return paths


def _storage_keys(context: EngineContext, name: str, each: KeysAndAttributes) -> list[bytes]:
    table = context.table(name)
    storage_keys = [table.storage_key(key) for key in each.keys or []]
    if len(set(storage_keys)) != len(storage_keys):
        raise ValidationException(DUPLICATES)
    return storage_keys
