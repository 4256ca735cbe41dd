"""Errors name members and parameters as the client sent them, with their path, and no storage details."""

from typing import Any

import pytest

from partita import InvalidTransition, InvalidValue, NotUnique, Store
from partita.errors import Fault
from tests.rest.client import Client, Response

GOOD = {"bookId": "b", "boughtAt": "2025-01-01T00:00:00Z"}
BOOK = "/shelves/s/books/2025-01-01T00:00:00Z/b"


def problem_of(rejected: Response) -> tuple[int, str | None, str]:
    return rejected.status, rejected.json.get("field"), rejected.json["detail"]


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
def test_error_names_the_member_of_the_body_with_its_path(keeper: Client, change: Any, field: str, detail: str) -> None:
    assert problem_of(keeper.patch(BOOK, change)) == (422, field, detail)


def test_value_that_the_entity_rejects_has_the_name_in_the_body(keeper: Client) -> None:
    rejected = keeper.post("/shelves/s/books", GOOD | {"bookId": "c", "imageUrls": ["x", "x" * 21]})
    assert problem_of(rejected) == (422, "imageUrls[1]", "imageUrls[1] must have at most 20 characters")


def test_missing_parent_is_a_404_where_the_path_names_it_and_a_422_where_the_body_does(keeper: Client) -> None:
    nowhere = keeper.post("/shelves/nowhere/books", GOOD)
    assert problem_of(nowhere) == (404, None, "Shelf nowhere does not exist")
    no_room = keeper.post("/shelves/s/books", GOOD | {"bookId": "c", "room": "attic"})
    assert problem_of(no_room) == (422, "room", "Book refers to Room attic, which does not exist")


def test_argument_of_a_pattern_has_the_name_of_its_member(keeper: Client) -> None:
    assert problem_of(keeper.post("/books/b/moves", {"shelfId": ""})) == (
        422,
        "shelfId",
        "shelfId: empty text cannot be part of a key",
    )


@pytest.mark.parametrize("path", ["/shelves/s/bought?", "/bought?shelfId=s&"])
def test_time_in_an_address_needs_a_zone(keeper: Client, path: str) -> None:
    rejected = keeper.get(path + "since=2025-01-01T00:00:00&until=2025-02-01T00:00:00Z")
    assert problem_of(rejected) == (422, "since", "since must have a time zone: 2025-01-31T12:00:00Z")


@pytest.mark.parametrize("path", ["/shelves/s/bought?", "/bought?shelfId=s&"])
def test_range_that_ends_before_it_begins_is_rejected(keeper: Client, path: str) -> None:
    rejected = keeper.get(path + "since=2025-02-01T00:00:00Z&until=2025-01-01T00:00:00Z")
    assert problem_of(rejected) == (422, "since", "since: it must not be after until")
    assert len(keeper.get(path + "since=2025-01-01T00:00:00Z&until=2025-01-01T00:00:00Z").json["items"]) == 1


def test_error_of_an_oversized_key_names_the_member(keeper: Client) -> None:
    long = "%ED%9E%A3" * 800
    read = keeper.get(f"/shelves/{long}/books/2025-01-01T00:00:00Z/b")
    assert problem_of(read) == (422, "shelfId", "shelfId: the key is longer than 2048 bytes")
    made = keeper.post("/shelves/s/books", GOOD | {"bookId": "힣" * 800})
    assert problem_of(made) == (422, "bookId", "bookId: the key is longer than 1024 bytes")


def test_attribute_that_was_not_sent_has_its_name_in_replies(keeper: Client) -> None:
    assert problem_of(keeper.put("/shelves/s/closing")) == (422, "bookCount", "bookCount: 1 books are left")


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
def test_error_of_a_service_has_the_clients_names(
    keeper: Client, shelf_db: Store, monkeypatch: pytest.MonkeyPatch, error: Exception, field: str | None, detail: str
) -> None:
    def refuse(self: object, entity: object) -> None:
        raise error

    monkeypatch.setattr(type(shelf_db), "create", refuse)
    rejected = keeper.post("/shelves/s/books", GOOD)
    assert (rejected.json.get("field"), rejected.json["detail"]) == (field, detail)
