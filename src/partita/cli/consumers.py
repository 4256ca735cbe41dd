"""`partita consumers`: the state of consumers, and the changes that they have given up."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from partita.cli.tables import print_table

if TYPE_CHECKING:
    from partita.consumers.administration import ConsumerAdministration, ConsumerStatus
    from partita.consumers.state import DeadLetter
    from partita.store.store import Store

SAMPLE_SECONDS = 1.0  # over which rates are measured

Name = Annotated[str, Parameter(help="The name of the consumer.")]
Sequence = Annotated[str, Parameter(help='The number of the change, as `partita consumers dead` lists it, or "all".')]
Since = Annotated[datetime, Parameter(help="The time, such as 2026-01-31T12:00:00Z; local time without a zone.")]
Data = Annotated[
    str,
    Parameter(
        metavar="ADDRESS",
        help="Where the data is: a file, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION.",
    ),
]

consumers = App(name="consumers", help="Show the consumers of a database, pause them, and repair what they gave up.")


@consumers.default
def show(*, on: Data = "partita.db") -> None:
    """Show the consumers that have run on a database, as they are within a second.

    The lag is that of the changes that a consumer has not read: how many, up to 10,000, and the age of the oldest. A
    consumer that stands still is listed with the hours until its oldest change expires.
    """
    from rich.table import Table

    from partita.consumers.administration import ConsumerAdministration, known_consumers
    from partita.consumers.monitor import ConsumerMonitor

    with _opened(on) as db:
        names = known_consumers(db)
        monitor = ConsumerMonitor(db, names, patience=0.0)
        before = [ConsumerAdministration(db, name).status() for name in names]
        monitor.check()
        if names:
            time.sleep(SAMPLE_SECONDS)
        problems = monitor.check()
        after = [ConsumerAdministration(db, name).status() for name in names]
    if not names:
        print(f"{on}: no consumer has run here; partita work runs them")
        return
    columns = ("handled", "a second", "skipped", "retries", "parked", "dead letters", "gaps", "last change")
    table = Table("consumer", "state", "lag", *columns)
    for earlier, each in zip(before, after, strict=True):
        table.add_row(*_row(each, each.rate_since(earlier)))
    print_table(table)
    for problem in problems:
        print(problem)


def _row(status: "ConsumerStatus", rate: float) -> list[str]:
    state = "paused" if status.is_paused else "running" if status.is_running else "not running"
    backlog = status.backlog
    lag = "" if backlog is None else f"{backlog.records:,} ({status.lag.total_seconds():,.0f} s)"
    last = "" if status.last_change is None else f"{status.last_change:%Y-%m-%d %H:%M:%S}Z"
    counts = (status.skipped, status.retries, status.parked, status.dead_letters, status.gaps)
    return [status.name, state, lag, f"{status.handled:,}", f"{rate:,.1f}", *(f"{each:,}" for each in counts), last]


@consumers.command
def pause(name: Name, /, *, on: Data = "partita.db") -> None:
    """Let no process run a consumer until it is resumed; changes wait for 24 hours at most."""
    with _consumer(name, on) as consumer:
        consumer.pause()


@consumers.command
def resume(name: Name, /, *, on: Data = "partita.db") -> None:
    """Let a process run a paused consumer again."""
    with _consumer(name, on) as consumer:
        consumer.resume()


@consumers.command
def replay(name: Name, since: Since, /, *, on: Data = "partita.db") -> None:
    """Have all changes since a time handled again; their effects are repeated."""
    with _consumer(name, on) as consumer:
        consumer.replay(since if since.tzinfo is not None else since.astimezone())


@consumers.command
def dead(name: Name, /, *, on: Data = "partita.db") -> None:
    """List the changes that a consumer has given up, each with the key of its item and its error."""
    with _consumer(name, on) as consumer:
        for each in consumer.dead_letters():
            given_up = f"{each.tries} tries until {each.given_up_at:%Y-%m-%d %H:%M:%S}Z"
            key = " ".join(str(text) for value in consumer.keys_of(each).values() for text in value.values())
            print(f"{each.sequence}  {each.table}  {key}  {given_up}  {each.error}")


@consumers.command
def retry(name: Name, sequence: Sequence, /, *, on: Data = "partita.db") -> None:
    """Have a change that was given up handled again."""
    with _consumer(name, on) as consumer:
        for each in _letters(consumer, name, sequence):
            consumer.retry(each)
            print(f"{each.sequence}: it is tried again")


@consumers.command
def drop(name: Name, sequence: Sequence, /, *, on: Data = "partita.db") -> None:
    """Forget a change that was given up, for good."""
    with _consumer(name, on) as consumer:
        for each in _letters(consumer, name, sequence):
            consumer.drop(each)
            print(f"{each.sequence}: dropped")


@consumers.command
def forget(name: Name, /, *, on: Data = "partita.db") -> None:
    """Delete what is stored of a consumer that was renamed or removed, with its dead letters."""
    with _consumer(name, on) as consumer:
        consumer.forget()
        print(f"{name}: forgotten")


def _letters(consumer: "ConsumerAdministration", name: str, sequence: str) -> list["DeadLetter"]:
    from partita.errors import ConfigurationError

    found = [each for each in consumer.dead_letters() if sequence in ("all", each.sequence)]
    if not found and sequence != "all":
        raise ConfigurationError(f"{name} has not given up {sequence}; partita consumers dead {name} lists what it has")
    return found


@contextmanager
def _opened(address: str) -> "Iterator[Store]":
    """A store of the state of consumers."""
    from partita.cli.open_systems import check_exists
    from partita.connect import connect
    from partita.consumers import state

    check_exists(address)
    with connect(address, state.design) as db:
        db.create_tables()
        yield db


@contextmanager
def _consumer(name: str, address: str) -> "Iterator[ConsumerAdministration]":
    from partita.consumers.administration import ConsumerAdministration

    with _opened(address) as db:
        consumer = ConsumerAdministration(db, name)
        consumer.status()  # rejects a name that is not known
        yield consumer
