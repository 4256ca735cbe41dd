"""The HTTP API of Checks: users manage their checks, admins manage users, runners claim checks and record results."""

from datetime import timedelta

from partita import LimitReached, NotFound, Page
from partita.rest import Api, Caller, IfMatch, PageSize, Problem, Related, caller_is, signed_in
from partita_systems.checks import bodies as b
from partita_systems.checks import design as d
from partita_systems.checks.access import admin, owner, runners
from partita_systems.checks.check_types import check_kinds
from partita_systems.checks.service import Checks, Claim, Uptime

api = Api(
    "checks",
    "Checks",
    d.design,
    service=Checks,
    about="Monitors whether web pages are up and contain what they should.",
)


# Users


api.expose_me(d.user, register="POST /users")


@api.post("/users", who=signed_in, location="/users/{user_id}")
def register(service: Checks, caller: Caller, registration: b.Registration) -> d.User:
    """Register the caller as a user."""
    return service.register(registration.email, user_id=caller.name)


@api.get("/users", who=admin)
def find_user(service: Checks, email: b.Email) -> d.User:
    """Get a user by e-mail address."""
    found = service.find_by_email(email)
    if found is None:
        raise NotFound("User", {"email": email})
    return found


api.expose_get("/users/{user_id}", d.user, who=caller_is("user_id") | admin)


@api.delete("/users/{user_id}", who=admin)
def delete_user(service: Checks, user_id: str, match: IfMatch) -> None:
    """Delete a user with all checks and results; an interrupted deletion can be repeated."""
    user = service.db.one(d.user(user_id), consistent=True)
    service.remove_user(user_id, when=match.when(user))


@api.put("/users/{user_id}/email", who=caller_is("user_id"))
def change_email(service: Checks, user_id: str, registration: b.Registration) -> d.User:
    """Change the e-mail address; it must be free."""
    return service.change_email(user_id, registration.email)


@api.put("/users/{user_id}/allowance", who=admin)
def change_allowance(service: Checks, user_id: str, allowance: b.Allowance) -> d.User:
    """Set the tier and the maximum number of checks; existing checks stay."""
    return service.set_allowance(user_id, allowance.check_limit, allowance.tier)


@api.put("/users/{user_id}/suspension", who=admin)
def suspend(service: Checks, user_id: str) -> d.User:
    """Suspend a user: the user's checks do not run."""
    return service.suspend(user_id)


@api.delete("/users/{user_id}/suspension", who=admin)
def reinstate(service: Checks, user_id: str) -> d.User:
    """End a suspension: the user's checks run again."""
    return service.reinstate(user_id)


# Checks


@api.post("/checks", who=signed_in, location="/checks/{check_id}")
def add_check(service: Checks, caller: Caller, new: b.NewCheck) -> d.Check:
    """Create a check, within the caller's limit."""
    try:
        return service.add(caller.name, new.url, new.check_type, new.delay_ms, new.attributes)
    except LimitReached:
        user = service.db.one(d.user(caller.name))
        detail = f"your checkLimit is {user.check_limit}, and you have {user.check_count} checks; delete one first"
        raise Problem(409, "conflict", detail, "checkLimit") from None


api.expose_get_many("/checks/by-id", d.check, who=owner | admin, name="checks_by_id")
api.expose_get("/checks/{check_id}", d.check, who=owner | admin)
api.expose_delete("/checks/{check_id}", d.check, who=owner | admin)
api.expose_list("/users/{user_id}/checks", d.checks_of_user, who=caller_is("user_id") | admin)


@api.get("/types")
def check_types(service: Checks) -> b.CheckTypes:
    """List the check types and their attributes."""
    return b.CheckTypes([b.CheckTypeInfo(each.name, each.attribute_names) for each in check_kinds().values()])


DETAILS = ("url", "delay_ms", "attributes", "last_executed_at", "last_result", "due_at", "failures")
OF_SUMMARIES = (
    Related("details", d.check, DETAILS, check_id="check_id"),
    Related("user", d.user, ("user_id", "email", "tier", "status"), user_id="user_id"),
)


@api.get("/types/{check_type}/{status}/checks", who=admin, include=OF_SUMMARIES)
def checks_by_type_and_status(
    service: Checks, check_type: b.TypeName, status: d.CheckStatus, limit: PageSize = 20, cursor: str | None = None
) -> Page[d.CheckSummary]:
    """List the checks of a type with one status; the type may be one of other code."""
    return service.db(d.checks_by_type_and_status(d.CheckType(check_type), status)).page(limit, cursor)


@api.patch("/checks/{check_id}", who=owner, on=d.check)
def change_check(service: Checks, check_id: str, change: b.ChangedCheck, match: IfMatch) -> d.Check:
    """Change the address, the delay or the attributes of a check; it is due accordingly."""
    return service.change(
        check_id, url=change.url, delay_ms=change.delay_ms, attributes=change.attributes, verify=match.check
    )


@api.post("/checks/{check_id}/pause", who=owner, on=d.check)
def pause(service: Checks, check_id: str) -> d.Check:
    """Pause a check."""
    return service.pause(check_id)


@api.post("/checks/{check_id}/resume", who=owner, on=d.check)
def resume(service: Checks, check_id: str) -> d.Check:
    """Resume a paused check; it is due at once."""
    return service.resume(check_id)


@api.get("/checks/{check_id}/uptime", who=owner | admin, on=d.check)
def uptime(service: Checks, check_id: str, days: b.Days = 7) -> Uptime:
    """Get the share of successful runs over the last days, from at most the last 10,000 runs."""
    return service.uptime(check_id, timedelta(days=days))


api.expose_list("/checks/{check_id}/results", d.results, who=owner | admin, on=d.check)
api.expose_events("/checks/{check_id}/results/events", d.Result, who=owner | admin, on=d.check)
api.expose_list("/checks/{check_id}/alerts", d.alerts, who=owner | admin, on=d.check)


# Runners


@api.post("/claims", who=runners)
def claim(service: Checks, request: b.ClaimRequest) -> b.Claims:
    """Claim due checks; each is leased to the caller until its `until`."""
    return b.Claims([b.ClaimedCheck(each.check, each.until) for each in service.claim(request.count)])


@api.post("/checks/{check_id}/results", who=runners, status=201)
def record(service: Checks, check_id: str, new: b.NewResult) -> d.Result:
    """Record the outcome of a run under its claim; the check is due again after its delay."""
    check = service.db.one(d.check(check_id), consistent=True)
    result = service.record(Claim(check, check.due_at), new.outcome()) if check.due_at == new.until else None
    if result is None:
        raise Problem(409, "conflict", f"{check_id} is not claimed until then; claim it again, unless paused", "until")
    return result


api.examples(signed_in="/types/AVAILABILITY/ACTIVE/checks")
