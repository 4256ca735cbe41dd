"""Request and response bodies of Checks' API."""

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from partita_systems import fields
from partita_systems.checks import design as d

Email = Annotated[fields.Email, Meta(examples=["ana@example.com"])]
TypeName = Annotated[
    fields.Line,
    Meta(max_length=60, description="A registered check type; `GET /types` lists them.", examples=["AVAILABILITY"]),
]
Url = Annotated[fields.Line, Meta(max_length=2000, examples=["https://example.com/"])]
Delay = Annotated[int, Meta(ge=d.MIN_DELAY_MS, le=7 * 24 * 3600 * 1000, examples=[60_000])]
Days = Annotated[int, Meta(ge=1, le=30)]
Attributes = Annotated[dict[str, Any], Meta(examples=[{"keyword": "welcome"}])]


class Registration(Struct, forbid_unknown_fields=True):
    email: Email


class NewCheck(Struct, forbid_unknown_fields=True, rename="camel"):
    url: Url
    check_type: TypeName
    delay_ms: Delay
    attributes: Attributes = {}


class ChangedCheck(Struct, forbid_unknown_fields=True, rename="camel"):
    """Fields that are left out stay unchanged."""

    url: Url | UnsetType = UNSET
    delay_ms: Delay | UnsetType = UNSET
    attributes: Attributes | UnsetType = UNSET


class CheckTypeInfo(Struct, rename="camel"):
    """A registered check type and the names of its attributes."""

    check_type: str
    attributes: list[str]


class CheckTypes(Struct):
    items: list[CheckTypeInfo]


class Allowance(Struct, forbid_unknown_fields=True, rename="camel"):
    check_limit: Annotated[int, Meta(ge=0, le=10_000, examples=[20])]
    tier: d.Tier


class ClaimRequest(Struct, forbid_unknown_fields=True):
    count: Annotated[int, Meta(ge=1, le=100, examples=[10])] = 10


class ClaimedCheck(Struct):
    """A check to run before `until`; the result is sent with the same `until`."""

    check: d.Check
    until: datetime


class Claims(Struct):
    items: list[ClaimedCheck]


class NewResult(Struct, forbid_unknown_fields=True, rename="camel"):
    """The outcome of a run. `until` is that of the claim, `responseTime` is in milliseconds."""

    until: Annotated[datetime, Meta(tz=True, examples=["2025-01-01T00:02:00Z"])]
    status: Literal["UP", "DOWN"]
    response_time: Annotated[int, Meta(ge=0, le=d.MAX_RUN_MS, examples=[250])] | None = None
    keyword_found: bool | None = None
    price: Annotated[fields.FreeText, Meta(max_length=40, examples=["19.90"])] | None = None
    reason: Annotated[fields.FreeText, Meta(max_length=1000, examples=["HTTP status 503"])] | None = None

    def outcome(self) -> d.Outcome:
        return d.Outcome(
            status=self.status,
            response_time=self.response_time,
            keyword_found=self.keyword_found,
            price=self.price,
            reason=self.reason,
        )
