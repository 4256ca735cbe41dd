"""Answers a DynamoDB request: from its target and body to the status and body of the response."""

import asyncio
import itertools
import logging
import secrets
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from partita.crc import crc32
from partita.dynamodb.backend import AsyncBackend, NonblockingBackend
from partita.dynamodb.decode import decode_request, error_body
from partita.dynamodb.exceptions import DynamoDBError, InternalServerError, UnknownOperationException
from partita.dynamodb.operations import OPERATIONS, TARGETS
from partita.dynamodb.requests import Request
from partita.errors import StorageBusy, StorageError
from partita.server.large_requests import LargeRequests
from partita.server.turns import Turns

JSON = b"application/x-amz-json-1.0"
LARGE = 64 * 1024  # bytes of a request that may take long, whatever the operation
_LONG = (
    "BatchExecuteStatement",
    "BatchGetItem",
    "ExecuteStatement",
    "ExecuteTransaction",
    "GetRecords",
    "Query",
    "Scan",
)
LONG_TARGETS = frozenset(OPERATIONS[name].target.encode() for name in (*_LONG, "TransactGetItems"))

_FAILED_STORAGE = "The database cannot be read or written; the log of the server has the reason."
_encode = msgspec.json.encode
_log = logging.getLogger("partita.server")

ProtocolResponse = tuple[int, bytes]
Done = Callable[[ProtocolResponse], None]


def is_long(target: bytes, body: bytes) -> bool:
    """Whether a request may take long."""
    return target in LONG_TARGETS or len(body) >= LARGE


class Dispatcher:
    """Answers DynamoDB requests from a backend; every error becomes a response."""

    def __init__(self, backend: AsyncBackend, turns: Turns | None = None) -> None:
        self._backend = backend
        self._engine = backend if isinstance(backend, NonblockingBackend) else None
        self._turns = turns or Turns()
        self._large_requests = LargeRequests(self._turns)

    def dispatch(
        self, target: bytes, body: bytes, done: Done, is_wanted: Callable[[], bool] = lambda: True
    ) -> ProtocolResponse | None:
        """Returns the response to a nonblocking request; otherwise None, and `done` is called with it later.

        A request that may take long waits where others like it have taken their time in this turn of the event loop,
        and is dropped if it is not wanted any more when its turn comes.
        """
        if len(body) >= LARGE:
            self._large_requests.add(len(body), partial(self._decode_large, target, body, done, is_wanted))
            return None
        if target in LONG_TARGETS:
            return self._turns.run(partial(self._dispatch, target, body, done), done, is_wanted)
        return self._dispatch(target, body, done)

    def _dispatch(self, target: bytes, body: bytes, done: Done) -> ProtocolResponse | None:
        try:
            return self._execute(parse_request(target, body), target, done)
        except Exception as error:  # noqa: BLE001 - the client gets a response, the log the traceback
            return error_response(error, target)

    def _execute(self, request: Request[Any], target: bytes, done: Done) -> ProtocolResponse | None:
        """As `dispatch`, and raises the request's error where it is known at once."""
        if self._engine is None:
            _tasks.add(task := asyncio.ensure_future(self._finish(request, done)))
            task.add_done_callback(_tasks.discard)
            return None
        if self._engine.is_nonblocking(request):
            return 200, _encode(self._engine.call_nonblocking(request))
        self._engine.start(request, lambda reply, error: done(_response_for(reply, error, target)))
        return None

    def _decode_large(
        self, target: bytes, body: bytes, done: Done, is_wanted: Callable[[], bool]
    ) -> Callable[[Callable[[], None]], None] | None:
        """What executes a large request; None where it has been answered, or is not wanted any more."""
        if not is_wanted():
            return None
        try:
            request = parse_request(target, body)
        except Exception as error:  # noqa: BLE001 - as above
            done(error_response(error, target))
            return None
        return partial(self._execute_large, request, target, done)

    def _execute_large(self, request: Request[Any], target: bytes, done: Done, finish: Callable[[], None]) -> None:
        def answer(response: ProtocolResponse) -> None:
            finish()
            done(response)

        try:
            response = self._execute(request, target, answer)
        except Exception as error:  # noqa: BLE001 - as above
            response = error_response(error, target)
        if response is not None:
            answer(response)

    async def dispatch_async(self, target: bytes, body: bytes) -> ProtocolResponse:
        """`dispatch`, awaited."""
        future: asyncio.Future[ProtocolResponse] = asyncio.get_running_loop().create_future()
        response = self.dispatch(target, body, lambda found: None if future.done() else future.set_result(found))
        return await future if response is None else response

    async def _finish(self, request: Request[Any], done: Done) -> None:
        try:
            response = 200, _encode(await self._backend.call(request))
        except Exception as error:  # noqa: BLE001 - as above
            response = error_response(error, type(request).__name__.encode())
        done(response)


_tasks: set[asyncio.Future[None]] = set()  # an event loop has only weak references to its tasks


def _response_for(reply: Any, error: BaseException | None, target: bytes) -> ProtocolResponse:
    return (200, _encode(reply)) if error is None else error_response(error, target)


def parse_request(target: bytes, body: bytes) -> Request[Any]:
    operation = TARGETS.get(target.decode("latin-1"))
    if operation is None:
        raise UnknownOperationException()
    return decode_request(operation, body)


def error_response(error: BaseException, target: bytes) -> ProtocolResponse:
    """The response for an error. Unexpected errors are logged and answered with a generic InternalServerError.

    So are errors of the storage, whose words name files of this machine.
    """
    if isinstance(error, DynamoDBError) and isinstance(error.__cause__, StorageError):
        _log.error("the storage failed while answering %s: %s", target.decode("latin-1"), error.__cause__)
        busy = "The database is busy. Try again later."
        public = error.with_message(busy if isinstance(error.__cause__, StorageBusy) else _FAILED_STORAGE)
        return public.status, error_body(public)
    if isinstance(error, DynamoDBError):
        return error.status, error_body(error)
    _log.error("an unexpected error while answering %s", target.decode("latin-1"), exc_info=error)
    unknown = InternalServerError("The request processing has failed because of an unknown error")
    return unknown.status, error_body(unknown)


_process = secrets.token_hex(18).upper().encode()
_number = itertools.count(1)
_HEAD = b"content-type: %s\r\nx-amzn-requestid: %s%016X\r\nx-amz-crc32: %d\r\ncontent-length: %d\r\n\r\n"


def reply_head(body: bytes, content_type: bytes = JSON) -> bytes:
    """The header lines of a response, with its checksum and a unique request id."""
    return _HEAD % (content_type, _process, next(_number), crc32(body), len(body))


def reply_headers(body: bytes, content_type: bytes = JSON) -> list[tuple[bytes, bytes]]:
    """The same for ASGI."""
    lines = reply_head(body, content_type).splitlines()[:-1]
    return [(name, value) for name, _, value in (line.partition(b": ") for line in lines)]
