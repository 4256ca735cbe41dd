"""Services with JSON over HTTP, such as embeddings and OpenSearch: time-outs, errors, and requests sent again."""

import logging
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from partita.errors import ConfigurationError, NoReply, ServiceRejected
from partita.extras import needs

T = TypeVar("T")
Authorize = Callable[[str, str, bytes], Mapping[str, str]]
"""The headers that authorize a request, by its method, its path with the query, and its body."""

LOG = logging.getLogger("partita.services")

_FIRST_SECONDS, _MAX_SECONDS = 0.25, 20.0
_MAX_RETRY_AFTER = 60.0
_MAX_REPLY = 64 << 20


class ServiceRetries:
    """Calls a function up to `retries` times more: after no reply, throttling and faults of the service."""

    def __init__(
        self,
        retries: int,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._retries = retries
        self._sleep = sleep
        self._jitter = jitter

    def run(self, call: Callable[[], T]) -> T:
        """The result of the call; raises its last error."""
        for attempt in range(self._retries):
            try:
                return call()
            except (NoReply, ServiceRejected) as error:
                if isinstance(error, ServiceRejected) and not error.is_transient:
                    raise
                seconds = self._pause(attempt, error)
                LOG.warning("%s; attempt %d of %d, again in %.1f s", error, attempt + 1, self._retries + 1, seconds)
                self._sleep(seconds)
        return call()

    def _pause(self, attempt: int, error: NoReply | ServiceRejected) -> float:
        asked = error.retry_after if isinstance(error, ServiceRejected) else None
        if asked is not None:
            return min(asked, _MAX_RETRY_AFTER)
        most = min(_MAX_SECONDS, _FIRST_SECONDS * float(1 << attempt))
        return most * (0.5 + self._jitter() / 2)


class JsonService:
    """A service at a URL; `rejection` is the error for its replies with another status than 2xx."""

    def __init__(
        self,
        url: str,
        rejection: type[ServiceRejected],
        *,
        retries: int,
        connections: int,
        connect_timeout: float,
        read_timeout: float,
        authorize: Authorize | None = None,
        ca_bundle: str | None = None,
    ) -> None:
        with needs("a service over HTTP", "remote"):
            import urllib3
        self.url = url.rstrip("/")
        self.retries = ServiceRetries(retries)
        self._base = urlsplit(self.url).path
        self._rejection = rejection
        self._authorize = authorize
        timeout = urllib3.Timeout(connect=connect_timeout, read=read_timeout)
        self._pool = urllib3.PoolManager(timeout=timeout, maxsize=connections, retries=False, ca_certs=ca_bundle)

    def request(self, method: str, path: str, body: bytes, read: Callable[[bytes], T]) -> T:
        """The reply as `read` gives it. The request is sent again after passing faults: twice must do no harm."""
        return self.retries.run(lambda: self.send(method, path, body, read))

    def send(
        self, method: str, path: str, body: bytes, read: Callable[[bytes], T], content_type: str = "application/json"
    ) -> T:
        """Sends a request once. A `DecodeError` of `read` counts as no reply."""
        status, retry_after, data = self._exchange(method, path, body, content_type)
        if not 200 <= status < 300:
            raise self._rejection(f"{self.url}{path}", status, _reason(data), _seconds(retry_after))
        try:
            return read(data)
        except msgspec.DecodeError as error:
            raise self.unreadable(path, str(error)) from error

    def unreadable(self, path: str, reason: str) -> NoReply:
        """The error for a reply that is not what was asked for."""
        return NoReply(f"{self.url}{path}", f"the reply cannot be read: {reason}", perhaps_executed=True)

    def close(self) -> None:
        self._pool.clear()

    def _exchange(self, method: str, path: str, body: bytes, content_type: str) -> tuple[int, str | None, bytes]:
        from urllib3.exceptions import HTTPError, LocationParseError

        headers = {"Accept": "application/json", "Content-Type": content_type}
        if self._authorize is not None:
            headers |= self._authorize(method, f"{self._base}{path}", body)
        url = f"{self.url}{path}"
        try:
            response = self._pool.request(
                method, url, body=body, headers=headers, redirect=False, preload_content=False
            )
            data = response.read(_MAX_REPLY + 1)
            response.release_conn()
        except LocationParseError as error:
            raise ConfigurationError(f"url: {error}") from error
        except HTTPError as error:
            raise NoReply(url, str(error), perhaps_executed=True) from error
        return response.status, response.headers.get("Retry-After"), data


def _reason(data: bytes) -> str:
    """The message of an error reply: that of `{"error": ...}`, or the beginning of any other text."""
    with suppress(msgspec.DecodeError, TypeError, LookupError):
        error: Any = msgspec.json.decode(data)["error"]
        if isinstance(error, str):
            return error
        return str(error["message"] if "message" in error else f"{error['type']}: {error['reason']}")
    return data[:200].decode(errors="replace").strip() or "no message"


def _seconds(retry_after: str | None) -> float | None:
    """The wait that a service asks for in seconds; a date is ignored."""
    return float(retry_after) if retry_after is not None and retry_after.isdecimal() else None
