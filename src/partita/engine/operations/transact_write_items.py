"""TransactWriteItems: up to a hundred writes and checks of several tables, all or none, once for each token."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import msgspec

from partita.dynamodb.capacity import read_units
from partita.dynamodb.exceptions import (
    ConditionalCheckFailedException,
    DuplicateItemException,
    IdempotentParameterMismatchException,
    TransactionCanceledException,
    ValidationException,
)
from partita.dynamodb.limits import TOKEN_SECONDS, TRANSACTION_BYTES
from partita.dynamodb.requests import TransactWriteItem, TransactWriteItems
from partita.dynamodb.responses import ItemCollectionMetrics, TransactWriteItemsOutput
from partita.engine.catalog import TOKENS
from partita.engine.constraints import check_members
from partita.engine.consumed_capacity import Usage, consumed
from partita.engine.context import EngineContext, Job
from partita.engine.expressions.condition import Bound
from partita.engine.operations.item_writes import (
    ConditionCheck,
    Delete,
    Outcome,
    Put,
    Update,
    WriteIntent,
    decide,
    metrics_of,
    update_changes,
)
from partita.engine.operations.transact_get_items import ONCE
from partita.engine.parameters import check_combination, condition_of, scope_of
from partita.engine.schema import StoredTable
from partita.engine.write import load_version
from partita.storage.contract import Row, StorageTransaction, Write

_encode = msgspec.json.encode


class _Token(msgspec.Struct, frozen=True):
    """What a token stands for: the request it came with, when, and what a repetition is charged for."""

    digest: str
    at: float
    sizes: list[tuple[str, int]]


_decode_token = msgspec.json.Decoder(_Token).decode


@dataclass(frozen=True, slots=True)
class Action:
    """One write or check of a transaction."""

    table_name: str
    intent: WriteIntent
    condition: Bound | None
    return_old: bool

    @property
    def is_check(self) -> bool:
        return isinstance(self.intent, ConditionCheck)


def transact_write_items(context: EngineContext, request: TransactWriteItems) -> Job:
    check_members(request)
    actions = [_action(each) for each in request.transact_items or []]
    puts = [action.intent for action in actions if isinstance(action.intent, Put)]
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
    context: EngineContext, txn: StorageTransaction, request: Any, actions: Callable[[], list[Action]]
) -> TransactWriteItemsOutput:
    """Runs the actions, unless the request's token says that they have been run."""
    if request.client_request_token is None:
        return _run(context, txn, request, actions(), [])
    digest = _digest(request)
    repeated = _repeated(context, txn, request, digest)
    return repeated or _run(context, txn, request, actions(), [digest])


def _action(item: TransactWriteItem) -> Action:
    given = [each for each in (item.condition_check, item.put, item.delete, item.update) if each is not None]
    if len(given) != 1:
        raise ValidationException(
            "TransactItems can only contain one of Check, Put, Update or Delete"
            if given
            else "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"
        )
    request: Any = given[0]
    expressions = ["update_expression", "condition_expression"] if item.update else ["condition_expression"]
    check_combination(request, expressions, [])
    scope = scope_of(request)
    intent: WriteIntent
    if item.put is not None:
        intent = Put.of(item.put.item or {})
    elif item.update is not None:
        intent = Update(item.update.key or {}, update_changes(item.update, scope))
    elif item.delete is not None:
        intent = Delete(item.delete.key or {})
    else:
        intent = ConditionCheck(request.key or {})
    condition = condition_of(request, scope)
    if scope:
        scope.check_all_used()
    return_old = request.return_values_on_condition_check_failure == "ALL_OLD"
    return Action(request.table_name, intent, condition, return_old)


def _run(
    context: EngineContext, txn: StorageTransaction, request: Any, actions: list[Action], digest: list[str]
) -> TransactWriteItemsOutput:
    context = context.at_one_moment()
    tables = [context.known_table(action.table_name) for action in actions]
    outcomes = _outcomes(context, txn, actions, tables)
    writes = [write for outcome in outcomes for write in outcome.writes]
    if digest:
        writes.append(_token_write(context, txn, request, digest[0], outcomes))
    txn.apply(writes)
    used: dict[str, Usage] = {}
    metrics: dict[str, list[ItemCollectionMetrics]] = {}
    for outcome in outcomes:
        usage = used.setdefault(outcome.table.name, Usage(outcome.table))
        usage.add(outcome.usage)
        usage.units += outcome.usage.units  # twice for the table; index writes stay single
        if (metric := metrics_of(txn, request, outcome)) is not None:
            metrics.setdefault(outcome.table.name, []).append(metric)
    return _output(request, used, "write", metrics)


