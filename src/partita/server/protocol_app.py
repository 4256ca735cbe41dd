"""DynamoDB's JSON protocol as an ASGI application: a target and a body in, a response with its checksum out."""

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from partita.dynamodb.backend import OwnedAsyncBackend
from partita.dynamodb.decode import error_body
from partita.dynamodb.exceptions import DynamoDBError, UnknownOperationException
from partita.dynamodb.limits import MB
from partita.http.asgi import AsgiApplication, Receive, Scope, Send
from partita.http.gzip import accepts_gzip
from partita.http.request_body import BodyTooLarge, decompressed_body, read_raw_body
from partita.server.authorization import Authorizer
from partita.server.dispatch import JSON, Dispatcher, reply_headers
from partita.server.signatures import SignedRequest
from partita.server.turns import Turns

BackgroundWork = Callable[[], AbstractAsyncContextManager[None]]

MAX_BODY = 16 * MB  # DynamoDB's own limit for a request
MIN_GZIP = 4096  # bytes; compressing a smaller response takes longer than sending it

MIN_THREAD = 64 * 1024  # bytes; compressing a smaller response takes less time than a thread

TOO_LARGE = b'{"__type":"com.amazon.coral.service#RequestEntityTooLargeException"}'
_TOO_SLOW = b'{"__type":"com.amazon.coral.service#RequestTimeoutException"}'


class Application:
    """The application; it opens its backend when the server starts, since that needs the running event loop."""

    def __init__(
        self,
        open_backend: Callable[[], Awaitable[OwnedAsyncBackend]],
        on_open: Callable[[Dispatcher], None],
        rest: AsgiApplication | None = None,
        authorizer: Authorizer | None = None,
        background: BackgroundWork = nullcontext,
        *,
        turns: Turns | None = None,
        dynamodb: bool = True,
    ) -> None:
        """`on_open` is called with the open backend's dispatcher. `rest` answers at and below `/api`, and `/` in HTML.

        `background` is entered after the backend is opened, and left before it is closed. Without `dynamodb`, its
        protocol is not served.
        """
        self._rest = rest
        self._dynamodb = dynamodb
        self._turns = turns
        self._authorizer = authorizer
        self._background = background
        self._open_backend = open_backend
        self._on_open = on_open
        self._dispatcher: Dispatcher | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)
        elif scope["type"] == "http" and self._rest is not None and _is_for_rest(scope):
            await self._rest(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        backend = await self._open_backend()
        self._dispatcher = Dispatcher(backend, self._turns)
        self._on_open(self._dispatcher)
        async with self._background():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await backend.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            raw = await read_raw_body(receive, MAX_BODY)
            body = self._authorized_body(scope, headers, raw)
        except BodyTooLarge:
            await _send(send, 413, TOO_LARGE, headers)
            return
        except TimeoutError:
            await _send(send, 408, _TOO_SLOW, headers)
            return
        except DynamoDBError as error:
            await _send(send, error.status, error_body(error), headers)
            return
        if scope["method"] != "POST" or not self._dynamodb:
            await self._answer_get(scope, send, headers)
            return
        assert self._dispatcher is not None
        status, response = await self._dispatcher.dispatch_async(headers.get(b"x-amz-target", b""), body)
        await _send(send, status, response, headers)

    def _authorized_body(self, scope: Scope, headers: dict[bytes, bytes], raw: bytes) -> bytes:
        """The decompressed body of a request that is allowed; raises DynamoDB's error for any other."""
        if self._authorizer is None or scope["method"] != "POST":
            return decompressed_body(raw, headers, MAX_BODY)
        query = scope["query_string"].decode("latin-1")
        request = SignedRequest.of(scope["method"], scope["path"], query, scope["headers"], raw)
        credential = self._authorizer.authenticate(request)
        body = decompressed_body(raw, headers, MAX_BODY)
        self._authorizer.authorize(credential, headers.get(b"x-amz-target", b"").decode("latin-1"), body)
        return body

    async def _answer_get(self, scope: Scope, send: Send, headers: dict[bytes, bytes]) -> None:
        if scope["method"] in ("GET", "HEAD") and scope["path"] in ("/", "/health"):
            await _send(send, 200, b"healthy: partita\n", headers, b"text/plain")
        else:
            await _send(send, 404, error_body(UnknownOperationException()), headers)


def _is_for_rest(scope: Scope) -> bool:
    """`GET /` is a health check of SDKs and a page for browsers; POST is DynamoDB's protocol."""
    path = scope["path"]
    if path.startswith("/api/") or path == "/api":
        return True
    return path == "/" and scope["method"] != "POST" and _accepts_html(scope["headers"])


def _accepts_html(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(name == b"accept" and b"text/html" in value for name, value in headers)


async def _compressed(body: bytes) -> bytes:
    """The body in gzip; a large one is compressed in a thread, so that the event loop goes on meanwhile."""
    if len(body) < MIN_THREAD:
        return gzip.compress(body, 1, mtime=0)
    return await asyncio.to_thread(gzip.compress, body, 1, mtime=0)


async def _send(
    send: Send, status: int, body: bytes, request_headers: dict[bytes, bytes], content_type: bytes = JSON
) -> None:
    extra = []
    if len(body) >= MIN_GZIP and accepts_gzip(request_headers.get(b"accept-encoding", b"")):
        body = await _compressed(body)
        extra = [(b"content-encoding", b"gzip")]
    headers = reply_headers(body, content_type) + extra
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
