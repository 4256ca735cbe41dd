"""Background jobs of the services that are served: each runs in a thread, since the event loop never waits."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial

from partita.errors import PartitaError
from partita.rest.mounted_api import MountedApi

_log = logging.getLogger("partita.rest")


@asynccontextmanager
async def running_jobs(apis: Iterable[MountedApi]) -> AsyncIterator[None]:
    """Runs every job at its interval while the context lasts, and each once more at the end."""
    ending = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        for mounted in apis:
            for work, every in mounted.api.background_jobs:
                tasks.create_task(_run_every(partial(work, mounted.service), every, ending))
        try:
            yield
        finally:
            ending.set()


async def _run_every(work: Callable[[], object], every: float, ending: asyncio.Event) -> None:
    is_last = False
    while not is_last:
        with suppress(TimeoutError):
            await asyncio.wait_for(ending.wait(), every)
        is_last = ending.is_set()
        try:
            await asyncio.to_thread(work)
        except PartitaError as error:
            _log.error("a background job failed; it runs again at its next interval: %s", error)
        except Exception:  # noqa: BLE001 - it runs again at its next interval; no request waits for it
            _log.exception("a background job failed; it runs again at its next interval")
