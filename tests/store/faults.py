"""A backend that injects faults: throttling, lost replies, unprocessed items, conflicts."""

from collections.abc import Callable
from typing import Any

import msgspec

from partita.dynamodb import requests as wire
from partita.dynamodb.exceptions import (
    DynamoDBError,
    InternalServerError,
    ThrottlingException,
    TransactionCanceledException,
)

Fault = Callable[[Any, Callable[[Any], Any]], Any]


class Faulty:
    """The first requests of a class meet `faults`, one after the other; later ones succeed."""

    def __init__(self, backend: Any, request: type[wire.Request[Any]], *faults: Fault) -> None:
        self._backend = backend
        self._request = request
        self.faults = list(faults)

    def call(self, request: Any, /) -> Any:
        if isinstance(request, self._request) and self.faults:
            return self.faults.pop(0)(request, self._backend.call)
        return self._backend.call(request)


def throttled(_request: Any, _call: Callable[[Any], Any]) -> Any:
    raise ThrottlingException("Rate exceeded")


def conflicting(request: Any, _call: Callable[[Any], Any]) -> Any:
    raise TransactionCanceledException([{"Code": "TransactionConflict"} for _ in request.transact_items])


def reply_lost(request: Any, call: Callable[[Any], Any]) -> Any:
    """The request is applied, and its reply is lost."""
    call(request)
    raise InternalServerError("Internal server error")


def connection_lost(request: Any, call: Callable[[Any], Any]) -> Any:
    call(request)
    raise ConnectionResetError("connection reset")


def never_arrived(_request: Any, _call: Callable[[Any], Any]) -> Any:
    raise ConnectionRefusedError("connection refused")


def broken(_request: Any, _call: Callable[[Any], Any]) -> Any:
    raise DynamoDBError("broken")


def half_written(request: Any, call: Callable[[Any], Any]) -> Any:
    """Only the first item of a batch is written."""
    ((table, requests),) = request.request_items.items()
    reply = call(wire.BatchWriteItem(request_items={table: requests[:1]}))
    reply.unprocessed_items = msgspec.Raw(msgspec.json.encode({table: requests[1:]}))
    return reply


def half_read(request: Any, call: Callable[[Any], Any]) -> Any:
    ((table, asked),) = request.request_items.items()
    reply = call(wire.BatchGetItem(request_items={table: wire.KeysAndAttributes(keys=asked.keys[:1])}))
    reply.unprocessed_keys = msgspec.Raw(msgspec.json.encode({table: wire.KeysAndAttributes(keys=asked.keys[1:])}))
    return reply
