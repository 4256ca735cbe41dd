"""Executing planned actions: one request if one is enough, a transaction if invariants concern other items.

A rejection by DynamoDB becomes the error of the invariant that caused it. A write that depends on an earlier read is
fenced; when the fence fails, it is planned again.
"""

from collections.abc import Callable
from operator import itemgetter
from typing import Any, TypeAlias

import msgspec

from partita.design.conditions import conjuncts
from partita.dynamodb import exceptions as wire_errors
from partita.dynamodb import limits
from partita.dynamodb.canonical import ItemIdentity, canonical_value, equal_items, item_identity
from partita.dynamodb.values import Item
from partita.errors import InvalidTransaction, PartitaError, RejectionUnexplained, RetriesExhausted
from partita.plan import actions as act
from partita.plan.actions import (
    AddToSet,
    DeleteFromSet,
    ItemAction,
    RemoveAttribute,
    SetAttribute,
    SetIfAbsent,
)
from partita.plan.design import Design, models_with_old_keys
from partita.plan.items import key_of
from partita.plan.migrated_edits import stored_action
from partita.plan.predicates import evaluate
from partita.plan.races import BoundUnread, NothingToTake, ParentMissing, Raced, Unexplained
from partita.plan.write_requests import single_request, transaction_request
from partita.store import log
from partita.store.context import StoreContext
from partita.store.flows import Flow, Wait
from partita.store.item_reads import fetch_item
from partita.store.rejections import explained_rejection
from partita.store.retries import PASSING_REASONS, PerhapsApplied, is_conflict, outcome_unknown, send

ATTEMPTS = 30  # attempts of a fenced write
SkippedItems: TypeAlias = set[ItemIdentity]
Planning: TypeAlias = Flow[list[ItemAction]]
Planner = Callable[[SkippedItems], Planning]


def execute(
    context: StoreContext, actions: list[ItemAction], moved: frozenset[ItemIdentity] = frozenset()
) -> Flow[Any]:
    """Executes all actions or raises the error of the failed one; returns the reply of a single write.

    `moved` are parents that were looked up under old keys for these actions, and moved from there.
    """
    design = context.design
    if design is not None and design.data.unwritten:
        actions = [stored_action(design.data, each) for each in actions]
    planned = actions
    if context.design is not None and models_with_old_keys(context.design):
        yield from _free_keys(context, context.design, planned)
    try:
        actions = yield from _combined(context, planned)
        if not actions:
            return None
        if len(actions) > limits.TRANSACTION_ACTIONS:
            most = limits.TRANSACTION_ACTIONS
            raise InvalidTransaction(f"{len(actions)} items in one transaction; DynamoDB takes at most {most}")
        if len(actions) == 1 and actions[0].kind != "check" and not actions[0].at_old_key:
            return (yield from _execute_one(context, actions[0]))
        return (yield from _execute_all(context, actions))
    except (wire_errors.ValidationException, wire_errors.TransactionCanceledException) as rejection:
        explained = explained_rejection(actions, rejection)
        if explained is None:
            raise
        raise explained from None
    except ParentMissing as missing:
        parent = item_identity(missing.model.table.name, key_of(missing.model, missing.values))
        if parent in moved or context.design is None:
            raise missing.otherwise from None
        yield from _move_parent(context, context.design, missing)
        return (yield from execute(context, planned, moved | {parent}))


def _move_parent(context: StoreContext, design: Design, missing: ParentMissing) -> Flow[None]:
    """Moves a parent from its old key to its current one, unless another writer has moved it meanwhile."""
    from partita.store.old_keys import move_from_old_key

    yield from move_from_old_key(context, design, missing.model, missing.values)


def _free_keys(context: StoreContext, design: Design, actions: list[ItemAction]) -> Flow[None]:
    """Moves the items of others away from the keys that are written or checked."""
    from partita.store.old_keys import free_keys

    models = models_with_old_keys(design)
    keys = ((models.get((each.table, each.entity)), each.key) for each in actions if not each.at_old_key)
    yield from free_keys(context, design, [(model, key) for model, key in keys if model is not None])


def _combined(context: StoreContext, actions: list[ItemAction]) -> Flow[list[ItemAction]]:
    """One action for each item, with a read where a limit needs one."""
    seen: dict[ItemIdentity, Item] = {}
    while True:
        try:
            return act.combine(actions, seen)
        except BoundUnread as unread:
            raw = yield from fetch_item(context, unread.table, unread.key)
            seen[item_identity(unread.table, unread.key)] = {} if raw is None else msgspec.json.decode(raw)


