"""Changes that create their item, on every backend: counters are exact from the first increment on."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    AUTO,
    CountOf,
    CreatedAt,
    Entity,
    Expires,
    F,
    Index,
    InKey,
    InvalidValue,
    Item,
    Items,
    Keys,
    Limit,
    LimitReached,
    NotUnique,
    OutcomeUnknown,
    Store,
    Table,
    Transitions,
    Unique,
    UpdatedAt,
    Version,
    pattern,
    prove,
)
from partita.dynamodb import requests as wire
from tests.store.clocks import Clock
from tests.store.conftest import fresh
from tests.store.faults import Faulty, connection_lost, never_arrived, reply_lost, throttled

table = Table(
    "metrics", pk="PK", sk="SK", ttl="ttl", type_attribute="type", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),)
)


class Visits(Entity, table=table, key=("PAGE#{page}", "DAY#{day}")):
    """Everything follows from the key: one unconditional UpdateItem."""

    page: str
    day: Annotated[date, InKey()]
    views: int
    clicks: int = 0
    revenue: Decimal = Decimal("0.5")
    tags: set[str] = msgspec.field(default_factory=set)
    last: str | None = None
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO
    version: Annotated[int, Version()] = 0

    by_day = Keys("GSI1", "DAY#{day}", "{page}")


class Session(Entity, table=table, key=("SESSION#{session}", "SESSION")):
    session: str
    hits: int = 0
    seen_at: Annotated[datetime, UpdatedAt()] = AUTO
    ends = Expires("seen_at", after=timedelta(hours=1))


class Score(Entity, table=table, key=("SCORE#{player}", "SCORE")):
    """Index keys, invariants and a time of creation: read first."""

    player: str
    points: Annotated[int, msgspec.Meta(le=100)] = 0
    level: Annotated[str, Transitions({"new": ["old"], "old": []}, start=["new"])] = "new"
    nickname: Annotated[str | None, Unique()] = None
    league: str | None = None
    marks: list[str] = msgspec.field(default_factory=lambda: ["begun"])
    created_at: Annotated[datetime, CreatedAt()] = AUTO

    best = Keys("GSI1", "LEVEL#{level}", "{points:3}")
    most = Limit(F.points <= 50)


class League(Entity, table=table, key=("LEAGUE#{league}", "LEAGUE")):
    league: str
    title: str
    players: Annotated[int, CountOf(lambda: Score)] = 0
    games: int = 0


@pattern
def visits(page: str, day: date) -> Item[Visits]: ...
@pattern(Visits.by_day)
def visits_on(day: date) -> Items[Visits]: ...
@pattern
def session(session: str) -> Item[Session]: ...
@pattern
def score(player: str) -> Item[Score]: ...
@pattern(Score.best)
def best(level: str) -> Items[Score]: ...
@pattern
def league(league: str) -> Item[League]: ...


design = prove("metrics", table)
DAY = date(2025, 1, 1)


@pytest.fixture
def db(backend: Any, clock: Clock) -> Store:
    return fresh(backend, design, clock)


def disk(db: Store) -> list[dict[str, Any]]:
    return [msgspec.json.decode(item) for item in db.backend.call(wire.Scan(table_name="metrics")).items or ()]


def visit(db: Store) -> None:
    with db.change(visits("home", DAY), create=True) as draft:
        draft.views += 1


def test_first_increment_creates_the_whole_item(db: Store, clock: Clock) -> None:
    visit(db)
    (stored,) = disk(db)
    created = db.one(visits("home", DAY))
    db.delete(visits("home", DAY))
    db.create(Visits(page="home", day=DAY, views=1))
    (expected,) = disk(db)
    assert stored == expected
    assert created == db.one(visits("home", DAY))
    assert (created.views, created.version, created.updated_at) == (1, 1, clock())


def test_later_increments_change_only_what_they_edit(db: Store, clock: Clock) -> None:
    db.create(Visits(page="home", day=DAY, views=5, clicks=3, tags={"a"}, last="x"))
    clock.passes(minutes=1)
    with db.change(visits("home", DAY), create=True) as draft:
        draft.views += 2
        draft.revenue += Decimal("1.25")
        draft.tags |= {"b"}
    found = db.one(visits("home", DAY))
    assert (found.views, found.clicks, found.revenue) == (7, 3, Decimal("1.75"))
    assert (found.tags, found.last) == ({"a", "b"}, "x")
    assert (found.version, found.updated_at) == (2, clock())
    with db.change(visits("home", DAY), create=True) as draft:
        draft.views += 1
        draft.last = None
    assert db.one(visits("home", DAY)).last is None


def test_steps_begin_at_the_defaults(db: Store) -> None:
    with db.change(visits("home", DAY), create=True) as draft:
        draft.revenue += Decimal(1)
        draft.views -= 1
        draft.tags |= {"a"}
    found = db.one(visits("home", DAY))
    assert (found.revenue, found.views, found.tags) == (Decimal("1.5"), -1, {"a"})
    assert [each.page for each in db(visits_on(DAY))] == ["home"]


def test_it_is_one_update_without_a_read(db: Store) -> None:
    calls: list[str] = []
    observed = db.with_settings(on_call=[lambda call: calls.append(call.operation)])
    visit(observed)
    visit(observed)
    assert calls == ["UpdateItem", "UpdateItem"]


def test_concurrent_first_increments_are_all_counted(db: Store) -> None:
    def both(number: int) -> None:
        visit(db)
        with db.change(score("ann"), create=True) as draft:
            draft.points += 1

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(both, range(12)))
    assert db.one(visits("home", DAY), consistent=True).views == 12
    assert db.one(score("ann"), consistent=True).points == 12
    assert [each.points for each in db(best("new"))] == [12]


@pytest.mark.parametrize("fault", [reply_lost, connection_lost, never_arrived])
@pytest.mark.parametrize("request_class", [wire.UpdateItem, wire.PutItem])
def test_increment_whose_reply_is_lost_is_not_counted_twice(
    db: Store, clock: Clock, fault: Any, request_class: Any
) -> None:
    troubled = Store(Faulty(db.backend, request_class, throttled, fault), design, clock=clock, sleep=lambda _: None)
    outcome = "done"
    try:
        if request_class is wire.UpdateItem:
            visit(troubled)
        else:
            with troubled.change(score("ann"), create=True) as draft:
                draft.points += 1
    except OutcomeUnknown:
        outcome = "unknown"
    assert outcome == ("done" if fault is never_arrived else "unknown")
    (item,) = disk(db)
    assert (item.get("views") or item["points"]) == {"N": "1"}


def test_equal_item_of_another_writer_is_not_taken_for_the_own_increment(db: Store, clock: Clock) -> None:
    """The put of a first increment never arrives, and another writer's equal item is found: two would count as one."""

    def overtaken(request: Any, call: Any) -> Any:
        call(request)
        raise ConnectionResetError("connection reset")

    troubled = Store(Faulty(db.backend, wire.PutItem, overtaken), design, clock=clock, sleep=lambda _: None)
    with pytest.raises(OutcomeUnknown), troubled.change(score("ann"), create=True) as draft:
        draft.points += 1


