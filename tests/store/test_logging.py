"""The log `partita.store`: retries, conflicts, giving up, unknown outcomes and slow calls; no keys and no items."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from partita import OutcomeUnknown, RetriesExhausted, SentRequest, Store, connect
from partita.dynamodb.exceptions import ThrottlingException
from partita.dynamodb.requests import BatchWriteItem, GetItem, Request, TransactWriteItems, UpdateItem
from tests.store.clocks import Clock
from tests.store.faults import Faulty, conflicting, connection_lost, half_written, throttled
from tests.store.kitchen_sink_design import Artist, Note, Work, artist, design, note, work

SECRET = "top-secret-value"


@pytest.fixture
def backend() -> Iterator[Any]:
    with connect("memory:", maintain=False) as opened:
        Store(opened, design, clock=Clock()).create_tables()
        yield opened


@pytest.fixture(autouse=True)
def all_levels(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "partita")


def faulty(backend: Any, request: type[Request[Any]], *faults: Any, **settings: Any) -> Store:
    """A store whose requests of a class meet faults; each wait is half of its bound."""
    through = Faulty(backend, request, *faults)
    return Store(through, design, clock=Clock(), sleep=lambda _: None, random=lambda: 0.5, **settings)


def logged(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """Level and message of each record; all of them are of the store."""
    assert {record.name for record in caplog.records} <= {"partita.store"}
    assert SECRET not in caplog.text
    return [(record.levelname, record.getMessage()) for record in caplog.records]


def test_retry_after_throttling_is_logged_as_information(backend: Any, caplog: pytest.LogCaptureFixture) -> None:
    faulty(backend, GetItem, throttled, throttled)(artist(SECRET))
    assert logged(caplog) == [
        ("INFO", "GetItem on gallery: ThrottlingException; attempt 1 of 9, retrying in 0.013 s"),
        ("INFO", "GetItem on gallery: ThrottlingException; attempt 2 of 9, retrying in 0.025 s"),
    ]


def test_giving_up_after_throttling_is_logged_as_a_warning(backend: Any, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ThrottlingException):
        faulty(backend, GetItem, *[throttled] * 2, retries=1)(artist(SECRET))
    assert logged(caplog)[-1] == ("WARNING", "GetItem on gallery: ThrottlingException; gave up after 2 attempts")


def test_unknown_outcome_is_logged_as_a_warning(backend: Any, caplog: pytest.LogCaptureFixture) -> None:
    db = faulty(backend, UpdateItem, connection_lost)
    db.put(Note(artist_id=SECRET, number=1, text=SECRET))
    db.create(Artist(artist_id="ann", country="PT", handle="Ann"))
    db.create(Work(work_id=SECRET, artist_id="ann", title=SECRET))
    with pytest.raises(OutcomeUnknown), db.change(work(SECRET)) as draft:
        draft.views += 1
    assert logged(caplog) == [("WARNING", "UpdateItem of Work: ConnectionResetError; the outcome is unknown")]


def test_conflicting_transaction_is_logged_as_a_detail(backend: Any, caplog: pytest.LogCaptureFixture) -> None:
    faulty(backend, TransactWriteItems, conflicting).create(Artist(artist_id=SECRET, country="PT", handle=SECRET))
    said = "TransactWriteItems on gallery: TransactionCanceledException; attempt 1 of 9, retrying in 0.013 s"
    assert logged(caplog) == [("DEBUG", said)]


def test_raced_write_is_logged_as_a_detail_and_giving_up_as_a_warning(
    backend: Any, caplog: pytest.LogCaptureFixture
) -> None:
    db = Store(backend, design, clock=Clock(), sleep=lambda _: None, random=lambda: 0.0)
    db.put(Note(artist_id="ann", number=1, text=SECRET))

    numbers = count()

    def change_meanwhile(sent: SentRequest) -> None:
        if isinstance(sent.request, GetItem):
            db.put(Note(artist_id="ann", number=1, text=f"{SECRET} {next(numbers)}"))

    racing = db.with_settings(on_call=[change_meanwhile])
    with pytest.raises(RetriesExhausted):
        racing.update(note("ann", 1), lambda each: setattr(each, "text", "new"))
    records = logged(caplog)
    assert records[0] == ("DEBUG", "Note: conflicting write; attempt 1 of 30, retrying in 0.000 s")
    assert records[-1] == ("WARNING", "Note: gave up after 30 conflicting writes")
    assert len(records) == 31


def test_attempts_of_a_caller_are_logged(backend: Any, caplog: pytest.LogCaptureFixture) -> None:
    db = Store(backend, design, sleep=lambda _: None, random=lambda: 0.0)
    with pytest.raises(RetriesExhausted):
        list(db.retrying("Seat"))
    assert logged(caplog)[-1] == ("WARNING", "Seat: gave up after 30 conflicting writes")


def test_unprocessed_part_of_a_batch_is_logged_as_information(backend: Any, caplog: pytest.LogCaptureFixture) -> None:
    db = faulty(backend, BatchWriteItem, half_written)
    db.put_many([Note(artist_id=SECRET, number=number, text=SECRET) for number in range(5)])
    assert logged(caplog) == [("INFO", "BatchWriteItem on gallery: 4 unprocessed, retrying in 0.013 s")]


def test_slow_call_is_logged_as_a_warning(backend: Any, caplog: pytest.LogCaptureFixture) -> None:
    db = Store(backend, design, clock=Clock(), slow_call_seconds=1.0)
    ticks = iter([0.0, 0.5, 1.0, 2.5])
    db.context.observers.timer = lambda: next(ticks)
    db(artist(SECRET))
    assert logged(caplog) == []
    db(artist(SECRET))
    assert logged(caplog) == [("WARNING", "GetItem on gallery took 1.500 s")]


def test_slow_calls_alone_do_not_ask_for_capacity(backend: Any) -> None:
    asked: list[Any] = []

    class Listening:
        def call(self, request: Any, /) -> Any:
            asked.append(request.return_consumed_capacity)
            return backend.call(request)

    Store(Listening(), design, slow_call_seconds=1.0)(artist("ann"))
    assert asked == [None]


def test_program_without_logging_sees_the_error_alone() -> None:
    """The last resort of `logging` prints warnings where nothing is configured; a library stays silent."""
    script = """if True:
        import sys
        from partita import Entity, Item, Store, Table, pattern
        from partita.dynamodb.exceptions import ThrottlingException
        notes = Table("notes", pk="id")
        class Note(Entity, table=notes, key=("NOTE#{note_id}",)):
            note_id: str
        @pattern
        def note(note_id: str) -> Item[Note]: ...
        class Busy:
            def call(self, request):
                raise ThrottlingException("Rate exceeded")
        assert "logging" not in sys.modules
        try:
            Store(Busy(), notes, sleep=lambda _: None, retries=1)(note("1"))
        except ThrottlingException as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("Rate exceeded\n", "")


def test_request_that_succeeds_touches_no_logger(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("a logger was looked up")

    monkeypatch.setattr("partita.store.log._logger", fail)
    db = Store(backend, design, clock=Clock(), slow_call_seconds=60.0)
    db.put(Note(artist_id="ann", number=1, text=""))
    assert db(note("ann", 1)) is not None
