"""Planting data piece by piece: with progress, and resumed where it was interrupted.

A seeding is a sequence of pieces that is the same every time. A piece is a list of entities without promises to keep,
which are written in batches, or a function that calls the services of the system. How many pieces are done is kept in
a small table of its own beside the data, so that a second run of the same seeding goes on behind the last one.
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


def load(db: Store, name: str, pieces: Iterable[SeedStep], progress: Callable[[int], None] = lambda done: None) -> int:
    """Write the pieces that are not yet written; answers with how many were. `progress` hears how many are done.

    `name` tells one seeding from another: the system, its scale and its seed.
    """
    _create_table(db)
    done = _done(db, name)
    progress(done)
    written = 0
    for number, piece in enumerate(pieces, 1):
        if number <= done:
            continue
        if callable(piece):
            piece(db)
        else:
            db.put_many(piece)
        _mark(db, name, number)
        progress(number)
        written += 1
    return written


def is_loaded(db: Store, name: str, total: int) -> bool:
    """Whether a seeding of this many pieces has run to its end."""
    _create_table(db)
    return _done(db, name) >= total


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


def _done(db: Store, name: str) -> int:
    reply = db.backend.call(GetItem(table_name=TABLE, key={"seeding": {"S": name}}, consistent_read=True))
    if reply.item is None:
        return 0
    item: dict[str, Any] = msgspec.json.decode(reply.item)
    return int(item["done"]["N"])


def _mark(db: Store, name: str, done: int) -> None:
    item: Item = {"seeding": {"S": name}, "done": {"N": str(done)}}
    db.backend.call(PutItem(table_name=TABLE, item=item))
