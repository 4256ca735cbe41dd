"""Filters, scans and gets of one moment, on every backend: by size, by type, by any condition."""

import asyncio
import enum
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    AsyncStore,
    Condition,
    ConditionFailed,
    DesignError,
    Entity,
    F,
    Index,
    InKey,
    InvalidTransaction,
    InvalidValue,
    Item,
    Items,
    Keys,
    ProofError,
    SentRequest,
    Store,
    Table,
    collection,
    get,
    pattern,
    prove,
    query,
)
from partita.dynamodb.exceptions import TransactionCanceledException
from partita.dynamodb.requests import BatchGetItem, TransactGetItems
from partita.plan import prove_read
from tests.store.clocks import Clock
from tests.store.conftest import fresh
from tests.store.faults import Faulty

AT = datetime(2025, 1, 1, tzinfo=UTC)
table = Table(
    "food",
    pk="PK",
    sk="SK",
    naming="camel",
    type_attribute="type",
    indexes=(
        Index("ByTown", "townPK", "at"),
        Index("Slim", "slimPK", "at", project=("note",)),
        Index("ByPrice", "pricePK", "priceSK"),
    ),
)


class Course(str, enum.Enum):
    SOUP = "soup"
    MAIN = "main"


class Restaurant(Entity, table=table, key=("TOWN#{town}", "{at}#R#{name}")):
    town: str
    at: datetime
    name: str
    stars: int = 0
    dishes: list[str] = msgspec.field(default_factory=list[str])
    note: str | None = None

    by_town = Keys("ByTown", "TOWN#{town}")
    slim = Keys("Slim", "TOWN#{town}")


class Review(Entity, table=table, key=("TOWN#{town}", "{at}#V#{author}")):
    town: str
    at: datetime
    author: str
    stars: int = 0


class Menu(Entity, table=table, key=("MENU#{menu}", "DAY#{day}#{course:ranked}")):
    menu: Annotated[str, InKey()]
    day: Annotated[date, InKey()]
    course: Annotated[Course, InKey()]
    price: int = 0

    by_price = Keys("ByPrice", "MENUS", "{price:4}")


class Tip(Entity, table=table, key=("TIP#{tip}", "TIP")):
    tip: str
    votes: int = 0
    tags: set[str] = msgspec.field(default_factory=set[str])


@pattern
def restaurant(town: str, at: datetime, name: str) -> Item[Restaurant]: ...


@pattern
def a_tip(tip: str) -> Item[Tip]: ...


@pattern
def restaurants(town: str) -> Items[Restaurant]:
    return query(Restaurant, town).filtered_by_type().newest_first()


@pattern
def good_restaurants(town: str, stars: int) -> Items[Restaurant]:
    return query(Restaurant, town).filtered_by_type().where(F.stars >= stars)


@pattern
def feed(town: str) -> Items[Restaurant | Review]:
    return collection(Restaurant, Review)(town).filtered_by_type()


@pattern
def with_dishes(town: str, least: int) -> Items[Restaurant]:
    return Restaurant.by_town.query(town).where(F.dishes.size() >= least)


design = prove("food", table)


@pytest.fixture
def town(db: Store) -> Store:
    store = fresh(db.backend, design, Clock())
    for n in range(4):
        at = AT + timedelta(days=n)
        store.create(Restaurant(town="t", at=at, name=f"r{n}", stars=n, dishes=["d"] * n, note="x" * n or None))
        store.create(Review(town="t", at=at, author=f"v{n}", stars=n))
    store.create(Tip(tip="one", tags={"a", "b"}))
    return store


def test_filter_by_type_reads_one_entity_of_a_shared_range(town: Store) -> None:
    assert [each.name for each in town(restaurants("t"))] == ["r3", "r2", "r1", "r0"]
    assert [each.name for each in town(good_restaurants("t", 2))] == ["r2", "r3"]
    assert [type(each).__name__ for each in town(feed("t"))] == ["Restaurant", "Review"] * 4


def test_page_with_a_filter_by_type_is_refilled(town: Store) -> None:
    page = town(restaurants("t")).page(3)
    assert [each.name for each in page.items] == ["r3", "r2", "r1"]
    assert [each.name for each in town(restaurants("t")).page(3, page.cursor).items] == ["r0"]


def test_filter_by_type_is_explained(town: Store) -> None:
    text = town.explain(restaurants("t"))
    assert '"FilterExpression": "#n1 = :v1"' in text
    assert "the filter drops every Review in the range" in text
    assert "a declared filter: the items that it drops are read and billed" in text


