"""Checks over HTTP: who may register, watch, pause, and look at what."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

import msgspec

from partita import LimitReached, NotFound
from partita.rest import Api, Caller, IfMatch, Problem, caller_is, group, owned_by, signed_in
from partita_systems.checks import design as d
from partita_systems.checks.check_attributes import checked_url, options_of
from partita_systems.checks.service import Checks, Claim, Uptime

admin = group("admin")
runners = group("runner") | admin  # who runs the checks
mine = owned_by("userid")
api = Api("checks", "Checks", d.design, service=Checks, about="Is it up, and does it say what it should?")

Email = Annotated[
    str,
    msgspec.Meta(min_length=3, max_length=254, pattern=r"^[^@\s]+@[^@\s]+$", examples=["ana@example.com"]),
]
Url = Annotated[str, msgspec.Meta(min_length=8, max_length=2000, examples=["https://example.com/"])]
Delay = Annotated[int, msgspec.Meta(ge=d.LEAST_DELAY_MS, le=7 * 24 * 3600 * 1000, examples=[60_000])]
Days = Annotated[int, msgspec.Meta(ge=1, le=30)]
Options = Annotated[dict[str, Any], msgspec.Meta(examples=[{"keyword": "welcome"}])]


class Registration(msgspec.Struct, forbid_unknown_fields=True):
    email: Email


class NewCheck(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    url: Url
    check_type: d.CheckType
    delay_ms: Delay
    attributes: Options = {}


class ChangedCheck(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """What is left out stays as it is."""

    url: Url | msgspec.UnsetType = msgspec.UNSET
    delay_ms: Delay | msgspec.UnsetType = msgspec.UNSET
    attributes: Options | msgspec.UnsetType = msgspec.UNSET


class Allowance(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    check_limit: Annotated[int, msgspec.Meta(ge=0, le=10_000, examples=[20])]
    tier: d.Tier


class Wanted(msgspec.Struct, forbid_unknown_fields=True):
    count: Annotated[int, msgspec.Meta(ge=1, le=100, examples=[10])] = 10


class Claimed(msgspec.Struct):
    """A check to run before `until`, which is said again with what was found."""

    check: d.Check
    until: datetime


class Claims(msgspec.Struct):
    items: list[Claimed]


class NewResult(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """What a run found; `until` is the claim's own, `responseTime` is in milliseconds."""

    until: Annotated[datetime, msgspec.Meta(tz=True, examples=["2025-01-01T00:02:00Z"])]
    status: Literal["UP", "DOWN"]
    response_time: Annotated[int, msgspec.Meta(ge=0, le=d.LONGEST_RUN_MS, examples=[250])] | None = None
    keyword_found: bool | None = None
    price: Annotated[str, msgspec.Meta(max_length=40, examples=["19.90"])] | None = None
    reason: Annotated[str, msgspec.Meta(max_length=1000, examples=["HTTP status 503"])] | None = None

    def outcome(self) -> d.Outcome:
        return d.Outcome(
            status=self.status,
            response_time=self.response_time,
            keyword_found=self.keyword_found,
            price=self.price,
            reason=self.reason,
        )


# Users


@api.post("/users", who=signed_in, location="/users/{user_id}")
def register(service: Checks, caller: Caller, registration: Registration) -> d.User:
    """Become a user; the token says who you are."""
    return service.register(registration.email, user_id=caller.name)


@api.get("/users", who=admin)
def find_user(service: Checks, email: Email) -> d.User:
    """Find a user by e-mail address."""
    found = service.find_by_email(email)
    if found is None:
        raise NotFound("User", {"email": email})
    return found


api.expose_get("/users/{user_id}", d.user, who=caller_is("user_id") | admin)


@api.delete("/users/{user_id}", who=admin)
def delete_user(service: Checks, user_id: str, match: IfMatch) -> None:
    """A user goes with all checks and their history; interrupted, it is asked for again."""
    user = service.db.one(d.user(user_id), consistent=True)
    service.remove_user(user_id, when=match.when(user))


@api.put("/users/{user_id}/email", who=caller_is("user_id"))
def change_email(service: Checks, user_id: str, registration: Registration) -> None:
    """Another e-mail address; it must not be somebody else's."""
    service.change_email(user_id, registration.email)


