"""Replies contain the stored values: numbers with all of their digits, times in UTC."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from partita import Store
from tests.rest import library_api
from tests.rest.client import Client, Response

LONG = "12345678901234567890.123456789012345678"  # 38 digits
GOOD = {"bookId": "b", "boughtAt": "2025-01-01T00:00:00Z"}


def added(client: Client, **members: Any) -> Response:
    client.put("/shelves/s")
    reply = client.post("/shelves/s/books", GOOD | members)
    assert reply.status == 201, reply.json
    return reply


def place(made: Response) -> str:
    return made.headers["location"].removeprefix("/api/shelves")


@pytest.mark.parametrize(
    "value", [1.5, 1, -0.0, 1e22, 1e-7, 100.0, 0.1, [1.5, {"x": 2.25}], "1.5", None, {}, [], True, {"e": ""}]
)
def test_untyped_value_is_returned_as_it_was_sent(keeper: Client, value: Any) -> None:
    made = added(keeper, config={"it": value}, notes=[value])
    there = keeper.get(place(made))
    assert there.json["config"] == {"it": value}
    assert there.json["notes"] == [value]
    assert (there.body, there.tag) == (made.body, made.tag)
    (listed,) = keeper.get("/shelves/s/books").json["items"]
    assert listed == there.json


def test_untyped_number_keeps_all_digits(keeper: Client, shelf_db: Store) -> None:
    body = json.dumps(GOOD)[:-1] + f', "config": {{"it": {LONG}}}, "notes": [{LONG}], "price": {LONG}}}'
    keeper.put("/shelves/s")
    made = keeper.request("POST", "/shelves/s/books", body=body.encode())
    there = keeper.get(place(made))
    assert there.plain.count(LONG.encode()) == 3
    assert there.plain == made.plain
    (book,) = shelf_db(library_api.books("s"))
    assert book.config["it"] == book.notes[0] == book.price == Decimal(LONG)


def test_reply_can_be_sent_back(keeper: Client, shelf_db: Store) -> None:
    made = added(keeper, config={"ratio": 1.5})
    there = keeper.get(place(made))
    kept = keeper.patch(place(made), {"config": there.json["config"]}, if_match=there.tag)
    assert (kept.status, kept.json["config"]) == (200, {"ratio": 1.5})
    (book,) = shelf_db(library_api.books("s"))
    assert book.config == {"ratio": Decimal("1.5")}


@pytest.mark.parametrize(
    "members",
    [
        {"readAt": "2025-06-01T09:00:00+09:00"},
        {"boughtAt": "2025-06-01T09:00:00.5-03:00"},
        {"price": 12.50},
        {"price": "12.50"},
        {"price": 1000},
        {"size": {"highCm": 3.50, "wideCm": -0.0}},
        {"config": {"a": 1.50, "b": [1e5]}},
        {"bookId": "e\u0301"},
    ],
)
def test_etag_of_a_created_entity_matches(keeper: Client, members: dict[str, Any]) -> None:
    made = added(keeper, **members)
    there = keeper.get(place(made))
    assert (made.json, made.tag) == (there.json, there.tag)
    assert keeper.patch(place(made), {"cover": "HARD"}, if_match=made.tag).status == 200


def test_etag_of_a_change_matches(keeper: Client) -> None:
    at = place(added(keeper))
    changed = keeper.patch(at, {"readAt": "2025-06-01T09:00:00+09:00", "config": {"a": 1.50}, "price": 2.50})
    assert changed.tag == keeper.get(at).tag
    assert keeper.patch(at, {"cover": "HARD"}, if_match=changed.tag).status == 200


def test_order_of_a_map_does_not_change_the_etag(keeper: Client, shelf_db: Store) -> None:
    made = added(keeper, config={"a": 1, "b": 2})
    keeper.patch(place(made), {"config": {"b": 2, "a": 1}})
    assert keeper.patch(place(made), {"cover": "HARD"}, if_match=made.tag).status == 200


@pytest.mark.parametrize("number", ["1e200", "1e400", "1e-200", f"1{LONG}", "9" * 45])
def test_untyped_number_that_cannot_be_stored_is_named(keeper: Client, number: str) -> None:
    keeper.put("/shelves/s")
    body = json.dumps(GOOD)[:-1] + f', "config": {{"it": {number}}}}}'
    rejected = keeper.request("POST", "/shelves/s/books", body=body.encode())
    assert (rejected.status, rejected.json["field"]) == (422, "config"), rejected.json
    assert "DynamoDB stores" in rejected.json["detail"]


def test_decimal_is_a_number_in_the_schema(keeper: Client) -> None:
    described = keeper.get("/openapi.json").json["components"]["schemas"]
    for name in ("Book", "NewBook"):
        assert described[name]["properties"]["price"]["anyOf"][0]["type"] == "number"


PART = {"name": "n", "category": "battery", "manufacturer": "m", "model": "x", "year": 2024, "condition": "중고"}
NEED = {"companyName": "n", "industry": "i", "requiredSpecs": {}, "targetApplication": "t"}
SITE = {"title": "t", "template": "blog", "subdomain": "as-stored"}
CHECK = {"url": "https://example.com/", "checkType": "EBAY", "delayMs": 60_000}
ANN = "did:plc:ann-as-stored"


@pytest.mark.parametrize(
    ("before", "path", "body", "again"),
    [
        (None, f"/eecar/companies/{ANN}/needs", NEED | {"expiresAt": "2030-01-01T00:00:00+09:00"}, {"priority": "low"}),
        (
            ("/nbhd/users", {"bluesky_handle": "as-stored.bsky.social", "display_name": "A"}),
            f"/nbhd/users/{ANN}/sites",
            SITE | {"config": {"ratio": 1.5}},
            {"title": "u"},
        ),
        (
            ("/checks/users", {"email": "as@stored.example"}),
            "/checks/checks",
            CHECK | {"attributes": {"maxPrice": 12.5}},
            {"delayMs": 20_000},
        ),
        (
            None,
            "/eecar/parts",
            PART | {"price": 1, "quantity": 1, "spec": {"chemicalProps": {"ph": 7.25}}},
            {"price": 2},
        ),
    ],
)
def test_created_entity_is_equal_to_the_one_read(five: Client, before: Any, path: str, body: Any, again: Any) -> None:
    ann = five.by(ANN)
    if before is not None:
        assert ann.post(*before).status == 201
    made = ann.post(path, body)
    assert made.status == 201, made.json
    at = made.headers["location"].removeprefix("/api")
    there = ann.get(at)
    assert (there.json, there.tag) == (made.json, made.tag)
    assert ann.patch(at, again, if_match=made.tag).status == 200
    spec = ann.get(at + "/spec")
    assert spec.status == 404 or spec.json["chemicalProps"] == {"ph": 7.25}


def test_sets_in_an_untyped_map_stay_sets_after_another_change(keeper: Client, shelf_db: Store) -> None:
    """JSON has no sets; those that other code stored are kept."""
    made = added(keeper)
    with shelf_db.change(library_api.book("s", datetime(2025, 1, 1, tzinfo=UTC), "b")) as draft:
        draft.config = {"tags": {"a", "b"}, "inside": [{"numbers": {1, 2}}]}
    assert keeper.patch(place(made), {"cover": "HARD", "size": {"highCm": 1}}).status == 200
    (book,) = shelf_db(library_api.books("s"))
    assert book.config == {"tags": {"a", "b"}, "inside": [{"numbers": {1, 2}}]}
