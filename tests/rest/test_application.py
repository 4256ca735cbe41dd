"""The REST application alone and mounted in another one: paths, links, lifespan, workers."""

import asyncio
import multiprocessing
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount

from partita import connect
from partita.errors import ConfigurationError
from partita.http.asgi import AsgiApplication, Message, split_path
from partita.rest import Api, LocalIssuer, RestApplication
from tests.rest import library_api
from tests.rest.notes_api import Notes, api, design, plain

ISSUER = LocalIssuer()
ANA = {"authorization": f"Bearer {ISSUER.token('ana')}"}


def application(data: Any = "memory:", apis: Any = (api,), **settings: Any) -> RestApplication:
    return RestApplication(apis, data, verifier=ISSUER.verifier(), create_tables=True, **settings)


def outer(rest: RestApplication, path: str = "/shop") -> FastAPI:
    """A FastAPI application with the REST application mounted, as the guide shows it."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with rest.running():
            yield

    app = FastAPI(lifespan=lifespan)
    app.mount(path, rest)
    return app


def visiting(
    app: Any, talk: Callable[[httpx.AsyncClient], Awaitable[None]], *, transport: Any = httpx.ASGITransport
) -> None:
    """Runs the application's lifespan as a server does, and the conversation within it."""

    async def run() -> None:
        async with lifespan_of(app), httpx.AsyncClient(transport=transport(app), base_url="http://test") as client:
            await talk(client)

    asyncio.run(run())


@asynccontextmanager
async def lifespan_of(app: AsgiApplication) -> AsyncIterator[list[Message]]:
    """The events of ASGI's lifespan, sent to the application; yields what it has replied."""
    events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    replies: asyncio.Queue[Message] = asyncio.Queue()
    task = asyncio.ensure_future(app({"type": "lifespan", "asgi": {}, "state": {}}, events.get, replies.put))
    await events.put({"type": "lifespan.startup"})
    said = [await replies.get()]
    if said[0]["type"] == "lifespan.startup.complete":
        yield said
        await events.put({"type": "lifespan.shutdown"})
        said.append(await replies.get())
        assert said[1]["type"] == "lifespan.shutdown.complete"
        await task
    else:
        yield said
        with pytest.raises(ConfigurationError):
            await task


# Mounted under a path


async def use_mounted(client: httpx.AsyncClient, base: str = "/shop") -> None:
    created = await client.post(f"{base}/api/notes/notes", json={"noteId": "n 1", "title": "t"}, headers=ANA)
    assert (created.status_code, created.headers["location"]) == (201, f"{base}/api/notes/notes/n%201")
    read = await client.get(created.headers["location"], headers=ANA)
    assert (read.status_code, read.json()["noteId"]) == (200, "n 1")
    again = await client.get(created.headers["location"], headers=ANA | {"if-none-match": read.headers["etag"]})
    assert again.status_code == 304
    listed = (await client.get(f"{base}/api")).json()
    assert [each["docs"] for each in listed] == [f"{base}/api/notes/docs"]
    description = (await client.get(listed[0]["openapi"])).json()
    assert description["servers"] == [{"url": base}]
    assert "/api/notes/notes/{noteId}" in description["paths"]
    docs = (await client.get(listed[0]["docs"])).text
    assert f"data-path='{base}/api/notes/notes/{{noteId}}'" in docs
    home = (await client.get(f"{base}/", headers={"accept": "text/html"})).text
    assert f"href='{base}/api/notes/docs'" in home
    assert "aws dynamodb" not in home
    missing = await client.get(f"{base}/api/notes/nothing")
    assert missing.json()["detail"] == f"there is nothing at {base}/api/notes/nothing; see {base}/api/notes/docs"
    unknown = await client.get(f"{base}/api/shop")
    assert unknown.json()["detail"] == f"there is no API 'shop'; {base}/api lists notes"


def test_mounted_in_fastapi_paths_and_links_have_the_mount_point() -> None:
    visiting(outer(application()), use_mounted)


def test_mounted_in_a_mounted_starlette_paths_and_links_have_both_mount_points() -> None:
    rest = application()
    inner = Starlette(routes=[Mount("/shop", rest)])
    app = outer(rest, "/unused")
    app.mount("/v1", inner)
    visiting(app, lambda client: use_mounted(client, "/v1/shop"))


def test_behind_a_proxy_that_removes_a_prefix_links_have_it() -> None:
    """The server has the prefix as its root path; clients send it, and the proxy removes it from the path."""

    class Proxy(httpx.ASGITransport):
        def __init__(self, app: Any) -> None:
            super().__init__(app, root_path="/proxied")

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            assert request.url.path.startswith("/proxied/")
            request.url = request.url.copy_with(raw_path=request.url.raw_path.removeprefix(b"/proxied"))
            return await super().handle_async_request(request)

    visiting(outer(application()), lambda client: use_mounted(client, "/proxied/shop"), transport=Proxy)