@api.put("/users/{user_id}/allowance", who=admin)
def change_allowance(service: Checks, user_id: str, allowance: Allowance) -> None:
    """How many checks a user may have; lowering it below what they have allows no new ones."""
    with service.db.change(d.user(user_id)) as draft:
        draft.check_limit = allowance.check_limit
        draft.tier = allowance.tier


@api.put("/users/{user_id}/suspension", who=admin)
def suspend(service: Checks, user_id: str) -> None:
    """Nothing of theirs is run until they are active again."""
    service.suspend(user_id)


@api.delete("/users/{user_id}/suspension", who=admin)
def reinstate(service: Checks, user_id: str) -> None:
    """Their checks are run again."""
    service.reinstate(user_id)


# Checks


@api.post("/checks", who=signed_in, location="/checks/{check_id}")
def add_check(service: Checks, caller: Caller, new: NewCheck) -> d.Check:
    """Watch an address, if your limit allows one more."""
    try:
        return service.add(caller.name, new.url, new.check_type, new.delay_ms, new.attributes)
    except LimitReached:
        user = service.db.one(d.user(caller.name))
        detail = f"your checkLimit is {user.check_limit}, and you have {user.check_count} checks; delete one first"
        raise Problem(409, "conflict", detail, "checkLimit") from None


api.expose_get("/checks/{check_id}", d.check, who=mine | admin)
api.expose_delete("/checks/{check_id}", d.check, who=mine | admin)
api.expose_list("/users/{userid}/checks", d.checks_of_user, who=caller_is("userid") | admin)
api.expose_list("/types/{check_type}/{status}/checks", d.checks_by_type_and_status, who=admin)


@api.patch("/checks/{check_id}", who=mine, on=d.check)
def change_check(service: Checks, check_id: str, change: ChangedCheck, match: IfMatch) -> d.Check:
    """Watch another address, at another pace, or for something else."""
    check = service.db.one(d.check(check_id), consistent=True)
    with service.db.change(d.check(check_id), when=match.when(check)) as draft:
        if change.url is not msgspec.UNSET:
            draft.url = checked_url(change.url)
        if change.delay_ms is not msgspec.UNSET:
            draft.delay_ms = change.delay_ms
        if change.attributes is not msgspec.UNSET:
            options_of(check.check_type, change.attributes)
            draft.attributes = change.attributes
    return service.db.one(d.check(check_id), consistent=True)


@api.post("/checks/{check_id}/pause", who=mine, on=d.check)
def pause(service: Checks, check_id: str) -> None:
    """Leave it alone for now."""
    service.pause(check_id)


@api.post("/checks/{check_id}/resume", who=mine, on=d.check)
def resume(service: Checks, check_id: str) -> None:
    """Watch it again, from now."""
    service.resume(check_id)


@api.get("/checks/{check_id}/uptime", who=mine | admin, on=d.check)
def uptime(service: Checks, check_id: str, days: Days = 7) -> Uptime:
    """The share of runs that found it up, over the last days, at most the last 10,000 runs."""
    return service.uptime(check_id, timedelta(days=days))


api.expose_list("/checks/{check_id}/results", d.results, who=mine | admin, on=d.check)


# Running them


@api.post("/claims", who=runners)
def claim(service: Checks, wanted: Wanted) -> Claims:
    """Checks that are due, for the caller alone to run until their lease ends."""
    return Claims([Claimed(each.check, each.until) for each in service.claim(wanted.count)])


@api.post("/checks/{check_id}/results", who=runners, status=201)
def record(service: Checks, check_id: str, new: NewResult) -> d.Result:
    """What a run found, by whoever holds the claim; the check is due again after its delay."""
    check = service.db.one(d.check(check_id), consistent=True)
    held = check.due_at == new.until
    result = service.record(Claim(check, check.due_at), new.outcome()) if held else None
    if result is None:
        raise Problem(409, "conflict", f"{check_id} is not claimed until then: claim it again, unless paused", "until")
    return result


api.examples(signed_in="/types/AVAILABILITY/ACTIVE/checks")
