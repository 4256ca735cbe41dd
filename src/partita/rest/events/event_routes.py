"""Routes of event streams, and of the tickets with which browsers open them.

The browser's `EventSource` cannot send an Authorization header. A page asks for a ticket with its token, and opens the
stream with `?ticket=...`: signed and encrypted as cursors are, for this caller and these arguments alone, for an hour.
"""

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple, get_type_hints

import msgspec

from partita.consumers.change_feed import Topic
from partita.design.models import Model, model_of
from partita.design.naming import upper_case
from partita.errors import DesignError, InvalidCursor
from partita.rest.access import Rule
from partita.rest.auth.identity import Caller
from partita.rest.pattern_routes import EntityLookup
from partita.rest.problems import Problem
from partita.rest.routes import LONGEST_TEXT, Parameter, Route, RouteCall, placeholders, split, without_markers
from partita.store.store import Store

TICKET_SECONDS = 3600
TICKET = Parameter("ticket", Annotated[str, msgspec.Meta(max_length=4096)] | None, None)
LAST_EVENT_ID = Parameter("last_event_id", Annotated[str, msgspec.Meta(max_length=200)] | None, None)


class Subscription(NamedTuple):
    """The result of an event route: what the caller may listen to. Its response is not one reply, but many events."""

    topic: Topic


class EventTicket(msgspec.Struct, frozen=True):
    """Opens an event stream without an Authorization header, until it expires."""

    ticket: str
    expires: datetime


def event_routes(
    path: str, entity: type[Any], by: tuple[str, ...], who: Rule, look: EntityLookup | None, name: str, about: str
) -> tuple[Route, Route]:
    """The stream of an entity's changes at a path whose placeholders `by` are its fields, and the POST for a ticket."""
    model = model_of(entity)
    named = placeholders(path)
    fields = by or tuple(named)
    _check(path, model, fields)
    name = name or f"{upper_case(model.name).lower()}_events"
    hints = get_type_hints(entity, include_extras=True)
    in_path = [Parameter(each, _parameter_type(hints.get(each, str))) for each in named]

    def check(call: RouteCall) -> None:
        if look is not None:
            who.check(call.caller, call.arguments, look.find(call))

    def subscribe(call: RouteCall) -> Subscription:
        check(call)
        return Subscription(Topic(model, fields, tuple(call.arguments[each] for each in fields)))

    def issue(call: RouteCall) -> EventTicket:
        check(call)
        expires = min(time.time() + TICKET_SECONDS, token_end(call.caller) or float("inf"))
        return EventTicket(ticket_text(call.db, path, call.arguments, call.caller, expires), _moment(expires))

    located, _ = split(path, in_path)
    words = name.replace("_", " ")
    described = about or f"Follow {words}: every change while it happens, as a server-sent event."
    issued = f"Create a ticket that opens {words} without an Authorization header, for EventSource in a browser."
    queries = (TICKET, LAST_EVENT_ID)
    return (
        Route("GET", path, f"get_{name}", described, subscribe, who, located, queries, events=entity, cache="no-store"),
        Route("POST", f"{path}/ticket", f"create_{name}_ticket", issued, issue, who, located, result=EventTicket),
    )


def _check(path: str, model: Model, fields: tuple[str, ...]) -> None:
    known = model.cls.__struct_fields__
    for each in fields:
        if each not in placeholders(path):
            raise DesignError(path, f"it has no placeholder {each!r}", "name placeholders of the path")
        if each not in known:
            fix = f"name its placeholders after fields of {model.name}: {', '.join(known)}"
            raise DesignError(path, f"{each!r} is not a field of {model.name}", fix)
    if model.table.stream != "NEW_AND_OLD_IMAGES":
        fix = 'write Table(..., stream="NEW_AND_OLD_IMAGES")'
        raise DesignError(path, f"table {model.table.name!r} of {model.name} has no stream with images", fix)


def _parameter_type(hint: Any) -> Any:
    kind = without_markers(hint)
    return Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_TEXT)] if kind is str else kind


def token_end(caller: Caller) -> float | None:
    """When the token of a caller expires."""
    end = caller.claims.get("exp")
    return float(end) if isinstance(end, int | float) else None


def ticket_text(db: Store, path: str, arguments: Mapping[str, Any], caller: Caller, expires: float) -> str:
    content = json.dumps([caller.id, sorted(caller.groups), int(expires)])
    return db.sign_cursor(_ticket_name(path, arguments), content)


def caller_of_ticket(db: Store, path: str, arguments: Mapping[str, Any], ticket: str) -> Caller:
    """The caller whom a ticket was issued to; a problem where it is not a ticket for this, or has expired."""
    try:
        content = db.cursor_position(_ticket_name(path, arguments), ticket)
    except InvalidCursor:
        raise Problem(401, "unauthorized", f"not a ticket of this event stream; POST {path}/ticket") from None
    name, groups, expires = json.loads(content)
    if expires <= time.time():
        raise Problem(401, "unauthorized", f"the ticket has expired; POST {path}/ticket for another one")
    return Caller(name, frozenset(groups), {"exp": expires})


def _ticket_name(path: str, arguments: Mapping[str, Any]) -> str:
    values = [str(msgspec.to_builtins(arguments[each])) for each in placeholders(path)]
    return json.dumps(["event ticket", path, *values])


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(int(seconds), UTC)
