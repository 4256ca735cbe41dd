"""Loading demo data step by step: with progress, and resumable.

The steps of a seed are the same in every run. A step is a list of entities without invariants, which are written in
batches, or a function that receives the store. The number of finished steps is stored in a small table beside the data,
so that a second run continues after the last finished step.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import msgspec

from partita.design.entities import Entity
from partita.dynamodb.exceptions import ResourceInUseException
from partita.dynamodb.requests import CreateTable, GetItem, PutItem
from partita.dynamodb.shapes import AttributeDefinition, KeySchemaElement
from partita.dynamodb.values import Item
from partita.store.store import Store

SeedStep: TypeAlias = Sequence[Entity] | Callable[[Store], None]

TABLE = "partita-seeds"


def load(db: Store, name: str, steps: Iterable[SeedStep], progress: Callable[[int], None] = lambda done: None) -> int:
    """Runs the steps that have not run yet and returns their number; `progress` receives the number of finished steps.

    `name` identifies the seed: the system, its scale and its random seed.
    """
    _create_table(db)
    done = _finished_steps(db, name)
    progress(done)
    loaded = 0
    for number, step in enumerate(steps, 1):
        if number <= done:
            continue
        if callable(step):
            step(db)
        else:
            db.put_many(step)
        _save_progress(db, name, number)
        progress(number)
        loaded += 1
    return loaded


def is_loaded(db: Store, name: str, total: int) -> bool:
    """Whether all steps of a seed have run."""
    _create_table(db)
    return _finished_steps(db, name) >= total


def _create_table(db: Store) -> None:
    try:
        db.backend.call(
            CreateTable(
                table_name=TABLE,
                attribute_definitions=[AttributeDefinition(attribute_name="seeding", attribute_type="S")],
                key_schema=[KeySchemaElement(attribute_name="seeding", key_type="HASH")],
                billing_mode="PAY_PER_REQUEST",
            )
        )
    except ResourceInUseException:
        return


def _key(db: Store, name: str) -> Item:
    """The key of a seed's progress; each stage that has its own table names has its own progress."""
    renamed = [db.table_name(table) for table in db.design.tables if db.table_name(table) != table.name]
    return {"seeding": {"S": " ".join([name, *renamed])}}


def _finished_steps(db: Store, name: str) -> int:
    reply = db.backend.call(GetItem(table_name=TABLE, key=_key(db, name), consistent_read=True))
    if reply.item is None:
        return 0
    item: dict[str, Any] = msgspec.json.decode(reply.item)
    return int(item["done"]["N"])


def _save_progress(db: Store, name: str, done: int) -> None:
    db.backend.call(PutItem(table_name=TABLE, item={**_key(db, name), "done": {"N": str(done)}}))
