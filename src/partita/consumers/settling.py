"""Running consumers to rest, for tests: no thread, no waiting."""

from contextlib import ExitStack

from partita.consumers import state
from partita.consumers.batch_runner import runner_of
from partita.consumers.consumer import Consumer
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.faults import ConsumerFaults
from partita.consumers.worker import create_state_tables
from partita.errors import PartitaError
from partita.store.store import Store

MAX_ROUNDS = 1000


def settle(db: Store, *consumers: Consumer, faults: ConsumerFaults | None = None) -> int:
    """Runs consumers until none of them has anything to do now; returns the number of records that they have read.

    A change that has failed is tried again when its time has come: move the store's clock, and settle again. Consumers
    that cause each other's changes without an end are an error. One that is paused does not run. `faults` lets handlers
    fail, or delivers changes again.
    """
    create_state_tables(db)
    total = 0
    with ExitStack() as closing:
        runners = [runner_of(db, each, faults=faults) for each in consumers if not _is_paused(db, each)]
        for runner in runners:
            closing.callback(runner.close)
            runner.take_over()
        for _ in range(MAX_ROUNDS):
            done = sum([runner.step() for runner in runners])
            if not done:
                return total
            total += done
    names = ", ".join(each.name for each in consumers)
    raise PartitaError(f"{names}: still not at rest after {MAX_ROUNDS} rounds; do they cause their own changes?")


def _is_paused(db: Store, consumer: Consumer) -> bool:
    found = ConsumerStore(db).get(state.lease(consumer.name), consistent=True)
    return found is not None and found.is_paused
