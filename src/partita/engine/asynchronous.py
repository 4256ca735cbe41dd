"""The engine on an event loop: reads are answered at once, writes by one thread that commits all that is waiting."""

import asyncio
import threading
from typing import Any, TypeVar

from partita.engine.engine import Engine, storage_failure
from partita.engine.writer import Ticket
from partita.errors import StorageError
from partita.wire.requests import Request

Reply = TypeVar("Reply")


class AsyncEngine:
    """An engine for the running event loop; closing it closes the engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        self._waiting = threading.Semaphore(0)
        self._stopping = False
        self._thread = threading.Thread(target=self._commit, name="partita-committer", daemon=True)
        self._thread.start()

    async def call(self, request: Request[Reply]) -> Reply:
        """Answers a request, or raises the `DynamoDBError` that DynamoDB would answer with."""
        if self._engine.is_read(request):
            return self._engine.call(request)
        future: asyncio.Future[Reply] = self._loop.create_future()
        self._engine.writer.enqueue(Ticket(self._engine.prepared(request), future))
        self._waiting.release()
        try:
            reply = await future
        except StorageError as error:
            raise storage_failure(error) from error
        self._engine.written(request)
        return reply

    async def close(self) -> None:
        self._stopping = True
        self._waiting.release()
        self._thread.join()
        self._engine.close()

    def _commit(self) -> None:
        while True:
            self._waiting.acquire()
            while group := self._engine.writer.commit_waiting():
                self._loop.call_soon_threadsafe(_finish, group)
            if self._stopping:
                return


def _finish(group: list[Ticket]) -> None:
    for ticket in group:
        future: asyncio.Future[Any] | None = ticket.waiter
        if future is None or future.done():
            continue
        if ticket.error is not None:
            future.set_exception(ticket.error)
        else:
            future.set_result(ticket.reply)
