"""What a handler has read is a condition of its transaction: the handler runs again if it has changed."""

from collections.abc import Callable, Iterator
from typing import Annotated

import pytest

from partita import (
    Change,
    Consumer,
    ConsumerAdministration,
    Created,
    Entity,
    HandlerTransaction,
    Item,
    Items,
    Keys,
    Ordered,
    Store,
    Table,
    connect,
    pattern,
    prove,
    settle,
)
from partita.design.tables import Index

table = Table("desk", "PK", "SK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),), stream="NEW_AND_OLD_IMAGES")


class Ticket(Entity, table=table, key=("TICKET#{ticket_id}", "TICKET")):
    ticket_id: str


class Seat(Entity, table=table, key=("ROOM#{room}", "SEAT#{number}")):
    room: str
    number: Annotated[int, Ordered(0, 999)]
    guest: str | None = None

    by_number = Keys("GSI1", "NUMBER#{number}", "{room}")


class Plan(Entity, table=table, key=("PLAN#{ticket_id}", "PLAN")):
    ticket_id: str
    text: str


@pattern
def seat(room: str, number: int) -> Item[Seat]: ...
@pattern
def seats(room: str) -> Items[Seat]: ...
@pattern(Seat.by_number)
def seats_of_number(number: int) -> Items[Seat]: ...
@pattern
def plan_of(ticket_id: str) -> Item[Plan]: ...


design = prove("desk", table)
Read = Callable[[HandlerTransaction], list[Seat]]


def read_item(t: HandlerTransaction) -> list[Seat]:
    found = t.get(seat("a", 1))
    return [] if found is None else [found]


READS: dict[str, Read] = {
    "get": read_item,
    "find": lambda t: t.find(seats("a")),
    "find with a limit": lambda t: t.find(seats("a"), 1),
    "find in an index": lambda t: t.find(seats_of_number(1)),
}


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", design, sleep=lambda _: None) as found:
        found.create_tables()
        yield found


def planning(read: Read, after: Callable[[int], None] = lambda _: None) -> tuple[Consumer, list[list[str | None]]]:
    """A consumer that writes the guests that it reads, and all that it has read; `after` is called after each read."""
    consumer, runs = Consumer("plans", tries=1), list[list[str | None]]()

    @consumer.on(Ticket)
    def plan(change: Change[Ticket], t: HandlerTransaction) -> None:
        assert isinstance(change, Created)
        runs.append([each.guest for each in read(t)])
        after(len(runs))
        t.put(Plan(ticket_id=change.after.ticket_id, text=str(runs[-1])))

    return consumer, runs


def seat_guest(db: Store, guest: str | None) -> None:
    with db.change(seat("a", 1)) as draft:
        draft.guest = guest


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
@pytest.mark.parametrize(("before", "after"), [("eva", "otto"), (None, "otto"), ("eva", None)])
def test_handler_runs_again_when_an_item_that_it_read_has_changed(
    db: Store, read: Read, before: str | None, after: str | None
) -> None:
    db.create(Seat(room="a", number=1, guest=before))
    consumer, runs = planning(read, lambda run: seat_guest(db, after) if run == 1 else None)
    db.create(Ticket(ticket_id="t"))
    settle(db, consumer)
    assert runs == [[before], [after]]
    assert db.one(plan_of("t")).text == str([after])


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_handler_runs_again_when_an_item_that_it_read_was_deleted(db: Store, read: Read) -> None:
    db.create(Seat(room="a", number=1, guest="eva"))

    def remove(run: int) -> None:
        if run == 1:
            db.delete(seat("a", 1))

    consumer, runs = planning(read, remove)
    db.create(Ticket(ticket_id="t"))
    settle(db, consumer)
    assert runs == [["eva"], []]


def test_unfenced_items_may_change(db: Store) -> None:
    db.create(Seat(room="a", number=1, guest="eva"))
    consumer, runs = planning(
        lambda t: t.find(seats("a"), fenced=False), lambda run: seat_guest(db, "otto") if run == 1 else None
    )
    db.create(Ticket(ticket_id="t"))
    settle(db, consumer)
    assert runs == [["eva"]]


def test_more_items_than_a_transaction_can_check_are_an_error_that_names_the_way_out(db: Store) -> None:
    db.put_many([Seat(room="a", number=number) for number in range(99)])
    consumer, _ = planning(lambda t: t.find(seats("a")))
    db.create(Ticket(ticket_id="t"))
    settle(db, consumer)
    (letter,) = ConsumerAdministration(db, "plans").dead_letters()
    assert "have 100 writes, checks and reads" in letter.error
    assert "fenced=False" in letter.error


def test_item_that_is_read_and_written_counts_once(db: Store) -> None:
    db.put_many([Seat(room="a", number=number) for number in range(90)])
    consumer = Consumer("clearing", tries=1)

    @consumer.on(Ticket)
    def clear(change: Change[Ticket], t: HandlerTransaction) -> None:
        for each in t.find(seats("a")):
            t.delete(seat("a", each.number))

    db.create(Ticket(ticket_id="t"))
    settle(db, consumer)
    assert list(db(seats("a"))) == []


FREE_SEATS: dict[str, Callable[[HandlerTransaction], int]] = {
    "get": lambda t: next(number for number in range(9) if t.get(seat("a", number)) is None),
    "find": lambda t: len(t.find(seats("a"))),
    "find unfenced": lambda t: len(t.find(seats("a"), fenced=False)),
}


@pytest.mark.parametrize("free", FREE_SEATS.values(), ids=FREE_SEATS.keys())
def test_changes_that_share_a_transaction_see_the_effects_of_earlier_ones(
    db: Store, free: Callable[[HandlerTransaction], int]
) -> None:
    """Each ticket gets a seat of its own, though the handlers of all tickets run before the first commit."""
    consumer = Consumer("seating")

    @consumer.on(Ticket)
    def take(change: Change[Ticket], t: HandlerTransaction) -> None:
        number = free(t)
        t.put(Seat(room="a", number=number, guest=change.id))

    for number in range(6):
        db.create(Ticket(ticket_id=str(number)))
    settle(db, consumer)
    found = list(db(seats("a")))
    assert [each.number for each in found] == list(range(6))
    assert len({each.guest for each in found}) == 6


def test_two_changes_cannot_each_miss_the_effect_of_the_other(db: Store) -> None:
    consumer = Consumer("crossing")
    other = {"1": 2, "2": 1}

    @consumer.on(Ticket)
    def take(change: Change[Ticket], t: HandlerTransaction) -> None:
        assert isinstance(change, Created)
        ticket_id = change.after.ticket_id
        if t.get(seat("a", other[ticket_id])) is None:
            t.put(Seat(room="a", number=int(ticket_id), guest=ticket_id))

    for ticket_id in other:
        db.create(Ticket(ticket_id=ticket_id))
    settle(db, consumer)
    assert [each.number for each in db(seats("a"))] == [1]
