"""DynamoDB's JSON protocol from the client's side: a request to its target and body, an answer to a reply or an error.

Replies are decoded straight into their classes, and items in them stay bytes. Pure: whoever sends is elsewhere.
"""

from binascii import crc32
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar, get_args

import msgspec

from partita.dynamodb.exceptions import (
    BY_CODE,
    DynamoDBError,
    InternalServerError,
    ServiceUnavailable,
    UnlistedError,
    ValidationException,
)
from partita.dynamodb.operations import OPERATIONS
from partita.dynamodb.requests import Request
from partita.errors import NoReply

Reply = TypeVar("Reply")


class WireFormat(NamedTuple):
    """How requests of one class travel, and how their replies are read."""

    target: str
    streams: bool
    reply: msgspec.json.Decoder[Any]


_encode = msgspec.json.Encoder().encode
_FORMS: dict[type[Request[Any]], WireFormat] = {}


def wire_format(request: type[Request[Any]]) -> WireFormat:
    """The form of a request's class, made when it is first asked for."""
    form = _FORMS.get(request)
    if form is None:
        target = OPERATIONS[request.__name__].target
        form = WireFormat(target, target.startswith("DynamoDBStreams"), msgspec.json.Decoder(reply_type(request)))
        _FORMS[request] = form
    return form


def reply_type(request: type[Request[Any]]) -> Any:
    """The reply in `class GetItem(Request[GetItemOutput])`."""
    return get_args(request.__orig_bases__[0])[0]  # type: ignore[attr-defined]


def body_of(request: Request[Any]) -> bytes:
    """The request as JSON."""
    try:
        return _encode(request)
    except UnicodeEncodeError:
        raise ValidationException(
            "One or more parameter values were invalid: text with a lone surrogate is not Unicode"
        ) from None


def reply_of(request: Request[Reply], endpoint: str, status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    """The reply in an answer; raises the `DynamoDBError` that it is instead, or `NoReply` when it cannot be read."""
    checksum = headers.get("x-amz-crc32")
    if checksum is not None and checksum != str(crc32(body)):
        raise NoReply(endpoint, "the reply is damaged (its CRC32 differs)", perhaps_executed=True)
    if status != 200:
        raise error_of(status, headers, body)
    try:
        reply: Reply = wire_format(type(request)).reply.decode(body)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise NoReply(endpoint, f"the reply is not one of DynamoDB's ({error})", perhaps_executed=True) from error
    return reply


def error_of(status: int, headers: Mapping[str, str], body: bytes) -> DynamoDBError:
    """The error in an error reply; one that DynamoDB did not write (a proxy's page) is named after its status."""
    try:
        members = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError):
        members = {}
    kind = members.get("__type") or members.get("code") or headers.get("x-amzn-errortype")
    if not isinstance(kind, str):
        return _unnamed(status, body)
    # com.amazonaws.dynamodb.v20120810#ResourceNotFoundException, or SomeException:http://where/it/came/from
    code = kind.rpartition("#")[2].partition(":")[0]
    message = str(members.get("message") or members.get("Message") or "")
    known = BY_CODE.get(code)
    if known is None:
        return UnlistedError(code, status, message)
    return known.from_body(members, message)


def _unnamed(status: int, body: bytes) -> DynamoDBError:
    said = body[:200].decode(errors="replace")
    message = f"HTTP status {status}: {said}" if said else f"HTTP status {status}"
    if status in (502, 503, 504):
        return ServiceUnavailable(message)
    if status >= 500:
        return InternalServerError(message)
    return UnlistedError(f"HTTP{status}", status, message)
