"""Where a key set is read from: a file, or a URL where its issuer publishes it, bounded in time, size and redirects."""

import json
import time
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from partita.errors import ConfigurationError
from partita.http.hosts import is_loopback
from partita.rest.auth.jwks import JsonWebKeySet, Keys, at_once, in_the_background, keys_of

SECONDS = 5.0
LARGEST = 1024 * 1024
MOST_REDIRECTS = 3
_REDIRECTS = {301, 302, 303, 307, 308}
_CHUNK = 64 * 1024


def key_set_at(source: str, clock: Callable[[], float] = time.monotonic) -> JsonWebKeySet:
    """The key set in a file or at a URL; one that cannot be read now is a `ConfigurationError`."""
    if "://" not in source:
        return JsonWebKeySet(lambda: _in_file(Path(source)), at_once, clock)
    objection = _objection(source)
    if objection is not None:
        raise ConfigurationError(f"{source}: {objection}")
    return JsonWebKeySet(lambda: _at_url(source), in_the_background, clock)


def _in_file(path: Path) -> Keys:
    try:
        return keys_of(json.loads(path.read_bytes()), str(path))
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(str(path), error) from None


def _at_url(url: str) -> Keys:
    try:
        return keys_of(json.loads(_body_at(url)), url)
    except (OSError, HTTPException, ValueError, RecursionError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, TimeoutError):
            reason = f"no whole answer within {SECONDS:g} seconds"
        raise _unreadable(url, reason) from None


def _body_at(url: str) -> bytes:
    until = time.monotonic() + SECONDS
    for _ in range(MOST_REDIRECTS + 1):
        try:
            return _answer_at(url, until)
        except HTTPError as answer:
            answer.close()
            location = answer.headers.get("Location")
            if answer.code not in _REDIRECTS or location is None:
                raise ValueError(f"the answer is {answer.code} {answer.reason}".rstrip()) from None
            here, url = url, urljoin(url, location)
            if urlsplit(url).scheme != urlsplit(here).scheme or _objection(url) is not None:
                raise ValueError(f"it redirects to {url}") from None
    raise ValueError(f"more than {MOST_REDIRECTS} redirects")


def _answer_at(url: str, until: float) -> bytes:
    """The body of an answer of 200; any other is an `HTTPError`."""
    request = Request(url, headers={"Accept": "application/json", "User-Agent": "partita"})  # noqa: S310 - was judged
    body = b""
    with _opener(url).open(request, timeout=_left(until)) as reply:
        if reply.status != 200:
            raise HTTPError(url, reply.status, reply.reason, reply.headers, None)
        while piece := reply.read1(_CHUNK):
            body += piece
            if len(body) > LARGEST:
                raise ValueError(f"the answer is larger than {LARGEST:,} bytes")
            _left(until)
    return body


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _opener(url: str) -> OpenerDirector:
    """By way of the proxy that the environment names; what is on this machine goes direct."""
    proxies = ProxyHandler({}) if is_loopback(urlsplit(url).hostname or "") else ProxyHandler()
    return build_opener(proxies, _NoRedirects)


class _NoRedirects(HTTPRedirectHandler):
    """urllib would follow them wherever they lead, and read what comes with them to its end."""

    def http_error_302(self, *_: Any) -> None:
        return None

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302  # type: ignore[assignment]


def _objection(url: str) -> str | None:
    """Why no key set is read from there, and what to write instead."""
    try:
        parts = urlsplit(url)
        is_whole = bool(parts.hostname) and parts.port != 0  # a port that is no number raises here
    except ValueError:
        is_whole = False
    if not is_whole or parts.scheme not in ("http", "https") or parts.username is not None:
        return "no address of a key set; write https://HOST/PATH, or the name of a file"
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        return "whoever is on the way could put other keys there; write https://"
    return None


def _unreadable(where: str, why: object) -> ConfigurationError:
    return ConfigurationError(f"{where}: no key set can be read from it ({why})")
