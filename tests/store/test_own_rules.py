"""No write stores an item that `__post_init__` of its entity rejects, and that nobody could read again."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    AUTO,
    CreatedAt,
    Entity,
    F,
    Index,
    InKey,
    InvalidValue,
    Item,
    Items,
    Keys,
    NotFound,
    Store,
    Table,
    UpdatedAt,
    Version,
    Was,
    connect,
    pattern,
    prove,
)
from partita.dynamodb import requests as wire
from partita.plan.unchanged import unchanged_condition

table = Table("stays", pk="PK", sk="SK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),))


class Guest(msgspec.Struct):
    name: str
    age: int = 18

    def __post_init__(self) -> None:
        if self.age < 0:
            raise ValueError("an age is not negative")


class Stay(Entity, table=table, key=("STAY#{stay}", "STAY")):
    stay: str
    begin: int = 0
    end: int = 10
    email: str = ""
    title: str | None = None
    views: int = 0
    guests: list[Guest] = msgspec.field(default_factory=list[Guest])
    version: Annotated[int, Version()] = 0

    by_email = Keys("GSI1", "EMAIL#{email}", "{stay}", when=F.email != "")

    def __post_init__(self) -> None:
        if self.begin > self.end:
            raise ValueError("a stay ends after it begins")
        self.email = self.email.lower()
        if self.title is None and self.email:
            self.title = "guest of " + self.email


class Visit(Entity, table=table, key=("VISIT#{visit}", "VISIT")):
    """Its rule hands `self` on, so that it may depend on every attribute."""

    visit: str
    first: int = 0
    second: int = 0

    def __post_init__(self) -> None:
        check_sum(self)


def check_sum(each: Visit) -> None:
    if each.first + each.second > 10:
        raise ValueError("the sum is at most 10")


class Lease(Entity, table=table, key=("LEASE#{lease}", "LEASE")):
    lease: str
    until: datetime
    created_at: Annotated[datetime, CreatedAt()] = AUTO
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO

    def __post_init__(self) -> None:
        if self.created_at is not AUTO and self.until < self.created_at:
            raise ValueError("it has ended before it was created")


@pattern
def stay(stay: str) -> Item[Stay]: ...
@pattern
def visit(visit: str) -> Item[Visit]: ...
@pattern
def lease(lease: str) -> Item[Lease]: ...
@pattern(Stay.by_email)
def of_email(email: str) -> Items[Stay]: ...


design = prove("stays", table)


def opened(**settings: Any) -> Store:
    db = connect("memory:", design, **settings)
    db.create_tables()
    db.create(Stay(stay="s1", begin=2, end=5))
    db.create(Visit(visit="v1", first=4, second=4))
    return db


def begin_late(draft: Stay) -> None:
    draft.begin = 9


def end_early(draft: Stay) -> None:
    draft.end -= 4


EDITS: list[Callable[[Stay], None]] = [begin_late, end_early]


@pytest.mark.parametrize("edit", EDITS)
def test_change_that_makes_an_unreadable_item_is_rejected(edit: Callable[[Stay], None]) -> None:
    db = opened()
    before = db.one(stay("s1"))
    with pytest.raises(InvalidValue, match="Stay: a stay ends after it begins"), db.change(stay("s1")) as draft:
        edit(draft)
    with pytest.raises(InvalidValue, match="a stay ends"), db.change(stay("s1"), create=True) as draft:
        edit(draft)
    with pytest.raises(InvalidValue, match="a stay ends"), db.transaction() as t:
        edit(t.change(stay("s1")))
    with pytest.raises(InvalidValue, match="a stay ends"), db.transaction() as t:
        edit(t.change(stay("s1"), seen=before))
    with pytest.raises(InvalidValue, match="a stay ends"):
        db.update(stay("s1"), edit)
    with pytest.raises(InvalidValue, match="a stay ends"), db.change(stay("new"), create=True) as draft:
        draft.begin = 11
    assert db.one(stay("s1")) == before
    assert db.get(stay("new")) is None


def test_rule_that_may_depend_on_everything_is_judged_with_every_change() -> None:
    db = opened()
    for name in ("first", "second"):
        with pytest.raises(InvalidValue, match="the sum is at most 10"), db.change(visit("v1")) as draft:
            setattr(draft, name, getattr(draft, name) + 3)
    with db.change(visit("v1")) as draft:
        draft.first += 2
    assert db.one(visit("v1")).first == 6


def test_change_of_what_the_rule_does_not_name_needs_no_read() -> None:
    db = opened()

    def view(draft: Stay) -> None:
        draft.views += 1

    assert "GetItem" not in db.explain_change(stay("s1"), view)
    explained = db.explain_change(stay("s1"), begin_late)
    assert "one GetItem, then one conditional write" in explained
    assert "reads    begin, email, end, title, for __post_init__" in explained


def test_change_that_assigns_all_that_the_rule_uses_needs_no_read() -> None:
    def shift(draft: Stay) -> None:
        draft.begin, draft.end, draft.email, draft.title = 20, 30, "ANN@X", "Ann"

    db = opened()
    explained = db.explain_change(stay("s1"), shift)
    assert "GetItem" not in explained
    assert "email = ann@x" in explained
    with db.change(stay("s1")) as draft:
        shift(draft)
    assert [each.begin for each in db(of_email("ann@x"))] == [20]
    with pytest.raises(InvalidValue, match="a stay ends"), db.change(stay("s1")) as draft:
        draft.begin, draft.end = 2, 1


def test_concurrent_changes_that_are_only_invalid_together_are_judged_together() -> None:
    class Between:
        """Another writer ends the stay earlier, between the read and the write of this one."""

        def __init__(self, backend: Any) -> None:
            self.backend = backend
            self.acts = True

        def call(self, request: Any, /) -> Any:
            if isinstance(request, wire.UpdateItem) and self.acts:
                self.acts = False
                with db.change(stay("s1")) as draft:
                    draft.end = 3
            return self.backend.call(request)

    db = opened()
    raced = Store(Between(db.backend), design)
    with pytest.raises(InvalidValue, match="a stay ends"), raced.change(stay("s1")) as draft:
        draft.begin = 4
    assert (db.one(stay("s1")).begin, db.one(stay("s1")).end) == (2, 3)


def test_values_that_the_rule_derives_are_stored_with_their_keys() -> None:
    db = opened()
    with db.change(stay("s1")) as draft:
        draft.email = "Ann@X"
    assert [each.title for each in db(of_email("ann@x"))] == ["guest of ann@x"]
    updated = db.update(stay("s1"), lambda each: setattr(each, "email", "Bob@X"))
    assert updated == db.one(stay("s1")) == db(of_email("bob@x")).one()
    with db.transaction() as t:
        t.change(stay("s1")).email = "CY@X"
    assert [each.email for each in db(of_email("cy@x"))] == ["cy@x"]


def test_embedded_values_are_validated() -> None:
    db = opened()
    young = Guest("ann")
    young.age = -1
    with pytest.raises(InvalidValue, match="an age is not negative"), db.change(stay("s1")) as draft:
        draft.guests += [young]
    with pytest.raises(InvalidValue, match="an age is not negative"), db.change(stay("s1")) as draft:
        draft.guests = [young]
    with pytest.raises(InvalidValue, match="an age is not negative"):
        db.update(stay("s1"), lambda each: each.guests.append(young))
    assert db.one(stay("s1")).guests == []


def test_rule_about_the_time_of_creation_holds_for_new_items() -> None:
    now = datetime(2025, 1, 1, tzinfo=UTC)
    db = opened(clock=lambda: now)
    late = Lease(lease="l1", until=now - timedelta(days=1))
    with pytest.raises(InvalidValue, match="it has ended"):
        db.create(late)
    with pytest.raises(InvalidValue, match="it has ended"):
        db.put(late)
    with pytest.raises(InvalidValue, match="it has ended"), db.transaction() as t:
        t.create(late)
    with pytest.raises(InvalidValue, match="it has ended"), db.change(lease("l1"), create=True) as draft:
        draft.until = late.until
    assert db.get(lease("l1")) is None
    db.create(Lease(lease="l1", until=now))
    with pytest.raises(InvalidValue, match="it has ended"), db.change(lease("l1")) as draft:
        draft.until = late.until


def test_missing_item_is_not_found() -> None:
    with pytest.raises(NotFound), opened().change(stay("none")) as draft:
        draft.begin = 1


def test_random_changes_leave_what_python_computes() -> None:
    chance = random.Random(5)
    db = opened()
    for _ in range(200):
        before = db.one(stay("s1"))
        name, amount = chance.choice(("begin", "end", "views")), chance.randint(-3, 6)
        values = {each: getattr(before, each) for each in ("begin", "end", "views")} | {
            name: getattr(before, name) + amount
        }
        expected: Any
        try:
            expected = Stay(stay="s1", email=before.email, title=before.title, version=before.version + 1, **values)
        except ValueError:
            expected = before
        step = chance.random() < 0.5
        try:
            with db.change(stay("s1")) as draft:
                setattr(draft, name, getattr(draft, name) + amount if step else values[name])
        except InvalidValue:
            assert expected is before
        assert db.one(stay("s1")) == expected


cents = Table("prices", pk="PK", sk="SK")


def to_cents(euros: int) -> int:
    return euros * 100


def to_euros(amount: int) -> int:
    return amount // 100


class Price(Entity, table=cents, key=("PRICE#{shop}", "{number:3}")):
    shop: str
    number: Annotated[int, InKey()]
    most: int = 10
    amount: Annotated[int, Was("euros", to=to_cents, back=to_euros)] = 0

    def __post_init__(self) -> None:
        if self.number > self.most or self.amount > 1000:
            raise ValueError("it is too much")


@pattern
def price(shop: str, number: int) -> Item[Price]: ...


prices = prove("prices", cents)


def test_key_parts_and_migrated_attributes_are_judged() -> None:
    db = connect("memory:", prices)
    db.create_tables()
    db.create(Price(shop="a", number=1, amount=200))
    with pytest.raises(InvalidValue, match="it is too much"), db.change(price("a", 1)) as draft:
        draft.number = 11
    with pytest.raises(InvalidValue, match="it is too much"), db.change(price("a", 1)) as draft:
        draft.amount = 1100
    with db.change(price("a", 1)) as draft:
        draft.number, draft.amount = 9, 900
    assert [(each.number, each.amount) for each in db.scan(Price)] == [(9, 900)]


def test_condition_that_an_entity_is_unchanged_needs_no_entity_that_its_rule_rejects() -> None:
    db = opened()
    with db.change(stay("s1")) as draft:
        draft.begin, draft.end = 20, 30  # with the default of `end`, there is no such stay
    seen = db.one(stay("s1"))
    db.delete(stay("s1"), when=unchanged_condition(seen, ["begin", "end"]))
    assert db.get(stay("s1")) is None
