"""From a target and a body to the status and body of the reply: what every way in has in common."""

import asyncio
import itertools
import logging
import secrets
from binascii import crc32
from collections.abc import Callable
from typing import Any

import msgspec

from partita.dynamodb.backend import AsyncBackend, QuickBackend
from partita.dynamodb.decode import decode_request, error_body
from partita.dynamodb.exceptions import DynamoDBError, InternalServerError, UnknownOperationException
from partita.dynamodb.operations import TARGETS
from partita.dynamodb.requests import Request

JSON = b"application/x-amz-json-1.0"

_encode = msgspec.json.encode
_log = logging.getLogger("partita.server")

Answer = tuple[int, bytes]


class Answers:
    """Answers DynamoDB's requests from a backend; no error of any kind leaves it."""

    def __init__(self, backend: AsyncBackend) -> None:
        self._backend = backend
        self._engine = backend if isinstance(backend, QuickBackend) else None

    def begin(self, target: bytes, body: bytes, done: Callable[[Answer], None]) -> Answer | None:
        """The answer, where it is known at once; otherwise None, and `done` is called with it later."""
        try:
            request = requested(target, body)
            if self._engine is None:
                _tasks.add(task := asyncio.ensure_future(self._finish(request, done)))
                task.add_done_callback(_tasks.discard)
                return None
            if self._engine.answers_at_once(request):
                return 200, _encode(self._engine.call_at_once(request))
            self._engine.start(request, lambda reply, error: done(_told(reply, error, target)))
        except Exception as error:  # noqa: BLE001 - a client gets an answer, the log gets the traceback
            return failure(error, target)
        return None

    async def answer(self, target: bytes, body: bytes) -> Answer:
        """The same, awaited."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        begun = self.begin(target, body, lambda answer: None if future.done() else future.set_result(answer))
        return await future if begun is None else begun

    async def _finish(self, request: Request[Any], done: Callable[[Answer], None]) -> None:
        try:
            answer = 200, _encode(await self._backend.call(request))
        except Exception as error:  # noqa: BLE001 - as above
            answer = failure(error, type(request).__name__.encode())
        done(answer)


_tasks: set[asyncio.Future[None]] = set()  # an event loop alone does not keep its tasks


def _told(reply: Any, error: BaseException | None, target: bytes) -> Answer:
    return (200, _encode(reply)) if error is None else failure(error, target)


def requested(target: bytes, body: bytes) -> Request[Any]:
    operation = TARGETS.get(target.decode("latin-1"))
    if operation is None:
        raise UnknownOperationException()
    return decode_request(operation, body)


def failure(error: BaseException, target: bytes) -> Answer:
    """An error as its reply; one that nobody foresaw is logged and told without details."""
    if isinstance(error, DynamoDBError):
        return error.status, error_body(error)
    _log.error("an unexpected error while answering %s", target.decode("latin-1"), exc_info=error)
    unknown = InternalServerError("The request processing has failed because of an unknown error")
    return unknown.status, error_body(unknown)


_process = secrets.token_hex(18).upper().encode()
_number = itertools.count(1)
_HEAD = b"content-type: %s\r\nx-amzn-requestid: %s%016X\r\nx-amz-crc32: %d\r\ncontent-length: %d\r\n\r\n"


def reply_head(body: bytes, content_type: bytes = JSON) -> bytes:
    """The headers of a reply, as they are sent: its checksum, and an id that no other reply has."""
    return _HEAD % (content_type, _process, next(_number), crc32(body), len(body))


def reply_headers(body: bytes, content_type: bytes = JSON) -> list[tuple[bytes, bytes]]:
    """The same for ASGI."""
    lines = reply_head(body, content_type).splitlines()[:-1]
    return [(name, value) for name, _, value in (line.partition(b": ") for line in lines)]
