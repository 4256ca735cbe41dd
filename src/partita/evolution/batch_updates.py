"""Conditional updates of single items, 25 in a request.

BatchWriteItem has no conditions, so these are PartiQL statements: an UPDATE fails where the item does not exist, or
another condition of its WHERE does not hold. Each is billed as an UpdateItem.
"""

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from partita.design.conditions import Comparison, Condition, Exists, Not
from partita.dynamodb.exceptions import UnknownOperationException
from partita.dynamodb.limits import STATEMENT_LENGTH
from partita.dynamodb.statement_shapes import BatchExecuteStatement, StatementRequest
from partita.dynamodb.values import AttributeValue, Item
from partita.evolution.evolution_store import EvolutionStore
from partita.plan.actions import RemoveAttribute, SetAttribute, Step
from partita.store.context import StoreContext
from partita.store.flows import Flow
from partita.store.retries import send_idempotent

BATCH = 25


class ItemUpdate(msgspec.Struct, frozen=True, gc=False):
    """An update of one item that must exist, and for which the conditions must hold."""

    table: str
    key: Item
    steps: dict[str, Step]
    conditions: tuple[Condition, ...] = ()


def update_items(db: EvolutionStore, updates: Sequence[ItemUpdate]) -> list[bool]:
    """Whether each of the updates was made; one that was not may have a condition that does not hold.

    Several requests are under way at a time: over a network they share the wait, on a file they share a commit.
    """

    def run(several: Sequence[ItemUpdate]) -> list[bool]:
        return db.run_flow(_batch_update(db.context, several))

    batches = [updates[at : at + BATCH] for at in range(0, len(updates), BATCH)]
    if len(batches) <= 1:
        return run(updates)
    return [each for made in db.threads.map(run, batches) for each in made]


def _batch_update(context: StoreContext, updates: Sequence[ItemUpdate]) -> Flow[list[bool]]:
    statements = [_statement(context, each) for each in updates]
    asked = [each for each in statements if each is not None]
    made: list[bool] = []
    if asked:
        try:
            reply = yield from send_idempotent(context, BatchExecuteStatement(statements=asked))
            made = [each.error is None for each in reply.responses or ()]
        except UnknownOperationException:
            made = [False] * len(asked)  # a backend without PartiQL
    waiting = iter(made)
    return [False if each is None else next(waiting) for each in statements]


def _statement(context: StoreContext, update: ItemUpdate) -> StatementRequest | None:
    """The statement of an update; None where PartiQL has none for it, or it is too long."""
    sets: list[str] = []
    parameters: list[AttributeValue] = []
    for name, step in update.steps.items():
        if isinstance(step, SetAttribute):
            sets.append(f"SET {_quoted(name)} = ?")
            parameters.append(step.value)
        elif isinstance(step, RemoveAttribute):
            sets.append(f"REMOVE {_quoted(name)}")
        else:
            return None
    terms = []
    for name, value in update.key.items():
        terms.append(f"{_quoted(name)} = ?")
        parameters.append(value)
    for condition in update.conditions:
        match condition:
            case Comparison("=", field, dict() as value):
                terms.append(f"{_quoted(str(field.path[0]))} = ?")
                parameters.append(value)
            case Not(Exists(field)):
                terms.append(f"{_quoted(str(field.path[0]))} IS MISSING")
            case Exists(field) if field.path[0] in update.key:
                continue
            case _:
                return None
    table = _quoted(context.table_name(update.table))
    text = f"UPDATE {table} {' '.join(sets)} WHERE {' AND '.join(terms)}"
    return None if len(text) > STATEMENT_LENGTH else StatementRequest(statement=text, parameters=parameters)


@lru_cache(maxsize=4096)
def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