def _outcomes(
    context: EngineContext, txn: StorageTransaction, actions: list[Action], tables: list[StoredTable]
) -> list[Outcome]:
    """What each action does; the first pass over all of them says for each whether it can."""
    outcomes: list[Outcome] = []
    reasons: list[dict[str, Any]] = []
    positions: set[tuple[str, bytes]] = set()
    for action, table in zip(actions, tables, strict=True):
        try:
            position = action.intent.place(table)
            if (table.name, position) in positions:
                raise _TwiceOnOneItem(ONCE)
            positions.add((table.name, position))
            outcomes.append(_outcome(context, txn, action, table, position, len(outcomes)))
            reasons.append({"Code": "None"})
        except _TwiceOnOneItem:
            raise
        except ConditionalCheckFailedException as error:
            reason: dict[str, Any] = {"Code": "ConditionalCheckFailed", "Message": error.message}
            if error.item is not None:
                reason["Item"] = error.item
            reasons.append(reason)
        except DuplicateItemException as error:
            reasons.append({"Code": "DuplicateItem", "Message": error.message})
        except ValidationException as error:
            if "cannot contain an empty" in error.message:
                raise
            reasons.append({"Code": "ValidationError", "Message": error.message})
    if len(outcomes) < len(actions):
        raise TransactionCanceledException(reasons)
    return outcomes


class _TwiceOnOneItem(ValidationException):
    """A fault of the request, not of one action."""


def _outcome(
    context: EngineContext, txn: StorageTransaction, action: Action, table: StoredTable, position: bytes, offset: int
) -> Outcome:
    outcome = decide(context, txn, table, position, action.intent, action.condition, action.return_old, offset)
    if not action.is_check:
        return outcome
    before = load_version(txn, table, position)
    return Outcome(table, before, before, [], Usage(table, outcome.usage.units))


def _digest(request: Any) -> str:
    """The request without what may differ between repetitions."""
    same = msgspec.structs.replace(request, client_request_token=None, return_consumed_capacity=None)
    return blake2b(_encode(same), digest_size=16).hexdigest()


def _repeated(
    context: EngineContext, txn: StorageTransaction, request: Any, digest: str
) -> TransactWriteItemsOutput | None:
    """The answer to a token that was seen within ten minutes; it is charged as a transactional read."""
    row = txn.get(TOKENS, (request.client_request_token or "").encode())
    if row is None:
        return None
    token = _decode_token(row.value)
    if context.clock() - token.at > TOKEN_SECONDS:
        return None
    if token.digest != digest:
        raise IdempotentParameterMismatchException()
    used: dict[str, Usage] = {}
    for name, size in token.sizes:
        table = context.known_table(name)
        used.setdefault(name, Usage(table)).units += 2 * read_units(size, True)
    return _output(request, used, "read", {})


def _token_write(
    context: EngineContext, txn: StorageTransaction, request: Any, digest: str, outcomes: list[Outcome]
) -> Write:
    sizes = [
        (each.table.name, max(each.before.size if each.before else 0, each.after.size if each.after else 0))
        for each in outcomes
    ]
    key = (request.client_request_token or "").encode()
    token = _Token(digest, context.clock(), sizes)
    return Write(TOKENS, key, txn.get(TOKENS, key), Row(0, _encode(token)))


def _output(
    request: Any,
    used: dict[str, Usage],
    kind: str,
    metrics: dict[str, list[ItemCollectionMetrics]],
) -> TransactWriteItemsOutput:
    capacities = [consumed(usage, request.return_consumed_capacity, kind) for usage in used.values()]
    return TransactWriteItemsOutput(
        consumed_capacity=[each for each in capacities if each is not None] or None,
        item_collection_metrics=metrics or None,
    )