def test_expired_item_counts_as_absent(db: Store, clock: Clock) -> None:
    for expected in (1, 2):
        with db.change(session("s"), create=True) as draft:
            draft.hits += 1
        assert db.one(session("s")).hits == expected
    clock.passes(minutes=61)
    assert db(session("s")) is None
    with db.change(session("s"), create=True) as draft:
        draft.hits += 1
    assert db.one(session("s")).hits == 1


def test_invariants_hold_from_the_first_change_on(db: Store) -> None:
    db.create(League(league="l1", title="One"))
    with db.change(score("ann"), create=True) as draft:
        draft.points += 3
        draft.nickname = "A"
        draft.league = "l1"
        draft.marks += ["x"]
    found = db.one(score("ann"))
    assert (found.points, found.marks, found.level) == (3, ["begun", "x"], "new")
    assert found.created_at is not AUTO
    assert db.one(league("l1")).players == 1
    with pytest.raises(NotUnique), db.change(score("bob"), create=True) as draft:
        draft.nickname = "A"
    with pytest.raises(LimitReached), db.change(score("bob"), create=True) as draft:
        draft.points += 51
    with pytest.raises(InvalidValue), db.change(score("bob"), create=True) as draft:
        draft.points += 101
    assert db(score("bob")) is None
    with db.change(score("ann"), create=True) as draft:
        draft.points += 1
        draft.level = "old"
    assert [each.points for each in db(best("old"))] == [4]


def test_parent_can_be_created_with_its_first_child(db: Store) -> None:
    for expected in (1, 2):
        with db.transaction() as t:
            row = t.change(league("l2"), create=True)
            row.games += 1
            row.title = "Two"
            t.create(Score(player=f"p{expected}", league="l2"))
            counted = t.change(visits("home", DAY), create=True)
            counted.views += 1
        found = db.one(league("l2"))
        assert (found.games, found.players) == (expected, expected)
        assert db.one(visits("home", DAY)).views == expected


@pytest.mark.parametrize(
    ("arguments", "edit", "message"),
    [
        ({"when": F.games == 0}, {"games": 1}, "a change that may create the item has no `when` and no `version`"),
        ({}, {"games": 1}, "League.title: it has no default and does not follow from the key; assign it in the change"),
        ({}, {"league": "x"}, "League.league: it is part of the key of the item that the change may create"),
        ({}, {"players": 1}, "League.players: it is set automatically and cannot be changed"),
    ],
)
def test_change_that_cannot_create_its_item_is_rejected(
    db: Store, arguments: Any, edit: dict[str, Any], message: str
) -> None:
    def change() -> None:
        with db.change(league("l1"), create=True, **arguments) as draft:
            for name, value in edit.items():
                setattr(draft, name, value)

    with pytest.raises(InvalidValue) as refusal:
        change()
    assert message in str(refusal.value)
    assert disk(db) == []


def test_change_without_edits_creates_the_item(db: Store) -> None:
    with db.change(session("s"), create=True):
        pass
    assert db.one(session("s")).hits == 0
    assert len(disk(db)) == 1


def test_explanation_names_the_request_and_the_initial_values(db: Store) -> None:
    def add(draft: Any) -> None:
        draft.views += 1

    text = db.explain_change(visits("home", DAY), add, create=True)
    assert text.startswith("change or create Visits: one UpdateItem\n")
    assert "clicks = 0, if it is absent" in text
    assert "views += 1" in text

    def score_point(draft: Any) -> None:
        draft.points += 1

    text = db.explain_change(score("ann"), score_point, create=True)
    assert text.startswith("change or create Score: one GetItem, then one write\n  without an item: one PutItem\n")
    assert "  with an item: change Score: one GetItem, then one conditional write" in text


def test_time_of_creation_is_set_once(db: Store, clock: Clock) -> None:
    for _ in range(2):
        with db.change(score("ann"), create=True) as draft:
            draft.points += 1
        clock.passes(minutes=1)
    assert db.one(score("ann")).created_at == clock() - timedelta(minutes=2)
    assert clock().tzinfo is UTC
