"""What services put off, done while they are served: in a thread, since the event loop never waits for a write."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial

from partita.rest.mounted_api import MountedApi

_log = logging.getLogger("partita.rest")


@asynccontextmanager
async def repeating(apis: Iterable[MountedApi]) -> AsyncIterator[None]:
    """Every work is repeated for as long as this lasts; at its end each is done a last time."""
    ending = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        for bound in apis:
            for work, every in bound.api.background_jobs:
                tasks.create_task(_repeated(partial(work, bound.service), every, ending))
        try:
            yield
        finally:
            ending.set()


async def _repeated(work: Callable[[], object], every: float, ending: asyncio.Event) -> None:
    is_last = False
    while not is_last:
        with suppress(TimeoutError):
            await asyncio.wait_for(ending.wait(), every)
        is_last = ending.is_set()
        try:
            await asyncio.to_thread(work)
        except Exception:  # noqa: BLE001 - what was put off is tried again next time; nobody waits for it
            _log.exception("work that was put off could not be done")
