"""Requests that wait, in threads: a read never waits until writes are done."""

import asyncio
from collections.abc import Iterator
from contextvars import ContextVar
from threading import Event

import pytest

from partita import Store, connect
from partita.rest import Api, HostedFile, RestApplication, anyone
from partita.rest.auth.dev_issuer import LocalIssuer
from partita.rest.request_threads import WRITE_THREADS, RequestThreads
from tests.rest import library_api
from tests.rest.client import Client, Request
from tests.timing import PATIENCE

name: ContextVar[str] = ContextVar("name", default="")


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    with asyncio.Runner() as runner:
        yield runner.get_loop()


def test_file_is_read_while_writes_occupy_all_their_threads(loop: asyncio.AbstractEventLoop) -> None:
    has_read = Event()
    api = Api("library", "Library", library_api.design)

    @api.post("/waits", who=anyone)
    def wait_for_the_read(service: Store) -> None:
        assert has_read.wait(PATIENCE)

    @api.files("/files")
    def file(service: Store, name: str, path: str) -> HostedFile | None:
        has_read.set()
        return HostedFile(b"read", "text/plain", "1")

    writes = [Request("POST", "/api/library/waits")] * (2 * WRITE_THREADS)
    with connect("memory:", library_api.design) as db:
        db.create_tables()
        client = Client(RestApplication([api], db), "", LocalIssuer(), loop)
        replies = client.concurrently([*writes, Request("GET", "/files/ana/a.txt")])
    assert [each.status for each in replies] == [204] * len(writes) + [200]


def test_function_runs_in_the_context_of_its_caller(loop: asyncio.AbstractEventLoop) -> None:
    async def results() -> list[str]:
        name.set("ana")
        return [await threads.read(name.get), await threads.write(name.get)]

    threads = RequestThreads()
    assert loop.run_until_complete(results()) == ["ana", "ana"]


def test_requests_after_a_close_get_new_threads(loop: asyncio.AbstractEventLoop) -> None:
    threads = RequestThreads()
    threads.close()
    assert loop.run_until_complete(threads.write(int, "7")) == 7
    threads.close()
