"""Problem details (RFC 9457): every refusal as one JSON shape, with the field named where there is one."""

from typing import Any

import msgspec

from partita.design.errors import ValueRefused
from partita.plan.errors import (
    AlreadyExists,
    ConditionFailed,
    Contended,
    CursorRefused,
    LimitReached,
    NotFound,
    NotUnique,
    OutcomeUnknown,
    ReferenceMissing,
    TransitionRefused,
    VersionConflict,
)
from partita.wire.errors import DynamoDBError

MEDIA_TYPE = b"application/problem+json"


class Problem(Exception):
    """A refusal: `kind` is its name in the documentation, `field` the member of the request that is at fault."""

    def __init__(self, status: int, kind: str, detail: str, field: str | None = None) -> None:
        super().__init__(detail)
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
    "internal": "Something went wrong on our side",
}

_CONFLICTS = (AlreadyExists, LimitReached, ConditionFailed, TransitionRefused)


def problem_of(error: Exception) -> Problem | None:
    """The problem that an error of the store or a service is to a client; None when it is a fault of ours."""
    match error:
        case Problem():
            return error
        case NotFound():
            return Problem(404, "not-found", str(error))
        case NotUnique():
            return Problem(409, "taken", str(error), error.unique)
        case ReferenceMissing():
            return Problem(422, "invalid", str(error), error.missing)
        case ValueRefused():
            return Problem(422, "invalid", str(error), error.where.rpartition(".")[2])
        case VersionConflict():
            return Problem(412, "precondition-failed", str(error))
        case CursorRefused():
            return Problem(400, "malformed", str(error), "cursor")
        case Contended() | OutcomeUnknown():
            return Problem(503, "busy", str(error))
        case DynamoDBError() if error.code in ("ThrottlingException", "ProvisionedThroughputExceededException"):
            return Problem(503, "busy", "the database is busy")
        case DynamoDBError() if error.code == "ValidationException":
            return Problem(422, "invalid", error.message)
    return Problem(409, "conflict", str(error)) if isinstance(error, _CONFLICTS) else None
