"""A gallery: a design with every feature of the design language, for the tests of the store."""

import enum
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated

import msgspec

from partita import (
    AUTO,
    Compressed,
    CountOf,
    CreatedAt,
    Entity,
    Expires,
    F,
    Index,
    Item,
    Items,
    Keys,
    Limit,
    OpenEnum,
    Ordered,
    Owns,
    References,
    StoredAs,
    SumOf,
    Table,
    Transitions,
    Unique,
    Untracked,
    UpdatedAt,
    Version,
    fan_out,
    pattern,
    prove,
    query,
)


class State(str, enum.Enum):
    DRAFT = "draft"
    PUBLISHED = "published"
    SOLD = "sold"
    LOST = "lost"


class Importance(str, enum.Enum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Kind(OpenEnum):
    PAINTING = "painting"
    DRAWING = "drawing"


class Size(msgspec.Struct):
    width_mm: int
    height_mm: int
    framed: bool = False


gallery = Table(
    "gallery",
    pk="PK",
    sk="SK",
    naming="camel",
    ttl="expires",
    type_attribute="entityType",
    indexes=(
        Index("GSI1", "GSI1PK", "GSI1SK"),
        Index("GSI2", "GSI2PK", "GSI2SK"),
        Index("ByKind", ("kind", "year"), ("score", "workId")),
    ),
)


class Artist(Entity, table=gallery, key=("ARTIST#{artist_id}", "PROFILE")):
    artist_id: str
    country: str
    handle: str
    pass_number: Annotated[str | None, Unique(keep_after_delete=True)] = None
    work_count: Annotated[int, CountOf(lambda: Work)] = 0
    shown_value: Annotated[Decimal, SumOf(lambda: Work, "price", when=F.state == State.PUBLISHED)] = Decimal(0)
    room: int = 100
    version: Annotated[int, Version()] = 0
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO

    named_once = Unique("country", "handle", case_insensitive=True)
    hung = Limit(F.work_count <= F.room)
    notes = Owns(lambda: Note)
    works = Owns(lambda: Mention)


class Work(Entity, table=gallery, key=("WORK#{work_id}", "WORK")):
    work_id: str
    artist_id: Annotated[str, References(lambda: Artist)]
    title: str
    state: Annotated[
        State,
        Transitions(
            {State.DRAFT: [State.PUBLISHED], State.PUBLISHED: [State.SOLD, State.LOST], State.LOST: [State.PUBLISHED]},
            start=[State.DRAFT, State.PUBLISHED],
        ),
    ] = State.DRAFT
    importance: Importance = Importance.MEDIUM
    price: Annotated[Decimal, Ordered(Decimal(-9999), Decimal(9999), places=2)] = Decimal(0)
    kind: Kind | None = None
    year: int | None = None
    score: int | None = None
    tags: set[str] = msgspec.field(default_factory=set)
    years: frozenset[int] = frozenset()
    size: Size | None = None
    steps: Annotated[list[str], Compressed()] = msgspec.field(default_factory=list)
    lines: list[str] = msgspec.field(default_factory=list)
    parts: dict[str, Decimal] = msgspec.field(default_factory=dict)
    thumb: bytes | None = None
    hung_on: date | None = None
    published_at: datetime | None = None
    s3_key: Annotated[str | None, StoredAs("s3Key")] = None
    views: Annotated[int, Untracked()] = 0
    version: Annotated[int, Version()] = 0
    created_at: Annotated[datetime, CreatedAt()] = AUTO
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO

    shown = Keys(
        "GSI1", "STATE#{state}", "{importance:ranked}#{price:desc}#{published_at}", when=F.state == State.PUBLISHED
    )
    drafts = Keys("GSI1", "DRAFT#{artist_id}", "{updated_at}", when=F.state == State.DRAFT)
    by_day = Keys("GSI2", "DAY#{published_at:day}", "{published_at}#{work_id}")
    by_kind = Keys("ByKind")
    kept = Expires("updated_at", after=timedelta(days=30), when=F.state == State.DRAFT)


class Note(Entity, table=gallery, key=("ARTIST#{artist_id}", "NOTE#{number:+4}")):
    artist_id: str
    number: int
    text: str


class Mention(Entity, table=gallery, key=("ARTIST#{artist_id}", "MENTION#{where}#{at}")):
    """An arbitrary text in the middle of a key."""

    artist_id: str
    where: str
    at: datetime


@pattern
def artist(artist_id: str) -> Item[Artist]: ...
@pattern
def work(work_id: str) -> Item[Work]: ...
@pattern(Work.shown.smallest_first("importance"))
def shown_by_importance(state: State) -> Items[Work]: ...


@pattern
def shown_of_importance(state: State, importance: Importance, low: Decimal, high: Decimal) -> Items[Work]:
    return Work.shown.query(state, importance).between(low, high).largest_first("price")


@pattern(Work.drafts.newest_first())
def drafts_of(artist_id: str) -> Items[Work]: ...


@pattern
def works_of_days(days: Sequence[date]) -> Items[Work]:
    return Work.by_day.query(fan_out(days, 7)).newest_first()


@pattern
def works_of_kind(kind: Kind, year: int, at_least: int) -> Items[Work]:
    return Work.by_kind.query(kind, year).since(at_least).largest_first("score")


@pattern
def tagged(artist_id: str, tag: str) -> Items[Work]:
    return Work.drafts.query(artist_id).where(F.tags.contains(tag))


@pattern
def note(artist_id: str, number: int) -> Item[Note]: ...
@pattern(query(Note).smallest_first("number"))
def notes(artist_id: str) -> Items[Note]: ...


@pattern
def notes_between(artist_id: str, low: int, high: int) -> Items[Note]:
    return query(Note, artist_id).between(low, high)


@pattern(query(Mention).oldest_first())
def mentions_in(artist_id: str, where: str) -> Items[Mention]: ...


@pattern
def mentions_like(artist_id: str, beginning: str) -> Items[Mention]:
    return query(Mention, artist_id).starts_with(beginning)


@pattern
def everything_of(artist_id: str) -> Items[Artist | Note | Mention]: ...


design = prove("gallery", gallery)