def test_mounted_under_a_name_that_is_not_ascii() -> None:
    visiting(outer(application(), "/läden"), lambda client: use_mounted(client, "/l%C3%A4den"))


def test_prefix_takes_the_place_of_api() -> None:
    async def talk(client: httpx.AsyncClient) -> None:
        created = await client.post("/api/notes/notes", json={"noteId": "n", "title": "t"}, headers=ANA)
        assert created.headers["location"] == "/api/notes/notes/n"
        assert (await client.get("/api/")).json()[0]["docs"] == "/api/notes/docs"
        page = await client.get("/api/", headers={"accept": "text/html"})
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert "href='/api/notes/docs'" in page.text
        assert "data-path='/api/notes/notes'" in (await client.get("/api/notes/docs")).text
        assert (await client.get("/api/other/x")).status_code == 404

    visiting(outer(application(prefix=""), "/api"), talk)


@pytest.mark.parametrize(
    ("root", "path", "found"),
    [
        ("", "/api/x", ("", b"/api/x")),
        ("/shop", "/shop/api", ("/shop", b"/api")),
        ("/shop/", "/shop/api", ("/shop", b"/api")),
        ("/shop", "/shop", ("/shop", b"/")),
        ("/shop", "/shop/", ("/shop", b"/")),
        ("/v1/shop", "/v1/shop/api/", ("/v1/shop", b"/api/")),
        ("/v1/shop", "/shop/api", ("/v1/shop", b"/api")),
        ("/v1", "/api", ("/v1", b"/api")),
        ("/shop", "/shopping/api", ("/shop", b"/shopping/api")),
    ],
)
def test_path_below_the_mount_point(root: str, path: str, found: tuple[str, bytes]) -> None:
    assert split_path({"root_path": root, "path": path, "raw_path": path.encode()}) == found
    assert split_path({"root_path": root, "path": path}) == found


# Alone


def test_application_alone_serves_its_apis_and_nothing_else() -> None:
    async def talk(client: httpx.AsyncClient) -> None:
        assert (await client.get("/api/notes/openapi.json")).json()["servers"] == [{"url": "/"}]
        for path in ("/health", "/apis", "/api/none", "/x/y/z"):
            reply = await client.get(path)
            assert (reply.status_code, reply.headers["content-type"]) == (404, "application/problem+json"), path
        assert (await client.get("/health")).json()["detail"] == "there is nothing at /health; /api lists notes"

    visiting(application(), talk)


def test_without_a_verifier_every_token_is_rejected() -> None:
    async def talk(client: httpx.AsyncClient) -> None:
        assert (await client.get("/api/notes/plain/p")).status_code == 404
        reply = await client.get("/api/notes/plain/p", headers=ANA)
        assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer")

    visiting(RestApplication([api], "memory:", create_tables=True), talk)


def test_store_of_another_design_is_an_error() -> None:
    other = Api("other", "Other", library_api.design)
    with connect("memory:", design) as db, pytest.raises(ConfigurationError, match="'other' is of another design"):
        RestApplication([api, other], db)


def test_websocket_is_closed() -> None:
    sent: list[Message] = []

    async def talk() -> None:
        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> dict[str, Any]:
            return {"type": "websocket.connect"}

        await application()({"type": "websocket", "path": "/"}, receive, send)

    asyncio.run(talk())
    assert sent == [{"type": "websocket.close"}]


# Lifespan


def test_data_is_open_and_jobs_run_while_the_application_lives(tmp_path: Path) -> None:
    done: list[str] = []
    working = Api("notes", "Notes", design, service=Notes)
    working.expose_get("/plain/{plain_id}", plain)
    working.background_job(lambda service: done.append(type(service).__name__), every=3600)
    rest = application(tmp_path / "notes.db", [working])

    async def talk(client: httpx.AsyncClient) -> None:
        assert (await client.get("/api/notes/plain/p")).status_code == 404
        assert done == []

    for _ in range(2):
        visiting(rest, talk)
        assert done.pop() == "Notes"


def test_request_to_an_application_that_was_not_started_says_how_to_start_it() -> None:
    app = FastAPI()
    app.mount("/shop", application())

    async def talk(client: httpx.AsyncClient) -> None:
        with pytest.raises(ConfigurationError, match=r"async with rest\.running\(\)"):
            await client.get("/shop/api/notes/notes/n")

    visiting(app, talk)


