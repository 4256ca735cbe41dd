"""`partita consumers`: the state of consumers, and the changes that they have given up."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cyclopts import App

from partita.cli.options import Address

if TYPE_CHECKING:
    from partita.consumers.administration import ConsumerAdministration
    from partita.consumers.state import DeadLetter
    from partita.store.store import Store

consumers = App(name="consumers", help="Show the consumers of a database, pause them, and repair what they gave up.")


@consumers.default
def show(*, on: Address = "partita.db") -> None:
    """Show the consumers that have run on a database.

    Parameters
    ----------
    on
        Where the data is: a file, http://HOST:PORT (any DynamoDB endpoint) or dynamodb://REGION.
    """
    from rich.console import Console
    from rich.table import Table

    from partita.consumers.administration import ConsumerAdministration, known_consumers

    with _opened(on) as db:
        found = [ConsumerAdministration(db, name).status() for name in known_consumers(db)]
    if not found:
        print(f"{on}: no consumer has run here; partita work runs them")
        return
    table = Table("consumer", "state", "handled", "skipped", "parked", "dead letters", "gaps", "last change")
    for each in found:
        state = "paused" if each.is_paused else "running" if each.is_running else "not running"
        last = "" if each.last_change is None else f"{each.last_change:%Y-%m-%d %H:%M:%S}Z"
        numbers = (each.handled, each.skipped, each.parked, each.dead_letters, each.gaps)
        table.add_row(each.name, state, *(f"{number:,}" for number in numbers), last)
    Console().print(table)


@consumers.command
def pause(name: str, /, *, on: Address = "partita.db") -> None:
    """Let no process run a consumer until it is resumed; changes wait for 24 hours at most.

    Parameters
    ----------
    name
        The name of the consumer.
    on
        Where the data is.
    """
    with _consumer(name, on) as consumer:
        consumer.pause()


@consumers.command
def resume(name: str, /, *, on: Address = "partita.db") -> None:
    """Let a process run a paused consumer again.

    Parameters
    ----------
    name
        The name of the consumer.
    on
        Where the data is.
    """
    with _consumer(name, on) as consumer:
        consumer.resume()


@consumers.command
def dead(name: str, /, *, on: Address = "partita.db") -> None:
    """List the changes that a consumer has given up, each with its error.

    Parameters
    ----------
    name
        The name of the consumer.
    on
        Where the data is.
    """
    with _consumer(name, on) as consumer:
        for each in consumer.dead_letters():
            given_up = f"{each.tries} tries until {each.given_up_at:%Y-%m-%d %H:%M:%S}Z"
            print(f"{each.sequence}  {each.table}  {given_up}  {each.error}")


@consumers.command
def retry(name: str, sequence: str, /, *, on: Address = "partita.db") -> None:
    """Have a change that was given up handled again.

    Parameters
    ----------
    name
        The name of the consumer.
    sequence
        The number of the change, as `partita consumers dead` lists it, or "all".
    on
        Where the data is.
    """
    with _consumer(name, on) as consumer:
        for each in _letters(consumer, name, sequence):
            consumer.retry(each)
            print(f"{each.sequence}: it is tried again")


@consumers.command
def drop(name: str, sequence: str, /, *, on: Address = "partita.db") -> None:
    """Forget a change that was given up, for good.

    Parameters
    ----------
    name
        The name of the consumer.
    sequence
        The number of the change, as `partita consumers dead` lists it, or "all".
    on
        Where the data is.
    """
    with _consumer(name, on) as consumer:
        for each in _letters(consumer, name, sequence):
            consumer.drop(each)
            print(f"{each.sequence}: dropped")


def _letters(consumer: "ConsumerAdministration", name: str, sequence: str) -> list["DeadLetter"]:
    from partita.errors import ConfigurationError

    found = [each for each in consumer.dead_letters() if sequence in ("all", each.sequence)]
    if not found and sequence != "all":
        raise ConfigurationError(f"{name} has not given up {sequence}; partita consumers dead {name} lists what it has")
    return found


@contextmanager
def _opened(address: str) -> "Iterator[Store]":
    """A store of the state of consumers."""
    from pathlib import Path

    from partita.connect import connect
    from partita.consumers import state
    from partita.errors import ConfigurationError

    if "://" not in address and not Path(address).is_file():
        raise ConfigurationError(f"--on {address}: no such file")
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
