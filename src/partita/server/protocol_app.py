"""DynamoDB's JSON protocol as an ASGI application: a target and a body in, a response with its checksum out."""

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext, suppress
from dataclasses import replace
from typing import Any

from partita.dynamodb.backend import OwnedAsyncBackend
from partita.dynamodb.decode import error_body
from partita.dynamodb.exceptions import DynamoDBError, UnknownOperationException
from partita.dynamodb.limits import MB
from partita.http.asgi import AsgiApplication, Receive, Scope, Send
from partita.http.file_addresses import FileAddresses
from partita.http.gzip import accepts_gzip
from partita.http.metrics_endpoint import PATH as METRICS_PATH
from partita.http.metrics_endpoint import MetricsEndpoint
from partita.http.request_body import (
    BodyTooLarge,
    ClientDisconnected,
    content_encodings,
    decompressed,
    header_map,
    read_raw_body,
)
from partita.server.authorization import Authorizer
from partita.server.dispatch import JSON, Dispatcher, is_long, reply_headers
from partita.server.signatures import SignedRequest
from partita.server.turns import Turns

BackgroundWork = Callable[[], AbstractAsyncContextManager[None]]

MAX_BODY = 16 * MB  # DynamoDB's own limit for a request
MIN_GZIP = 4096  # bytes; compressing a smaller response takes longer than sending it

