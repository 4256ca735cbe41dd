"""A query says everything that it was given: filters add up, and what contradicts itself is rejected."""

from collections.abc import Callable
from typing import Any

import pytest

from partita import DesignError, Entity, F, Items, Query, Table, collection, fan_out, pattern, query
from tests.store.declared import opened

things = Table("things", pk="PK", sk="SK")


class Thing(Entity, table=things, key=("P#{p}", "{n:4}")):
    p: str
    n: int
    size: int = 0


def test_several_filters_must_all_hold() -> None:
    with opened(things) as db:
        for number in range(4):
            db.create(Thing(p="a", n=number, size=number))
        found = db(query(Thing, "a").where(F.size >= 1).where(F.size < 3))
        assert [each.size for each in found] == [1, 2]


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: query(Thing, "a").smallest_first("n").largest_first("n"), "Thing: it declares two orders"),
        (lambda: query(Thing, "a").reversed().largest_first("n"), "Thing: it is reversed before it declares an order"),
        (lambda: query(Thing, "a").since(None), "Thing: None is not a bound of a range; leave the bound out"),
        (lambda: query(Thing, "a").between(1, None), "Thing: None is not a bound of a range"),
        (lambda: query(Thing, "a").above(None), "Thing: None is not a bound of a range"),
        (lambda: query(Thing, "a").since(1).before(None), "Thing: None is not a bound of a range"),
        (lambda: query(Thing, "a").starts_with(None), "Thing: None is not a bound of a range"),
        (lambda: query(Thing, "a").where(F.size > 1).where(None), "Thing: None is not a condition"),  # type: ignore[arg-type]
        (lambda: query(Thing, "a").page("3"), "Thing: a page cannot have '3' items"),  # type: ignore[arg-type]
        (lambda: fan_out(["a"], 0), "fan_out: at most 0 values is no limit; write fan_out(values, 10)"),
        (lambda: fan_out(["a"], "3"), "fan_out: at most '3' values is no limit"),  # type: ignore[arg-type]
        (collection, "collection: it names no entities"),
    ],
)
def test_a_query_that_contradicts_itself_is_rejected(wrong: Callable[[], Any], error: str) -> None:
    with pytest.raises(DesignError) as rejected:
        wrong()
    assert str(rejected.value).startswith(error)


@pattern(query(Thing).largest_first("n"))
def largest(p: str) -> Items[Thing]: ...


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        (lambda: query(Thing, "a").smallest_first("n"), [0, 1, 2]),
        (lambda: query(Thing, "a").smallest_first("n").reversed(), [2, 1, 0]),
        (lambda: query(Thing, "a").smallest_first("n").reversed().reversed(), [0, 1, 2]),
        (lambda: query(Thing, "a").reversed(), [2, 1, 0]),
        (lambda: largest("a"), [2, 1, 0]),
        (lambda: largest("a").reversed(), [0, 1, 2]),
    ],
)
def test_a_reversed_query_has_the_opposite_order(asked: Callable[[], Query[Thing]], numbers: list[int]) -> None:
    with opened(things) as db:
        for number in (1, 0, 2):
            db.create(Thing(p="a", n=number))
        assert [each.n for each in db(asked())] == numbers
        assert [each.n for each in db(asked()).page(2).items] == numbers[:2]
