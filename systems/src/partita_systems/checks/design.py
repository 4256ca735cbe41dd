"""The design of Checks: users, their checks, due times and results. Two tables with plain ids as keys."""

from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec

from partita import (
    ALL_SHARDS,
    AUTO,
    CountOf,
    CreatedAt,
    Entity,
    Expires,
    F,
    Index,
    InKey,
    Internal,
    Item,
    Items,
    Keys,
    Limit,
    OpenEnum,
    Owns,
    StoredAs,
    Table,
    Unique,
    Untracked,
    UpdatedAt,
    View,
    pattern,
    prove,
    query,
)
from partita_systems import fields

SHARD_COUNT = 4
KEEP_RESULTS = timedelta(days=30)
MIN_DELAY_MS = 10_000
MAX_RUN_MS = 24 * 3600 * 1000
FAILURES_IN_A_ROW = 3


class Tier(OpenEnum):
    FREE = "FREE"
    PRO = "PRO"


class UserStatus(OpenEnum):
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    DELETING = "LEAVING"


class CheckType(OpenEnum):
    AVAILABILITY = "AVAILABILITY"
    EBAY = "EBAY"


class CheckStatus(OpenEnum):
    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    FAILED = "FAILED"


class AlertKind(OpenEnum):
    FAILED = "FAILED"
    RECOVERED = "RECOVERED"


class Outcome(msgspec.Struct, kw_only=True, rename="camel"):
    """The outcome of a run: `status` is UP or DOWN. Other code may store no status, or fractions of a millisecond."""

    status: str | None = None
    response_time: Annotated[float, msgspec.Meta(ge=0, le=MAX_RUN_MS)] | None = None
    keyword_found: bool | None = None
    price: fields.FreeText | None = None
    reason: fields.FreeText | None = None

    def __post_init__(self) -> None:
        if self.response_time is not None and self.response_time % 1 == 0:
            self.response_time = int(self.response_time)


# USER -------------------------------------------------------------------------------------------------------------

users = Table("USER", pk="PK", sk="SK", naming="camel", indexes=(Index("EmailIndex", "email", "PK"),))


class User(Entity, table=users, key=("{user_id}", "USER")):
    user_id: Annotated[str, InKey()]
    email: Annotated[fields.Email, Unique(case_insensitive=True)]
    tier: Tier = Tier.FREE
    check_limit: Annotated[int, msgspec.Meta(ge=0)] = 5
    check_count: Annotated[int, CountOf(lambda: Check, via={"user_id": "user_id"})] = 0
    status: UserStatus = UserStatus.ACTIVE
    created_at: Annotated[datetime, CreatedAt()] = AUTO
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO

    by_email = Keys("EmailIndex")
    allowance = Limit(F.check_count <= F.check_limit)


# CHECK ------------------------------------------------------------------------------------------------------------


class CheckSummary(View, naming="camel"):
    """The attributes in TypeStatusIndex."""

    check_id: Annotated[str, InKey()]
    user_id: Annotated[str, StoredAs("userid")]
    check_type: CheckType
    status: CheckStatus = CheckStatus.ACTIVE
    created_at: Annotated[datetime, CreatedAt()] = AUTO

    of_type = Keys("TypeStatusIndex")


checks = Table(
    "CHECK",
    pk="PK",
    sk="SK",
    naming="camel",
    ttl="ttl",
    stream="NEW_AND_OLD_IMAGES",
    indexes=(
        Index("UserCheckIndex", "userid", "PK"),
        Index("TypeStatusIndex", "checkType", "status", project=(CheckSummary,)),
        Index("DueIndex", "dueShard", "dueAt"),
    ),
)


class Check(CheckSummary, Entity, table=checks, key=("{check_id}", "CHECK")):
    url: str
    delay_ms: Annotated[int, msgspec.Meta(ge=MIN_DELAY_MS)]
    attributes: dict[str, Any] = msgspec.field(default_factory=dict)
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO
    last_executed_at: Annotated[datetime | None, Untracked()] = None
    last_result: Annotated[Outcome | None, Untracked()] = None
    due_at: Annotated[datetime, Untracked()] = AUTO
    failures: Annotated[int, Untracked()] = 0

    of_user = Keys("UserCheckIndex")
    due = Keys("DueIndex", "{check_id:shard(4)}", when=F.status.is_in(CheckStatus.ACTIVE, CheckStatus.FAILED))
    history = Owns(lambda: Result)
    alerts = Owns(lambda: Alert)

    def __post_init__(self) -> None:
        """Items of other code lack `dueAt` and `failures`: both are derived."""
        since = self.last_executed_at or self.created_at
        if self.due_at is AUTO and since is not AUTO:
            self.due_at = since + timedelta(milliseconds=self.delay_ms)
        if self.status == CheckStatus.FAILED and not self.failures:
            self.failures = FAILURES_IN_A_ROW


class Result(Entity, table=checks, key=("RESULT#{check_id}", "{at}")):
    """The result of one run, under its own key and without index attributes."""

    check_id: Annotated[str, InKey()]
    at: Annotated[datetime, InKey()]
    outcome: Outcome

    expiry = Expires("at", after=KEEP_RESULTS)


class Alert(Entity, table=checks, key=("ALERT#{check_id}", "{at}")):
    """A check has failed or recovered with its run at this time."""

    check_id: Annotated[str, InKey()]
    at: Annotated[datetime, InKey()]
    kind: AlertKind
    url: str
    reason: fields.FreeText | None = None
    recipient: Annotated[str, Internal()]

    expiry = Expires("at", after=KEEP_RESULTS)


# Access patterns --------------------------------------------------------------------------------------------------


@pattern
def user(user_id: str) -> Item[User]: ...
@pattern
def check(check_id: str) -> Item[Check]: ...
@pattern(Check.of_user)
def checks_of_user(user_id: str) -> Items[Check]: ...
@pattern(User.by_email)
def users_by_email(email: str) -> Items[User]: ...
@pattern(CheckSummary.of_type)
def checks_by_type_and_status(check_type: CheckType, status: CheckStatus) -> Items[CheckSummary]: ...


@pattern
def due_checks(now: datetime) -> Items[Check]:
    return Check.due.query(ALL_SHARDS).until(now).oldest_first()


@pattern
def results_between(check_id: str, since: datetime, until: datetime) -> Items[Result]:
    return query(Result, check_id).between(since, until).newest_first()


@pattern(query(Result).newest_first())
def results(check_id: str) -> Items[Result]:
    """The results of a check, newest first."""


@pattern
def result(check_id: str, at: datetime) -> Item[Result]: ...


@pattern(query(Alert).newest_first())
def alerts(check_id: str) -> Items[Alert]:
    """The alerts of a check, newest first."""


@pattern
def alert(check_id: str, at: datetime) -> Item[Alert]: ...


design = prove("checks", users, checks)
