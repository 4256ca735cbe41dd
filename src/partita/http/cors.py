"""CORS: answers preflight requests, and allows pages of the named origins to read responses."""

import re
from collections.abc import Sequence

from partita.errors import ConfigurationError
from partita.http.asgi import AsgiApplication, Message, Receive, Scope, Send

MAX_AGE = b"172800"
EXPOSED = b"x-amzn-requestid, x-amz-crc32"

_is_origin = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s]+\Z").match


def check_origin(origin: str) -> None:
    """Raises `ConfigurationError` unless `origin` is like `https://app.example`, `http://localhost:3000`, or `*`."""
    if origin != "*" and not _is_origin(origin):
        raise ConfigurationError(f"--cors {origin}: not an origin; use scheme://host[:port], or * for any")


class Cors:
    """Wraps an application; the origin `*` stands for any."""

    def __init__(self, application: AsgiApplication, origins: Sequence[str]) -> None:
        self._application = application
        self._origins = {origin.encode() for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers", ()))
        origin = headers.get(b"origin")
        if scope["type"] != "http" or origin is None or not self._origins & {origin, b"*"}:
            await self._application(scope, receive, send)
            return
        allowed = [(b"access-control-allow-origin", origin), (b"vary", b"origin")]
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
            await _answer_preflight(headers, allowed, send)
            return

        async def send_allowed(message: Message) -> None:
            if message["type"] == "http.response.start":
                exposed = [*allowed, (b"access-control-expose-headers", EXPOSED)]
                message = {**message, "headers": [*message["headers"], *exposed]}
            await send(message)

        await self._application(scope, receive, send_allowed)


async def _answer_preflight(
    request_headers: dict[bytes, bytes], allowed: list[tuple[bytes, bytes]], send: Send
) -> None:
    headers = [
        *allowed,
        (b"access-control-allow-methods", b"POST"),
        (b"access-control-allow-headers", request_headers.get(b"access-control-request-headers", b"")),
        (b"access-control-max-age", MAX_AGE),
        (b"content-length", b"0"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
