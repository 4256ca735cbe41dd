"""TransactWriteItems: up to a hundred writes and checks of several tables, all or none, once for each token."""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import msgspec

from partita.dynamodb.capacity import read_units
from partita.dynamodb.exceptions import (
    ConditionalCheckFailedException,
    DuplicateItemException,
    EmptyKeyValue,
    IdempotentParameterMismatchException,
    TransactionCanceledException,
    ValidationException,
)
from partita.dynamodb.limits import TOKEN_SECONDS, TRANSACTION_BYTES
from partita.dynamodb.requests import TransactWriteItem, TransactWriteItems
from partita.dynamodb.responses import ItemCollectionMetrics, TransactWriteItemsOutput
from partita.engine.catalog import TOKENS
from partita.engine.constraints import check_members
from partita.engine.consumed_capacity import TableUsage, consumed_capacity
from partita.engine.context import EngineContext, Job
from partita.engine.expressions.condition import BoundCondition
from partita.engine.operations.item_writes import (
    CheckIntent,
    DeleteIntent,
    PutIntent,
    UpdateIntent,
    WriteIntent,
    WriteOutcome,
    decide,
    metrics_of,
    update_of,
)
from partita.engine.operations.transact_get_items import SECOND_ACTION_ON_ITEM
from partita.engine.parameters import check_combination, condition_of, scope_of
from partita.engine.schema import StoredTable
from partita.engine.write import load_version
from partita.storage.contract import Row, StorageTransaction, Write

_encode = msgspec.json.encode


class _StoredToken(msgspec.Struct, frozen=True):
    """A token in storage: the digest of its request, its time, and the sizes that a repetition is charged for."""

    digest: str
    at: float
    sizes: list[tuple[str, int]]


_decode_token = msgspec.json.Decoder(_StoredToken).decode


class TransactionAction(msgspec.Struct, frozen=True):
    """One write or check of a transaction."""

    table_name: str
    intent: WriteIntent
    condition: BoundCondition | None
    return_old: bool

    @property
    def is_check(self) -> bool:
        return isinstance(self.intent, CheckIntent)


def transact_write_items(context: EngineContext, request: TransactWriteItems) -> Job:
    check_members(request)
    actions = [_action(each) for each in request.transact_items or []]
    puts = [action.intent for action in actions if isinstance(action.intent, PutIntent)]
    for put in puts:
        put.check_size()
    if sum(put.size for put in puts) > TRANSACTION_BYTES:
        raise ValidationException(
            "Collection size of items exceeded, which can also be caused by the aggregate size of the items "
            "in the transaction exceeding the 4MB limit"
        )

    def job(txn: StorageTransaction) -> TransactWriteItemsOutput:
        return run_transaction(context, txn, request, lambda: actions)

    return job


def run_transaction(
    context: EngineContext, txn: StorageTransaction, request: Any, actions: Callable[[], list[TransactionAction]]
) -> TransactWriteItemsOutput:
    """Runs the actions, unless the request repeats the token of one that has run."""
    if request.client_request_token is None:
        return _run(context, txn, request, actions(), [])
    digest = _digest(request)
    repeated = _repeated_reply(context, txn, request, digest)
    return repeated or _run(context, txn, request, actions(), [digest])


def _action(item: TransactWriteItem) -> TransactionAction:
    present = [each for each in (item.condition_check, item.put, item.delete, item.update) if each is not None]
    if len(present) != 1:
        raise ValidationException(
            "TransactItems can only contain one of Check, Put, Update or Delete"
            if present
            else "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"
        )
    request: Any = present[0]
    expressions = ["update_expression", "condition_expression"] if item.update else ["condition_expression"]
    check_combination(request, expressions, [])
    scope = scope_of(request)
    intent: WriteIntent
    if item.put is not None:
        intent = PutIntent.of(item.put.item or {})
    elif item.update is not None:
        intent = UpdateIntent(item.update.key or {}, update_of(item.update, scope))
    elif item.delete is not None:
        intent = DeleteIntent(item.delete.key or {})
    else:
        intent = CheckIntent(request.key or {})
    condition = condition_of(request, scope)
    if scope:
        scope.check_all_used()
    return_old = request.return_values_on_condition_check_failure == "ALL_OLD"
    return TransactionAction(request.table_name, intent, condition, return_old)


