"""Parents and children in one read: the ranges have their items, and nothing else."""

from random import Random
from typing import Any

import pytest

from partita import Entity, Index, Keys, ProofError, Store, Table, collection, connect, prove


def shop(sort: dict[str, str]) -> tuple[Store, dict[str, Any]]:
    """A store of things with these sort keys in the index, and their classes."""
    table = Table("shop", pk="PK", sk="SK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),))
    made: dict[str, Any] = {}
    metaclass: Any = type(Entity)
    for name, template in sort.items():
        body = {
            "__annotations__": {"number": int, "order": str, "line": str},
            "__module__": __name__,
            "by": Keys("GSI1", "ALL", template),
            "line": "x",
        }
        made[name] = metaclass(name, (Entity,), body, table=table, key=(f"{name}#{{number:3}}", name))
    db = connect("memory:", prove("shop", table))
    db.create_tables()
    for cls in made.values():
        for number, order in enumerate(("a", "a b", "a#b", "a!", "ab")):
            db.create(cls(number=number, order=order))
    return db, made


@pytest.mark.parametrize("names", ["PCN", "NCP", "PN", "NP"])
def test_parents_that_write_their_last_part_differently_are_not_read_together(names: str) -> None:
    db, made = shop({"P": "O#{order:escaped}", "C": "O#{order:escaped}#{line}", "N": "O#{order}"})
    read = collection(*(made[each].by for each in names))
    with pytest.raises(ProofError, match=r"write it in different ways.*write \{order:escaped\}"):
        list(db(read("a")))


def test_parents_that_write_their_last_part_alike_are_read_together() -> None:
    for form in ("{order}", "{order:escaped}"):
        db, made = shop({"P": f"O#{form}", "C": "O#{order}#{line}", "N": f"O#{form}"})
        for order in ("a", "a b", "a#b"):
            found = [each.order for each in db(collection(made["P"].by, made["C"].by, made["N"].by)(order))]
            assert found == [order] * 3


ORDERS = {"Order": "O#{order%s}", "Line": "O#{order%s}#LINE#{line}", "Note": "O#{order%s}#NOTE#{line}"}


@pytest.mark.parametrize("form", ["", ":escaped"])
def test_parent_is_read_with_its_first_children_only(form: str) -> None:
    db, made = shop({name: each % form for name, each in ORDERS.items()})
    read = collection(made["Order"].by, made["Line"].by)
    for order in ("a", "a b", "a#b", "ab"):
        assert [(type(each).__name__, each.order) for each in db(read(order))] == [("Order", order), ("Line", order)]
        assert [type(each).__name__ for each in db(read(order).reversed())] == ["Line", "Order"]
        page = db(read(order)).page(1)
        rest = db(read(order)).page(1, cursor=page.cursor)
        assert [type(each).__name__ for each in (*page.items, *rest.items)] == ["Order", "Line"]
    assert "is O#a, or from O#a#" in db.explain(read("a"))


def test_parent_that_is_read_apart_is_read_with_its_last_children_only() -> None:
    db, made = shop({name: each % "" for name, each in ORDERS.items()})
    read = collection(made["Order"].by, made["Note"].by)
    for order in ("a", "a b", "a#b", "ab"):
        assert [(type(each).__name__, each.order) for each in db(read(order))] == [("Order", order), ("Note", order)]


def test_children_between_a_parent_and_those_that_are_read_are_rejected() -> None:
    db, made = shop({name: each % ":escaped" for name, each in ORDERS.items()})
    with pytest.raises(ProofError, match=r"Line .* can lie in the range of Order"):
        list(db(collection(made["Order"].by, made["Note"].by)("a")))


def test_random_families_are_what_python_finds() -> None:
    chance = Random(7)
    compared = 0
    for _ in range(60):
        form = chance.choice(["{order}", "{order:escaped}"])
        children = chance.sample(["A", "LINE", "LINE#{line}", "LINES#{line}", "NOTE#{line}", "z"], chance.randint(1, 3))
        sort = {"Order": f"O#{form}"} | {f"C{at}": f"O#{form}#{each}" for at, each in enumerate(children)}
        if chance.random() < 0.5:
            sort["Other"] = chance.choice(["O", "O#{order}", "O#{order:escaped}", "OO#{order}"])
        db, made = shop(sort)
        names = chance.sample(list(made), chance.randint(1, len(made)))
        read: Any = collection(*(made[each].by for each in names)) if len(names) > 1 else made[names[0]].by.query
        for order in ("a", "a b", "a#b", "a!", "ab", "b"):
            try:
                found = sorted((type(each).__name__, each.order) for each in db(read(order)))
            except ProofError:
                break
            assert found == sorted((name, order) for name in names if order != "b"), (sort, names)
            compared += 1
    assert compared > 100