def test_filter_by_type_needs_the_type_attribute() -> None:
    plain = Table("plain", pk="PK", sk="SK")

    class Thing(Entity, table=plain, key=("A#{a}", "{b}")):
        a: str
        b: str

    @pattern
    def things(a: str) -> Items[Thing]:
        return query(Thing, a).filtered_by_type()

    with pytest.raises(ProofError, match=r"^things: it filters by type, and table 'plain' has no type attribute"):
        prove("plain", plain)
    with pytest.raises(ProofError, match="it filters by type, and index 'Slim' does not project 'type'"):
        prove_read(Restaurant.slim.query("t").filtered_by_type().read)


def test_filter_by_size(town: Store) -> None:
    assert [each.name for each in town(with_dishes("t", 2))] == ["r2", "r3"]
    read = Restaurant.by_town.query("t")
    for condition, expected in (
        (F.dishes.size() == 0, ["r0"]),
        (F.dishes.size() != 0, ["r1", "r2", "r3"]),
        (F.dishes.size().between(1, 2), ["r1", "r2"]),
        (F.note.size() > 1, ["r2", "r3"]),
        (F.note.size() < 2, ["r1"]),
        (F.dishes.size() <= F.stars, ["r0", "r1", "r2", "r3"]),
    ):
        assert [each.name for each in town(read.where(condition))] == expected, condition


def test_condition_by_size(town: Store) -> None:
    with town.change(a_tip("one"), when=F.tags.size() == 2) as draft:
        draft.votes = 1
    with pytest.raises(ConditionFailed), town.change(a_tip("one"), when=F.tags.size() > 2) as draft:
        draft.votes = 2
    with town.transaction() as transaction:
        transaction.check(restaurant("t", AT, "r0"), F.dishes.size() < 1)
        transaction.change(a_tip("one"), when=F.tags.size() <= 2).votes = 3
    assert town.one(a_tip("one")).votes == 3


def test_size_of_a_number_or_with_a_text_is_rejected() -> None:
    for condition, said in (
        (F.stars.size() > 1, "Restaurant.stars is int, which has no size; compare its value"),
        (F.note.size() > "1", "'1' is str, but the size of Restaurant.note is int"),
        (F.nope.size() > 1, "Restaurant has no attribute 'nope'"),
    ):
        with pytest.raises(DesignError, match=said):
            prove_read(Restaurant.by_town.query("t").where(condition).read)


def test_scan_is_filtered_by_the_backend(town: Store) -> None:
    sent: list[SentRequest] = []
    heard = town.with_settings(on_call=[sent.append])
    assert {each.name for each in heard.scan(Restaurant, where=F.stars >= 2)} == {"r2", "r3"}
    assert [type(each.request).__name__ for each in sent] == ["Scan"]
    assert sent[0].request.filter_expression == "#n0 >= :v0"  # type: ignore[attr-defined]
    assert {each.name for each in town.scan(Restaurant)} == {"r0", "r1", "r2", "r3"}
    assert list(town.scan(Tip, where=F.votes == 9)) == []


def test_scan_of_several_entities_holds_the_condition_for_each(town: Store) -> None:
    found = [*town.scan(Restaurant, Review, where=F.stars == 3)]
    assert sorted(type(each).__name__ for each in found) == ["Restaurant", "Review"]
    assert {each.stars for each in found if isinstance(each, Restaurant | Review)} == {3}


def test_condition_of_a_scan_is_checked_when_it_is_called(town: Store) -> None:
    with pytest.raises(DesignError, match="a condition names 'starz', which is not stored"):
        town.scan(Restaurant, where=F.starz > 1)
    with pytest.raises(InvalidValue, match=r"Restaurant.stars: 'x' is not a number"):
        town.scan(Restaurant, where=F.stars > "x")


def test_scan_is_explained(town: Store) -> None:
    text = town.explain_scan(Restaurant, Review, where=F.stars == 3)
    assert text.startswith("scan -> Restaurant | Review\n  where    table food, every item")
    assert "1 read unit for each 4 KB of the table, whatever the filter drops" in text


def test_transact_get_returns_each_as_its_own_type(town: Store) -> None:
    first, missing, one, again = town.transact_get(
        restaurant("t", AT, "r0"), restaurant("t", AT, "nope"), a_tip("one"), restaurant("t", AT, "r0")
    )
    assert (first is not None and first.name, missing, one is not None and one.tip) == ("r0", None, "one")
    assert again == first
    assert town.transact_get() == ()


def test_transact_get_is_one_request(town: Store) -> None:
    sent: list[SentRequest] = []
    town.with_settings(on_call=[sent.append]).transact_get(a_tip("one"), a_tip("two"))
    assert [type(each.request).__name__ for each in sent] == ["TransactGetItems"]
    with pytest.raises(InvalidTransaction, match="101 gets; a transaction has at most 100"):
        town.transact_get(*(a_tip(str(n)) for n in range(101)))


