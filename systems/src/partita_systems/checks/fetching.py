"""Fetching a page from an address that users enter: limited in time, size and redirects, public addresses only.

The host is resolved once, its address is checked, and the connection uses the same address, so a name that resolves
differently a moment later cannot bypass the check (DNS rebinding). Every redirect is checked in the same way. One
deadline bounds all: every read waits for what is left of it, so a host that sends a byte now and then holds no thread.
"""

import codecs
import io
import ipaddress
import os
import re
import socket
import ssl
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse
from typing import Any
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from partita import ConfigurationError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], list[str]]
SETTING = "CHECKS_ALLOWED_NETWORKS"
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_CHARSET = re.compile(r"""charset\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})""", re.ASCII | re.IGNORECASE)
# Python's own encodings, which no page has: some are slow, or fail.
_NOT_OF_PAGES = {"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem"}
_META_BYTES = 4096  # in which browsers look for a <meta>, and a few more
_DECODERS = {"gzip": 31, "x-gzip": 31, "deflate": 47}  # window bits: gzip, or either header
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_LOCAL_NAT64 = ipaddress.ip_network("64:ff9b:1::/48")  # leads to whatever the network's translator decides
_TRANSLATED = ipaddress.ip_network("::ffff:0:0:0/96")  # IPv4 behind a stateless translator (RFC 7915)
_SIX_TO_FOUR = ipaddress.ip_network("2002::/16")
_REDIRECTS = {301, 302, 303, 307, 308}
_CHUNK = 64 * 1024
_UNQUOTED = "%/?:@!$&'()*+,;=~"  # characters of a path and a query that need no quoting (RFC 3986)


class FetchError(Exception):
    """The page could not be fetched; the message is shown to the owner of the check."""


@dataclass(frozen=True)
class FetchedPage:
    """A page as it was sent; `text` is its body, decoded."""

    status: int
    body: bytes
    milliseconds: int
    content_type: str = ""

    @property
    def text(self) -> str:
        """The body by its byte order mark, the charset of its header or its `<meta>`, or else as UTF-8."""
        for mark, name in _MARKS.items():
            if self.body.startswith(mark):
                return self.body[len(mark) :].decode(name, "replace")
        for declared in (_CHARSET.search(self.content_type), _CHARSET.search(self._head())):
            if declared is not None and (codec := _codec(declared[1])) is not None:
                return self.body.decode(codec, "replace")
        return self.body.decode("utf-8", "replace")

    def _head(self) -> str:
        head = self.body[:_META_BYTES].decode("latin-1")
        return "".join(tag for tag in head.split("<")[1:] if tag[:4].lower() == "meta")


def _codec(name: str) -> str | None:
    """The Python codec of a text encoding; None for an unknown one, or one that is not of text."""
    try:
        found = codecs.lookup(name)
    except LookupError:
        return None
    is_of_pages = found._is_text_encoding and found.name.replace("-", "_") not in _NOT_OF_PAGES
    return found.name if is_of_pages else None


