"""From a target and a body to the status and body of the reply: what every way in has in common."""

import itertools
import logging
import secrets
from binascii import crc32
from typing import Any

import msgspec

from partita.wire.backend import AsyncBackend
from partita.wire.decode import decode_request, error_body
from partita.wire.errors import DynamoDBError, InternalServerError, UnknownOperationException
from partita.wire.operations import TARGETS
from partita.wire.requests import Request

JSON = b"application/x-amz-json-1.0"

_encode = msgspec.json.encode
_log = logging.getLogger("partita.server")

Answer = tuple[int, bytes]


class Answers:
    """Answers DynamoDB's requests from a backend; no error of any kind leaves it."""

    def __init__(self, backend: AsyncBackend) -> None:
        self._backend = backend
        self._is_instant: Any = getattr(backend, "answers_at_once", lambda request: False)
        self._call_at_once: Any = getattr(backend, "call_at_once", None)

    def begin(self, target: bytes, body: bytes) -> Answer | Request[Any]:
        """The answer, where it is known at once; otherwise the request, for `finish`."""
        try:
            request = requested(target, body)
            if not self._is_instant(request):
                return request
            return 200, _encode(self._call_at_once(request))
        except Exception as error:  # noqa: BLE001 - a client gets an answer, the log gets the traceback
            return failure(error, target)

    async def finish(self, request: Request[Any]) -> Answer:
        try:
            return 200, _encode(await self._backend.call(request))
        except Exception as error:  # noqa: BLE001 - as above
            return failure(error, type(request).__name__.encode())

    async def answer(self, target: bytes, body: bytes) -> Answer:
        begun = self.begin(target, body)
        return begun if isinstance(begun, tuple) else await self.finish(begun)


def requested(target: bytes, body: bytes) -> Request[Any]:
    operation = TARGETS.get(target.decode("latin-1"))
    if operation is None:
        raise UnknownOperationException()
    return decode_request(operation, body)


def failure(error: Exception, target: bytes) -> Answer:
    """An error as its reply; one that nobody foresaw is logged and told without details."""
    if isinstance(error, DynamoDBError):
        return error.status, error_body(error)
    _log.error("an unexpected error while answering %s", target.decode("latin-1"), exc_info=error)
    unknown = InternalServerError("The request processing has failed because of an unknown error")
    return unknown.status, error_body(unknown)


_process = secrets.token_hex(18).upper()
_number = itertools.count(1)


def reply_headers(body: bytes, content_type: bytes = JSON) -> list[tuple[bytes, bytes]]:
    """The headers of a reply: its checksum, and an id that no other reply has."""
    return [
        (b"content-type", content_type),
        (b"x-amzn-requestid", b"%s%016X" % (_process.encode(), next(_number))),
        (b"x-amz-crc32", b"%d" % crc32(body)),
        (b"content-length", b"%d" % len(body)),
    ]
