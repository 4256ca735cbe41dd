"""DynamoDB's JSON protocol as a bare ASGI application: a target and a body in, a reply and its checksum out."""

import asyncio
import gzip
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

from partita.server.answers import JSON, Answers, reply_headers
from partita.wire.backend import AsyncBackend
from partita.wire.decode import error_body
from partita.wire.errors import DynamoDBError, SerializationException, UnknownOperationException
from partita.wire.limits import MB

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

LARGEST_BODY = 16 * MB  # DynamoDB's own limit for a request
BODY_SECONDS = 30.0
GZIP_FROM = 4096  # smaller replies are sent sooner than they are compressed

TOO_LARGE = b'{"__type":"com.amazon.coral.service#RequestEntityTooLargeException"}'
_TOO_SLOW = b'{"__type":"com.amazon.coral.service#RequestTimeoutException"}'


class BodyTooLarge(Exception):
    """The body is larger than any request of DynamoDB's may be."""


class Application:
    """The backend is opened when the server starts, since it belongs to the running event loop."""

    def __init__(self, open_backend: Callable[[], AsyncBackend], opened: Callable[[Answers], None]) -> None:
        """`opened` is told once the backend is there."""
        self._open_backend = open_backend
        self._opened = opened
        self._answers: Answers | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        backend = self._open_backend()
        self._answers = Answers(backend)
        self._opened(self._answers)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await backend.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            body = await _body(receive, headers)
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

    async def _answer_get(self, scope: Scope, send: Send, headers: dict[bytes, bytes]) -> None:
        if scope["method"] in ("GET", "HEAD") and scope["path"] in ("/", "/health"):
            await _send(send, 200, b"healthy: partita\n", headers, b"text/plain")
        else:
            await _send(send, 404, error_body(UnknownOperationException()), headers)


async def _body(receive: Receive, headers: dict[bytes, bytes]) -> bytes:
    """The whole body, unzipped; bounded in size and time."""
    message = await receive()
    body: bytes = message.get("body", b"")
    if message.get("more_body"):
        async with asyncio.timeout(BODY_SECONDS):
            parts, size = [body], len(body)
            while message.get("more_body"):
                message = await receive()
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > LARGEST_BODY:
                    raise BodyTooLarge
            body = b"".join(parts)
    if len(body) > LARGEST_BODY:
        raise BodyTooLarge
    return _unzipped(body) if headers.get(b"content-encoding") == b"gzip" else body


def _unzipped(body: bytes) -> bytes:
    unzip = zlib.decompressobj(wbits=31)
    try:
        plain = unzip.decompress(body, LARGEST_BODY + 1)
    except zlib.error:
        raise SerializationException("The request body is not gzip") from None
    if len(plain) > LARGEST_BODY:
        raise BodyTooLarge
    return plain


async def _send(send: Send, status: int, body: bytes, asked: dict[bytes, bytes], content_type: bytes = JSON) -> None:
    extra = []
    if len(body) >= GZIP_FROM and b"gzip" in asked.get(b"accept-encoding", b""):
        body = gzip.compress(body, 1, mtime=0)
        extra = [(b"content-encoding", b"gzip")]
    headers = reply_headers(body, content_type) + extra
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
