"""Requests are answered for allowed hosts and from pages of allowed origins; others are rejected with the option."""

import asyncio
import json
from typing import Any

import pytest

from partita.errors import ConfigurationError
from partita.http.asgi import Message
from partita.http.sources import AllowedSources, SourceCheck


def answer(
    sources: AllowedSources, *headers: tuple[str, str], path: str = "/", version: str = "1.1", method: str = "GET"
) -> tuple[int, dict[str, Any]]:
    """The status of a request and the JSON of a rejection; 204 is the application's own answer."""
    sent: list[Message] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    raw = [(name.encode(), value.encode()) for name, value in headers]
    scope = {"type": "http", "method": method, "path": path, "headers": raw, "http_version": version}
    asyncio.run(SourceCheck(application, sources)(scope, receive, send))
    body = sent[1]["body"] if len(sent) > 1 else b"{}"
    return sent[0]["status"], json.loads(body)


def status(hosts: list[str], host: str | None, path: str = "/", version: str = "1.1") -> int:
    headers = [] if host is None else [("host", host)]
    return answer(AllowedSources(hosts), *headers, path=path, version=version)[0]


@pytest.mark.parametrize(
    "host",
    [
        "api.example",
        "API.example",
        "api.example:8000",
        "localhost:8000",
        "app.localhost:8000",
        "127.0.0.1",
        "127.0.0.1:1",
        "[::1]:80",
        "[::1]",
    ],
)
def test_allowed_host_is_answered(host: str) -> None:
    assert status(["api.example"], host) == 204


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "api.example.evil",
        "evil.example:8000",
        "192.0.2.1",
        "[2001:db8::1]",
        ":",
        "[",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evillocalhost",
    ],
)
def test_other_host_is_misdirected(host: str) -> None:
    assert status(["api.example"], host) == 421


def test_request_must_have_one_host() -> None:
    assert status([], None) == 400
    assert status([], None, version="1.0") == 204
    assert answer(AllowedSources(), ("host", "localhost"), ("host", "evil.example"))[0] == 400


def test_address_is_a_host_too() -> None:
    assert status(["192.0.2.1", "[2001:DB8::1]"], "192.0.2.1:8000") == 204
    assert status(["192.0.2.1", "[2001:DB8::1]"], "[2001:db8::1]:8000") == 204
    assert status(["2001:db8::1"], "[2001:db8::1]") == 204


def test_any_host_is_answered_with_a_star() -> None:
    assert status(["*"], "evil.example") == 204


@pytest.mark.parametrize("method", ["POST", "PUT", "OPTIONS", "get"])
def test_only_reads_of_health_are_answered_under_any_name(method: str) -> None:
    """DynamoDB's protocol is answered at every path."""
    target = ("x-amz-target", "DynamoDB_20120810.ListTables")
    assert answer(AllowedSources(), ("host", "evil.example"), target, path="/health", method=method)[0] == 421


@pytest.mark.parametrize(
    "host",
    [
        *("[::1].evil.example", "[::1]evil.example:80", "[::1", "[::1]:80:80", "localhost:80@evil.example"),
        *(
            "localhost:evil",
            "127.0.0.1:80.evil.example",
            "127.0.0.1:80/evil",
            "localhost:80 evil",
            "::1",
            "evil@evil.localhost",
            "evil:80/.localhost",
        ),
    ],
)
def test_host_that_only_begins_like_an_allowed_one_is_rejected(host: str) -> None:
    assert status(["api.example"], host) == 421


def test_health_is_answered_under_any_name() -> None:
    assert status(["api.example"], "10.0.0.7:8000", path="/health") == 204


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8000", "http://localhost:8000"),
        ("127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("[::1]:8000", "http://[::1]:8000"),
        ("api.example", "https://API.example"),
        ("localhost:8000", "https://app.example"),
    ],
)
def test_own_and_allowed_origins_are_answered(host: str, origin: str) -> None:
    sources = AllowedSources(["api.example"], ["https://app.example"])
    assert answer(sources, ("host", host), ("origin", origin))[0] == 204


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://localhost:3000",
        "https://app.example:444",
        "http://app.example",
        "null",
        "",
        "://",
    ],
)
def test_other_origin_is_forbidden(origin: str) -> None:
    sources = AllowedSources([], ["https://app.example"])
    assert answer(sources, ("host", "localhost:8000"), ("origin", origin))[0] == 403


def test_any_origin_is_answered_with_a_star() -> None:
    sources = AllowedSources([], ["*"])
    assert answer(sources, ("host", "localhost"), ("origin", "http://evil.example"))[0] == 204
    assert answer(sources, ("host", "localhost"), ("origin", "null"))[0] == 204


def test_rejection_names_the_option_in_the_shape_that_the_client_reads() -> None:
    _, problem = answer(AllowedSources(), ("host", "evil.example:80"), path="/api/blog")
    detail = "requests to the host 'evil.example' are not answered; start the server with --allow-host evil.example"
    assert (problem["title"], problem["status"], problem["detail"]) == ("Misdirected Request", 421, detail)
    origin = ("host", "localhost"), ("origin", "http://evil.example"), ("x-amz-target", "DynamoDB_20120810.ListTables")
    _, error = answer(AllowedSources(), *origin)
    assert error["__type"].endswith("#AccessDeniedException")
    assert error["Message"].endswith("start the server with --allow-origin http://evil.example")


def test_fast_path_is_for_allowed_hosts_without_origin() -> None:
    sources = AllowedSources(["api.example"])
    for _ in range(2):
        assert sources.allows_without_origin({b"host": b"api.example:80"})
        assert not sources.allows_without_origin({b"host": b"evil.example"})
        assert not sources.allows_without_origin({b"host": b"api.example:80", b"origin": b"http://api.example:80"})
        assert not sources.allows_without_origin({})


@pytest.mark.parametrize("name", ["https://api.example", "api.example:8000", "api.example/x", "", "a b"])
def test_name_that_is_not_a_host_is_rejected(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"--allow-host .*: not a host name; write"):
        AllowedSources([name])


@pytest.mark.parametrize("name", ["api.example", "localhost", "192.0.2.1", "::1", "[::1]", "*", "my_service"])
def test_host_name_is_accepted(name: str) -> None:
    AllowedSources([name])


@pytest.mark.parametrize("origin", ["notanorigin", "https://", "https://app.example/", "app.example:3000", "", "* "])
def test_invalid_origin_is_rejected(origin: str) -> None:
    with pytest.raises(ConfigurationError, match=r"--allow-origin .*: not an origin; use scheme://host"):
        AllowedSources([], [origin])


@pytest.mark.parametrize("origin", ["*", "https://app.example", "http://localhost:3000", "http://[::1]:8000"])
def test_valid_origin_is_accepted(origin: str) -> None:
    AllowedSources([], [origin])
