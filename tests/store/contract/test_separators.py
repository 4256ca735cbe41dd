"""Tables whose keys are divided by another character, on every backend."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest

from partita import (
    Entity,
    F,
    Index,
    InKey,
    Item,
    Items,
    Keys,
    NotUnique,
    Owns,
    Store,
    Table,
    Unique,
    fan_out,
    pattern,
    prove,
    query,
)
from tests.store.clocks import Clock
from tests.store.conftest import fresh

table = Table("piped", pk="PK", sk="SK", separator="|", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),))


class Order(Entity, table=table, key=("CUSTOMER|{customer}", "ORDER|{order}")):
    customer: Annotated[str, InKey()]
    order: Annotated[str, InKey()]
    code: Annotated[str | None, Unique()] = None
    lines = Owns(lambda: Line)


class Line(Entity, table=table, key=("CUSTOMER|{customer}", "ORDER|{order}|LINE|{number:2}|{part?}")):
    customer: Annotated[str, InKey()]
    order: Annotated[str, InKey()]
    number: Annotated[int, InKey()]
    part: Annotated[str | None, InKey()] = None
    at: datetime
    text: str = ""

    by_time = Keys("GSI1", "LINES", "{at}|{order}")


@pattern
def order(customer: str, order: str) -> Item[Order]: ...
@pattern
def order_with_lines(customer: str, order: str) -> Items[Order | Line]: ...
@pattern
def line(customer: str, order: str, number: int, part: str | None) -> Item[Line]: ...
@pattern
def lines_from(customer: str, order: str, number: int) -> Items[Line]:
    return query(Line, customer, order).since(number).smallest_first("number")


@pattern(Line.by_time)
def lines_by_time() -> Items[Line]: ...
@pattern
def lines_since(at: datetime) -> Items[Line]:
    return Line.by_time.query().after(at).newest_first()


design = prove("piped", table)
NAMES = ["a", "a|b", "a}", "a}S", "a|", "aLINE", "b#$", "a|LINE|01", "~", " "]
AT = datetime(2025, 1, 1, tzinfo=UTC)


@pytest.fixture
def db(backend: Any, clock: Clock) -> Store:
    store = fresh(backend, design, clock)
    for at, name in enumerate(NAMES):
        store.create(Order(customer=name, order=name, code=name))
        for number in (1, 2):
            store.create(Line(customer=name, order=name, number=number, at=AT + timedelta(hours=at)))
        store.create(Line(customer=name, order=name, number=2, part=name, at=AT + timedelta(hours=at)))
    return store


def test_each_order_is_read_with_its_own_lines(db: Store) -> None:
    for name in NAMES:
        found = list(db(order_with_lines(name, name)))
        assert [type(each).__name__ for each in found] == ["Order", "Line", "Line", "Line"]
        assert all((each.customer, each.order) == (name, name) for each in found)
        assert db.one(line(name, name, 2, name)).part == name
        assert [(each.number, each.part) for each in db(lines_from(name, name, 2))] == [(2, None), (2, name)]


def test_index_sorts_by_time_in_front_of_the_separator(db: Store) -> None:
    assert [each.order for each in db(lines_by_time())][::3] == NAMES
    late = AT + timedelta(hours=len(NAMES) - 2)
    assert {each.order for each in db(lines_since(late))} == {NAMES[-1]}


def test_fan_out_merges_by_the_open_part(db: Store) -> None:
    found = db(query(Line, "a", fan_out(["a", "a|b"], 2)))
    assert [(each.order, each.number, each.part) for each in found] == [("a", 1, None), ("a", 2, None), ("a", 2, "a")]


def test_changes_guards_and_deletion_use_the_same_keys(db: Store) -> None:
    with db.change(line("a|b", "a|b", 1, None)) as draft:
        draft.part = "x|y"
    assert db.one(line("a|b", "a|b", 1, "x|y")).number == 1
    with pytest.raises(NotUnique):
        db.create(Order(customer="c", order="c", code="a|b"))
    assert db.find_by_unique(Order, "code", "a|b") == db.one(order("a|b", "a|b"))
    db.delete(order("a|b", "a|b"))
    assert list(db(order_with_lines("a|b", "a|b"))) == []
    assert len(list(db(order_with_lines("a", "a")))) == 4
    assert {each.order for each in db.scan(Line)} == {*NAMES} - {"a|b"}
    assert {each.order for each in db.scan(Order, where=F.order == "a|")} == {"a|"}
