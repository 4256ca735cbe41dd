"""Entities as FastAPI's request and response models."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

import httpx
import msgspec
import pytest
from fastapi import Body, FastAPI
from pydantic import BaseModel

from partita import AUTO, CountOf, Entity, Table, UpdatedAt, View
from partita.design.json_codec import encoded

table = Table("press", "PK", "SK", naming="camel")


class Cover(msgspec.Struct, rename="camel"):
    image_url: Annotated[str, msgspec.Meta(max_length=40)]


class Teaser(View, naming="camel"):
    book_id: str
    title: Annotated[str, msgspec.Meta(min_length=1, max_length=20, examples=["Os Maias"])]


class Book(Teaser, Entity, table=table, key=("BOOK#{book_id}", "BOOK")):
    price: Decimal | None = None
    cover: Cover | None = None
    isbns: set[str] = msgspec.field(default_factory=set)
    scan: bytes = b""
    loan_count: Annotated[int, CountOf(lambda: Loan)] = 0
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO


class Loan(Entity, table=table, key=("LOAN#{book_id}", "{reader_id}")):
    book_id: str
    reader_id: str


class Parcel(BaseModel):
    books: list[Book]
    teaser: Teaser | None = None


MAIAS = Book(
    book_id="b1",
    title="Os Maias",
    price=Decimal("12.5"),
    cover=Cover(image_url="/maias.png"),
    isbns={"972"},
    scan=b"\x00\xff",
    updated_at=datetime(2025, 1, 1, tzinfo=UTC),
)
app = FastAPI()


@app.post("/books", status_code=201)
def add(book: Annotated[Book, Body()]) -> Book:
    return book


@app.put("/books/{book_id}")
def replace(book_id: str, book: Annotated[Book, Body()], by: Annotated[str, Body()]) -> dict[str, str]:
    return {"path": book_id, "body": book.book_id, "by": by}


@app.get("/books", response_model=list[Book])
def books() -> Any:
    return [MAIAS]


@app.get("/teasers")
def teasers() -> list[Teaser]:
    return [MAIAS]


@app.get("/either/{kind}")
def either(kind: str) -> Book | Loan | None:
    return {"book": MAIAS, "loan": Loan(book_id="b1", reader_id="r")}.get(kind)  # type: ignore[return-value]


@app.get("/short", response_model=Book, response_model_include={"bookId"})
def short() -> Any:
    return MAIAS


@app.post("/parcels")
async def parcel(parcel: Parcel) -> Parcel:
    return parcel


class Client:
    """httpx on the application, without a server."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner

    def request(self, method: str, path: str, json: Any = None) -> httpx.Response:
        async def sent() -> httpx.Response:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
                return await client.request(method, path, json=json)

        return self._runner.run(sent())


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with asyncio.Runner() as runner:
        yield Client(runner)


def test_body_and_response_have_the_json_of_rest(client: Client) -> None:
    body = msgspec.json.decode(encoded(MAIAS))
    reply = client.request("POST", "/books", body)
    assert (reply.status_code, reply.json()) == (201, body)


def test_entity_beside_another_body_parameter_is_embedded(client: Client) -> None:
    reply = client.request("PUT", "/books/b2", {"book": {"bookId": "b1", "title": "T"}, "by": "ana"})
    assert reply.json() == {"path": "b2", "body": "b1", "by": "ana"}


def test_every_wrong_member_of_a_body_is_reported(client: Client) -> None:
    body = {"title": "", "price": "dear", "cover": {"imageUrl": 5}, "pages": 3}
    reply = client.request("POST", "/books", body)
    assert reply.status_code == 422
    assert [each["loc"] for each in reply.json()["detail"]] == [
        ["body", "bookId"],
        ["body", "title"],
        ["body", "price"],
        ["body", "cover", "imageUrl"],
        ["body", "pages"],
    ]
    assert all(each["msg"] and each["type"] for each in reply.json()["detail"])


def test_list_of_entities_is_a_response_model(client: Client) -> None:
    assert client.request("GET", "/books").content == b"[" + encoded(MAIAS) + b"]"


def test_response_has_only_the_members_of_the_declared_view(client: Client) -> None:
    assert client.request("GET", "/teasers").json() == [{"bookId": "b1", "title": "Os Maias"}]


def test_response_may_be_one_of_several_entities_or_null(client: Client) -> None:
    assert client.request("GET", "/either/book").json()["title"] == "Os Maias"
    assert client.request("GET", "/either/loan").json() == {"bookId": "b1", "readerId": "r"}
    assert client.request("GET", "/either/none").json() is None


def test_response_model_include_is_respected(client: Client) -> None:
    assert client.request("GET", "/short").json() == {"bookId": "b1"}


def test_entities_in_a_pydantic_model_are_read_and_shown(client: Client) -> None:
    body = {"books": [msgspec.json.decode(encoded(MAIAS))], "teaser": {"bookId": "b", "title": "T"}}
    assert client.request("POST", "/parcels", body).json() == body
    wrong = client.request("POST", "/parcels", {"books": [{"bookId": "b1"}]})
    assert [each["loc"] for each in wrong.json()["detail"]] == [["body", "books", 0, "title"]]


def test_openapi_has_one_named_component_for_each_class() -> None:
    schemas = app.openapi()["components"]["schemas"]
    assert schemas.keys() - {"HTTPValidationError", "ValidationError"} == {
        "Body_replace_books__book_id__put",
        "Book",
        "Cover",
        "Loan",
        "Parcel",
        "Teaser",
    }
    body = app.openapi()["paths"]["/books"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body == {"$ref": "#/components/schemas/Book"}
    shown = app.openapi()["paths"]["/teasers"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert shown["items"] == {"$ref": "#/components/schemas/Teaser"}
    assert schemas["Book"]["required"] == ["bookId", "title"]
    assert schemas["Book"]["properties"]["title"] == {
        "type": "string",
        "minLength": 1,
        "maxLength": 20,
        "examples": ["Os Maias"],
    }
    assert schemas["Book"]["properties"]["updatedAt"] == {"type": "string", "format": "date-time"}
