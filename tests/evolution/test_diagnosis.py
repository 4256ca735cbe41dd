"""The doctor reports what is wrong with live data, and repairs it."""

from partita import Store, connect
from partita.dynamodb.backend import Backend
from partita.dynamodb.requests import DeleteItem, PutItem, UpdateItem
from partita.dynamodb.values import AttributeValue, Item
from partita.evolution.diagnosis import diagnose
from tests.evolution.shop import second
from tests.evolution.test_apply import built_from_nothing, filled, stored


def damage(backend: Backend, key: tuple[str, str], expression: str, value: AttributeValue | None = None) -> None:
    """Changes an item as no program of the design does."""
    request = UpdateItem(
        table_name="shop",
        key={"PK": {"S": key[0]}, "SK": {"S": key[1]}},
        update_expression=expression,
        expression_attribute_values=None if value is None else {":v": value},
    )
    backend.call(request)


def test_healthy_data_has_no_findings() -> None:
    shop = second(unique=True)
    with connect("memory:") as backend:
        found = diagnose(filled(Store(backend, shop.design), shop, 3, 3))
        assert (found.findings, found.items) == ({}, 15)


def test_damage_is_reported_and_repaired() -> None:
    shop = second(unique=True)
    with connect("memory:") as backend:
        db = filled(Store(backend, shop.design), shop, 4, 3)
        damage(backend, ("CUSTOMER#c0", "ORDER#0-00"), "SET GSI1PK = :v", {"S": "STATUS#LOST"})
        damage(backend, ("CUSTOMER#c1", "PROFILE"), "SET open_orders = :v", {"N": "7"})
        damage(backend, ("CUSTOMER#c2", "PROFILE"), "REMOVE spent")
        guard = {"PK": {"S": "UNIQUE#Customer#email#3@example.com"}, "SK": {"S": "UNIQUE"}}
        backend.call(DeleteItem(table_name="shop", key=guard))
        owner = {"M": {"PK": {"S": "CUSTOMER#gone"}, "SK": {"S": "PROFILE"}}}
        orphan: Item = {"PK": {"S": "UNIQUE#Customer#email#ghost"}, "SK": {"S": "UNIQUE"}, "guardOf": owner}
        backend.call(PutItem(table_name="shop", item=orphan))
        found = diagnose(db)
        assert {kind: len(several) for kind, several in found.findings.items()} == {
            "stale index keys": 1,
            "missing guards": 1,
            "orphaned guards": 1,
            "wrong counters": 2,
        }
        before = stored(db)
        assert diagnose(db).findings == found.findings
        assert stored(db) == before
        diagnose(db, repair=True)
        assert diagnose(db).findings == {}
        assert stored(db) == built_from_nothing(db, shop)


def test_what_people_must_decide_is_reported_and_left_alone() -> None:
    shop = second()
    with connect("memory:") as backend:
        db = filled(Store(backend, shop.design), shop, 1, 1)
        strange = {"PK": {"S": "OTHER"}, "SK": {"S": "x"}}
        broken = {"PK": {"S": "CUSTOMER#c1"}, "SK": {"S": "PROFILE"}, "email": {"N": "1"}}
        orphan = {"PK": {"S": "CUSTOMER#no"}, "SK": {"S": "ORDER#1"}}
        for item in (strange, broken, orphan):
            backend.call(PutItem(table_name="shop", item=item))
        found = diagnose(db, repair=True)
        assert found.findings["unexplained items"] == ["OTHER x"]
        assert [each.partition(":")[0] for each in found.findings["unreadable items"]] == [
            "Customer CUSTOMER#c1 PROFILE"
        ]
        assert found.findings["orphaned children"] == ["Order CUSTOMER#no ORDER#1: its Customer does not exist"]
        assert strange in stored(db)
        assert broken in stored(db)
