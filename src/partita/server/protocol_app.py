"""DynamoDB's JSON protocol as a bare ASGI application: a target and a body in, a reply and its checksum out."""

import gzip
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from partita.dynamodb.backend import OwnedAsyncBackend
from partita.dynamodb.decode import error_body
from partita.dynamodb.exceptions import DynamoDBError, UnknownOperationException
from partita.dynamodb.limits import MB
from partita.http.gzip import takes_gzip
from partita.http.request_body import BodyTooLarge, plain_body, read_raw_body
from partita.server.authorization import Authorizer
from partita.server.dispatch import JSON, Answers, reply_headers
from partita.server.signatures import SignedRequest

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
AsgiApplication = Callable[[Scope, Receive, Send], Awaitable[None]]
Meanwhile = Callable[[], AbstractAsyncContextManager[None]]

LARGEST_BODY = 16 * MB  # DynamoDB's own limit for a request
GZIP_FROM = 4096  # smaller replies are sent sooner than they are compressed

TOO_LARGE = b'{"__type":"com.amazon.coral.service#RequestEntityTooLargeException"}'
_TOO_SLOW = b'{"__type":"com.amazon.coral.service#RequestTimeoutException"}'


class Application:
    """The backend is opened when the server starts, since it belongs to the running event loop."""

    def __init__(
        self,
        open_backend: Callable[[], Awaitable[OwnedAsyncBackend]],
        opened: Callable[[Answers], None],
        rest: AsgiApplication | None = None,
        guard: Authorizer | None = None,
        meanwhile: Meanwhile = nullcontext,
    ) -> None:
        """`opened` is told once the backend is there; `rest` answers at and below `/api`, and `/` to a browser.

        `meanwhile` is entered when the backend is there and left before it is closed.
        """
        self._rest = rest
        self._guard = guard
        self._meanwhile = meanwhile
        self._open_backend = open_backend
        self._opened = opened
        self._answers: Answers | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http" and self._rest is not None and _is_for_rest(scope):
            await self._rest(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        backend = await self._open_backend()
        self._answers = Answers(backend)
        self._opened(self._answers)
        async with self._meanwhile():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await backend.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            raw = await read_raw_body(receive, LARGEST_BODY)
            body = self._guarded(scope, headers, raw)
        except BodyTooLarge:
            await _send(send, 413, TOO_LARGE, headers)
            return
        except TimeoutError:
            await _send(send, 408, _TOO_SLOW, headers)
            return
        except DynamoDBError as error:
            await _send(send, error.status, error_body(error), headers)
            return
        if scope["method"] != "POST":
            await self._answer_get(scope, send, headers)
            return
        assert self._answers is not None
        status, reply = await self._answers.answer(headers.get(b"x-amz-target", b""), body)
        await _send(send, status, reply, headers)

    def _guarded(self, scope: Scope, headers: dict[bytes, bytes], raw: bytes) -> bytes:
        """The plain body of a request that may be answered; raises DynamoDB's error for one that may not."""
        if self._guard is None or scope["method"] != "POST":
            return plain_body(raw, headers, LARGEST_BODY)
        query = scope["query_string"].decode("latin-1")
        request = SignedRequest.of(scope["method"], scope["path"], query, scope["headers"], raw)
        credential = self._guard.check_signature(request)
        body = plain_body(raw, headers, LARGEST_BODY)
        self._guard.check_permission(credential, headers.get(b"x-amz-target", b"").decode("latin-1"), body)
        return body

    async def _answer_get(self, scope: Scope, send: Send, headers: dict[bytes, bytes]) -> None:
        if scope["method"] in ("GET", "HEAD") and scope["path"] in ("/", "/health"):
            await _send(send, 200, b"healthy: partita\n", headers, b"text/plain")
        else:
            await _send(send, 404, error_body(UnknownOperationException()), headers)


def _is_for_rest(scope: Scope) -> bool:
    """An SDK asks for `/` to learn whether all is well, a browser to see something; POST is DynamoDB's protocol."""
    path = scope["path"]
    if path.startswith("/api/") or path == "/api":
        return True
    return path == "/" and scope["method"] != "POST" and _takes_html(scope["headers"])


def _takes_html(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(name == b"accept" and b"text/html" in value for name, value in headers)


async def _send(send: Send, status: int, body: bytes, asked: dict[bytes, bytes], content_type: bytes = JSON) -> None:
    extra = []
    if len(body) >= GZIP_FROM and takes_gzip(asked.get(b"accept-encoding", b"")):
        body = gzip.compress(body, 1, mtime=0)
        extra = [(b"content-encoding", b"gzip")]
    headers = reply_headers(body, content_type) + extra
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
