"""Faults: transient errors are retried, and a write that may have been applied is not applied twice."""

from typing import Any

import pytest

from partita import AlreadyExists, F, NotUnique, OutcomeUnknown, SentRequest, Store
from partita.dynamodb import requests as wire
from partita.dynamodb.exceptions import InternalServerError, ThrottlingException
from tests.store.clocks import Clock
from tests.store.faults import (
    Fault,
    Faulty,
    conflicting,
    connection_lost,
    half_read,
    half_written,
    never_arrived,
    reply_lost,
    throttled,
)
from tests.store.kitchen_sink_design import Artist, Note, Work, artist, note, notes, work


@pytest.fixture
def ann(db: Store) -> Artist:
    return db.create(Artist(artist_id="ann", country="PT", handle="Ann"))


class Troubled:
    """A store on a faulty backend; records its waits."""

    def __init__(self, db: Store, clock: Clock, request: type[wire.Request[Any]], *faults: Fault) -> None:
        self.waits: list[float] = []
        self.calls: list[SentRequest] = []
        self.backend = Faulty(db.backend, request, *faults)
        self.db = Store(
            self.backend,
            db.design,
            clock=clock,
            sleep=self.waits.append,
            random=lambda: 1.0,
            on_call=[self.calls.append],
        )


def test_throttling_is_waited_out_with_growing_pauses(db: Store, clock: Clock, ann: Artist) -> None:
    troubled = Troubled(db, clock, wire.GetItem, throttled, throttled, throttled)
    assert troubled.db(artist("ann")) == ann
    assert troubled.waits == [0.025, 0.05, 0.1]
    assert [type(call.error).__name__ for call in troubled.calls] == ["ThrottlingException"] * 3 + ["NoneType"]


def test_throttling_without_end_is_raised(db: Store, clock: Clock) -> None:
    troubled = Troubled(db, clock, wire.GetItem, *[throttled] * 9)
    with pytest.raises(ThrottlingException):
        troubled.db(artist("ann"))
    assert len(troubled.waits) == 8
    assert max(troubled.waits) <= 5.0


def test_pauses_have_jitter(db: Store, clock: Clock, ann: Artist) -> None:
    waits: list[float] = []
    backend = Faulty(db.backend, wire.GetItem, throttled, throttled)
    Store(backend, db.design, clock=clock, sleep=waits.append, random=lambda: 0.5)(artist("ann"))
    assert waits == [0.0125, 0.025]


@pytest.mark.parametrize("lost", [reply_lost, connection_lost, never_arrived])
def test_creation_whose_reply_was_lost_succeeds(db: Store, clock: Clock, lost: Fault) -> None:
    troubled = Troubled(db, clock, wire.PutItem, lost)
    made = troubled.db.create(Note(artist_id="ann", number=1, text="mine"))
    assert db(note("ann", 1)) == made


def test_creation_of_an_existing_item_fails_though_a_reply_was_lost(db: Store, clock: Clock) -> None:
    db.create(Note(artist_id="ann", number=1, text="theirs"))
    troubled = Troubled(db, clock, wire.PutItem, never_arrived)
    with pytest.raises(AlreadyExists):
        troubled.db.create(Note(artist_id="ann", number=1, text="mine"))
    assert db.one(note("ann", 1)).text == "theirs"


@pytest.mark.parametrize("lost", [reply_lost, connection_lost])
def test_transaction_whose_reply_was_lost_is_applied_once(db: Store, clock: Clock, ann: Artist, lost: Fault) -> None:
    troubled = Troubled(db, clock, wire.TransactWriteItems, lost)
    troubled.db.create(Work(work_id="w1", artist_id="ann", title=""))
    assert db.one(artist("ann")).work_count == 1
    assert db(work("w1")) is not None


def test_assignment_whose_reply_was_lost_is_applied(db: Store, clock: Clock) -> None:
    db.create(Note(artist_id="ann", number=1, text="old"))
    troubled = Troubled(db, clock, wire.UpdateItem, reply_lost)
    with troubled.db.change(note("ann", 1), when=F.text == "old") as draft:
        draft.text = "new"
    assert db.one(note("ann", 1)).text == "new"


