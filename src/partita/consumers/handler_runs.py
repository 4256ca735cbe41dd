"""Runs the handlers of a change, sync or async, and runs them again when what they read has changed."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.delivery import Delivery
from partita.consumers.handler_transaction import HandlerTransaction, ReadChanged, TakenOver
from partita.errors import RetriesExhausted

MAX_RUNS = 30  # of a handler whose reads have changed


class HandlerRuns:
    """Runs handlers in one thread, with an event loop for the async ones."""

    def __init__(self, db: ConsumerStore) -> None:
        self._db = db
        self._loop: asyncio.Runner | None = None

    def attempt(self, delivery: Delivery, commit: Callable[[HandlerTransaction], None]) -> Exception | None:
        """Runs the handlers and commits; again while what they read changes. Returns the error of a failure."""
        try:
            for attempt in range(MAX_RUNS):
                transaction = self.run(delivery)
                try:
                    commit(transaction)
                except ReadChanged:
                    self._db.wait_after(attempt)
                    continue
                return None
        except TakenOver:
            raise
        except Exception as error:  # noqa: BLE001 - the change is tried again later
            return error
        return RetriesExhausted(type(delivery.change).__name__, MAX_RUNS)

    def run(self, delivery: Delivery) -> HandlerTransaction:
        """The transaction with the effects of a change, not yet committed."""
        transaction = HandlerTransaction(self._db)
        for handler in delivery.handlers:
            outcome = handler.function(delivery.change, transaction)
            if inspect.isawaitable(outcome):
                self._await(outcome)
        return transaction

    def close(self) -> None:
        if self._loop is not None:
            self._loop.close()

    def _await(self, outcome: Any) -> None:
        if self._loop is None:
            self._loop = asyncio.Runner()

        async def wait() -> None:
            await outcome

        self._loop.run(wait())
