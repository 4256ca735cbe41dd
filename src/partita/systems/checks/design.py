"""Checks: users, what they watch, when it is due, and how it went. Two tables, plain ids as keys."""

from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec

from partita import (
    KEPT,
    SHARDS,
    CountOf,
    CreatedAt,
    Entity,
    Expires,
    F,
    Get,
    Index,
    InKey,
    Keys,
    Limit,
    OpenEnum,
    Owns,
    Query,
    Quiet,
    Table,
    Unique,
    UpdatedAt,
    View,
    get,
    pattern,
    prove,
    query,
)

SHARD_COUNT = 4
KEEP_RESULTS = timedelta(days=30)
LEAST_DELAY_MS = 10_000


class Tier(OpenEnum):
    FREE = "FREE"
    PRO = "PRO"


class UserStatus(OpenEnum):
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"


class CheckType(OpenEnum):
    AVAILABILITY = "AVAILABILITY"
    EBAY = "EBAY"


class CheckStatus(OpenEnum):
    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    FAILED = "FAILED"


class Outcome(msgspec.Struct, kw_only=True, rename="camel"):
    """How one run went: `status` is UP or DOWN."""

    status: str
    response_time: int | None = None
    keyword_found: bool | None = None
    price: str | None = None
    reason: str | None = None


# USER -----------------------------------------------------------------------------------------------------------

users = Table("USER", pk="PK", sk="SK", naming="camel", indexes=(Index("EmailIndex", "email", "PK"),))


class User(Entity, table=users, key=("{user_id}", "USER")):
    user_id: Annotated[str, InKey()]
    email: Annotated[str, Unique(fold=True)]
    tier: Tier = Tier.FREE
    check_limit: Annotated[int, msgspec.Meta(ge=0)] = 5
    check_count: Annotated[int, CountOf(lambda: Check, via={"user_id": "userid"})] = 0
    status: UserStatus = UserStatus.ACTIVE
    created_at: Annotated[datetime, CreatedAt()] = KEPT
    updated_at: Annotated[datetime, UpdatedAt()] = KEPT

    by_email = Keys("EmailIndex")
    allowance = Limit(F.check_count <= F.check_limit)


# CHECK ----------------------------------------------------------------------------------------------------------

checks = Table(
    "CHECK",
    pk="PK",
    sk="SK",
    naming="camel",
    ttl="ttl",
    indexes=(
        Index("UserCheckIndex", "userid", "PK"),
        Index("TypeStatusIndex", "checkType", "status", project=("userid", "createdAt")),
        Index("DueIndex", "dueShard", "dueAt"),
    ),
)


class Check(Entity, table=checks, key=("{check_id}", "CHECK")):
    check_id: Annotated[str, InKey()]
    userid: str
    url: str
    check_type: CheckType
    delay_ms: Annotated[int, msgspec.Meta(ge=LEAST_DELAY_MS)]
    status: CheckStatus = CheckStatus.ACTIVE
    attributes: dict[str, Any] = msgspec.field(default_factory=dict)
    created_at: Annotated[datetime, CreatedAt()] = KEPT
    updated_at: Annotated[datetime, UpdatedAt()] = KEPT
    last_executed_at: Annotated[datetime | None, Quiet()] = None
    last_result: Annotated[Outcome | None, Quiet()] = None
    due_at: Annotated[datetime, Quiet()]
    failures: Annotated[int, Quiet()] = 0

    of_user = Keys("UserCheckIndex")
    of_type = Keys("TypeStatusIndex")
    due = Keys("DueIndex", "{check_id:shard(4)}", when=F.status.is_in(CheckStatus.ACTIVE, CheckStatus.FAILED))
    history = Owns(lambda: Result)


class CheckSummary(View, of=Check):
    """What TypeStatusIndex holds."""

    check_id: str
    userid: str
    check_type: CheckType
    status: CheckStatus
    created_at: datetime


class Result(Entity, table=checks, key=("RESULT#{check_id}", "{at}")):
    """One run; under a key of its own and without any attribute that an index uses."""

    check_id: Annotated[str, InKey()]
    at: Annotated[datetime, InKey()]
    outcome: Outcome

    kept = Expires("at", after=KEEP_RESULTS)


# Access patterns ------------------------------------------------------------------------------------------------


@pattern
def user(user_id: str) -> Get[User]:
    return get(User, user_id)


@pattern
def check(check_id: str) -> Get[Check]:
    return get(Check, check_id)


@pattern
def checks_of_user(userid: str) -> Query[Check]:
    return Check.of_user.query(userid)


@pattern
def users_by_email(email: str) -> Query[User]:
    return User.by_email.query(email)


@pattern
def checks_by_type_and_status(check_type: CheckType, status: CheckStatus) -> Query[CheckSummary]:
    return Check.of_type.query(check_type, status).as_(CheckSummary)


@pattern
def due_checks(now: datetime) -> Query[Check]:
    return Check.due.query(SHARDS).until(now).oldest_first()


@pattern
def results_between(check_id: str, since: datetime, until: datetime) -> Query[Result]:
    return query(Result, check_id).between(since, until).oldest_first()


@pattern
def results(check_id: str) -> Query[Result]:
    return query(Result, check_id).newest_first()


design = prove("checks", users, checks)
