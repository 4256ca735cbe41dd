"""From an error to the problem that a client gets: the status, and the member of the request that it is about.

The store speaks of entities and their attributes: `Card.image_urls[0]`, `shelf.id`. A client has written `imageUrls` in
a body or `neighborhood_id` in a path. Where no name leads from one to the other, the value does: a pattern was given
an empty `id`, and the one empty text in the request is `parentId`.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from partita.design.models import Model
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
    NotReady,
    NotUnique,
    OutcomeUnknown,
    ReferenceMissing,
    RetriesExhausted,
    ServiceRejected,
    StillReferenced,
    StorageBusy,
    StoredItemInvalid,
    VersionConflict,
    item_name,
)
from partita.plan.design import Design
from partita.rest.problems import Problem
from partita.rest.routes import Route, RouteCall
from partita.rest.validation_messages import described

BUSY = (503, "busy")
CONFLICT = (409, "conflict")
INVALID = (422, "invalid")
MALFORMED = (400, "malformed")
PRECONDITION_FAILED = (412, "precondition-failed")

_PROBLEMS: Mapping[type[Exception], tuple[int, str]] = {
    InvalidValue: INVALID,
    NotFound: (404, "not-found"),
    AlreadyExists: CONFLICT,
    NotUnique: (409, "taken"),
    ReferenceMissing: INVALID,
    LimitReached: CONFLICT,
    StillReferenced: CONFLICT,
    InvalidTransition: CONFLICT,
    ConditionFailed: CONFLICT,
    VersionConflict: CONFLICT,
    RetriesExhausted: BUSY,
    OutcomeUnknown: BUSY,
    NotReady: BUSY,
    StoredItemInvalid: (500, "unreadable"),
    InvalidCursor: MALFORMED,
    StorageBusy: BUSY,
    NoReply: BUSY,
}
_DYNAMODB_PROBLEMS = {
    "ThrottlingException": BUSY,
    "ProvisionedThroughputExceededException": BUSY,
    "RequestLimitExceeded": BUSY,
    "SerializationException": MALFORMED,
    "ValidationException": INVALID,
}


def problem_kind(error: Exception, *, matching: bool = False) -> tuple[int, str] | None:
    """The status and kind of the problem that an error is; None where the fault is the server's.

    `matching` says that the client sent `If-Match`: a conflict then is a precondition that failed.
    """
    if isinstance(error, DynamoDBError):
        return _DYNAMODB_PROBLEMS.get(error.code)
    if isinstance(error, ServiceRejected) and error.is_transient:
        return BUSY
    if matching and isinstance(error, VersionConflict | ConditionFailed):
        return PRECONDITION_FAILED
    return next((_PROBLEMS[kind] for kind in type(error).__mro__ if kind in _PROBLEMS), None)


class Registration(NamedTuple):
    """The entity of a registered caller, and how a caller registers."""

    entity: str
    hint: str

    def is_of(self, entity: str, values: list[Any], caller: str | None) -> bool:
        return entity == self.entity and values == [caller]


class RequestNames:
    """What a client wrote, by its own names: parameters of the address, and members of the body."""

    def __init__(self, route: Route | None, call: RouteCall | None) -> None:
        """`route` and `call` are None for a request that failed before they were known."""
        self.operation = route.name if route is not None else ""
        self.result = getattr(route.result, "__name__", "") if route is not None and route.method == "GET" else ""
        self.caller = call.caller.id if call is not None else None
        self.values: dict[str, Any] = {}
        self._in_path = {each.sent_name for each in route.in_path} if route is not None else set()
        self._names: dict[str, str] = {}
        if route is None:
            return
        self._names |= {each.name: each.sent_name for each in (*route.in_path, *route.in_query)}
        for name, value in call.arguments.items() if call is not None else ():
            self.values[self._names.get(name, name)] = value
        for each in msgspec.structs.fields(route.body) if route.body is not None else ():
            self._names |= {each.name: each.encode_name, each.encode_name: each.encode_name}
            self.values[each.encode_name] = getattr(call and call.body, each.name, None)

    def name(self, field: str) -> str | None:
        return self._names.get(field)

    def are_in_path(self, values: Iterable[Any]) -> bool:
        """Whether the path names all of these values."""
        return {*map(_text, values)} <= {_text(self.values.get(name)) for name in self._in_path}

    def in_body(self, values: Iterable[Any]) -> str | None:
        """The member of the body that names the last of these values that it names."""
        texts = {*map(_text, values)}
        found = [name for name, held in self.values.items() if name not in self._in_path and _text(held) in texts]
        return found[-1] if found else None

    def name_of_value(self, value: Any) -> str | None:
        """The one name under which this very value was written."""
        found = [name for name, held in self.values.items() if type(held) is type(value) and held == value]
        return found[0] if len(found) == 1 and value is not None else None


class ErrorMapping:
    """The problems of one design's errors."""

    def __init__(self, design: Design, registration: Registration | None = None) -> None:
        self._models = {model.name: model for model in design.models}
        self._registration = registration

    def problem(self, error: Exception, names: RequestNames, *, matching: bool) -> Problem | None:
        """The problem that an error is, in the names of the request; None where the fault is the server's."""
        kind = problem_kind(error, matching=matching)
        if kind is None:
            return None
        if isinstance(error, NotFound | ReferenceMissing):
            return self._missing(error, names)
        field, detail = self._described(error, names)
        return Problem(*kind, detail, field)

    def _described(self, error: Exception, names: RequestNames) -> tuple[str | None, str]:
        """The member of the request that an error is about, if any, and the error in words."""
        match error:
            case InvalidValue():
                return self._value(error, names)
            case NotUnique():
                field = self._first(error.entity, error.values, names)
                return field, f"{field}: {error.value!r} is taken"
            case InvalidTransition():
                field = self._first(error.entity, (error.field,), names)
                return field, f"{field}: {error.reason}"
            case LimitReached():
                return None, self._limit(error, names)
            case StillReferenced():
                name = item_name(error.entity, error.key)
                return None, f"{name} still has {error.child} items; delete them first"
            case InvalidCursor():
                return "cursor", f"invalid cursor for {names.operation}: {error.reason}"
            case StoredItemInvalid():
                return None, f"{item_name(error.entity, error.key)} cannot be read as it is stored; see the log"
            case StorageBusy():
                return None, "the database is busy"
            case ServiceRejected():
                return None, "a service that this request needs is busy"
            case NoReply():
                outcome = "; the request may have been executed" if error.perhaps_executed else ""
                return None, f"the database does not answer{outcome}"
            case DynamoDBError():
                return None, "the database is busy" if _DYNAMODB_PROBLEMS[error.code] is BUSY else error.message
        return None, f"{error}"

    def _missing(self, error: NotFound | ReferenceMissing, names: RequestNames) -> Problem:
        """404 for what the path names or a GET returns, 403 for an unregistered caller, 422 for what the body names."""
        target = error.target if isinstance(error, ReferenceMissing) else error.entity
        values = [each for each in error.key.values() if each is not None]
        missing = f"{NotFound(target, error.key)}"
        is_caller = self._registration is not None and self._registration.is_of(target, values, names.caller)
        if is_caller and self._registration is not None:
            missing = f"{missing}; {self._registration.hint}"
        if names.are_in_path(values):
            return Problem(404, "not-found", missing)
        if is_caller:
            return Problem(403, "not-registered", missing)
        if isinstance(error, ReferenceMissing):
            field = self._name(error.entity, error.field, names) if error.field else names.in_body(values)
            return Problem(*INVALID, f"{error}", field)
        field = names.in_body(values)
        if field is None or names.result == target:
            return Problem(404, "not-found", missing)
        return Problem(*INVALID, f"{field}: {missing}", field)

    def _value(self, error: InvalidValue, names: RequestNames) -> tuple[str | None, str]:
        path = (error.argument,) if error.argument else error.path
        head = path[0] if path else None
        name = self._name(error.entity, head, names, error.value) if isinstance(head, str) else None
        return described((name, *path[1:]) if name is not None else (), error.fault, error.reason)

    def _limit(self, error: LimitReached, names: RequestNames) -> str:
        field, bound = (
            self._name(error.entity, each, names) or each if isinstance(each, str) else each
            for each in (error.field, error.bound)
        )
        limit = f"{field} {error.operator} {bound}"
        return f"{item_name(error.entity, error.key)}: the write would exceed the limit {limit}"

    def _first(self, entity: str, fields: Iterable[str], names: RequestNames) -> str:
        """The first of several that was written, or else the first."""
        found = [self._name(entity, each, names) or each for each in fields]
        return next((each for each in found if each in names.values), found[0])

    def _name(self, entity: str, field: str, names: RequestNames, value: Any = None) -> str | None:
        """`field` as the client knows it; in an entity that the request does not name, as replies show it."""
        named = names.name(field) or names.name_of_value(value) or names.name(f"{_snake(entity)}_{field}")
        model = self._models.get(entity)
        if named is not None or model is None:
            return named
        for each in msgspec.structs.fields(model.cls):
            if field in (each.name, each.encode_name):
                return each.encode_name
        return _longest_part(model, field, names)


def _longest_part(model: Model, key: str, names: RequestNames) -> str | None:
    """Of a key that is too long, the longest of the values that the request gave for it."""
    keys = (model.key, *(each for several in model.indexes.values() for each in several))
    fields = [
        field for each in keys for attribute in each.attributes if attribute.name == key for field in attribute.fields
    ]
    written = [name for each in fields if (name := names.name(each) or names.name(f"{_snake(model.name)}_{each}"))]
    return max(written, key=lambda name: len(str(names.values.get(name))), default=None)


def _text(value: Any) -> Any:
    """A value as an address may have it: an enum as its value."""
    return getattr(value, "value", value) if not isinstance(value, list | dict | set | msgspec.Struct) else None


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
