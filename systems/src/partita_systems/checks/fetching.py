"""Fetching a page that a stranger named: bounded in time, size and redirects, and never from inside the house.

The host is resolved once, its address is judged, and the connection goes to that very address: a name that resolves
differently a moment later gains nothing. Every redirect is judged anew.
"""

import ipaddress
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse
from urllib.parse import SplitResult, quote, urljoin, urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], list[str]]
_REDIRECTS = {301, 302, 303, 307, 308}
_CHUNK = 64 * 1024
_AS_IT_IS = "%/?:@!$&'()*+,;=~"  # what quoting leaves alone in a path and a query (RFC 3986)


class NotFetched(Exception):
    """Why there is no page; the words are shown to the owner of the check."""


@dataclass(frozen=True)
class Page:
    status: int
    body: bytes
    milliseconds: int


def resolved(host: str, port: int) -> list[str]:
    """The addresses of a host, as the system sees them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(each[4][0]) for each in found]


def is_public(address: Address) -> bool:
    """Whether strangers may send us there: not private, loopback, link-local, multicast or reserved."""
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_global and not mapped.is_multicast)


@dataclass(frozen=True)
class Fetcher:
    """`allowed` judges an address; an operator who watches his own network gives another one."""

    allowed: Callable[[Address], bool] = is_public
    resolve: Resolve = resolved
    seconds: float = 10.0
    most_bytes: int = 1024 * 1024
    most_redirects: int = 5
    timer: Callable[[], float] = time.perf_counter
    tls: ssl.SSLContext = field(default_factory=ssl.create_default_context)

    def fetch(self, url: str) -> Page:
        """The page at the end of the redirects, its body cut where it grows too large."""
        began = self.timer()
        for _ in range(self.most_redirects + 1):
            status, location, body = self._request(url, began + self.seconds)
            if status in _REDIRECTS and location:
                url = _joined(url, location)
                continue
            return Page(status, body, round((self.timer() - began) * 1000))
        raise NotFetched(f"more than {self.most_redirects} redirects")

    def _request(self, url: str, deadline: float) -> tuple[int, str | None, bytes]:
        parts = _parts(url)
        connection: HTTPConnection | None = None
        try:
            connection = self._connected(parts, deadline)
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            headers = {"Host": _in_ascii(parts.netloc.rpartition("@")[2]), "User-Agent": "partita"}
            connection.request("GET", quote(path, _AS_IT_IS), headers=headers)
            response = connection.getresponse()
            return response.status, response.getheader("Location"), self._body(connection, response, deadline)
        except TimeoutError:
            raise NotFetched(f"no answer within {self.seconds:g} seconds") from None
        except (OSError, HTTPException, ValueError) as refusal:
            raise NotFetched(f"{type(refusal).__name__}: {refusal}") from None
        finally:
            if connection is not None:
                connection.close()

    def _connected(self, parts: SplitResult, deadline: float) -> HTTPConnection:
        """A connection to an address that was judged."""
        host = _in_ascii(parts.hostname or "")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        addresses = self.resolve(host, port)
        refused = [each for each in addresses if not self.allowed(ipaddress.ip_address(each.partition("%")[0]))]
        if refused or not addresses:
            raise NotFetched(f"{host} is at an address that is not public")
        connection = HTTPConnection(host, port, timeout=self._left(deadline))
        connection.sock = socket.create_connection((addresses[0], port), timeout=self._left(deadline))
        if parts.scheme == "https":
            connection.sock = self.tls.wrap_socket(connection.sock, server_hostname=host)
        return connection

    def _body(self, connection: HTTPConnection, response: HTTPResponse, deadline: float) -> bytes:
        body = b""
        while len(body) < self.most_bytes:
            if connection.sock is not None:
                connection.sock.settimeout(self._left(deadline))
            read = response.read1(min(_CHUNK, self.most_bytes - len(body)))
            if not read:
                break
            body += read
        return body

    def _left(self, deadline: float) -> float:
        left = deadline - self.timer()
        if left <= 0:
            raise TimeoutError
        return left


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise NotFetched(f"{url!r} is no address") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise NotFetched(f"{url!r} is no http or https address")
    return parts


def _joined(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:
        raise NotFetched(f"it redirects to {location!r}, which is no address") from None


def _in_ascii(host: str) -> str:
    """A host as DNS and HTTP write it; IP addresses and ports stay as they are."""
    return host if host.isascii() else host.encode("idna").decode()
