"""Right declarations of every form; `test_declared_arguments` replaces each of their arguments by wrong values."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Literal
from uuid import UUID

import msgspec

from partita import (
    ALL_SHARDS,
    AUTO,
    Change,
    Compressed,
    Consumer,
    CountOf,
    CreatedAt,
    Dimensions,
    Entity,
    Expires,
    F,
    HandlerTransaction,
    Index,
    InKey,
    Internal,
    Item,
    Items,
    JobRun,
    Jobs,
    Keys,
    Limit,
    Nearest,
    Ordered,
    Owns,
    References,
    Store,
    StoredAs,
    SumOf,
    Table,
    Transitions,
    Unique,
    Untracked,
    UpdatedAt,
    Vector,
    VectorIndex,
    Version,
    View,
    Was,
    collection,
    fan_out,
    get,
    pattern,
    prove,
    query,
)


class State(Enum):
    OPEN = "open"
    CLOSED = "closed"


def cents(price: str) -> int:
    return int(price) * 100


def price(of: int) -> str:
    return str(of // 100)


class Summary(View):
    title: str = "-"


shop = Table(
    "shop",
    pk="PK",
    sk="SK",
    indexes=(
        Index("GSI1", "GSI1PK", "GSI1SK"),
        Index("GSI2", ("state", "kind"), ("GSI2SK", "created"), project=(Summary, "number")),
        Index("LSI1", "PK", "LSI1SK", local=True, project="KEYS_ONLY"),
    ),
    vector_indexes=(
        VectorIndex("ByMeaning", "vector", pk="kind", filters=("state",), distance="COSINE", project="ALL"),
    ),
    naming="snake",
    ttl="TTL",
    type_attribute="type",
    type_naming="upper",
    separator="#",
    stream="NEW_AND_OLD_IMAGES",
    recovery_days=7,
)


class Desk(Entity, table=shop, key=("DESK#{desk}", "DESK"), old_keys=[("D#{desk:plain}", "DESK")], naming="snake"):
    desk: str
    number: Annotated[int, Ordered(0, 99999, places=0)] = 0
    tickets: Annotated[int, CountOf(lambda: Ticket, when=F.state == State.OPEN, via={"desk": "at"})] = 0
    minutes: Annotated[int, SumOf(lambda: Ticket, "minutes", when=F.minutes > 0, via={"desk": "at"})] = 0
    every: Annotated[int, CountOf(lambda: Ticket, via={"desk": "at"})] = 0
    note: Annotated[str, Was("memo")] = ""

    by_number = Keys("GSI1", "DESKS", "{number}", when=F.number > 0)
    few = Limit(F.tickets <= F.number)
    owns = Owns(lambda: (Drawer,), via={"desk": "desk"})


class Drawer(Entity, table=shop, key=("DESK#{desk}", "DRAWER#{drawer}")):
    desk: str
    drawer: str

    by_name = Keys("LSI1", sk="{drawer}")


class Ticket(Summary, Entity, table=shop, key=("TICKET#{ticket}", "{created}#{level:4}")):
    ticket: str
    at: Annotated[str | None, References(lambda: Desk, via={"desk": "at"})] = None
    created: Annotated[datetime, CreatedAt()] = AUTO
    updated: Annotated[datetime, UpdatedAt()] = AUTO
    version: Annotated[int, Version()] = 0
    level: int = 0
    kind: Literal["bug", "wish"] = "bug"
    state: Annotated[State, Transitions({State.OPEN: [State.CLOSED], State.CLOSED: []}, start=[State.OPEN])] = (
        State.OPEN
    )
    minutes: Annotated[int, Untracked(), msgspec.Meta(ge=0)] = 0
    number: Annotated[str | None, Unique(case_insensitive=True, keep_after_delete=True, when=F.level > 0)] = None
    text: Annotated[str, Compressed(), StoredAs("body")] = ""
    owner: Annotated[str, Internal()] = "-"
    cost: Annotated[int, Was("price", to=cents, back=price, removed=False)] = 0
    shown: Annotated[dict[str, str], Was("avatar", member="avatar")] = msgspec.field(default_factory=dict)
    due: datetime | None = None
    amount: Decimal = Decimal("1.5")
    id: UUID | None = None
    vector: Annotated[Vector | None, Dimensions(3)] = None

    of_kind = Unique("kind", "owner", when=F.level > 1)
    by_level = Keys("GSI1", "LEVEL#{kind}", "{level:4}#{ticket}")
    by_state = Keys("GSI2", None, ("{level:4}", None), when=F.level > 0)
    by_meaning = Keys("ByMeaning")
    expiry = Expires("due", after=timedelta(days=7), when=F.state == State.CLOSED)


class Visit(Entity, table=shop, key=("SITE#{site:shard(4)}", "VISIT#{day}#{site}")):
    site: Annotated[str, InKey()]
    day: Annotated[date, InKey()]


@pattern
def desk(desk: str) -> Item[Desk]: ...


@pattern(Ticket.by_level.largest_first("level").page(20).where(F.minutes >= 5))
def by_level(kind: Literal["bug", "wish"]) -> Items[Ticket]: ...


@pattern
def since(kind: Literal["bug", "wish"], low: int, high: int) -> Items[Ticket]:
    return query(Ticket.by_level, kind).between(low, high).smallest_first("level")


@pattern
def levels(kind: Literal["bug", "wish"]) -> Items[Ticket]:
    return Ticket.by_level.query(kind).after(5).before(9).where((F.minutes < 5) | ~F.number.exists())


@pattern
def named(kind: Literal["bug", "wish"]) -> Items[Ticket]:
    return Ticket.by_level.query(kind, 5).starts_with("a").reversed()


@pattern
def of_kinds(kinds: Sequence[Literal["bug", "wish"]]) -> Items[Ticket]:
    return query(Ticket.by_level, fan_out(kinds, 3)).since(1)


@pattern
def visits(last: date) -> Items[Visit]:
    return query(Visit, ALL_SHARDS).until(last)


@pattern
def desk_with_drawers(desk: str) -> Items[Desk | Drawer]:
    return collection(Desk, Drawer)(desk)


@pattern
def the_desk() -> Item[Desk]:
    return get(Desk, "d1")


@pattern(Ticket.by_meaning.nearest(10).or_scan(1000))
def nearest(vector: Vector, kind: Literal["bug", "wish"]) -> Nearest[Ticket]: ...


@pattern
def nearest_open(vector: Vector) -> Nearest[Ticket]:
    return Ticket.by_meaning.nearest(5, vector=vector, kind="bug", state=State.OPEN)


@pattern
def chosen(kind: Literal["bug", "wish"]) -> Items[Ticket]:
    texts = F.title.starts_with("a") | F.title.contains("a") | (F.title.size() > 1) | F.title.size().between(1, 2)
    members = (F["title"] == "a") | (F.shown["avatar"] == "a") | F.minutes.is_in(1, 2) | F.minutes.between(1, 2)
    return query(Ticket.by_level, kind).where(texts & members)


design = prove("shop", shop)

notifications = Consumer("notifications", start="oldest", tries=3, parallel=2, after_failure="continue")


@notifications.on(Ticket, Desk, start="now")
def notify(change: Change[Ticket] | Change[Desk], t: HandlerTransaction) -> None: ...


jobs = Jobs("shop", keep=timedelta(days=30))


@jobs.every(seconds=1, minutes=2, hours=3, days=4, name="often", missed="skip", grace=timedelta(minutes=1))
def often(db: Store) -> None: ...


@jobs.cron("0 3 * * *", timezone="Europe/Berlin", name="nightly", missed="all", grace=timedelta(minutes=1))
def nightly(db: Store, run: JobRun) -> None: ...
