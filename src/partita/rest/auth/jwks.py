"""JSON Web Key Sets: the keys that tokens are verified with, read from a file or a URL and reloaded when they are old.

A token is verified on the server's event loop, which never waits for the network: a set at a URL is reloaded in a
thread, and a request whose key is not known yet is answered with 503. PyJWT's own client reads synchronously, so it is
not used. Reading from a URL is bounded in time, size and redirects.
"""

import json
import logging
import threading
import time
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

import jwt

from partita.errors import ConfigurationError
from partita.http.hosts import is_loopback
from partita.rest.problems import Problem

ALGORITHMS = ("RS256", "ES256", "EdDSA")
UNKNOWN_KEY_RETRY_SECONDS = 60  # how often an unknown key may reload the set
MAX_AGE_SECONDS = 3600  # how long a set is used without a reload
TIMEOUT_SECONDS = 5.0
MAX_BYTES = 1024 * 1024
MAX_REDIRECTS = 3

Keys = dict[str, jwt.PyJWK]
Work = Callable[[], None]

_REDIRECTS = {301, 302, 303, 307, 308}
_CHUNK = 64 * 1024
_LOADING = "the key that signed the token is being looked up"
_UNREADABLE = "the key that signed the token cannot be looked up at the moment"
_log = logging.getLogger("partita.rest")


def keys_of(key_set: Any, where: str = "key set") -> Keys:
    """The keys of a JSON Web Key Set that may sign tokens, by their ids; `where` names the source in errors."""
    try:
        found = jwt.PyJWKSet.from_dict(key_set).keys
    except (jwt.PyJWTError, AttributeError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{where}: not a JSON Web Key Set ({error})") from None
    named = [(key.key_id, key) for key in found if key.algorithm_name in ALGORITHMS]
    keys = {key_id: key for key_id, key in named if isinstance(key_id, str) and key_id}
    if not keys:
        raise ConfigurationError(f"{where}: no key with a `kid`, for one of {', '.join(ALGORITHMS)}")
    return keys


def run_now(work: Work) -> None:
    work()


def run_in_thread(work: Work) -> None:
    """Runs the work in a daemon thread."""
    threading.Thread(target=work, name="partita-key-set", daemon=True).start()


class JsonWebKeySet:
    """The keys as they were last read; `run` starts a reload, at once or in a thread.

    `keys` is a new object after each reload, so a conclusion drawn from an earlier one can be recognised as old.
    """

    def __init__(
        self,
        read: Callable[[], Keys],
        run: Callable[[Work], None] = run_now,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.keys = read()
        self._read = read
        self._run = run
        self._clock = clock
        self._last_read_at = clock()
        self._uncertain_because: str | None = None  # why a key that is not in the set may exist all the same

    def refresh(self) -> None:
        """Starts a reload when the set is old: a key may have been revoked."""
        self._reload_if_older_than(MAX_AGE_SECONDS)

    def key(self, key_id: str) -> jwt.PyJWK:
        """The key with this id; raises 503 while an unknown key may still be found, 401 when it does not exist."""
        if key_id not in self.keys:
            self._reload_if_older_than(UNKNOWN_KEY_RETRY_SECONDS)
        uncertain_because = self._uncertain_because  # read before the keys: a reload in a thread changes it after them
        found = self.keys.get(key_id)
        if found is not None:
            return found
        if uncertain_because is not None:
            raise Problem(503, "busy", uncertain_because)
        raise Problem(401, "unauthorized", "the token is signed by a key that is not in the key set")

    def _reload_if_older_than(self, seconds: float) -> None:
        now = self._clock()
        if now - self._last_read_at > seconds:
            self._last_read_at, self._uncertain_because = now, _LOADING
            self._run(self._reload)

    def _reload(self) -> None:
        uncertain_because: str | None = _UNREADABLE
        try:
            self.keys = self._read()
            uncertain_because = None
        except ConfigurationError as error:
            _log.error("the key set could not be reloaded, its last keys stay in use: %s", error)
        finally:
            self._uncertain_because = uncertain_because


def key_set_at(source: str, clock: Callable[[], float] = time.monotonic) -> JsonWebKeySet:
    """The key set in a file or at a URL; raises `ConfigurationError` when it cannot be read."""
    if "://" not in source:
        return JsonWebKeySet(lambda: _load_file(Path(source)), run_now, clock)
    wrong = _url_error(source)
    if wrong is not None:
        raise ConfigurationError(f"{source}: {wrong}")
    return JsonWebKeySet(lambda: _load_url(source), run_in_thread, clock)


def _load_file(path: Path) -> Keys:
    try:
        return keys_of(json.loads(path.read_bytes()), str(path))
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(str(path), error) from None


def _load_url(url: str) -> Keys:
    try:
        return keys_of(json.loads(_fetch(url)), url)
    except (OSError, HTTPException, ValueError, RecursionError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, TimeoutError):
            reason = f"no complete response within {TIMEOUT_SECONDS:g} seconds"
        raise _unreadable(url, reason) from None


def _fetch(url: str) -> bytes:
    until = time.monotonic() + TIMEOUT_SECONDS
    for _ in range(MAX_REDIRECTS + 1):
        try:
            return _fetch_once(url, until)
        except HTTPError as reply:
            reply.close()
            location = reply.headers.get("Location")
            if reply.code not in _REDIRECTS or location is None:
                raise ValueError(f"the response is {reply.code} {reply.reason}".rstrip()) from None
            here, url = url, urljoin(url, location)
            if urlsplit(url).scheme != urlsplit(here).scheme or _url_error(url) is not None:
                raise ValueError(f"it redirects to {url}") from None
    raise ValueError(f"more than {MAX_REDIRECTS} redirects")


def _fetch_once(url: str, until: float) -> bytes:
    """The body of a 200 response; any other raises `HTTPError`."""
    request = Request(url, headers={"Accept": "application/json", "User-Agent": "partita"})  # noqa: S310 - was checked
    body = b""
    with _opener(url).open(request, timeout=_seconds_left(until)) as reply:
        if reply.status != 200:
            raise HTTPError(url, reply.status, reply.reason, reply.headers, None)
        while piece := reply.read1(_CHUNK):
            body += piece
            if len(body) > MAX_BYTES:
                raise ValueError(f"the response is larger than {MAX_BYTES:,} bytes")
            _seconds_left(until)
    return body


def _seconds_left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _opener(url: str) -> OpenerDirector:
    """Uses the proxy that the environment names, except for loopback addresses."""
    proxies = ProxyHandler({}) if is_loopback(urlsplit(url).hostname or "") else ProxyHandler()
    return build_opener(proxies, _NoRedirects)


class _NoRedirects(HTTPRedirectHandler):
    """urllib follows redirects to any address, and reads their bodies to the end."""

    def http_error_302(self, *_: Any) -> None:
        return None

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302  # type: ignore[assignment]


def _url_error(url: str) -> str | None:
    """Why no key set is read from this URL, and what to write instead."""
    try:
        parts = urlsplit(url)
        is_whole = bool(parts.hostname) and parts.port != 0  # a port that is not a number raises here
    except ValueError:
        is_whole = False
    if not is_whole or parts.scheme not in ("http", "https") or parts.username is not None:
        return "not the address of a key set; write https://HOST/PATH, or the name of a file"
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        return "plain http can be intercepted, and other keys put there; write https://"
    return None


def _unreadable(where: str, why: object) -> ConfigurationError:
    return ConfigurationError(f"{where}: the key set cannot be read ({why})")
