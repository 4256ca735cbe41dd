"""Addresses of files that an application publishes for its users: by path, and by host name below a domain.

A host below such a domain belongs to one user, so nothing else is served there: not the API, nor DynamoDB's protocol.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from partita.http.asgi import Scope

_host_name = re.compile(rb"([a-z0-9.-]+?)\.?(:[0-9]*)?").fullmatch


class FileAddress(NamedTuple):
    """The place below which files are, the name of their owner, and the path; None where it cannot be a path."""

    place: str
    name: str
    path: str | None
    is_host: bool  # the name is that of the host


class FileAddresses:
    """Places by their path (`/sites`), each with the domains below which its names are hosts (`city.example`)."""

    def __init__(self, places: Mapping[str, Collection[str]] | None = None) -> None:
        self._places = dict(places or {})
        self._domains = {f".{domain}": place for place, domains in self._places.items() for domain in domains}

    def is_file_host(self, header: bytes) -> bool:
        """Whether the Host header names a host that has nothing but files."""
        return bool(self._domains) and self._domain_of(header) is not None

    def find(self, headers: Iterable[tuple[bytes, bytes]], path: bytes) -> FileAddress | None:
        """The address of a file, or None where the request is for something else."""
        if not self._places:
            return None
        host = next((value for name, value in headers if name == b"host"), b"")
        segments = path.split(b"/")[1:]
        if (found := self._domain_of(host)) is not None:
            name, place = found
            return FileAddress(place, name, _decoded(segments), is_host=True)
        place = f"/{segments[0].decode('latin-1')}" if segments else ""
        if place not in self._places or len(segments) < 2:
            return None
        return FileAddress(place, _decoded(segments[1:2]) or "", _decoded(segments[2:]), is_host=False)

    def matches(self, scope: Scope) -> bool:
        """Whether a request is for a file."""
        path = scope.get("raw_path") or scope["path"].encode()
        return self.find(scope["headers"], path) is not None

    def _domain_of(self, header: bytes) -> tuple[str, str] | None:
        """The name below one of the domains, and the place of the files."""
        host = _host_name(header.lower())
        if host is None:
            return None
        name = host[1].decode()
        for domain, place in self._domains.items():
            if name.endswith(domain):
                return name.removesuffix(domain), place
        return None


def _decoded(segments: Sequence[bytes]) -> str | None:
    """The path of raw segments; None where a segment is not UTF-8, or has a slash of its own."""
    try:
        decoded = [unquote(each.decode("ascii"), errors="strict") for each in segments]
    except UnicodeDecodeError:
        return None
    return None if any("/" in each for each in decoded) else "/".join(decoded)
