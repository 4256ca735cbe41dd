"""Background jobs run while a service is served, and once more at the end."""

import asyncio
import logging
from threading import Event, get_ident

import pytest

from partita import Store
from partita.rest import Api
from partita.rest.application import RestApplication
from tests.rest.notes_api import Notes, design
from tests.timing import PATIENCE

LONG = 3600.0


def application(db: Store, work: object, every: float) -> RestApplication:
    api = Api("notes", "Notes", design, service=Notes)
    api.background_job(work, every=every)  # type: ignore[arg-type]
    return RestApplication([api], db)


async def served(app: RestApplication, until: Event | None = None) -> None:
    async with app.running():
        if until is not None:
            assert await asyncio.to_thread(until.wait, PATIENCE)


def test_job_runs_repeatedly_off_the_event_loop(db: Store) -> None:
    threads: list[int] = []
    often = Event()

    def work(service: Notes) -> None:
        threads.append(get_ident())
        if len(threads) == 3:
            often.set()

    asyncio.run(served(application(db, work, every=0.001), often))
    assert get_ident() not in threads


def test_job_runs_once_more_when_serving_ends(db: Store) -> None:
    done: list[Notes] = []
    app = application(db, done.append, every=LONG)
    asyncio.run(served(app))
    assert done == [app._started().apis["notes"].service]


def test_failed_job_is_logged_and_runs_again(db: Store, caplog: pytest.LogCaptureFixture) -> None:
    tried: list[Notes] = []
    again = Event()

    def work(service: Notes) -> None:
        tried.append(service)
        if len(tried) == 2:
            again.set()
        raise ZeroDivisionError

    with caplog.at_level(logging.ERROR, "partita.rest"):
        asyncio.run(served(application(db, work, every=0.001), again))
    assert "a background job failed" in caplog.text
