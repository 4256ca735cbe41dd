"""Flows: generators that yield requests and receive replies. A driver sends the requests, sync or async.

So paging, retries and optimistic locking are written once. A flow may also yield a `Wait`. An error that the backend
raises is thrown into the flow at the request that caused it.
"""

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

import msgspec

from partita.dynamodb.backend import AsyncBackend, Backend
from partita.dynamodb.requests import Request
from partita.errors import PartitaError

R = TypeVar("R")
T = TypeVar("T")


class Wait(msgspec.Struct, frozen=True):
    """A pause before the flow continues."""

    seconds: float


Step = Request[Any] | Wait
Flow = Generator[Step, Any, R]


def run(flow: Flow[R], backend: Backend, sleep: Callable[[float], None]) -> R:
    """Runs a flow to its end and returns its result."""
    try:
        step = next(flow)
        while True:
            try:
                reply = _paused(sleep, step) if isinstance(step, Wait) else backend.call(step)
            except (PartitaError, OSError) as error:
                step = flow.throw(error)
            else:
                step = flow.send(reply)
    except StopIteration as end:
        found: R = end.value
        return found
    except BaseException:
        flow.close()  # ends what the flow has open, such as the span of a request that was interrupted
        raise


async def run_async(flow: Flow[R], backend: AsyncBackend | Backend, sleep: Callable[[float], Awaitable[None]]) -> R:
    """Runs a flow to its end and returns its result; a sync backend must answer without waiting."""
    try:
        step = next(flow)
        while True:
            try:
                reply: Any = sleep(step.seconds) if isinstance(step, Wait) else backend.call(step)
                if hasattr(reply, "__await__"):
                    reply = await reply
            except (PartitaError, OSError) as error:
                step = flow.throw(error)
            else:
                step = flow.send(reply)
    except StopIteration as end:
        found: R = end.value
        return found
    except BaseException:
        flow.close()
        raise


def _paused(sleep: Callable[[float], None], wait: Wait) -> Any:
    sleep(wait.seconds)
    return None