def test_transact_get_is_sent_again_after_a_conflict(town: Store) -> None:
    failures = [TransactionCanceledException([{"Code": "TransactionConflict"}])]

    def fail(request: Any, call: Any) -> Any:
        if failures:
            raise failures.pop()
        return call(request)

    store = Store(Faulty(town.backend, TransactGetItems, fail), design, sleep=lambda _: None)
    (found,) = store.transact_get(a_tip("one"))
    assert found is not None
    assert failures == []


def test_transact_get_is_awaited(town: Store) -> None:
    async def read() -> None:
        one, two = await AsyncStore(town.backend, design).transact_get(a_tip("one"), restaurant("t", AT, "r0"))
        assert (one is not None and one.tip, two is not None and two.name) == ("one", "r0")
        scanned = AsyncStore(town.backend, design).scan(Restaurant, where=F.stars > 2)
        assert [each.name async for each in scanned] == ["r3"]

    asyncio.run(read())


def test_get_many_can_be_strongly_consistent(town: Store) -> None:
    sent: list[SentRequest] = []
    heard = town.with_settings(on_call=[sent.append])
    assert heard.get_many([a_tip("one"), a_tip("two")], consistent=True)[1] is None
    (request,) = [each.request for each in sent]
    assert isinstance(request, BatchGetItem)
    assert [each.consistent_read for each in (request.request_items or {}).values()] == [True]


@pytest.fixture
def menus(town: Store) -> Store:
    days = [date(2025, 1, n) for n in (1, 2, 3)]
    town.put_many([Menu(menu="m", day=day, course=course, price=day.day) for day in days for course in Course])
    return town


@pytest.mark.parametrize(
    ("condition", "days"),
    [
        (F.day == date(2025, 1, 2), [2, 2]),
        (F.day != date(2025, 1, 2), [1, 1, 3, 3]),
        (F.day < date(2025, 1, 2), [1, 1]),
        (F.day <= date(2025, 1, 2), [1, 1, 2, 2]),
        (F.day > date(2025, 1, 2), [3, 3]),
        (F.day >= date(2025, 1, 2), [2, 2, 3, 3]),
        (F.day.is_in(date(2025, 1, 1), date(2025, 1, 3)), [1, 1, 3, 3]),
        (F.day.between(date(2025, 1, 2), date(2025, 1, 3)), [2, 2, 3, 3]),
        (F.menu == "m", [1, 1, 2, 2, 3, 3]),
        (F.menu.starts_with("m") & F.menu.exists() & (F.price > 2), [3, 3]),
        (F.menu == "other", []),
    ],
)
def test_condition_on_a_part_of_the_key(menus: Store, condition: Condition, days: list[int]) -> None:
    assert sorted(each.day.day for each in menus.scan(Menu, where=condition)) == days
    assert [each.day.day for each in menus(Menu.by_price.query().where(condition))] == days


def test_write_with_a_condition_on_a_part_of_its_key(menus: Store) -> None:
    call = get(Menu, "m", date(2025, 1, 1), Course.SOUP)
    with menus.change(call, when=F.day < date(2025, 1, 2)) as draft:
        draft.price = 9
    with pytest.raises(ConditionFailed):
        menus.delete(call, when=F.day > date(2025, 1, 2))
    assert menus.delete(call, when=F.menu == "m") is not None


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (F.course == Course.SOUP, "a condition names 'course', which is stored in the key only, behind another part"),
        (F.day.size() > 1, "'day' is stored in the key only, and this condition cannot be about a key"),
        (F.day == F.price, "'day' is stored in the key only, and this condition cannot be about a key"),
        (F.day.starts_with("2"), "it is not text, and has no beginning"),
    ],
)
def test_condition_that_a_key_cannot_answer_is_rejected(menus: Store, condition: Condition, said: str) -> None:
    with pytest.raises((DesignError, InvalidValue), match=said):
        menus.scan(Menu, where=condition)


def test_filter_on_the_key_that_is_queried_is_rejected() -> None:
    with pytest.raises(ProofError, match="it filters by 'day', which is in the key that is queried"):
        prove_read(query(Menu, "m").where(F.day > date(2025, 1, 2)).read)


def test_local_index_can_be_read_consistently(town: Store) -> None:
    local = Table("locals", pk="PK", sk="SK", indexes=(Index("ByCost", "PK", "cost", local=True),))

    class Line(Entity, table=local, key=("BILL#{bill}", "LINE#{number:3}")):
        bill: str
        number: int
        cost: int

        by_cost = Keys("ByCost")

    sent: list[SentRequest] = []
    store = fresh(town.backend, prove("locals", local), Clock()).with_settings(on_call=[sent.append])
    store.put(Line(bill="b", number=1, cost=5))
    sent.clear()
    assert [each.cost for each in store(Line.by_cost.query("b"), consistent=True)] == [5]
    assert [getattr(each.request, "consistent_read", None) for each in sent] == [True]
