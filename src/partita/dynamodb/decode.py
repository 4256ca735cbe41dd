"""Decodes the body of a request: with types first, and again without them if that fails.

DynamoDB's decoder is more lenient than a schema: a null member counts as absent, an unknown member is skipped. So a
body that the typed decoder rejects is decoded without types, coerced, and then either accepted or rejected with
DynamoDB's own SerializationException.
"""

from typing import Any, TypeVar

import msgspec

from partita.dynamodb.exceptions import DynamoDBError, SerializationException
from partita.dynamodb.json_structure import LARGE, MAX_TOKENS, collection_paused, has_bounded_structure
from partita.dynamodb.operations import OPERATIONS
from partita.dynamodb.requests import Request

Reply = TypeVar("Reply")

_DECODERS = {name: msgspec.json.Decoder(operation.request) for name, operation in OPERATIONS.items()}
_INVALID = (msgspec.MsgspecError, UnicodeError, RecursionError)


def decode_request(operation: str, body: bytes) -> Request[Any]:
    """The request in a body; raises SerializationException if the body is not one."""
    if len(body) > LARGE:
        return _decode_large(operation, body)
    try:
        request: Request[Any] = _DECODERS[operation].decode(body)
    except _INVALID:
        return _slow_decode(operation, body)
    return request


def _decode_large(operation: str, body: bytes) -> Request[Any]:
    if not has_bounded_structure(body):
        raise SerializationException(f"The request has more than {MAX_TOKENS:,} texts, brackets and commas")
    with collection_paused():
        try:
            request: Request[Any] = _DECODERS[operation].decode(body)
        except _INVALID:
            return _slow_decode(operation, body)
        return request


def _slow_decode(operation: str, body: bytes) -> Request[Any]:
    from partita.dynamodb.serialization_errors import coerced

    try:
        raw = msgspec.json.decode(body)
    except RecursionError:
        raise SerializationException("The request is nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeError):
        raise SerializationException("The request body is not JSON in UTF-8") from None
    request_type = OPERATIONS[operation].request
    try:
        request: Request[Any] = msgspec.convert(coerced(raw, request_type), request_type)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise SerializationException(str(error)) from None
    return request


def round_trip(request: Request[Reply]) -> Request[Reply]:
    """The request encoded and decoded again; raises SerializationException if a member has a wrong type."""
    try:
        body = msgspec.json.encode(request)
    except (TypeError, ValueError, RecursionError) as error:
        raise SerializationException(str(error)) from None
    return decode_request(type(request).__name__, body)


def error_body(error: DynamoDBError) -> bytes:
    """The body of an error response."""
    return msgspec.json.encode(error.body())
