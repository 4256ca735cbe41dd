"""Runs the handlers of changes, sync or async, and runs them again when what they read has changed.

Quick handlers run one after the other, which costs least. Where they take long, because they wait for something
outside, those of different items run at the same time: async ones in an event loop, sync ones in threads.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from partita.consumers.causes import ConsumerCauses
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.delivery import Delivery
from partita.consumers.handler_transaction import HandlerTransaction, ReadChanged, TakenOver, Unavailable
from partita.errors import InvalidTransaction, RetriesExhausted
from partita.store.coroutine_runner import CoroutineRunner

T = TypeVar("T")

MAX_WRITES = 98  # of DynamoDB's 100: a parked change is removed in the same transaction, and the next one released
MAX_RUNS = 30  # of a handler whose reads have changed
SLOW_SECONDS = 0.002  # of a handler: several run at the same time
GROUP_SECONDS = 0.05  # of handlers that run one after the other, before their effects are committed
_MEMORY = 0.8  # of the time that a handler takes: its part that is remembered after another run

# A handler that ends its program, or is cancelled, has failed; the worker goes on.
FAILURES = (Exception, SystemExit, GeneratorExit, asyncio.CancelledError)


class HandlerRuns:
    """Runs handlers for one thread; `parallel` of them at the same time where they are slow."""

    def __init__(
        self,
        db: ConsumerStore,
        parallel: int = 1,
        deliveries: Callable[[], Iterable[None]] = lambda: (None,),
        causes: ConsumerCauses | None = None,
    ) -> None:
        self._db = db
        self._causes = causes
        self._deliveries = deliveries  # one element for each time that a change is delivered
        self._parallel = parallel
        self._coroutines = CoroutineRunner(parallel)
        self._seconds = 0.0  # that a handler takes

    @property
    def are_quick(self) -> bool:
        """Whether the last handlers took so little time that it is best to run them one after the other."""
        return self._seconds <= SLOW_SECONDS

    def attempt(self, delivery: Delivery, commit: Callable[[HandlerTransaction], None]) -> BaseException | None:
        """Runs the handlers and commits; again while what they read changes. Returns the error of a failure.

        Unavailable is raised: it is not the handler's failure, and says nothing about other changes.
        """
        try:
            for attempt in range(MAX_RUNS):
                transaction = self.run(delivery)
                try:
                    commit(transaction)
                except ReadChanged:
                    self._db.wait_after(attempt)
                    continue
                return None
        except (TakenOver, Unavailable):
            raise
        except FAILURES as error:  # the change is tried again later
            return error
        return RetriesExhausted(type(delivery.change).__name__, MAX_RUNS)

    def run(self, delivery: Delivery) -> HandlerTransaction:
        """The transaction with the effects of a change, not yet committed."""
        begun = time.perf_counter()
        for _ in self._deliveries():
            transaction = self._transaction(delivery)
            for handler in delivery.handlers:
                outcome = handler.function(delivery.change_for_handler(), transaction)
                if inspect.isawaitable(outcome):
                    self._coroutines.run(_awaited(outcome))
        self._note(time.perf_counter() - begun)
        return _ended(transaction)

    def outcomes(self, deliveries: Sequence[Delivery]) -> Iterator[HandlerTransaction | BaseException]:
        """The transactions of changes of different items, in their order; its error for one that has failed.

        It ends early where handlers that run one after the other take long together.
        """
        if self._parallel > 1 and len(deliveries) > 1 and not self.are_quick:
            yield from self._coroutines.run(self._run_all(deliveries))
            return
        until = time.perf_counter() + GROUP_SECONDS
        for each in deliveries:
            found: HandlerTransaction | BaseException
            try:
                found = self.run(each)
            except FAILURES as error:
                found = error
            yield found
            if time.perf_counter() > until:
                return

    def close(self) -> None:
        self._coroutines.close()

    async def _run_all(self, deliveries: Sequence[Delivery]) -> list[HandlerTransaction | BaseException]:
        free = asyncio.Semaphore(self._parallel)
        return await asyncio.gather(*(self._run_beside(each, free) for each in deliveries))

    async def _run_beside(self, delivery: Delivery, free: asyncio.Semaphore) -> HandlerTransaction | BaseException:
        async with free:
            begun = time.perf_counter()
            transaction = self._transaction(delivery)
            try:
                for handler in delivery.handlers:
                    change = delivery.change_for_handler()
                    if handler.is_async:
                        outcome = handler.function(change, transaction)
                    else:
                        outcome = await asyncio.to_thread(handler.function, change, transaction)
                    if inspect.isawaitable(outcome):
                        await outcome
                transaction = _ended(transaction)
            except FAILURES as error:
                return error
            self._note(time.perf_counter() - begun)
            return transaction

    def _transaction(self, delivery: Delivery) -> HandlerTransaction:
        causes = self._causes
        planned = None if causes is None else partial(causes.all.note, causes.depth(delivery) + 1)
        return HandlerTransaction(self._db, planned)

    def _note(self, seconds: float) -> None:
        self._seconds = self._seconds * _MEMORY + seconds * (1 - _MEMORY)


def _ended(transaction: HandlerTransaction) -> HandlerTransaction:
    """The transaction of handlers that have ended; a handler that has kept it can write no more."""
    if transaction.size > MAX_WRITES:
        raise InvalidTransaction(
            f"the handlers of a change have {transaction.size} writes, checks and reads; DynamoDB takes 100 in a "
            f"transaction, and {100 - MAX_WRITES} are the consumer's own progress; write the rest later, in a job, "
            "and read what may change with fenced=False"
        )
    return transaction.ended()


async def _awaited(outcome: Awaitable[T]) -> T:
    return await outcome
