"""A refusal names what the client wrote, as the client wrote it, with its place, and nothing of what lies beneath."""

from typing import Any

import pytest

from partita import InvalidTransition, InvalidValue, NotUnique, Store
from partita.errors import Fault
from tests.rest.client import Client, Response

GOOD = {"bookId": "b", "boughtAt": "2025-01-01T00:00:00Z"}
BOOK = "/shelves/s/books/2025-01-01T00:00:00Z/b"


def told(refused: Response) -> tuple[int, str | None, str]:
    return refused.status, refused.json.get("field"), refused.json["detail"]


def nested(levels: int) -> Any:
    return {"a": nested(levels - 1)} if levels else 1


@pytest.fixture(autouse=True)
def a_book(keeper: Client) -> None:
    keeper.put("/shelves/s")
    assert keeper.post("/shelves/s/books", GOOD).status == 201


@pytest.mark.parametrize(
    ("change", "field", "detail"),
    [
        ({"imageUrls": ["x", "x" * 21]}, "imageUrls[1]", "imageUrls[1] must have at most 20 characters"),
        ({"images": {"a": {"url": "x" * 21}}}, "images", "a value in images must have at most 20 characters"),
        ({"size": {"highCm": 0}}, "size.highCm", "size.highCm must be more than 0.0"),
        ({"size": {}}, "size.highCm", "size.highCm is missing"),
        ({"readAt": "2025-01-01T00:00:00"}, "readAt", "readAt must have a time zone: 2025-01-31T12:00:00Z"),
        ({"cover": None}, "cover", "cover must be text"),
        (
            {"config": nested(32)},
            "config",
            "config: it is nested deeper than the 32 levels that DynamoDB allows",
        ),
    ],
)
def test_member_of_a_body_is_named_with_its_place(keeper: Client, change: Any, field: str, detail: str) -> None:
    assert told(keeper.patch(BOOK, change)) == (422, field, detail)


def test_value_that_only_the_entity_refuses_is_named_as_the_body_names_it(keeper: Client) -> None:
    refused = keeper.post("/shelves/s/books", GOOD | {"bookId": "c", "imageUrls": ["x", "x" * 21]})
    assert told(refused) == (422, "imageUrls[1]", "imageUrls[1] must have at most 20 characters")


def test_missing_parent_is_named_by_what_refers_to_it(keeper: Client) -> None:
    nowhere = keeper.post("/shelves/nowhere/books", GOOD)
    assert told(nowhere) == (422, "shelf_id", "Book refers to Shelf nowhere, which does not exist")
    no_room = keeper.post("/shelves/s/books", GOOD | {"bookId": "c", "room": "attic"})
    assert told(no_room) == (422, "room", "Book refers to Room attic, which does not exist")


def test_argument_of_a_pattern_is_named_by_the_member_that_held_it(keeper: Client) -> None:
    assert told(keeper.post("/books/b/moves", {"shelfId": ""})) == (
        422,
        "shelfId",
        "shelfId: empty text cannot be part of a key",
    )


@pytest.mark.parametrize("path", ["/shelves/s/bought?", "/bought?shelf_id=s&"])
def test_time_in_an_address_says_its_zone(keeper: Client, path: str) -> None:
    refused = keeper.get(path + "since=2025-01-01T00:00:00&until=2025-02-01T00:00:00Z")
    assert told(refused) == (422, "since", "since must have a time zone: 2025-01-31T12:00:00Z")


@pytest.mark.parametrize("path", ["/shelves/s/bought?", "/bought?shelf_id=s&"])
def test_range_that_ends_before_it_begins_is_refused(keeper: Client, path: str) -> None:
    refused = keeper.get(path + "since=2025-02-01T00:00:00Z&until=2025-01-01T00:00:00Z")
    assert told(refused) == (422, "since", "since: it must not be after until")
    assert len(keeper.get(path + "since=2025-01-01T00:00:00Z&until=2025-01-01T00:00:00Z").json["items"]) == 1


def test_key_that_no_table_holds_is_told_without_dynamodbs_words(keeper: Client) -> None:
    long = "%ED%9E%A3" * 800
    read = keeper.get(f"/shelves/{long}/books/2025-01-01T00:00:00Z/b")
    assert told(read) == (422, "shelf_id", "shelf_id: the key is longer than 2048 bytes")
    made = keeper.post("/shelves/s/books", GOOD | {"bookId": "힣" * 800})
    assert told(made) == (422, "bookId", "bookId: the key is longer than 1024 bytes")


def test_attribute_that_was_not_written_has_the_name_that_replies_show(keeper: Client) -> None:
    assert told(keeper.put("/shelves/s/closing")) == (422, "bookCount", "bookCount: 1 books are left")


@pytest.mark.parametrize(
    ("error", "field", "detail"),
    [
        (InvalidValue("Book", "nothing fits"), None, "nothing fits"),
        (InvalidValue("Book", "too dear", "price"), "price", "price: too dear"),
        (InvalidValue("Book", "too wide", "imageUrls", 1, "size"), "imageUrls[1].size", "imageUrls[1].size: too wide"),
        (InvalidValue("books", "too many"), None, "too many"),
        (InvalidValue("Book", "euro: it is gone", "price"), "price", "price: euro: it is gone"),
        (
            InvalidValue("Book", "", "config", "maxPrice", fault=Fault("type", "decimal | null", "bool")),
            "config.maxPrice",
            "config.maxPrice must be a number or null",
        ),
        (
            InvalidValue("Book", "", "config", "pages", 0, "url", fault=Fault("missing")),
            "config.pages[0].url",
            "config.pages[0].url is missing",
        ),
        (InvalidTransition("Book", "read_at", "x", "y"), "readAt", "readAt: cannot change from 'y' to 'x'"),
        (NotUnique("Book", "book_id", {"book_id": "b"}), "bookId", "bookId: 'b' is taken"),
    ],
)
def test_refusal_of_a_service_is_told_in_the_clients_names(
    keeper: Client, shelf_db: Store, monkeypatch: pytest.MonkeyPatch, error: Exception, field: str | None, detail: str
) -> None:
    def refuse(self: object, entity: object) -> None:
        raise error

    monkeypatch.setattr(type(shelf_db), "create", refuse)
    refused = keeper.post("/shelves/s/books", GOOD)
    assert (refused.json.get("field"), refused.json["detail"]) == (field, detail)
