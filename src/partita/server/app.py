"""DynamoDB's JSON protocol as a bare ASGI application: a target and a body in, a reply and its checksum out."""

import asyncio
import gzip
import logging
import secrets
import zlib
from binascii import crc32
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from partita.wire.backend import AsyncBackend
from partita.wire.decode import decode_request, error_body
from partita.wire.errors import DynamoDBError, InternalServerError, SerializationException, UnknownOperationException
from partita.wire.limits import MB
from partita.wire.operations import TARGETS

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

LARGEST_BODY = 16 * MB  # DynamoDB's own limit for a request
BODY_SECONDS = 30.0
GZIP_FROM = 4096  # smaller replies are sent sooner than they are compressed

_JSON = b"application/x-amz-json-1.0"
_encode = msgspec.json.encode
_log = logging.getLogger("partita.server")


class BodyTooLarge(Exception):
    """The body is larger than any request of DynamoDB's may be."""


class Application:
    """`backend` is asked for when the first request comes, since it belongs to the running event loop."""

    def __init__(self, open_backend: Callable[[], AsyncBackend]) -> None:
        self._open_backend = open_backend
        self._backend: AsyncBackend | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        self._backend = self._open_backend()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._backend.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            body = await _body(receive, headers)
        except BodyTooLarge:
            await _send(send, 413, b'{"__type":"com.amazon.coral.service#RequestEntityTooLargeException"}', headers)
            return
        except TimeoutError:
            await _send(send, 408, b'{"__type":"com.amazon.coral.service#RequestTimeoutException"}', headers)
            return
        except DynamoDBError as error:
            await _send(send, error.status, error_body(error), headers)
            return
        if scope["method"] != "POST":
            await self._answer_get(scope, send, headers)
            return
        status, reply = await self._reply(headers.get(b"x-amz-target", b""), body)
        await _send(send, status, reply, headers)

    async def _reply(self, target: bytes, body: bytes) -> tuple[int, bytes]:
        try:
            operation = TARGETS.get(target.decode("latin-1"))
            if operation is None:
                raise UnknownOperationException()
            if self._backend is None:
                raise InternalServerError("the server is not ready")
            return 200, _encode(await self._backend.call(decode_request(operation, body)))
        except DynamoDBError as error:
            return error.status, error_body(error)
        except Exception:  # noqa: BLE001 - a client gets an answer, the log gets the traceback
            _log.exception("an unexpected error while answering %s", target.decode("latin-1"))
            return 500, error_body(InternalServerError("The request processing has failed because of an unknown error"))

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


async def _send(send: Send, status: int, body: bytes, asked: dict[bytes, bytes], content_type: bytes = _JSON) -> None:
    headers = [
        (b"content-type", content_type),
        (b"x-amzn-requestid", secrets.token_hex(26).upper().encode()),
    ]
    if len(body) >= GZIP_FROM and b"gzip" in asked.get(b"accept-encoding", b""):
        body = gzip.compress(body, 1, mtime=0)
        headers.append((b"content-encoding", b"gzip"))
    headers.append((b"x-amz-crc32", b"%d" % crc32(body)))
    headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
