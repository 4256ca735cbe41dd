"""Items that other code wrote, and values of open types."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    AlreadyExists,
    CountOf,
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
    NotFound,
    NotUnique,
    Store,
    Table,
    Transitions,
    Unique,
    Version,
    VersionConflict,
    pattern,
    prove,
)
from partita.dynamodb.requests import PutItem, Scan
from tests.store.clocks import Clock
from tests.store.conftest import fresh

table = Table("edges", pk="PK", sk="SK", ttl="ttl", indexes=(Index("ByName", "name", "PK"),))


class Ticket(Entity, table=table, key=("TICKET#{ticket_id}", "TICKET")):
    ticket_id: Annotated[str, InKey()]
    code: Annotated[str, Unique()]
    until: datetime
    kept = Expires("until")


class Box(Entity, table=table, key=("BOX#{box_id}", "BOX")):
    box_id: str
    name: str
    room: int = 2
    held: Annotated[int, CountOf(lambda: Thing)] = 0
    weight: Decimal = Decimal(0)
    state: Annotated[str, Transitions({"open": ["closed"], "closed": []})] = "open"
    anything: dict[str, Any] = msgspec.field(default_factory=dict)
    by_name = Keys("ByName")
    space = Limit(F.held <= F.room)


class Thing(
    Entity, table=table, key=("BOX#{box_id}", "THING#{number:3}"), old_keys=[("BOX#{box_id}", "THING#{number:plain}")]
):
    box_id: Annotated[str, InKey()]
    number: Annotated[int, InKey()]
    note: str | None = None


class Offer(Entity, table=table, key=("OFFER#{offer_id}", "OFFER")):
    offer_id: str
    price: int
    version: Annotated[int, Version()] = 1


@pattern
def offer(offer_id: str) -> Item[Offer]: ...
@pattern
def thing(box_id: str, number: int) -> Item[Thing]: ...
@pattern
def ticket(ticket_id: str) -> Item[Ticket]: ...
@pattern
def box(box_id: str) -> Item[Box]: ...
@pattern(Box.by_name)
def boxes_named(name: str) -> Items[Box]: ...
@pattern
def things(box_id: str) -> Items[Thing]: ...
@pattern
def all_of(box_id: str) -> Items[Box | Thing]: ...


design = prove("edges", table)


@pytest.fixture
def edges(backend: Any, clock: Clock) -> Store:
    return fresh(backend, design, clock)


def put(store: Store, **attributes: dict[str, Any]) -> None:
    store.backend.call(PutItem(table_name="edges", item=attributes))


def test_guard_expires_with_its_item(edges: Store, clock: Clock) -> None:
    edges.create(Ticket(ticket_id="1", code="A", until=clock() + timedelta(days=1)))
    with edges.change(ticket("1")) as draft:
        draft.until = clock() + timedelta(days=3)
    clock.passes(days=2)
    with pytest.raises(NotUnique):
        edges.create(Ticket(ticket_id="2", code="A", until=clock() + timedelta(days=1)))
    clock.passes(days=1)
    edges.create(Ticket(ticket_id="2", code="A", until=clock() + timedelta(days=1)))
    assert edges.find_by_unique(Ticket, "code", "A") == edges.one(ticket("2"))


def test_key_of_an_expired_item_is_free(edges: Store, clock: Clock) -> None:
    edges.create(Ticket(ticket_id="1", code="A", until=clock() + timedelta(days=1)))
    clock.passes(days=1)
    edges.create(Ticket(ticket_id="1", code="B", until=clock() + timedelta(days=1)))
    assert edges.one(ticket("1")).code == "B"


def test_older_item_without_counter_or_state_has_the_defaults(edges: Store) -> None:
    put(edges, PK={"S": "BOX#b"}, SK={"S": "BOX"}, box_id={"S": "b"}, name={"S": "old"}, room={"N": "1"})
    edges.create(Thing(box_id="b", number=1))
    with pytest.raises(LimitReached):
        edges.create(Thing(box_id="b", number=2))
    with edges.change(box("b")) as draft:
        draft.state = "closed"
    found = edges.one(box("b"))
    assert (found.held, found.state) == (1, "closed")


def test_older_item_without_a_version_has_the_version_it_is_read_with(edges: Store) -> None:
    put(edges, PK={"S": "OFFER#o"}, SK={"S": "OFFER"}, offer_id={"S": "o"}, price={"N": "1"})
    seen = edges.one(offer("o")).version
    with pytest.raises(VersionConflict), edges.change(offer("o"), version=seen + 1) as draft:
        draft.price = 2
    with edges.change(offer("o"), version=seen) as draft:
        draft.price = 3
    with pytest.raises(VersionConflict), edges.change(offer("o"), version=seen) as draft:
        draft.price = 4
    assert edges.one(offer("o")) == Offer(offer_id="o", price=3, version=seen + 1)


def test_values_of_open_types_keep_their_own_types(edges: Store) -> None:
    anything = {"n": Decimal("1.5"), "b": b"\x00", "l": [1, None, True], "m": {"x": "y"}, "i": 7}
    edges.create(Box(box_id="b", name="x", anything=anything))
    assert edges.one(box("b")).anything == anything
    edges.create(Box(box_id="c", name="x", anything={"at": date(2095, 1, 1)}))
    assert edges.one(box("c")).anything == {"at": "2095-01-01"}


def test_steps_with_long_decimals_are_exact(edges: Store) -> None:
    edges.create(Box(box_id="b", name="x", weight=Decimal("12345678901234567890123456789.000000001")))
    with edges.change(box("b")) as draft:
        draft.weight += Decimal("0.000000001")
    assert edges.one(box("b")).weight == Decimal("12345678901234567890123456789.000000002")


def test_number_that_is_not_finite_is_rejected_with_its_attribute(edges: Store) -> None:
    with pytest.raises(InvalidValue, match=r"^Box.anything: nan is not a number that DynamoDB stores$"):
        edges.create(Box(box_id="b", name="x", anything={"n": float("nan")}))


def test_plain_key_is_the_same_for_composed_and_decomposed_text(edges: Store) -> None:
    edges.create(Box(box_id="b", name="caf\u0065\u0301"))
    assert [each.box_id for each in edges(boxes_named("caf\u00e9"))] == ["b"]
    assert [each.box_id for each in edges(boxes_named("caf\u0065\u0301"))] == ["b"]


def test_index_key_is_never_empty(edges: Store) -> None:
    with pytest.raises(InvalidValue, match=r"^Box.name: empty text cannot be part of a key$"):
        edges.create(Box(box_id="b", name=""))
    edges.create(Box(box_id="b", name="x"))
    with (
        pytest.raises(InvalidValue, match=r"^Box.name: empty text cannot be part of a key$"),
        edges.change(box("b")) as draft,
    ):
        draft.name = ""
    with pytest.raises(InvalidValue, match=r"^boxes_named.name: empty text cannot be part of a key$"):
        edges(boxes_named("")).first(1)


def test_old_key_format_is_read_beside_the_new_one(edges: Store) -> None:
    edges.create(Box(box_id="b", name="x"))
    edges.create(Thing(box_id="b", number=12))
    put(edges, PK={"S": "BOX#b"}, SK={"S": "THING#7"})
    assert {each.number for each in edges(things("b"))} == {7, 12}
    assert {type(each) for each in edges(all_of("b"))} == {Box, Thing}


def test_item_under_an_old_key_moves_when_it_changes(edges: Store) -> None:
    put(edges, PK={"S": "BOX#b"}, SK={"S": "THING#7"}, colour={"S": "red"})
    assert edges.one(thing("b", 7)).number == 7
    assert "a second GetItem under the old key" in edges.explain(thing("b", 7))
    with pytest.raises(AlreadyExists, match=r"^Thing b, 7 already exists$"):
        edges.create(Thing(box_id="b", number=7))
    with edges.change(thing("b", 7)) as draft:
        draft.note = "kept"
    items = [msgspec.json.decode(item) for item in edges.backend.call(Scan(table_name="edges")).items or ()]
    moved = {"PK": {"S": "BOX#b"}, "SK": {"S": "THING#007"}, "colour": {"S": "red"}, "note": {"S": "kept"}}
    assert items == [moved]
    put(edges, PK={"S": "BOX#b"}, SK={"S": "THING#8"})
    assert edges.update(thing("b", 8), lambda each: setattr(each, "note", "x")).note == "x"
    put(edges, PK={"S": "BOX#b"}, SK={"S": "THING#9"})
    assert edges.delete(thing("b", 9)) is not None
    assert [each.number for each in edges(things("b"))] == [7, 8]
    with pytest.raises(NotFound), edges.change(thing("b", 1)) as draft:
        draft.note = "nothing there"


def test_attribute_in_the_key_is_not_stored_twice(edges: Store) -> None:
    edges.create(Box(box_id="b", name="x"))
    edges.create(Thing(box_id="b", number=12))
    items = [msgspec.json.decode(item) for item in edges.backend.call(Scan(table_name="edges")).items or ()]
    assert {"PK": {"S": "BOX#b"}, "SK": {"S": "THING#012"}} in items


def test_every_stored_item_is_decoded_by_its_key(edges: Store, clock: Clock) -> None:
    made = edges.create(Box(box_id="b", name="x"))
    ticket_made = edges.create(Ticket(ticket_id="1", code="A", until=clock()))
    put(edges, PK={"S": "OTHER"}, SK={"S": "OTHER"})
    items = [msgspec.json.decode(item) for item in edges.backend.call(Scan(table_name="edges")).items or ()]
    known = [entity for item in items if (entity := edges.decode_item("edges", item)) is not None]
    assert len(items) == 4
    assert sorted(known, key=lambda each: type(each).__name__) == [made, ticket_made]
    with pytest.raises(InvalidValue, match=r"^elsewhere: design 'edges' has no such table$"):
        edges.decode_item("elsewhere", {})
