"""Handlers that are added to a consumer that has run before: from the oldest change, from now on, or from a scan."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from partita import (
    Change,
    ConfigurationError,
    Consumer,
    DesignError,
    Entity,
    HandlerTransaction,
    Store,
    Table,
    connect,
    settle,
)
from partita.consumers.administration import ConsumerAdministration
from partita.consumers.consumer import Start
from tests.consumers import shop
from tests.consumers.shop import Copy, Order, Tally

Seen = list[tuple[str, str, str]]


class Clock:
    now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(clock: Clock) -> Iterator[Store]:
    with connect("memory:", shop.design, clock=clock) as store:
        store.create_tables()
        yield store


def consumer(seen: Seen, *entities: type[Order | Copy | Tally], start: Start = "oldest") -> Consumer:
    """A consumer that notes each change: its kind, its entity and its id."""
    made = Consumer("seen")
    for entity in entities:

        @made.on(entity, start=None if entity is Order else start)
        def note(change: Change[Order | Copy | Tally], t: HandlerTransaction) -> None:
            item = getattr(change, "after", None) or getattr(change, "before", None)
            seen.append((type(change).__name__, type(item).__name__, change.id))

    return made


def names(seen: Seen) -> list[str]:
    return [f"{kind} {entity}" for kind, entity, _ in seen]


def write(db: Store, number: int) -> None:
    db.put(Order(order_id="1", customer_id="c", number=number))
    db.put(Copy(order_id="1", number=number))


@pytest.mark.parametrize(
    ("start", "found"),
    [
        ("oldest", ["Created Copy", "Updated Copy", "Updated Order", "Updated Copy"]),
        ("now", ["Updated Order", "Updated Copy"]),
        ("scan", ["Created Copy", "Updated Order", "Updated Copy"]),
    ],
)
def test_new_entity_begins_as_declared(db: Store, clock: Clock, start: Start, found: list[str]) -> None:
    before: Seen = []
    write(db, 1)
    write(db, 2)
    settle(db, consumer(before, Order))
    assert names(before) == ["Created Order", "Updated Order"]
    clock.now += timedelta(hours=1)
    seen: Seen = []
    added = consumer(seen, Order, Copy, start=start)
    settle(db, added)
    write(db, 3)
    settle(db, added)
    settle(db, added)
    assert sorted(names(seen)) == sorted(found)
    assert len({each for _, _, each in before + seen}) == len(before + seen)


def test_entities_that_are_added_one_after_the_other_are_each_handled_once(db: Store) -> None:
    """The second is added while the shard is read again for the first, too."""
    seen: Seen = []
    for number in range(3):
        write(db, number)
        db.put(Tally(name="t", total=number))
    for entities in ([Order], [Order, Copy], [Order, Copy, Tally], [Order, Copy, Tally]):
        settle(db, consumer(seen, *entities))
    assert sorted(names(seen)) == sorted(
        f"{kind} {entity}" for entity in ("Order", "Copy", "Tally") for kind in ("Created", "Updated", "Updated")
    )
    assert len({each for _, _, each in seen}) == 9
    assert ConsumerAdministration(db, "seen").status().handled == 9


def test_handler_that_was_removed_and_returns_repeats_nothing(db: Store) -> None:
    seen: Seen = []
    write(db, 1)
    settle(db, consumer(seen, Order, Copy))
    write(db, 2)
    settle(db, consumer(seen, Order))
    settle(db, consumer(seen, Order, Copy))
    assert names(seen) == ["Created Order", "Created Copy", "Updated Order"]


def test_new_consumer_may_begin_with_each_entity_in_another_way(db: Store, clock: Clock) -> None:
    seen: Seen = []
    write(db, 1)
    db.put(Tally(name="t"))
    clock.now += timedelta(hours=1)
    made = consumer(seen, Order, Copy, start="now")

    @made.on(Tally, start="scan")
    def note(change: Change[Tally], t: HandlerTransaction) -> None:
        seen.append((type(change).__name__, "Tally", change.id))

    settle(db, made)
    write(db, 2)
    settle(db, made)
    assert sorted(names(seen)) == ["Created Order", "Created Tally", "Updated Copy", "Updated Order"]


def test_start_of_a_handler_is_checked() -> None:
    with pytest.raises(DesignError, match='use "oldest", "now" or "scan"'):
        Consumer("seen").on(Order, start="latest")  # type: ignore[call-overload]


@pytest.mark.parametrize("minutes", [0, 14])
def test_consumer_that_begins_now_begins_there_in_the_next_process_too(db: Store, clock: Clock, minutes: int) -> None:
    seen: Seen = []
    write(db, 1)
    begins = Consumer("begins", start="now")

    @begins.on(Order)
    def note(change: Change[Order], t: HandlerTransaction) -> None:
        seen.append((type(change).__name__, "Order", change.id))

    settle(db, begins)
    clock.now += timedelta(minutes=minutes)
    settle(db, begins)
    write(db, 2)
    settle(db, begins)
    assert names(seen) == ["Updated Order"]


def test_consumer_that_begins_now_goes_on_after_its_iterator_has_expired(db: Store, clock: Clock) -> None:
    seen: Seen = []
    write(db, 1)
    clock.now += timedelta(hours=1)
    begins = Consumer("begins", start="now")

    @begins.on(Order)
    def note(change: Change[Order], t: HandlerTransaction) -> None:
        seen.append((type(change).__name__, "Order", change.id))

    settle(db, begins)
    clock.now += timedelta(hours=1)
    write(db, 2)
    settle(db, begins)
    assert names(seen) == ["Updated Order"]


def test_function_of_other_arguments_is_no_handler() -> None:
    with pytest.raises(DesignError, match="without is not a function of a change and a transaction"):

        @Consumer("wrong").on(Order)  # type: ignore[arg-type]
        def without(change: Change[Order]) -> None: ...


def test_consumer_of_another_design_is_an_error(db: Store) -> None:
    other = Table("other", "PK", "SK", stream="NEW_AND_OLD_IMAGES")

    class Parcel(Entity, table=other, key=("PARCEL#{parcel_id}", "PARCEL")):
        parcel_id: str

    parcels = Consumer("parcels")

    @parcels.on(Parcel)
    def note(change: Change[Parcel], t: HandlerTransaction) -> None: ...

    with pytest.raises(ConfigurationError, match="consumer parcels: table 'other' is not in design 'shop'"):
        settle(db, parcels)
