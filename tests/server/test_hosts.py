"""A server with allowed hosts answers requests for these, for the machine itself, and for its health."""

import asyncio
from typing import Any

import pytest

from partita.errors import ConfigurationError
from partita.http.asgi import Message
from partita.http.hosts import AllowedHosts, check_host_name


def status(hosts: list[str], host: str | None, path: str = "/") -> int:
    """The status of a request; 204 is the application's own answer."""
    sent: list[Message] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    headers = [] if host is None else [(b"host", host.encode())]
    scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
    asyncio.run(AllowedHosts(application, hosts)(scope, receive, send))
    found: int = sent[0]["status"]
    return found


@pytest.mark.parametrize(
    "host",
    [
        "api.example",
        "API.example",
        "api.example:8000",
        "localhost:8000",
        "127.0.0.1",
        "127.0.0.1:1",
        "[::1]:80",
        "[::1]",
    ],
)
def test_allowed_host_is_answered(host: str) -> None:
    assert status(["api.example"], host) == 204


@pytest.mark.parametrize(
    "host", [None, "", "evil.example", "api.example.evil", "evil.example:8000", "192.0.2.1", "[2001:db8::1]", ":", "["]
)
def test_other_host_is_misdirected(host: str | None) -> None:
    assert status(["api.example"], host) == 421


def test_address_is_a_host_too() -> None:
    assert status(["192.0.2.1", "[2001:DB8::1]"], "192.0.2.1:8000") == 204
    assert status(["192.0.2.1", "[2001:DB8::1]"], "[2001:db8::1]:8000") == 204
    assert status(["2001:db8::1"], "[2001:db8::1]") == 204


def test_health_is_answered_under_any_name() -> None:
    assert status(["api.example"], "10.0.0.7:8000", path="/health") == 204


@pytest.mark.parametrize("name", ["https://api.example", "api.example:8000", "api.example/x", "", "a b"])
def test_name_that_is_not_a_host_is_rejected(name: str) -> None:
    with pytest.raises(ConfigurationError, match="not a host name; write"):
        check_host_name(name)


@pytest.mark.parametrize("name", ["api.example", "localhost", "192.0.2.1", "::1", "[::1]", "*", "my_service"])
def test_host_name_is_accepted(name: str) -> None:
    check_host_name(name)
