"""Writes to a database file until it is killed, and prints every acknowledged write.

Run as a program: `crashing FILE SEED`. It prints one line for each finished write, unbuffered: the reader knows that it
is durable. A write is also printed before it begins, since a kill may leave it in doubt.
"""

import sys
from contextlib import suppress
from pathlib import Path
from random import Random

from partita.connect import connect
from partita.dynamodb import requests as q
from partita.dynamodb.exceptions import ResourceInUseException
from partita.dynamodb.shapes import (
    AttributeDefinition,
    KeySchemaElement,
    Projection,
    SearchSchemaElement,
    SecondaryIndex,
    StreamSpecification,
    VectorAttribute,
    VectorIndexDefinition,
)
from partita.dynamodb.values import Item
from partita.engine.engine import Engine

KEYS = 40


def create(engine: Engine) -> None:
    with suppress(ResourceInUseException):
        engine.call(
            q.CreateTable(
                table_name="crashed",
                attribute_definitions=[
                    AttributeDefinition(attribute_name="pk", attribute_type="S"),
                    AttributeDefinition(attribute_name="g", attribute_type="N"),
                ],
                key_schema=[KeySchemaElement(attribute_name="pk", key_type="HASH")],
                billing_mode="PAY_PER_REQUEST",
                global_secondary_indexes=[
                    SecondaryIndex(
                        index_name=name,
                        key_schema=[KeySchemaElement(attribute_name="g", key_type="HASH")],
                        projection=Projection(projection_type=kind),
                    )
                    for name, kind in (("all", "ALL"), ("keys", "KEYS_ONLY"))
                ],
                vector_indexes=[
                    VectorIndexDefinition(
                        index_name="nearest",
                        vector_attribute=VectorAttribute(attribute_name="emb"),
                        search_schema=[SearchSchemaElement(attribute_name="g", search_schema_element_type="HASH")],
                        projection=Projection(projection_type="ALL"),
                        dimensions=3,
                        distance_function="EUCLIDEAN",
                    )
                ],
                stream_specification=StreamSpecification(stream_enabled=True, stream_view_type="NEW_AND_OLD_IMAGES"),
            )
        )


def item(random: Random, key: int, stamp: str) -> Item:
    size = random.choice([10, 500, 3000, 30_000])
    found: Item = {"pk": {"S": str(key)}, "g": {"N": str(random.randrange(4))}, "v": {"S": stamp}}
    vector = [{"N": str(random.randrange(-9, 9))} for _ in range(3)]
    return found | {"p": {"S": "x" * size}} | ({"emb": {"L": vector}} if random.random() < 0.9 else {})


def tell(word: str, stamp: str, keys: list[int]) -> None:
    sys.stdout.write(f"{word} {stamp} {','.join(map(str, keys))}\n")
    sys.stdout.flush()


def write(engine: Engine, random: Random, stamp: str, keys: list[int]) -> None:
    """Sends one request that gives each of the keys this stamp, or deletes the items when the stamp ends in d."""
    if stamp.endswith("d"):
        engine.call(q.DeleteItem(table_name="crashed", key={"pk": {"S": str(keys[0])}}))
    elif len(keys) == 1:
        engine.call(q.PutItem(table_name="crashed", item=item(random, keys[0], stamp)))
    else:
        actions = [q.TransactWriteItem(put=q.Put(table_name="crashed", item=item(random, key, stamp))) for key in keys]
        engine.call(q.TransactWriteItems(transact_items=actions))


def main() -> None:
    path, seed = sys.argv[1], int(sys.argv[2])
    random = Random(seed)
    engine = connect(Path(path), durability="process", maintain=False)
    create(engine)
    number = 0
    while True:
        number += 1
        kind = random.random()
        keys = random.sample(range(KEYS), 1 if kind < 0.7 else random.randint(2, 5))
        stamp = f"{seed}.{number}" + ("d" if kind < 0.15 else "")
        tell("begin", stamp, keys)
        write(engine, random, stamp, keys)
        tell("done", stamp, keys)


if __name__ == "__main__":
    main()
