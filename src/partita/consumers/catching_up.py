"""Running one consumer by hand until it has read all changes, for commands."""

from collections.abc import Callable

from partita.consumers.batch_runner import runner_of
from partita.consumers.consumer import Consumer
from partita.consumers.handler_transaction import TakenOver
from partita.consumers.leases import LeaseHolder
from partita.store.store import Store


def catch_up(db: Store, consumer: Consumer, progress: Callable[[int], None] = lambda handled: None) -> bool:
    """Runs a consumer until it has nothing to do; False as soon as another process runs it, or it is paused.

    `progress` receives the number of items and changes read so far.
    """
    runner = runner_of(db, consumer, parallel=consumer.parallel)
    lease = LeaseHolder(runner.db, consumer.name)
    try:
        if not lease.hold():
            return False
        runner.take_over()
        handled = 0
        while done := runner.step():
            handled += done
            progress(handled)
            if not lease.hold(look=True):
                return False
        return True
    except TakenOver:  # a step has taken longer than the lease
        return False
    finally:
        runner.close()
        lease.release()
