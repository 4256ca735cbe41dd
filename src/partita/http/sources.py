"""Where requests may come from: the hosts that they are sent to, and the origins of the pages that send them.

A page of another site can make a browser send requests to a server that only this machine reaches, under the page's
own name where that name resolves to this machine (DNS rebinding). Such a request names the site as its host or as its
origin, and is rejected.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from partita.dynamodb.decode import error_body
from partita.dynamodb.exceptions import AccessDeniedException
from partita.errors import ConfigurationError
from partita.http.asgi import AsgiApplication, Receive, Scope, Send
from partita.http.file_addresses import FileAddresses
from partita.http.hosts import is_loopback

MAX_KNOWN = 1024  # Host headers that are remembered as allowed

_is_name = re.compile(r"[a-z0-9_.-]+|\[?[0-9a-f:]+\]?|\*").fullmatch
_host_and_port = re.compile(r"(\[[^\[\]@/\s]+\]|[^\[\]:@/\s]+)(:[0-9]*)?").fullmatch
_is_origin = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s]+|\*").fullmatch


class Rejection(NamedTuple):
    status: int
    title: str
    message: str


class SourceOptions(NamedTuple):
    """How the settings are written that allow a host and an origin."""

    host: str
    origin: str
    where: str

    def host_advice(self, host: str) -> str:
        return f"{self.where} {self.host.format(host)}"

    def origin_advice(self, origin: str) -> str:
        return f"{self.where} {self.origin.format(origin)}"


COMMAND_LINE = SourceOptions("--allow-host {}", "--allow-origin {}", "start the server with")
REST_APPLICATION = SourceOptions("allowed_hosts=[{!r}]", "allowed_origins=[{!r}]", "create the RestApplication with")


class AllowedSources:
    """Allows requests to this machine's own names and to `hosts`, from pages of the same host and of `origins`.

    `*` stands for any. Programs other than browsers send no origin. Hosts that have nothing but `files`, which anyone
    may read, are allowed as well.
    """

    def __init__(
        self,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        options: SourceOptions = COMMAND_LINE,
        *,
        files: FileAddresses | None = None,
    ) -> None:
        """Raises `ConfigurationError` for an invalid host name or origin; `options` are named in errors."""
        self._files = files or FileAddresses()
        self._options = options
        self._hosts = {_without_brackets(_checked_host(each.lower(), options)) for each in hosts}
        self.origins = frozenset(_checked_origin(each, options).encode() for each in origins)
        self._known: set[bytes | None] = set()

    def allows_without_origin(self, headers: Mapping[bytes, bytes]) -> bool:
        """Whether a request is allowed that no page sends; the quick answer, False where it takes a closer look."""
        return b"origin" not in headers and (headers.get(b"host") in self._known or self._is_known(headers))

    def _is_known(self, headers: Mapping[bytes, bytes]) -> bool:
        host = headers.get(b"host")
        allowed = host is not None and self._allows_host(host) and not self._files.is_file_host(host)
        if allowed and len(self._known) < MAX_KNOWN:
            self._known.add(host)
        return allowed

    def rejection(self, headers: Sequence[tuple[bytes, bytes]], http_version: str = "1.1") -> Rejection | None:
        """Why a request is rejected, or None where it is allowed."""
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1 and not (http_version == "1.0" and not hosts):
            return Rejection(400, "Bad Request", "a request must have one Host header")
        if hosts and self._files.is_file_host(hosts[0]):
            return None
        if hosts and not self._allows_host(hosts[0]):
            host = _host_name(hosts[0]) or hosts[0].decode("latin-1")
            message = f"requests to the host {host!r} are not answered; {self._options.host_advice(host)}"
            return Rejection(421, "Misdirected Request", message)
        for origin in (value for name, value in headers if name == b"origin"):
            if not self._allows_origin(origin, hosts):
                shown = origin.decode("latin-1")
                message = f"pages of {shown!r} may not send requests; {self._options.origin_advice(shown)}"
                return Rejection(403, "Forbidden", message)
        return None

    def _allows_host(self, value: bytes) -> bool:
        if "*" in self._hosts:
            return True
        name = _host_name(value)
        return name is not None and (name in self._hosts or is_loopback(name) or name.endswith(".localhost"))

    def _allows_origin(self, origin: bytes, hosts: list[bytes]) -> bool:
        if not self.origins.isdisjoint((origin, b"*")):
            return True
        _, separator, host = origin.lower().partition(b"://")
        return bool(separator) and [host] == [each.lower() for each in hosts]


class SourceCheck:
    """Answers requests from allowed sources with an application, and rejects others.

    `GET /health` is always answered, since load balancers ask for it by address; it shows nothing.
    """

    def __init__(self, application: AsgiApplication, sources: AllowedSources) -> None:
        self._application = application
        self._sources = sources

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        rejection = None
        if scope["type"] == "http" and not (scope["path"] == "/health" and scope["method"] in ("GET", "HEAD")):
            rejection = self._sources.rejection(scope["headers"], scope.get("http_version", "1.1"))
        if rejection is None:
            await self._application(scope, receive, send)
            return
        content_type, body = _rendered(scope, rejection)
        headers = [(b"content-type", content_type), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": rejection.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def _rendered(scope: Scope, rejection: Rejection) -> tuple[bytes, bytes]:
    """As the client can read it: an error of DynamoDB, or problem details (RFC 9457)."""
    if any(name == b"x-amz-target" for name, _ in scope["headers"]):
        return b"application/x-amz-json-1.0", error_body(AccessDeniedException(rejection.message))
    status, title, detail = rejection
    problem = {"type": "urn:partita:problem:source", "title": title, "status": status, "detail": detail}
    return b"application/problem+json", msgspec.json.encode(problem)


def _checked_host(name: str, options: SourceOptions) -> str:
    if not _is_name(name):
        where = options.host.format(name)
        raise ConfigurationError(
            f"{where}: not a host name; write api.example.com, without scheme and port, or * for any"
        )
    return name


def _checked_origin(origin: str, options: SourceOptions) -> str:
    if not _is_origin(origin):
        where = options.origin.format(origin)
        raise ConfigurationError(f"{where}: not an origin; use scheme://host[:port], or * for any")
    return origin


def _host_name(header: bytes) -> str | None:
    """The name or address in a Host header, in lower case, without the port; None for an invalid header."""
    valid = _host_and_port(header.decode("latin-1").lower())
    return None if valid is None else _without_brackets(valid[1])


def _without_brackets(host: str) -> str:
    return host.removeprefix("[").removesuffix("]")
