"""Flows are generators that yield requests and take replies; a driver sends them, sync or async.

So paging, retrying and fencing are written once. A flow may also yield a `Wait`; an error that the backend raises is
thrown into the flow at the request that caused it.
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
    seconds: float


Step = Request[Any] | Wait
Flow = Generator[Step, Any, R]


def run(flow: Flow[R], backend: Backend, sleep: Callable[[float], None]) -> R:
    """Run a flow to its end."""
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
    """Run a flow to its end; a sync backend (the embedded engine) answers at once."""
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