def resolve_host(host: str, port: int) -> list[str]:
    """The addresses of a host, from the system's resolver."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(each[4][0]) for each in found]


def is_public(address: Address) -> bool:
    """Whether an address is public: not private, loopback, link-local, multicast or reserved."""
    reached = _embedded(address)
    is_local = reached.is_multicast or (isinstance(reached, ipaddress.IPv6Address) and reached.is_site_local)
    return reached.is_global and not is_local and address not in _LOCAL_NAT64


def _embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 one leads to: mapped, compatible, translated, NAT64 or 6to4; or else itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    number = int(address)
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64 or address in _TRANSLATED or (number >> 32 == 0 and number > 1):
        return ipaddress.IPv4Address(number & 0xFFFFFFFF)
    if address in _SIX_TO_FOUR:
        return ipaddress.IPv4Address(number >> 80 & 0xFFFFFFFF)
    return address


def allowed_by_operator() -> Callable[[Address], bool]:
    """Public addresses, and those in the networks that the operator has set: `CHECKS_ALLOWED_NETWORKS=10.0.0.0/8`."""
    networks = [_network(each.strip()) for each in os.environ.get(SETTING, "").split(",") if each.strip()]
    return lambda address: is_public(address) or any(_embedded(address) in network for network in networks)


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        instead = "use networks such as 10.0.0.0/8 or fd00::/8, separated by commas"
        raise ConfigurationError(f"{SETTING}: {text!r} is not a network; {instead}") from None


class _BoundedSocket:
    """A connected socket whose reads end at a deadline; `http.client` reads through `makefile`."""

    def __init__(self, connected: socket.socket, remaining: Callable[[], float]) -> None:
        self._connected = connected
        self._remaining = remaining

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_BoundedReader(self._connected, self._remaining))


class _BoundedReader(io.RawIOBase):
    def __init__(self, connected: socket.socket, remaining: Callable[[], float]) -> None:
        super().__init__()
        self._connected = connected
        self._remaining = remaining

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connected.settimeout(self._remaining())
        return self._connected.recv_into(buffer)


@dataclass(frozen=True)
class Fetcher:
    """Fetches pages. `allowed` decides about an address: public ones, and the networks that the operator has set."""

    allowed: Callable[[Address], bool] = field(default_factory=allowed_by_operator)
    resolve: Resolve = resolve_host
    seconds: float = 10.0
    max_bytes: int = 1024 * 1024
    max_redirects: int = 5
    timer: Callable[[], float] = time.perf_counter
    tls: ssl.SSLContext = field(default_factory=ssl.create_default_context)

    def fetch(self, url: str) -> FetchedPage:
        """The page after redirects; its body is truncated to `max_bytes`."""
        start = self.timer()
        for _ in range(self.max_redirects + 1):
            status, headers, body = self._request(url, start + self.seconds)
            location = headers.get("Location")
            if status in _REDIRECTS and location:
                url = _redirect_target(url, location)
                continue
            return FetchedPage(status, body, round((self.timer() - start) * 1000), headers.get("Content-Type", ""))
        raise FetchError(f"more than {self.max_redirects} redirects")

    def _request(self, url: str, deadline: float) -> tuple[int, HTTPMessage, bytes]:
        parts = _parts(url)
        connection: HTTPConnection | None = None
        try:
            connection = self._connect(parts, deadline)
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            headers = {
                "Host": _in_ascii(parts.netloc.rpartition("@")[2]),
                "User-Agent": "partita",
                "Accept-Encoding": "gzip, deflate",
            }
            connection.request("GET", quote(path, _UNQUOTED), headers=headers)
            with HTTPResponse(self._bounded(connection, deadline), method="GET") as response:
                response.begin()
                return response.status, response.headers, self._body(response)
        except TimeoutError:
            raise FetchError(f"no answer within {self.seconds:g} seconds") from None
        except (OSError, HTTPException, ValueError, zlib.error) as error:
            raise FetchError(f"{type(error).__name__}: {error}") from None
        finally:
            if connection is not None:
                connection.close()

    def _connect(self, parts: SplitResult, deadline: float) -> HTTPConnection:
        """A connection to an address that was checked."""
        host = _in_ascii(parts.hostname or "")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        addresses = self.resolve(host, port)
        forbidden = [each for each in addresses if not self.allowed(ipaddress.ip_address(each.partition("%")[0]))]
        if forbidden or not addresses:
            raise FetchError(f"{host} is at an address that is not public")
        connection = HTTPConnection(host, port, timeout=self._remaining(deadline))
        connection.sock = socket.create_connection((addresses[0], port), timeout=self._remaining(deadline))
        if parts.scheme == "https":
            connection.sock = self.tls.wrap_socket(connection.sock, server_hostname=host)
        return connection

    def _bounded(self, connection: HTTPConnection, deadline: float) -> Any:
        return _BoundedSocket(connection.sock, lambda: self._remaining(deadline))

    def _body(self, response: HTTPResponse) -> bytes:
        """The body, decompressed, of which no more than `max_bytes` are read."""
        window = _DECODERS.get(response.getheader("Content-Encoding", "").strip().lower())
        decoder = None if window is None else zlib.decompressobj(window)
        body, taken = b"", 0
        while len(body) < self.max_bytes and taken < self.max_bytes:
            read = response.read1(min(_CHUNK, self.max_bytes - taken))
            if not read:
                break
            taken += len(read)
            body += read if decoder is None else decoder.decompress(read, self.max_bytes - len(body))
        return body

    def _remaining(self, deadline: float) -> float:
        seconds = deadline - self.timer()
        if seconds <= 0:
            raise TimeoutError
        return seconds


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise FetchError(f"{url!r} is not a valid address") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise FetchError(f"{url!r} is not an http or https address")
    return parts


def _redirect_target(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:
        raise FetchError(f"it redirects to {location!r}, which is not a valid address") from None


def _in_ascii(host: str) -> str:
    """The ASCII form of a host for DNS and HTTP; IP addresses and ports stay unchanged."""
    return host if host.isascii() else host.encode("idna").decode()
