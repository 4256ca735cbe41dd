"""Bytes to a request: the fast typed decode first; what it refuses is explained in DynamoDB's words.

DynamoDB's reader is more lenient than a schema: a null member is an absent one, an unknown member is skipped. So a body
that the fast decoder refuses is read again without types, tidied, and either accepted or answered with the
SerializationException that the real service gives.
"""

from typing import Any, TypeVar

import msgspec

from partita.dynamodb.exceptions import DynamoDBError, SerializationException
from partita.dynamodb.operations import OPERATIONS
from partita.dynamodb.requests import Request

Reply = TypeVar("Reply")

_DECODERS = {name: msgspec.json.Decoder(operation.request) for name, operation in OPERATIONS.items()}


def decode_request(operation: str, body: bytes) -> Request[Any]:
    """The request in a body; raises SerializationException where there is none."""
    try:
        request: Request[Any] = _DECODERS[operation].decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _explained(operation, body)
    return request


def _explained(operation: str, body: bytes) -> Request[Any]:
    from partita.dynamodb.serialization_errors import tidied

    try:
        raw = msgspec.json.decode(body)
    except RecursionError:
        raise SerializationException("The request is nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeError):
        raise SerializationException("The request body is not JSON in UTF-8") from None
    request_type = OPERATIONS[operation].request
    try:
        request: Request[Any] = msgspec.convert(tidied(raw, request_type), request_type)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise SerializationException(str(error)) from None
    return request


def same_request(request: Request[Reply]) -> Request[Reply]:
    """The request as it would arrive on the wire; raises SerializationException where its types are wrong."""
    try:
        body = msgspec.json.encode(request)
    except (TypeError, ValueError, RecursionError) as error:
        raise SerializationException(str(error)) from None
    return decode_request(type(request).__name__, body)


def error_body(error: DynamoDBError) -> bytes:
    """The bytes of an error reply."""
    return msgspec.json.encode(error.body())
