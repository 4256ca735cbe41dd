"""CORS: answers preflight requests, and allows pages of the named origins to read responses."""

from collections.abc import Collection

from partita.http.asgi import AsgiApplication, Message, Receive, Scope, Send

MAX_AGE = b"172800"
EXPOSED = b"date, etag, location, idempotency-replayed, retry-after, x-amzn-requestid, x-amz-crc32"
METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE"


class Cors:
    """Wraps an application; the origin `*` allows all."""

    def __init__(self, application: AsgiApplication, origins: Collection[bytes]) -> None:
        self._application = application
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers", ()))
        origin = headers.get(b"origin")
        if scope["type"] != "http" or origin is None or not self._origins & {origin, b"*"}:
            await self._application(scope, receive, send)
            return
        allowed = [(b"access-control-allow-origin", origin), (b"vary", b"origin")]
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
            await _answer_preflight(scope["path"], headers, allowed, send)
            return

        async def send_allowed(message: Message) -> None:
            if message["type"] == "http.response.start":
                exposed = [*allowed, (b"access-control-expose-headers", EXPOSED)]
                message = {**message, "headers": [*message["headers"], *exposed]}
            await send(message)

        await self._application(scope, receive, send_allowed)


async def _answer_preflight(
    path: str, request_headers: dict[bytes, bytes], allowed: list[tuple[bytes, bytes]], send: Send
) -> None:
    headers = [
        *allowed,
        (b"access-control-allow-methods", b"POST" if path == "/" else METHODS),
        (b"access-control-allow-headers", request_headers.get(b"access-control-request-headers", b"")),
        (b"access-control-max-age", MAX_AGE),
        (b"content-length", b"0"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
