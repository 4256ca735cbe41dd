"""The home page: the served APIs as JSON at `/api` and as HTML at `/`, on a whole server."""

import asyncio
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from partita import System, connect
from partita.cli.open_systems import open_systems
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from partita.rest.pages.home import home_page
from partita.server.protocol_app import Application
from partita_systems import SYSTEMS
from tests.rest import notes_api
from tests.rest.client import Client, Response

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


async def _unopened() -> Any:
    raise AssertionError("nothing here speaks DynamoDB's protocol")


@contextmanager
def _served(systems: Iterable[System]) -> Iterator[Client]:
    """The whole server of these systems, in this process; without systems it is `partita engine`."""
    issuer = LocalIssuer()
    with connect("memory:", maintain=False) as backend, asyncio.Runner() as runner:
        apis = [each.system.api for each in open_systems(backend, systems)]
        rest = RestApplication(apis, backend, verifier=issuer.verifier(), beside_dynamodb=True) if apis else None
        app = Application(_unopened, lambda _: None, rest)
        yield Client(app, "", issuer, runner.get_loop())  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def served() -> Iterator[Client]:
    with _served(SYSTEMS.values()) as client:
        yield client


@pytest.fixture(scope="module")
def engine() -> Iterator[Client]:
    with _served(()) as client:
        yield client


@pytest.mark.parametrize("path", ["/api", "/api/"])
def test_links_in_the_list_of_systems_work(served: Client, path: str) -> None:
    reply = served.get(path)
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert [each["name"] for each in reply.json] == list(SYSTEMS)
    for each in reply.json:
        assert each["title"]
        assert each["about"].endswith((".", "?"))
        assert served.get(each["docs"]).headers["content-type"] == "text/html; charset=utf-8"
        assert served.get(each["openapi"]).json["info"]["title"] == each["title"]


def test_home_page_has_every_system_and_the_dynamodb_command(served: Client) -> None:
    reply = served.get("/", accept=BROWSER, host="here.example:8123")
    assert (reply.status, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    page = reply.plain.decode()
    for name in SYSTEMS:
        assert f"href='/api/{name}/docs'" in page
        assert f"href='/api/{name}/openapi.json'" in page
        assert SYSTEMS[name].api.about.replace("'", "&#x27;") in page
    assert "aws dynamodb list-tables --no-sign-request" in page
    assert "--endpoint-url http://here.example:8123<" in page
    assert "href='/health'" in page


@pytest.mark.parametrize("accept", ["", "*/*", "application/json"])
def test_health_check_is_plain_text(served: Client, engine: Client, accept: str) -> None:
    for client in (served, engine):
        for path in ("/", "/health"):
            reply = client.get(path, accept=accept)
            assert (reply.status, reply.body) == (200, b"healthy: partita\n")


def test_health_check_of_a_browser_is_plain_text(served: Client) -> None:
    assert served.get("/health", accept=BROWSER).body == b"healthy: partita\n"


def test_engine_without_systems_has_no_home_page(engine: Client) -> None:
    assert engine.get("/", accept=BROWSER).body == b"healthy: partita\n"
    for path in ("/api", "/api/"):
        assert (engine.get(path).status, _kind(engine.get(path))) == (404, "UnknownOperationException")


def _kind(reply: Response) -> str:
    return str(reply.json["__type"].partition("#")[2])


@pytest.mark.parametrize("path", ["/", "/api", "/api/"])
def test_head_has_headers_and_no_body(served: Client, path: str) -> None:
    whole, head = (served.request(method, path, accept=BROWSER, host="x") for method in ("GET", "HEAD"))
    assert (head.status, head.headers, head.body) == (whole.status, whole.headers, b"")
    assert served.get(path, accept=BROWSER, host="x", if_none_match=whole.tag).status == 304


@pytest.mark.parametrize("path", ["/", "/api", "/api/"])
@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS"])
def test_other_methods_on_a_page_are_405(served: Client, path: str, method: str) -> None:
    reply = served.request(method, path, accept=BROWSER)
    assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD")
    assert reply.headers["content-type"] == "application/problem+json"
    assert served.request("POST", "/api").status == 405


def test_page_has_no_script_and_ignores_an_invalid_host() -> None:
    page = home_page([notes_api.api], "", "/api", "http://x; rm -rf /<script>")
    assert "<script" not in page
    assert "rm -rf" not in page
    assert "default-src 'none'" in page
    assert "script-src" not in page
    assert "Notes &amp; lines." in page


def test_list_contains_only_served_systems() -> None:
    with _served([SYSTEMS["blog"]]) as client:
        assert [each["name"] for each in json.loads(client.get("/api").body)] == ["blog"]
        assert "/api/checks" not in client.get("/", accept=BROWSER).plain.decode()


def test_home_page_links_to_the_studio_where_it_is_served() -> None:
    assert "href='/mount/studio'" in home_page([notes_api.api], "/mount", "/api", studio=True)
    assert "/studio" not in home_page([notes_api.api], "/mount", "/api")
