"""A small API with values that are hard to encode and to name in errors: numbers, times, maps, nested members."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

import msgspec

from partita import (
    Compressed,
    CountOf,
    Entity,
    InvalidValue,
    Item,
    Items,
    OpenEnum,
    Page,
    References,
    Store,
    Table,
    pattern,
    prove,
    query,
)
from partita.rest import Api, IfMatch, PageSize, anyone

table = Table("shelves", "PK", "SK", naming="camel")


class Cover(OpenEnum):
    SOFT = "SOFT"
    HARD = "HARD"


class Size(msgspec.Struct, rename="camel"):
    high_cm: Annotated[float, msgspec.Meta(gt=0, description="in centimetres")]
    wide_cm: float | None = None


class Image(msgspec.Struct, rename="camel"):
    url: Annotated[str, msgspec.Meta(max_length=20)]
    size: Size | None = None


class Shelf(Entity, table=table, key=("SHELF#{id}", "SHELF")):
    id: str
    book_count: Annotated[int, CountOf(lambda: Book, via={"id": "shelf_id"})] = 0


class Room(Entity, table=table, key=("ROOM#{room_id}", "ROOM")):
    room_id: str


class Book(Entity, table=table, key=("SHELF#{shelf_id}", "BOOK#{bought_at}#{book_id}")):
    """A book on a shelf."""

    shelf_id: str
    book_id: str
    bought_at: datetime
    read_at: datetime | None = None
    room: Annotated[str | None, References(lambda: Room)] = None
    cover: Cover = Cover.SOFT
    price: Decimal | None = None
    config: dict[str, Any] = msgspec.field(default_factory=dict)
    notes: Annotated[list[Any], Compressed()] = msgspec.field(default_factory=list)
    size: Size | None = None
    images: dict[str, Image] = msgspec.field(default_factory=dict)
    image_urls: list[Annotated[str, msgspec.Meta(max_length=20)]] = msgspec.field(default_factory=list)


@pattern
def shelf(id: str) -> Item[Shelf]: ...  # noqa: A002 - the entity's own name
@pattern
def book(shelf_id: str, bought_at: datetime, book_id: str) -> Item[Book]: ...


@pattern
def books_between(shelf_id: str, since: datetime, until: datetime) -> Items[Book]:
    return query(Book, shelf_id).between(since, until)


@pattern
def books(shelf_id: str) -> Items[Book]: ...


design = prove("shelves", table)


class NewImage(msgspec.Struct, rename="camel"):
    image: Image | None = None
    alternatives: list[Image] = []


class NewBook(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    book_id: Annotated[str, msgspec.Meta(min_length=1)]
    bought_at: datetime
    read_at: datetime | None = None
    room: str | None = None
    price: Decimal | None = None
    config: dict[str, Any] = {}
    notes: list[Any] = []
    size: Size | None = None
    images: dict[str, Image] = {}
    image_urls: list[str] = []
    shown: NewImage | None = None


class Move(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    shelf_id: str


class Shelves:
    """The service."""

    def __init__(self, db: Store) -> None:
        self.db = db


api = Api("shelves", "Shelves", design, service=Shelves)
api.expose_get("/shelves/{shelf_id}/books/{bought_at}/{book_id}", book)
api.expose_list("/shelves/{shelf_id}/books", books)
api.expose_list("/shelves/{shelf_id}/bought", books_between)
api.expose_patch(
    "/shelves/{shelf_id}/books/{bought_at}/{book_id}",
    book,
    "read_at",
    "cover",
    "price",
    "config",
    "size",
    "images",
    "image_urls",
    who=anyone,
)


@api.put("/shelves/{shelf_id}", who=anyone)
def add_shelf(service: Shelves, shelf_id: str) -> None:
    service.db.put(Shelf(id=shelf_id))


@api.post("/shelves/{shelf_id}/books", who=anyone, location="/shelves/{shelf_id}/books/{bought_at}/{book_id}")
def add_book(service: Shelves, shelf_id: str, new: NewBook) -> Book:
    return service.db.create(
        Book(
            shelf_id=shelf_id,
            book_id=new.book_id,
            bought_at=new.bought_at,
            read_at=new.read_at,
            room=new.room,
            price=new.price,
            config=new.config,
            notes=new.notes,
            size=new.size,
            images=new.images,
            image_urls=new.image_urls,
        )
    )


@api.post("/books/{book_id}/moves", who=anyone)
def move(service: Shelves, book_id: str, to: Move) -> Shelf:
    """Finds the shelf, and moves nothing."""
    return service.db.one(shelf(to.shelf_id))


@api.put("/shelves/{shelf_id}/closing", who=anyone)
def close(service: Shelves, shelf_id: str, match: IfMatch) -> Shelf:
    found = service.db.one(shelf(shelf_id))
    match.check(found)
    raise InvalidValue("Shelf", f"{found.book_count} books are left", "bookCount")


@api.get("/bought")
def bought(
    service: Shelves, shelf_id: str, since: datetime, until: datetime, limit: PageSize = 20, cursor: str | None = None
) -> Page[Book]:
    return service.db(books_between(shelf_id, since, until)).page(limit, cursor)