MAX_COMPRESSIONS = 4  # responses in memory that are compressed, or about to be
MAX_DECOMPRESSIONS = 2  # requests in memory that have been compressed and are large
MIN_THREAD = 64 * 1024  # bytes; compressing less takes less time than a thread

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
        metrics: MetricsEndpoint | None = None,
        files: FileAddresses | None = None,
        studio: AsgiApplication | None = None,
    ) -> None:
        """`on_open` is called with the open backend's dispatcher. `rest` answers at and below `/api`, and `/` in HTML.

        It answers for `files`, too.

        `background` is entered after the backend is opened, and left before it is closed. Without `dynamodb`, its
        protocol is not served. `metrics` answers GET /metrics, and `studio` at and below `/studio`.
        """
        self._metrics = metrics
        self._files = files or FileAddresses()
        self._rest = rest
        self._studio = studio
        self._dynamodb = dynamodb
        self._turns = turns
        self._authorizer = authorizer
        self._background = background
        self._open_backend = open_backend
        self._on_open = on_open
        self._dispatcher: Dispatcher | None = None
        self._thread = ThreadPoolExecutor(1, "partita-gzip")
        self._compressions = asyncio.Semaphore(MAX_COMPRESSIONS)
        self._decompressions = asyncio.Semaphore(MAX_DECOMPRESSIONS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)
        elif scope["type"] == "http" and self._rest is not None and self._is_for_rest(scope):
            await self._rest(scope, receive, send)
        elif scope["type"] == "http" and self._studio is not None and _is_for_studio(scope):
            await self._studio(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    def _is_for_rest(self, scope: Scope) -> bool:
        """`GET /` is a health check of SDKs and a page for browsers; POST is DynamoDB's protocol."""
        path = scope["path"]
        if self._files.matches(scope) or path.startswith("/api/") or path == "/api":
            return True
        return path == "/" and scope["method"] != "POST" and _accepts_html(scope["headers"])

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        backend = await self._open_backend()
        self._dispatcher = Dispatcher(backend, self._turns)
        self._on_open(self._dispatcher)
        async with self._background():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await backend.close()
        self._thread.shutdown()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = header_map(scope["headers"])
        if scope["method"] != "POST" or not self._dynamodb:
            await self._answer_get(scope, send)
            return
        try:
            status, response, compressed = await self._answer_post(scope, headers, receive)
        except ClientDisconnected:
            return
        except BodyTooLarge:
            await _send(send, 413, TOO_LARGE)
        except TimeoutError:
            await _send(send, 408, _TOO_SLOW)
        except DynamoDBError as error:
            await _send(send, error.status, error_body(error))
        else:
            await _send(send, status, response, extra=[(b"content-encoding", b"gzip")] if compressed else [])

    async def _answer_post(
        self, scope: Scope, headers: dict[bytes, bytes], receive: Receive
    ) -> tuple[int, bytes, bool]:
        """Status and body of the response, and whether it is compressed; raises DynamoDB's error for the request."""
        async with AsyncExitStack() as until_answered:
            return await self._dispatch(headers, await self._read_authorized(scope, headers, receive, until_answered))

    async def _read_authorized(
        self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, until_answered: AsyncExitStack
    ) -> bytes:
        """The decompressed body of a request that is allowed; raises DynamoDB's error for any other."""
        if self._authorizer is None:
            encodings = content_encodings(headers)
            return await self._decompressed(await read_raw_body(receive, MAX_BODY), encodings, until_answered)
        query = scope["query_string"].decode("latin-1")
        request = SignedRequest.of(scope["method"], scope["path"], query, scope["headers"], b"")
        self._authorizer.check_headers(request)
        raw = await read_raw_body(receive, MAX_BODY)
        credential = self._authorizer.authenticate(replace(request, body=raw))
        body = await self._decompressed(raw, content_encodings(headers), until_answered)
        self._authorizer.authorize(credential, headers.get(b"x-amz-target", b"").decode("latin-1"), body)
        return body

    async def _decompressed(self, body: bytes, encodings: list[bytes], until_answered: AsyncExitStack) -> bytes:
        """The body without its encodings; few large ones are in memory at a time, until they are answered."""
        if not encodings:
            return body
        if len(body) < MIN_GZIP:
            with suppress(BodyTooLarge):
                return decompressed(body, encodings, MIN_THREAD)
        await until_answered.enter_async_context(self._decompressions)
        return await self._in_thread(decompressed, body, encodings, MAX_BODY)

    async def _dispatch(self, headers: dict[bytes, bytes], body: bytes) -> tuple[int, bytes, bool]:
        """Status and body of the response, and whether it is compressed."""
        assert self._dispatcher is not None
        target = headers.get(b"x-amz-target", b"")
        if not accepts_gzip(headers.get(b"accept-encoding", b"")):
            return *await self._dispatcher.dispatch_async(target, body), False
        async with self._compressions if is_long(target, body) else nullcontext():
            status, response = await self._dispatcher.dispatch_async(target, body)
            if len(response) < MIN_GZIP:
                return status, response, False
            if len(response) < MIN_THREAD:
                return status, _gzip(response), True
            return status, await self._in_thread(_gzip, response), True

    async def _in_thread(self, work: Callable[..., bytes], *arguments: Any) -> bytes:
        """Compresses or decompresses while the event loop goes on."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    async def _answer_get(self, scope: Scope, send: Send) -> None:
        if scope["method"] in ("GET", "HEAD") and scope["path"] in ("/", "/health"):
            await _send(send, 200, b"healthy: partita\n", content_type=b"text/plain")
        elif scope["method"] == "GET" and scope["path"] == METRICS_PATH and self._metrics is not None:
            authorization = dict(scope["headers"]).get(b"authorization", b"")
            status, kind, body = await asyncio.to_thread(self._metrics.respond, authorization)
            await _send(send, status, body, content_type=kind.encode())
        else:
            await _send(send, 404, error_body(UnknownOperationException()))


def _is_for_studio(scope: Scope) -> bool:
    """Its own paths, and the page at `/` where there is no other."""
    path = scope["path"]
    if path == "/studio" or path.startswith("/studio/"):
        return True
    return path == "/" and scope["method"] == "GET" and _accepts_html(scope["headers"])


def _accepts_html(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(name == b"accept" and b"text/html" in value for name, value in headers)


def _gzip(body: bytes) -> bytes:
    return gzip.compress(body, 1, mtime=0)


async def _send(
    send: Send, status: int, body: bytes, *, content_type: bytes = JSON, extra: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    headers = [*reply_headers(body, content_type), *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