def _run(
    context: EngineContext, txn: StorageTransaction, request: Any, actions: list[TransactionAction], digest: list[str]
) -> TransactWriteItemsOutput:
    context = context.with_frozen_clock()
    tables = [context.table_for_write(action.table_name) for action in actions]
    outcomes = _outcomes(context, txn, actions, tables)
    writes = [write for outcome in outcomes for write in outcome.writes]
    if digest:
        writes.append(_token_write(context, txn, request, digest[0], outcomes))
    txn.apply(writes)
    used: dict[str, TableUsage] = {}
    metrics: dict[str, list[ItemCollectionMetrics]] = {}
    for outcome in outcomes:
        usage = used.setdefault(outcome.table.name, TableUsage(outcome.table))
        usage.add(outcome.usage)
        usage.units += outcome.usage.units  # table writes count twice in a transaction, index writes once
        if (metric := metrics_of(txn, request, outcome)) is not None:
            metrics.setdefault(outcome.table.name, []).append(metric)
    return _output(request, used, "write", metrics)


def _outcomes(
    context: EngineContext, txn: StorageTransaction, actions: list[TransactionAction], tables: list[StoredTable]
) -> list[WriteOutcome]:
    """The outcome of each action; raises one error with the reasons of all that fail."""
    outcomes: list[WriteOutcome] = []
    reasons: list[dict[str, Any]] = []
    storage_keys: set[tuple[str, bytes]] = set()
    for action, table in zip(actions, tables, strict=True):
        try:
            storage_key = action.intent.storage_key(table)
            if (table.name, storage_key) in storage_keys:
                raise _SecondActionOnItem(SECOND_ACTION_ON_ITEM)
            storage_keys.add((table.name, storage_key))
            outcomes.append(_outcome(context, txn, action, table, storage_key, len(outcomes)))
            reasons.append({"Code": "None"})
        except (_SecondActionOnItem, EmptyKeyValue):
            raise
        except ConditionalCheckFailedException as error:
            reason: dict[str, Any] = {"Code": "ConditionalCheckFailed", "Message": error.message}
            if error.item is not None:
                reason["Item"] = error.item
            reasons.append(reason)
        except DuplicateItemException as error:
            reasons.append({"Code": "DuplicateItem", "Message": error.message})
        except ValidationException as error:
            reasons.append({"Code": "ValidationError", "Message": error.message})
    if len(outcomes) < len(actions):
        raise TransactionCanceledException(reasons)
    return outcomes


class _SecondActionOnItem(ValidationException):
    """An error of the whole request, not of one action."""


def _outcome(
    context: EngineContext,
    txn: StorageTransaction,
    action: TransactionAction,
    table: StoredTable,
    storage_key: bytes,
    offset: int,
) -> WriteOutcome:
    outcome = decide(context, txn, table, storage_key, action.intent, action.condition, action.return_old, offset)
    if not action.is_check:
        return outcome
    before = load_version(txn, table, storage_key)
    return WriteOutcome(table, before, before, [], TableUsage(table, outcome.usage.units))


def _digest(request: Any) -> str:
    """A digest of the request, without the members that a repetition may change."""
    same = msgspec.structs.replace(request, client_request_token=None, return_consumed_capacity=None)
    return blake2b(_encode(same), digest_size=16).hexdigest()


def _repeated_reply(
    context: EngineContext, txn: StorageTransaction, request: Any, digest: str
) -> TransactWriteItemsOutput | None:
    """The reply to a repeated token within ten minutes, charged as a transactional read; None for a new token."""
    row = txn.get(TOKENS, (request.client_request_token or "").encode())
    if row is None:
        return None
    token = _decode_token(row.value)
    if context.clock() - token.at > TOKEN_SECONDS:
        return None
    if token.digest != digest:
        raise IdempotentParameterMismatchException()
    used: dict[str, TableUsage] = {}
    for name, size in token.sizes:
        table = context.table_for_write(name)
        used.setdefault(name, TableUsage(table)).units += 2 * read_units(size, True)
    return _output(request, used, "read", {})


def _token_write(
    context: EngineContext, txn: StorageTransaction, request: Any, digest: str, outcomes: list[WriteOutcome]
) -> Write:
    sizes = [
        (each.table.name, max(each.before.size if each.before else 0, each.after.size if each.after else 0))
        for each in outcomes
    ]
    key = (request.client_request_token or "").encode()
    token = _StoredToken(digest, context.clock(), sizes)
    return Write(TOKENS, key, txn.get(TOKENS, key), Row(0, _encode(token)))


def _output(
    request: Any,
    used: dict[str, TableUsage],
    kind: str,
    metrics: dict[str, list[ItemCollectionMetrics]],
) -> TransactWriteItemsOutput:
    capacities = [consumed_capacity(usage, request.return_consumed_capacity, kind) for usage in used.values()]
    return TransactWriteItemsOutput(
        consumed_capacity=[each for each in capacities if each is not None] or None,
        item_collection_metrics=metrics or None,
    )