def test_application_that_cannot_start_says_why(tmp_path: Path) -> None:
    async def run() -> list[Message]:
        async with lifespan_of(application(str(tmp_path / "absent" / "notes.db"))) as said:
            return said

    ((event,),) = [asyncio.run(run())]
    assert event["type"] == "lifespan.startup.failed"
    assert "absent" in event["message"]


@pytest.mark.parametrize(
    ("apis", "data", "prefix", "reason"),
    [
        ([api], "memory:", "data", "prefix='data' is not valid; use a path that begins with /"),
        ([api], "memory:", 5, "prefix=5 is not valid"),
        ([api, api], "memory:", "/api", "two APIs are named 'notes'"),
        ([api], 5, "/api", "5 is not a database; pass an address, a backend of connect\\(\\), or a store"),
    ],
)
def test_application_that_could_not_serve_is_rejected(apis: Any, data: Any, prefix: Any, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        RestApplication(apis, data, prefix=prefix)


def test_application_runs_once_at_a_time() -> None:
    async def run() -> None:
        rest = application()
        async with rest.running():
            with pytest.raises(ConfigurationError, match="running already"):
                async with rest.running():
                    pass
        async with rest.running():
            pass

    asyncio.run(run())


# Workers


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in one of two worker processes of uvicorn."""
    process = SimpleNamespace(_kwargs={"config": SimpleNamespace(workers=2)})
    monkeypatch.setattr(multiprocessing, "current_process", lambda: process)
    monkeypatch.delenv("PARTITA_CURSOR_KEYS", raising=False)


@pytest.mark.usefixtures("workers")
def test_workers_that_share_no_data_are_an_error() -> None:
    async def run() -> None:
        with pytest.raises(ConfigurationError, match="memory: belongs to one process, and there are 2 workers"):
            async with application("memory:").running():
                pass

    asyncio.run(run())
    with connect("memory:") as backend, pytest.raises(ConfigurationError, match="memory: belongs to one process"):
        RestApplication([api], backend)


def test_remote_database_needs_cursor_keys_when_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARTITA_CURSOR_KEYS", raising=False)

    async def start(**settings: Any) -> None:
        async with RestApplication([api], "http://127.0.0.1:9", **settings).running():
            pass

    with pytest.raises(ConfigurationError, match=r"pass cursor_keys=\[...\], or set PARTITA_CURSOR_KEYS"):
        asyncio.run(start())
    asyncio.run(start(cursor_keys=[bytes(16)]))
    monkeypatch.setenv("PARTITA_CURSOR_KEYS", "a key of some length, the one before it")
    asyncio.run(start())


@pytest.mark.usefixtures("workers")
def test_workers_of_a_file_share_its_cursor_key(tmp_path: Path) -> None:
    one, other = application(tmp_path / "notes.db"), application(tmp_path / "notes.db")

    async def run() -> None:
        async with (
            one.running(),
            other.running(),
            httpx.AsyncClient(transport=httpx.ASGITransport(one), base_url="http://test/api/notes") as here,
            httpx.AsyncClient(transport=httpx.ASGITransport(other), base_url="http://test/api/notes") as there,
        ):
            await here.post("/notes", json={"noteId": "n", "title": "t"}, headers=ANA)
            for number in range(3):
                await here.post("/notes/n/lines", json={"number": number, "words": "w"}, headers=ANA)
            page = (await here.get("/notes/n/lines?limit=2")).json()
            rest = (await there.get("/notes/n/lines", params={"cursor": page["cursor"]})).json()
            assert [each["number"] for each in page["items"] + rest["items"]] == [0, 1, 2]

    asyncio.run(run())


def test_hosts_and_origins_are_checked_where_that_is_asked_for() -> None:
    async def talk(client: httpx.AsyncClient) -> None:
        other = {"origin": "http://evil.example"}
        assert (await client.get("/api")).status_code == 421
        assert "allowed_hosts=['test']" in (await client.get("/api")).json()["detail"]
        assert (await client.get("/api", headers={"host": "api.example"})).status_code == 200
        assert (await client.get("/api", headers={"host": "localhost", **other})).status_code == 403
        allowed = await client.get("/api", headers={"host": "localhost", "origin": "https://app.example"})
        assert allowed.headers["access-control-allow-origin"] == "https://app.example"

    checked = application(allowed_hosts=["api.example"], allowed_origins=["https://app.example"])
    visiting(checked, talk)


def test_hosts_and_origins_are_not_checked_by_default() -> None:
    async def talk(client: httpx.AsyncClient) -> None:
        other = {"host": "anything.example", "origin": "http://other.example"}
        assert (await client.get("/api", headers=other)).status_code == 200

    visiting(application(), talk)
    with pytest.raises(ConfigurationError, match="give allowed_hosts as well"):
        application(allowed_origins=["https://app.example"])
