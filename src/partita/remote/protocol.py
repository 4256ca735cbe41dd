"""DynamoDB's JSON protocol on the client's side: a request to its target and body, an answer to a reply or an error.

Replies are decoded straight into their classes, and the items in them stay bytes. These functions do no I/O.
"""

import enum
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar, get_args

import msgspec

from partita.crc import crc32
from partita.dynamodb.exceptions import (
    BY_CODE,
    DynamoDBError,
    InternalServerError,
    ServiceUnavailable,
    UnlistedError,
    ValidationException,
)
from partita.dynamodb.operations import OPERATIONS
from partita.dynamodb.requests import Request, SearchVectors
from partita.errors import NoReply

Reply = TypeVar("Reply")


class Host(enum.Enum):
    """Amazon's hosts of one region."""

    TABLES = "tables"
    STREAMS = "streams"
    SEARCH = "search"


class WireFormat(NamedTuple):
    """The target of the requests of one class, the host that takes them, and the decoder of their replies."""

    target: str
    host: Host
    reply: msgspec.json.Decoder[Any]


_encode = msgspec.json.Encoder().encode
_FORMS: dict[type[Request[Any]], WireFormat] = {}


def wire_format(request: type[Request[Any]]) -> WireFormat:
    """Returns the wire format of a class of requests, and caches it."""
    form = _FORMS.get(request)
    if form is None:
        target = OPERATIONS[request.__name__].target
        form = WireFormat(target, _host(request, target), msgspec.json.Decoder(reply_type(request)))
        _FORMS[request] = form
    return form


def _host(request: type[Request[Any]], target: str) -> Host:
    if target.startswith("DynamoDBStreams"):
        return Host.STREAMS
    return Host.SEARCH if request is SearchVectors else Host.TABLES


def reply_type(request: type[Request[Any]]) -> Any:
    """Returns the class of the reply: `GetItemOutput` for `class GetItem(Request[GetItemOutput])`."""
    return get_args(request.__orig_bases__[0])[0]  # type: ignore[attr-defined]


def body_of(request: Request[Any]) -> bytes:
    """Encodes a request as JSON."""
    try:
        return _encode(request)
    except UnicodeEncodeError:
        raise ValidationException(
            "One or more parameter values were invalid: text with a lone surrogate is not Unicode"
        ) from None


def reply_of(request: Request[Reply], endpoint: str, status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    """Decodes a reply; raises its `DynamoDBError` for an error reply, or `NoReply` when it cannot be decoded."""
    checksum = headers.get("x-amz-crc32")
    if checksum is not None and checksum != str(crc32(body)):
        raise NoReply(endpoint, "the reply is damaged (its CRC32 differs)", perhaps_executed=True)
    if status != 200:
        raise error_of(status, headers, body)
    try:
        reply: Reply = wire_format(type(request)).reply.decode(body)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise NoReply(endpoint, f"the reply is not a DynamoDB reply ({error})", perhaps_executed=True) from error
    return reply


def error_of(status: int, headers: Mapping[str, str], body: bytes) -> DynamoDBError:
    """Decodes an error reply; one without an error code (a proxy's page) becomes an error named after its status."""
    try:
        members = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError):
        members = {}
    kind = members.get("__type") or members.get("code") or headers.get("x-amzn-errortype")
    if not isinstance(kind, str):
        return _error_without_code(status, body)
    # com.amazonaws.dynamodb.v20120810#ResourceNotFoundException, or SomeException:http://where/it/came/from
    code = kind.rpartition("#")[2].partition(":")[0]
    message = str(members.get("message") or members.get("Message") or "")
    known = BY_CODE.get(code)
    if known is None:
        return UnlistedError(code, status, message)
    return known.from_body(members, message)


def _error_without_code(status: int, body: bytes) -> DynamoDBError:
    text = body[:200].decode(errors="replace")
    message = f"HTTP status {status}: {text}" if text else f"HTTP status {status}"
    if status in (502, 503, 504):
        return ServiceUnavailable(message)
    if status >= 500:
        return InternalServerError(message)
    return UnlistedError(f"HTTP{status}", status, message)
