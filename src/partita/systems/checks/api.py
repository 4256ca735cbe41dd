"""Checks over HTTP: who may register, watch, pause, and look at what."""

from datetime import timedelta
from typing import Annotated, Any

import msgspec

from partita import NotFound
from partita.rest import Api, Caller, anyone, group, myself, owner, signed_in
from partita.systems.checks import design as d
from partita.systems.checks.service import Checks, Uptime

admin = group("admin")
api = Api("checks", "Checks", Checks, "Is it up, and does it say what it should?")

Email = Annotated[str, msgspec.Meta(min_length=3, max_length=254, pattern=r"^[^@\s]+@[^@\s]+$")]
Url = Annotated[str, msgspec.Meta(min_length=8, max_length=2000)]
Delay = Annotated[int, msgspec.Meta(ge=d.LEAST_DELAY_MS, le=7 * 24 * 3600 * 1000)]
Days = Annotated[int, msgspec.Meta(ge=1, le=30)]


class Registration(msgspec.Struct, forbid_unknown_fields=True):
    email: Email


class NewCheck(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    url: Url
    check_type: d.CheckType
    delay_ms: Delay
    attributes: dict[str, Any] = {}


class NewLimit(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    check_limit: Annotated[int, msgspec.Meta(ge=0, le=10_000)]
    tier: d.Tier


# Users


@api.post("/users", who=signed_in, status=201)
def register(service: Checks, caller: Caller, registration: Registration) -> d.User:
    """Become a user; the token says who you are."""
    return service.register(registration.email, user_id=caller.name)


api.reads("/users/{user_id}", d.user, who=myself("user_id") | admin)
api.deletes("/users/{user_id}", d.user, who=admin)


@api.put("/users/{user_id}/email", who=myself("user_id"))
def change_email(service: Checks, user_id: str, registration: Registration) -> None:
    """Another e-mail address; it must not be somebody else's."""
    service.change_email(user_id, registration.email)


@api.put("/users/{user_id}/limit", who=admin)
def change_limit(service: Checks, user_id: str, limit: NewLimit) -> None:
    """How many checks a user may have; lowering it below what they have allows no new ones."""
    with service.db.change(d.user(user_id)) as draft:
        draft.check_limit = limit.check_limit
        draft.tier = limit.tier


@api.post("/users/{user_id}/suspension", who=admin)
def suspend(service: Checks, user_id: str) -> None:
    """Nothing of theirs is run until they are active again."""
    service.suspend(user_id)


@api.get("/users-by-email", who=admin)
def user_by_email(service: Checks, email: str) -> d.User:
    """Find a user by e-mail address."""
    found = service.find_by_email(email)
    if found is None:
        raise NotFound("User", email)
    return found


# Checks


@api.post("/checks", who=signed_in, status=201)
def add_check(service: Checks, caller: Caller, new: NewCheck) -> d.Check:
    """Watch an address, if your limit allows one more."""
    return service.add(caller.name, new.url, new.check_type, new.delay_ms, new.attributes)


mine = owner("userid")
api.reads("/checks/{check_id}", d.check, who=mine | admin)
api.changes("/checks/{check_id}", d.check, "url", "delay_ms", who=mine)
api.deletes("/checks/{check_id}", d.check, who=mine | admin)
api.lists("/users/{userid}/checks", d.checks_of_user, who=myself("userid") | admin)
api.lists("/types/{check_type}/checks", d.checks_by_type_and_status, who=admin)


def _mine(service: Checks, caller: Caller, check_id: str) -> None:
    mine.check(caller, {}, service.db.one(d.check(check_id)))


@api.post("/checks/{check_id}/pause", who=signed_in)
def pause(service: Checks, caller: Caller, check_id: str) -> None:
    """Leave it alone for now."""
    _mine(service, caller, check_id)
    service.pause(check_id)


@api.post("/checks/{check_id}/resume", who=signed_in)
def resume(service: Checks, caller: Caller, check_id: str) -> None:
    """Watch it again, from now."""
    _mine(service, caller, check_id)
    service.resume(check_id)


@api.get("/checks/{check_id}/uptime", who=signed_in)
def uptime(service: Checks, caller: Caller, check_id: str, days: Days = 7) -> Uptime:
    """The share of runs that found it up, over the last days."""
    _mine(service, caller, check_id)
    return service.uptime(check_id, timedelta(days=days))


@api.get("/health", who=anyone)
def health(service: Checks) -> dict[str, str]:
    """Whether this API answers."""
    return {"status": "UP"}
