"""Tables of other shapes: one key attribute, keys that are plain attributes and numbers, local indexes."""

from typing import Annotated, Any

import pytest

from partita import (
    ALL_SHARDS,
    AlreadyExists,
    Entity,
    Index,
    Item,
    Items,
    Keys,
    NotUnique,
    Store,
    Table,
    Unique,
    pattern,
    prove,
    query,
)
from tests.store.clocks import Clock
from tests.store.conftest import fresh

people = Table("people", pk="id")
readings = Table(
    "readings",
    pk="sensor",
    sk="at",
    naming="camel",
    indexes=(Index("ByValue", "sensor", "value", local=True, project="KEYS_ONLY"), Index("ByPlace", "place")),
)


class Person(Entity, table=people):
    id: str
    email: Annotated[str, Unique()]


sharded = Table("sharded", pk="PK", sk="number")


class Drop(Entity, table=sharded, key=("DROP#{number:shard(4)}", None)):
    """A number whose shard is part of its own key."""

    number: int


class Reading(Entity, table=readings):
    sensor: str
    at: int
    value: int | None = None
    place: str | None = None

    by_place = Keys("ByPlace")


@pattern
def person(id: str) -> Item[Person]: ...  # noqa: A002 - the attribute's own name
@pattern
def drop(number: int) -> Item[Drop]: ...


@pattern
def drops() -> Items[Drop]:
    return query(Drop, ALL_SHARDS).smallest_first("number")


@pattern
def reading(sensor: str, at: int) -> Item[Reading]: ...


@pattern
def readings_between(sensor: str, low: int, high: int) -> Items[Reading]:
    return query(Reading, sensor).between(low, high).largest_first("at")


@pattern
def readings_since(sensor: str, low: int) -> Items[Reading]:
    return query(Reading, sensor).since(low)


@pattern
def readings_until(sensor: str, high: int) -> Items[Reading]:
    return query(Reading, sensor).until(high)


@pattern(Reading.by_place)
def readings_at(place: str) -> Items[Reading]: ...


design = prove("shapes", people, readings, sharded)


@pytest.fixture
def shapes(backend: Any, clock: Clock) -> Store:
    return fresh(backend, design, clock)


def test_table_with_one_key_attribute_keeps_its_invariants(shapes: Store) -> None:
    ann = shapes.create(Person(id="ann", email="a@example.com"))
    assert shapes(person("ann")) == ann
    with pytest.raises(NotUnique):
        shapes.create(Person(id="bob", email="a@example.com"))
    with pytest.raises(AlreadyExists, match=r"^Person ann already exists$"):
        shapes.create(Person(id="ann", email="b@example.com"))
    with shapes.change(person("ann")) as draft:
        draft.id = "anna"
    assert shapes.find_by_unique(Person, "email", "a@example.com") == shapes.one(person("anna"))


def test_number_keys_are_stored_as_numbers(shapes: Store) -> None:
    for at in (9, 10, -1, 100):
        shapes.create(Reading(sensor="s", at=at, value=at * 2))
    assert [each.at for each in shapes(readings_between("s", -5, 10))] == [10, 9, -1]
    assert [each.at for each in shapes(readings_since("s", 10))] == [10, 100]
    assert [each.at for each in shapes(readings_until("s", 9))] == [-1, 9]
    with shapes.change(reading("s", 9)) as draft:
        draft.value = None
        draft.place = "roof"
    assert [each.at for each in shapes(readings_at("roof"))] == [9]


def test_number_is_found_in_its_shard(shapes: Store) -> None:
    for number in range(12):
        shapes.create(Drop(number=number))
    assert [shapes.one(drop(number)).number for number in range(12)] == list(range(12))
    assert [each.number for each in shapes(drops())] == list(range(12))


def test_created_tables_match_the_design(shapes: Store) -> None:
    assert shapes.differences() == []


def test_pages_of_plain_keys_continue(shapes: Store) -> None:
    for at in range(5):
        shapes.create(Reading(sensor="s", at=at, place="roof"))
    first = shapes(readings_since("s", 0)).page(3)
    second = shapes(readings_since("s", 0)).page(3, first.cursor)
    assert [each.at for each in (*first.items, *second.items)] == [0, 1, 2, 3, 4]
    one = shapes(readings_at("roof")).page(2)
    rest = shapes(readings_at("roof")).page(9, one.cursor)
    assert sorted(each.at for each in (*one.items, *rest.items)) == [0, 1, 2, 3, 4]
