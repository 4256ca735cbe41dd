"""Problem details (RFC 9457): every error as one JSON shape, with the member of the request that it is about."""

from typing import Any

import msgspec

from partita.errors import PartitaError

MEDIA_TYPE = b"application/problem+json"

TITLES = {
    "malformed": "Bad Request",
    "invalid": "Unprocessable Content",
    "unauthorized": "Unauthorized",
    "forbidden": "Forbidden",
    "not-registered": "Forbidden",
    "not-found": "Not Found",
    "method-not-allowed": "Method Not Allowed",
    "not-acceptable": "Not Acceptable",
    "timeout": "Request Timeout",
    "conflict": "Conflict",
    "taken": "Conflict",
    "precondition-failed": "Precondition Failed",
    "too-large": "Content Too Large",
    "unsupported-media-type": "Unsupported Media Type",
    "too-many-streams": "Too Many Requests",
    "busy": "Service Unavailable",
    "unreadable": "Internal Server Error",
    "internal": "Internal Server Error",
}
"""The kinds of problems, each with its title: HTTP's own words for the status."""


class Problem(PartitaError):
    """An error as a client gets it: `kind` is one of `TITLES`, `field` the member of the request that it is about."""

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