def _execute_one(context: StoreContext, action: ItemAction) -> Flow[Any]:
    """The reply; None after a lost one, if the item shows that the action was applied."""
    request = single_request(action)
    try:
        return (yield from send(context, request, entity=action.entity, once=True))
    except wire_errors.ConditionalCheckFailedException as rejection:
        clause = act.failed_clause(action, rejection.item)
        raise _rejection_error(action, clause, rejection.item) from None
    except PerhapsApplied as lost:
        try:
            raw = yield from fetch_item(context, action.table, action.key)
        except (PartitaError, OSError):
            raise outcome_unknown(request, action.entity, lost.__cause__) from lost.__cause__
        if not _shows(action, None if raw is None else msgspec.json.decode(raw)):
            raise outcome_unknown(request, action.entity, lost.__cause__) from lost.__cause__
        return None


def _shows(action: ItemAction, item: Item | None) -> bool:
    """Whether an item is in the state that an action gives it; another writer may have given it the same.

    So the sum of a step never shows that the step was applied: two writers would count as one. A condition on what
    the action leaves alone must hold still, or it may have been false before.
    """
    if action.from_read:
        return False
    if action.kind == "put":
        return equal_items(action.item or {}, item or {})
    if action.kind == "delete" or item is None:
        return action.kind == "delete" and item is None
    visible = all(_step_shows(item.get(name), step) for name, step in action.steps.items())
    terms = (term for clause in action.clauses for term in conjuncts(clause.condition))
    return visible and all(evaluate(term, item) for term in terms if action.steps.keys().isdisjoint(term.fields))


def _step_shows(value: Any, step: Any) -> bool:
    if isinstance(step, SetAttribute):
        return value is not None and canonical_value(value) == canonical_value(step.value)
    if isinstance(step, SetIfAbsent):
        return value is not None
    if isinstance(step, RemoveAttribute):
        return value is None
    if isinstance(step, AddToSet | DeleteFromSet):
        ((tag, elements),) = step.values.items()
        stored = {str(canonical_value({tag[0]: each})) for each in (value or {}).get(tag, ())}
        asked = {str(canonical_value({tag[0]: each})) for each in elements}
        return asked <= stored if isinstance(step, AddToSet) else not asked & stored
    return False


def _execute_all(context: StoreContext, actions: list[ItemAction]) -> Flow[None]:
    """Sends a transaction. Its token stays: a request that was applied although its reply was lost is not repeated."""
    request = transaction_request(actions, context.token())
    try:
        yield from send(context, request, entity=actions[0].entity)
    except wire_errors.TransactionCanceledException as cancelled:
        raise _cancellation_error(context, actions, cancelled) from None


def _cancellation_error(
    context: StoreContext, actions: list[ItemAction], cancelled: wire_errors.TransactionCanceledException
) -> Exception:
    """The error that cancelled a transaction, or that it met other transactions as often as it was sent.

    The error of an item that is written comes before those of others: an item that exists already may also exceed a
    limit and hold its own unique value.
    """
    if is_conflict(cancelled):
        return RetriesExhausted(actions[0].entity, context.retries + 1)
    causes: list[tuple[bool, Exception]] = []
    for action, reason in zip(actions, cancelled.reasons, strict=True):
        if reason["Code"] == "ConditionalCheckFailed":
            item = reason.get("Item")
            clause = act.failed_clause(action, item)
            own = action.own and (clause is None or clause.own)
            causes.append((own, _rejection_error(action, clause, item)))
        elif reason["Code"] not in PASSING_REASONS:
            return cancelled
    raced = next((cause for _, cause in causes if isinstance(cause, Raced)), None)
    return raced or max(causes, key=itemgetter(0))[1]


def _rejection_error(action: ItemAction, clause: act.Clause | None, item: Item | None) -> Exception:
    """The error of the clause that an item fails; it says so where there is none."""
    return Unexplained(action.entity, item) if clause is None else clause.on_failure(item or {})


def retry_on_race(context: StoreContext, entity: str, plan: Planner) -> Flow[Any]:
    """Plans and executes; plans again if an item changed since it was read, or a parent no longer exists.

    What an attempt leaves out belongs to what it read: after a race nothing is left out.
    """
    skip: set[ItemIdentity] = set()
    previous: Raced | None = None
    for attempt in range(ATTEMPTS):
        actions = yield from plan(skip)
        try:
            return (yield from execute(context, actions))
        except NothingToTake as missing:
            skip.add(missing.identity)
        except Raced as race:
            if isinstance(race, Unexplained) and race.repeats(previous):
                raise RejectionUnexplained(entity) from None
            previous = race
            skip.clear()
            yield pause_after_conflict(context, entity, attempt)
    raise retries_exhausted(entity)


def pause_after_conflict(context: StoreContext, entity: str, attempt: int, attempts: int = ATTEMPTS) -> Wait:
    """The wait before the next attempt of a write that met a conflicting one."""
    pause = context.pause(attempt)
    log.conflict(entity, attempt, attempts, pause.seconds)
    return pause


def retries_exhausted(entity: str, attempts: int = ATTEMPTS) -> RetriesExhausted:
    """The error of a write that met conflicting ones too often."""
    log.gave_up_on_conflicts(entity, attempts)
    return RetriesExhausted(entity, attempts)
