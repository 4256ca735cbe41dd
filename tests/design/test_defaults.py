"""Defaults that no item could be stored with are rejected; those that older items are read with are not."""

from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pytest

from partita import CountOf, DesignError, Entity, F, Index, Keys, Ordered, SumOf, Table, Transitions, connect, prove

STEPS = Transitions({0: [1], 1: []}, start=[1])


def declare(kind: Any, default: Any, sort: str = "X", **statements: Any) -> Any:
    table = Table("tab", pk="PK", sk="SK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),) if statements else ())
    body = {
        "__annotations__": {"a": str, "b": str | None, "w": int, "v": kind},
        "__module__": __name__,
        "b": None,
        "w": 0,
        "v": default,
    }
    meta: Any = type(Entity)
    return meta("Thing", (Entity,), body | statements, table=table, key=("THING#{a}", sort))


@pytest.mark.parametrize(
    ("kind", "default", "sort", "why"),
    [
        (Annotated[int, Ordered(0, 5)], 9, "X", "it is not between 0 and 5, the bounds of Ordered"),
        (Annotated[int, Ordered(0, 5)], -1, "{v}", "-1 is not between 0 and 5, the bounds of Ordered"),
        (int, 1000, "{v:3}", "1000 does not fit {:3} in the key"),
        (Decimal, Decimal("0.123"), "{v:2.2}", "0.123 does not fit {:2.2} in the key"),
        (float, float("inf"), "X", "inf is not a number that DynamoDB stores"),
        (str, "\ud800", "X", "it contains a lone surrogate and is not valid Unicode"),
    ],
)
def test_default_that_no_item_can_be_stored_with_is_rejected(kind: Any, default: Any, sort: str, why: str) -> None:
    with pytest.raises(DesignError) as raised:
        declare(kind, default, sort)
    wanted = f"Thing.v: no item can be stored with the default {default!r}: {why}"
    assert str(raised.value) == f"{wanted}; write another default, or leave it out"


def test_default_that_the_key_of_an_index_rejects_is_rejected_where_every_item_is_in_the_index() -> None:
    always = Keys("GSI1", "THINGS", "{v:3}")
    with pytest.raises(DesignError, match="1000 does not fit"):
        declare(int, 1000, always=always)
    declare(int, 1000, some=Keys("GSI1", "THINGS", "{v:3}", when=F.w == 1))
    declare(int, 1000, some=Keys("GSI1", "THINGS#{b}", "{v:3}"))


def test_id_that_is_not_known_yet_may_be_empty() -> None:
    assert declare(str, "", "THING#{v}")(a="1").v == ""


def test_default_of_a_counter_is_zero() -> None:
    with pytest.raises(DesignError) as raised:
        declare(Annotated[int, CountOf(Entity)], 5)
    assert str(raised.value) == (
        "Thing.v: its default is 5, but an item that counts nothing yet has 0; write v: ... = 0"
    )
    with pytest.raises(DesignError, match=r'write v: ... = Decimal\("0"\)'):
        declare(Annotated[Decimal, SumOf(Entity, "v")], Decimal("0.5"))


def test_default_that_transitions_do_not_name_is_rejected() -> None:
    with pytest.raises(DesignError) as raised:
        declare(Annotated[int, STEPS], 5)
    assert str(raised.value) == (
        "Thing.v: its Transitions do not name the default 5, so nothing may follow it; "
        "write {5: [...]} in Transitions, or another default"
    )


def test_default_of_a_decimal_is_a_decimal() -> None:
    with pytest.raises(DesignError) as raised:
        declare(Decimal, 1)
    assert str(raised.value) == 'Thing.v: the default 1 is int, but the attribute is Decimal; write Decimal("1")'


@pytest.mark.parametrize(
    ("kind", "default"),
    [(Annotated[int, msgspec.Meta(ge=0)], -1), (Annotated[int, STEPS], 0), (str, ""), (float, 1), (int, 10**40)],
)
def test_older_items_may_be_read_with_what_new_ones_cannot_be_given(kind: Any, default: Any) -> None:
    thing = declare(kind, default)
    db = connect("memory:", prove("things", thing.__model__.table))
    db.create_tables()
    assert db.decode_item("tab", {"PK": {"S": "THING#1"}, "SK": {"S": "X"}, "a": {"S": "1"}}) == thing(a="1")
