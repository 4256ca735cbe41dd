"""Host names: which are of this machine only, and which a server answers to."""

import ipaddress
import re
from collections.abc import Sequence

from partita.errors import ConfigurationError
from partita.http.asgi import AsgiApplication, Receive, Scope, Send

_is_name = re.compile(r"[a-z0-9_.-]+|\[?[0-9a-f:]+\]?|\*").fullmatch


def is_loopback(host: str) -> bool:
    """Whether a host name or IP address is reachable from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_host_name(name: str) -> None:
    """Raises `ConfigurationError` for anything but a host: a scheme, a port, a path."""
    if not _is_name(name.lower()):
        raise ConfigurationError(
            f"--allowed-host {name}: not a host name; write api.example.com, without scheme and port, or * for any"
        )


class AllowedHosts:
    """Answers requests for these hosts, and for this machine's own names, with an application; others with 421.

    A page of another site that has its name resolve to this server (DNS rebinding) gets nothing. `GET /health` is
    answered under any name, since load balancers ask for it by address.
    """

    def __init__(self, application: AsgiApplication, hosts: Sequence[str]) -> None:
        self._application = application
        self._hosts = {_without_brackets(host.lower()) for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == "/health" or self._is_allowed(scope["headers"]):
            await self._application(scope, receive, send)
            return
        body = b"This server does not answer for the host of this request; see --allowed-host.\n"
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 421, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _is_allowed(self, headers: Sequence[tuple[bytes, bytes]]) -> bool:
        host = next((value for name, value in headers if name == b"host"), b"").decode("latin-1").lower()
        name = _without_brackets(re.sub(r":\d*$", "", host) if not host.endswith("]") else host)
        return name in self._hosts or is_loopback(name)


def _without_brackets(host: str) -> str:
    return host.removeprefix("[").removesuffix("]")
