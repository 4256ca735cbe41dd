"""The size of an item collection: its items and their rows in local indexes."""

import pytest

from partita import connect
from partita.dynamodb import requests as q
from partita.dynamodb.shapes import AttributeDefinition, KeySchemaElement, Projection, SecondaryIndex
from partita.dynamodb.values import Item
from partita.engine import item_collections
from partita.engine.item_collections import collection_bytes


def _keys(partition: str, sort: str) -> list[KeySchemaElement]:
    return [
        KeySchemaElement(attribute_name=partition, key_type="HASH"),
        KeySchemaElement(attribute_name=sort, key_type="RANGE"),
    ]


TABLE = q.CreateTable(
    table_name="notes",
    attribute_definitions=[AttributeDefinition(attribute_name=name, attribute_type="S") for name in ("pk", "sk", "at")],
    key_schema=_keys("pk", "sk"),
    local_secondary_indexes=[
        SecondaryIndex(
            index_name="by_at", key_schema=_keys("pk", "at"), projection=Projection(projection_type="KEYS_ONLY")
        )
    ],
    billing_mode="PAY_PER_REQUEST",
)


def _item(partition: str, sort: str) -> Item:
    return {"pk": {"S": partition}, "sk": {"S": sort}, "at": {"S": "noon"}, "text": {"S": "x" * 100}}


def test_collection_size_includes_items_and_local_index_rows() -> None:
    with connect("memory:") as engine:
        engine.call(TABLE)
        for partition, sort in (("a", "1"), ("a", "2"), ("b", "1")):
            engine.call(q.PutItem(table_name="notes", item=_item(partition, sort)))
        context = engine._context
        item_bytes = len("pkask1atnoontext") + 100
        row_bytes = len("pkask1atnoon")
        found = collection_bytes(context.storage, context.table("notes"), _item("a", "1"))
        assert found == 2 * (item_bytes + row_bytes)


@pytest.mark.parametrize(("gigabyte", "expected"), [(10_000, [0.0, 1.0]), (200, [1.0, 2.0]), (100, [2.0, 3.0])])
def test_size_range_follows_the_size(gigabyte: int, expected: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_collections, "GIGABYTE", gigabyte)
    with connect("memory:") as engine:
        engine.call(TABLE)
        engine.call(q.PutItem(table_name="notes", item=_item("b", "1")))
        reply = engine.call(
            q.PutItem(
                table_name="notes",
                item=_item("a", "1") | {"more": {"S": "y" * 100}},
                return_item_collection_metrics="SIZE",
            )
        )
        assert reply.item_collection_metrics is not None
        assert reply.item_collection_metrics.item_collection_key == {"pk": {"S": "a"}}
        assert reply.item_collection_metrics.size_estimate_range_gb == expected
