"""Items whose keys end before their last part, on every backend."""

from typing import Annotated, Any

import pytest

from partita import (
    AlreadyExists,
    CountOf,
    Entity,
    F,
    Index,
    InKey,
    Item,
    Items,
    Keys,
    NotFound,
    Store,
    Table,
    fan_out,
    get,
    pattern,
    prove,
    query,
)
from partita.dynamodb.requests import PutItem
from tests.store.clocks import Clock
from tests.store.conftest import fresh

table = Table("seats", pk="PK", sk="SK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),))


class Org(Entity, table=table, key=("ORG#{org}", "ORG")):
    org: str
    seats: Annotated[int, CountOf(lambda: Seat)] = 0


class Seat(
    Entity,
    table=table,
    key=("ORG#{org}", "TEAM#{team}#{member?}"),
    old_keys=[("ORG#{org:plain}", "SEAT#{team:plain}#{member?:plain}")],
):
    org: Annotated[str, InKey()]
    team: Annotated[str, InKey()]
    member: Annotated[str | None, InKey()] = None
    floor: int | None = None
    note: str = ""

    on_floor = Keys("GSI1", "ORG#{org}", "TEAM#{team}#{floor?:3}")


class Setting(Entity, table=table, key=("ORG#{org}", "SETTING#{name?}")):
    org: Annotated[str, InKey()]
    name: Annotated[str | None, InKey()] = None
    value: int = 0


@pattern
def org(org: str) -> Item[Org]: ...
@pattern
def seat(org: str, team: str, member: str | None) -> Item[Seat]: ...
@pattern(query(Seat).smallest_first("member"))
def seats(org: str, team: str) -> Items[Seat]: ...
@pattern(query(Seat).largest_first("member"))
def seats_backwards(org: str, team: str) -> Items[Seat]: ...
@pattern
def seats_from(org: str, team: str, member: str) -> Items[Seat]:
    return query(Seat, org, team).since(member)


@pattern
def seats_of(org: str) -> Items[Seat]: ...
@pattern(Seat.on_floor)
def on_floor(org: str, team: str) -> Items[Seat]: ...


design = prove("seats", table)
SEATS = [("red", None), ("red", "ann"), ("red", "b#"), ("red!", None), ("red!", "ann"), ("blue", "ann")]


@pytest.fixture
def db(backend: Any, clock: Clock) -> Store:
    store = fresh(backend, design, clock)
    store.create(Org(org="acme"))
    for team, member in SEATS:
        store.create(Seat(org="acme", team=team, member=member, floor=len(team)))
    return store


def test_item_without_the_part_is_another_item(db: Store) -> None:
    assert db.one(seat("acme", "red", None)).member is None
    assert db.one(seat("acme", "red", "ann")).member == "ann"
    assert db(seat("acme", "blue", None)) is None
    assert [each and each.member for each in db.get_many([seat("acme", "red", None), seat("acme", "red", "b#")])] == [
        None,
        "b#",
    ]
    with pytest.raises(AlreadyExists) as refusal:
        db.create(Seat(org="acme", team="red"))
    assert str(refusal.value).startswith("Seat acme, red ")


def test_lists_have_items_with_and_without_the_part(db: Store) -> None:
    assert [each.member for each in db(seats("acme", "red"))] == [None, "ann", "b#"]
    assert [each.member for each in db(seats_backwards("acme", "red"))] == ["b#", "ann", None]
    assert [each.member for each in db(seats_from("acme", "red", "ann"))] == ["ann", "b#"]
    assert sorted((each.team, each.member or "") for each in db(seats_of("acme"))) == sorted(
        (team, member or "") for team, member in SEATS
    )
    both = db(query(Seat, "acme", fan_out(["red", "blue"], 2)))
    assert [(each.team, each.member) for each in both] == [
        ("red", None),
        ("red", "ann"),
        ("blue", "ann"),
        ("red", "b#"),
    ]


def test_pages_of_one_item_each_are_complete(db: Store) -> None:
    cursor, found = None, []
    for _ in SEATS:
        page = db(seats("acme", "red")).page(1, cursor)
        found += [each.member for each in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert found == [None, "ann", "b#"]


def test_change_of_the_part_moves_the_item(db: Store) -> None:
    with db.change(seat("acme", "red", None)) as draft:
        draft.member = "zoe"
    with db.change(seat("acme", "red", "ann")) as draft:
        draft.member = None
        draft.note = "free"
    assert [(each.member, each.note) for each in db(seats("acme", "red"))] == [(None, "free"), ("b#", ""), ("zoe", "")]
    with pytest.raises(NotFound), db.change(seat("acme", "red", "ann")) as draft:
        draft.note = "gone"
    assert db.one(org("acme")).seats == len(SEATS)


def test_delete_takes_exactly_the_item_without_the_part(db: Store) -> None:
    deleted = db.delete(seat("acme", "red", None))
    assert deleted is not None
    assert deleted.member is None
    assert [each.member for each in db(seats("acme", "red"))] == ["ann", "b#"]
    assert db.one(org("acme")).seats == len(SEATS) - 1


def test_index_key_ends_before_its_part(db: Store) -> None:
    with db.change(seat("acme", "red", "ann")) as draft:
        draft.floor = None
    first, *others = [(each.member, each.floor) for each in db(on_floor("acme", "red"))]
    assert first == ("ann", None)
    assert set(others) == {(None, 3), ("b#", 3)}


def test_conditions_see_the_part_and_its_absence(db: Store) -> None:
    for name in (None, "a", "b"):
        db.create(Setting(org="acme", name=name))
    for condition, expected in (
        (F.name == None, {None}),  # noqa: E711
        (F.name != None, {"a", "b"}),  # noqa: E711
        (F.name == "a", {"a"}),
        (F.name != "a", {None, "b"}),
        (F.name < "b", {"a"}),
        (F.name >= "b", {"b"}),
        (F.name.is_absent(), {None}),
        (F.name.exists(), {"a", "b"}),
        (F.name.is_in(None, "b"), {None, "b"}),
        (F.name.starts_with("a"), {"a"}),
    ):
        assert {each.name for each in db.scan(Setting, where=condition)} == expected
    assert {each.member for each in db.scan(Seat, where=F.team == "red")} == {None, "ann", "b#"}
    assert {each.team for each in db.scan(Seat, where=F.team > "blue")} == {"red", "red!"}
    assert {each.team for each in db.scan(Seat, where=F.team <= "red")} == {"blue", "red"}
    assert {each.team for each in db.scan(Seat, where=F.team < "red!")} == {"blue", "red"}


def test_item_under_an_old_key_without_the_part_is_found_and_moved(db: Store) -> None:
    db.backend.call(
        PutItem(table_name="seats", item={"PK": {"S": "ORG#acme"}, "SK": {"S": "SEAT#old"}, "note": {"S": "n"}})
    )
    assert db.one(get(Seat, "acme", "old", None)).note == "n"
    assert [(each.member, each.note) for each in db(seats("acme", "old"))] == [(None, "n")]
    with db.change(seat("acme", "old", None)) as draft:
        draft.note = "m"
    assert [(each.member, each.note) for each in db(seats("acme", "old"))] == [(None, "m")]
