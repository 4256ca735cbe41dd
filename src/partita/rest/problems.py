"""Problem details (RFC 9457): every refusal as one JSON shape, with the field named where there is one."""

from typing import Any

import msgspec

from partita.dynamodb.exceptions import DynamoDBError
from partita.errors import (
    AlreadyExists,
    ConditionFailed,
    InvalidCursor,
    InvalidTransition,
    InvalidValue,
    LimitReached,
    NoReply,
    NotFound,
    NotUnique,
    OutcomeUnknown,
    ReferenceMissing,
    RetriesExhausted,
    StorageBusy,
    StoredItemInvalid,
    VersionConflict,
)

MEDIA_TYPE = b"application/problem+json"


class Problem(Exception):
    """A refusal: `kind` is its name in the documentation, `field` the member of the request that is at fault."""

    def __init__(
        self, status: int, kind: str, detail: str, field: str | None = None, *, allow: str | None = None
    ) -> None:
        """`allow` names the methods that are possible where this one is not."""
        super().__init__(detail)
        self.allow = allow
        self.status = status
        self.kind = kind
        self.detail = detail
        self.field = field

    def body(self) -> bytes:
        members: dict[str, Any] = {
            "type": f"urn:partita:problem:{self.kind}",
            "title": TITLES[self.kind],
            "status": self.status,
            "detail": self.detail,
        }
        if self.field is not None:
            members["field"] = self.field
        return msgspec.json.encode(members)


TITLES = {
    "malformed": "The request cannot be read",
    "invalid": "A value is not allowed",
    "unauthorized": "Who are you?",
    "forbidden": "That is not yours to do",
    "not-found": "There is no such thing",
    "method-not-allowed": "That cannot be done here",
    "conflict": "It contradicts what is there",
    "taken": "Somebody else has it",
    "precondition-failed": "It has changed since you read it",
    "too-large": "The request is too large",
    "unsupported-media-type": "Send JSON",
    "busy": "Try again in a moment",
    "unreadable": "What is stored cannot be read",
    "internal": "Something went wrong on our side",
}

_CONFLICTS = (AlreadyExists, LimitReached, InvalidTransition)
_WAITING = (RetriesExhausted, OutcomeUnknown)
_BUSY = ("ThrottlingException", "ProvisionedThroughputExceededException", "RequestLimitExceeded")


def problem_of(error: Exception, *, matching: bool = False) -> Problem | None:
    """The problem that an error of the store or a service is to a client; None when it is a fault of ours.

    Which member of the request it is about, `blame` tells. `matching` says that the client asked for something to be as
    it was read.
    """
    match error:
        case Problem():
            return error
        case NotFound():
            return Problem(404, "not-found", str(error))
        case NotUnique():
            return Problem(409, "taken", str(error))
        case ReferenceMissing():
            return Problem(422, "invalid", str(error))
        case InvalidValue():
            return Problem(422, "invalid", str(error))
        case VersionConflict() | ConditionFailed():
            if matching:
                return Problem(412, "precondition-failed", str(error))
            return Problem(409, "conflict", str(error))
        case StoredItemInvalid():
            return Problem(500, "unreadable", str(error))
        case InvalidCursor():
            return Problem(400, "malformed", str(error), "cursor")
        case StorageBusy():
            return Problem(503, "busy", "the database is busy")
        case NoReply():
            outcome = "; the request may have been executed" if error.perhaps_executed else ""
            return Problem(503, "busy", f"the database does not answer{outcome}")
        case DynamoDBError():
            return _told(error)
    if isinstance(error, _WAITING):
        return Problem(503, "busy", str(error))
    return Problem(409, "conflict", str(error)) if isinstance(error, _CONFLICTS) else None


def _told(error: DynamoDBError) -> Problem | None:
    if error.code in _BUSY:
        return Problem(503, "busy", "the database is busy")
    if error.code == "SerializationException":
        return Problem(400, "malformed", error.message)
    return Problem(422, "invalid", error.message) if error.code == "ValidationException" else None