def test_step_whose_reply_was_lost_is_not_applied_twice(db: Store, clock: Clock, ann: Artist) -> None:
    db.create(Work(work_id="w1", artist_id="ann", title=""))
    troubled = Troubled(db, clock, wire.UpdateItem, reply_lost)
    said = r"^Work: the reply was lost, so the write may have been applied; read before writing again$"
    with pytest.raises(OutcomeUnknown, match=said), troubled.db.change(work("w1")) as draft:
        draft.views += 1
    assert db.one(work("w1")).views == 1


def test_throttled_step_is_applied_once(db: Store, clock: Clock, ann: Artist) -> None:
    db.create(Work(work_id="w1", artist_id="ann", title=""))
    troubled = Troubled(db, clock, wire.UpdateItem, throttled, throttled)
    with troubled.db.change(work("w1")) as draft:
        draft.views += 1
    assert db.one(work("w1")).views == 1


def test_deletion_whose_reply_was_lost_is_applied(db: Store, clock: Clock) -> None:
    db.create(Note(artist_id="ann", number=1, text="x"))
    troubled = Troubled(db, clock, wire.DeleteItem, connection_lost)
    troubled.db.delete(note("ann", 1))
    assert db(note("ann", 1)) is None


def test_conflicting_transaction_is_retried(db: Store, clock: Clock, ann: Artist) -> None:
    troubled = Troubled(db, clock, wire.TransactWriteItems, conflicting, conflicting)
    troubled.db.create(Work(work_id="w1", artist_id="ann", title=""))
    assert db.one(artist("ann")).work_count == 1
    assert len(troubled.waits) == 2


def test_failed_transaction_names_the_invariant_after_a_conflict(db: Store, clock: Clock, ann: Artist) -> None:
    troubled = Troubled(db, clock, wire.TransactWriteItems, conflicting)
    with pytest.raises(NotUnique, match=r"Artist.named_once"):
        troubled.db.create(Artist(artist_id="b", country="PT", handle="ann"))


def test_unprocessed_part_of_a_batch_is_sent_again(db: Store, clock: Clock) -> None:
    writing = Troubled(db, clock, wire.BatchWriteItem, half_written, half_written)
    writing.db.put_many([Note(artist_id="ann", number=number, text="") for number in range(30)])
    assert len(list(db(notes("ann")))) == 30
    reading = Troubled(db, clock, wire.BatchGetItem, half_read, half_read)
    found = reading.db.get_many([note("ann", number) for number in range(30)])
    assert [each.number for each in found if each] == list(range(30))


def test_permanent_error_is_raised_at_once(db: Store, clock: Clock) -> None:
    troubled = Troubled(db, clock, wire.Query, *[never_arrived] * 20)
    with pytest.raises(ConnectionRefusedError):
        list(troubled.db(notes("ann")))
    assert len(troubled.waits) == 8


def test_server_that_stays_broken_is_reported(db: Store, clock: Clock) -> None:
    troubled = Troubled(db, clock, wire.GetItem, *[reply_lost] * 9)
    with pytest.raises(InternalServerError):
        troubled.db(artist("ann"))


def test_update_whose_reply_was_lost_is_not_applied_over_another_write(db: Store, clock: Clock, ann: Artist) -> None:
    db.create(Work(work_id="w1", artist_id="ann", title=""))

    def lost_and_overtaken(request: Any, call: Any) -> Any:
        call(request)
        with db.change(work("w1")) as draft:
            draft.views += 1
        raise InternalServerError("Internal server error")

    def one_more(found: Work) -> None:
        found.views += 1

    troubled = Troubled(db, clock, wire.UpdateItem, lost_and_overtaken)
    with pytest.raises(OutcomeUnknown):
        troubled.db.update(work("w1"), one_more)
    assert db.one(work("w1")).views == 2
