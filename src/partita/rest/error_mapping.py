"""Which member of a request an error is about, by the name under which the client wrote it.

The store speaks of entities and their attributes: `Card.image_urls[0]`, `shelf.id`. A client has written `imageUrls` in
a body or `neighborhood_id` in a path. Where no name leads from one to the other, the value does: a pattern was given
an empty `id`, and the one empty text in the request is `parentId`.
"""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from partita.design.models import Model
from partita.dynamodb.exceptions import ValidationException
from partita.errors import InvalidTransition, InvalidValue, NotUnique, ReferenceMissing
from partita.plan.design import Design
from partita.rest.error_wording import Wording
from partita.rest.routes import Route, RouteCall
from partita.rest.validation_messages import IN_A_MAP, misfit_inside

_LONG_KEY = re.compile(r"Size of (hash|range)key has exceeded")
_AFTER_HEAD = re.compile(r"[.\[]")


class Written:
    """What a client wrote, by its own names: parameters of the address, and members of the body."""

    def __init__(self, route: Route, call: RouteCall | None) -> None:
        self.values: dict[str, Any] = dict(call.arguments) if call is not None else {}
        self._names = {each.name: each.name for each in (*route.in_path, *route.in_query)}
        for each in msgspec.structs.fields(route.body) if route.body is not None else ():
            self._names |= {each.name: each.encode_name, each.encode_name: each.encode_name}
            self.values[each.encode_name] = getattr(call and call.body, each.name, None)

    def name(self, field: str) -> str | None:
        return self._names.get(field)

    def holding(self, value: Any) -> str | None:
        """The one name under which this very value was written."""
        found = [name for name, held in self.values.items() if type(held) is type(value) and held == value]
        return found[0] if len(found) == 1 and value is not None else None


class Blame:
    """The names of one design; `wording` tells a key by its values."""

    def __init__(self, design: Design, wording: Wording) -> None:
        self._wording = wording
        self._models = {model.name: model for model in design.models}
        self._referring = {
            (model.name, each.parent.name): each.refers
            for model in design.models
            for each in design.counters.get(model, ())
        } | {
            (model.name, each.target.name): each.refers for model in design.models for each in design.references[model]
        }

    def of(self, error: Exception, written: Written) -> tuple[str | None, str] | None:
        """The member and what to say of it; None where the error is about no value."""
        match error:
            case InvalidValue():
                return self._of_value(error, written)
            case NotUnique():
                field = self._first(error.entity, self._unique(error), written)
                return field, f"{field}: {str(error).partition(': ')[2]}"
            case InvalidTransition():
                field = self._first(error.entity, (error.field,), written)
                return field, str(error).replace(f"{error.entity}.{error.field}", field, 1)
            case ReferenceMissing():
                refers = error.field or self._referring.get((error.entity, error.missing), "")
                by = self._named(error.entity, refers, written) if refers else None
                return by, self._wording.detail("", error)
            case ValidationException() if _LONG_KEY.search(error.message):
                longest = max(written.values, key=lambda name: len(str(written.values[name])), default=None)
                return longest, f"{longest or 'a value'} is too long for a key"
        return None

    def _of_value(self, error: InvalidValue, written: Written) -> tuple[str | None, str]:
        entity, _, path = error.where.partition(".")
        path = error.argument or path
        further, said = misfit_inside(error.wrong) or ("", None)
        path = path + further if path else further.removeprefix(".")
        inside, _, beyond = path.partition(IN_A_MAP)
        head = _AFTER_HEAD.split(inside, maxsplit=1)[0]
        name = self._named(entity, head, written, error.value) if head else None
        if name is None:
            return None, error.wrong if said is None else f"a value {said}"
        field = name + inside[len(head) :]
        if said is None:
            return field, f"{field}: {error.wrong}"
        return field, f"a value in {field} {said}" if beyond or path.endswith(IN_A_MAP) else f"{field} {said}"

    def _unique(self, error: NotUnique) -> tuple[str, ...]:
        model = self._models.get(error.entity)
        uniques = {each.name: each.fields for each in model.uniques} if model is not None else {}
        return uniques.get(error.unique, (error.unique,))

    def _first(self, entity: str, fields: Iterable[str], written: Written) -> str:
        """The first of several that was written, or else the first."""
        names = [self._named(entity, each, written) or each for each in fields]
        return next((each for each in names if each in written.values), names[0])

    def _named(self, entity: str, field: str, written: Written, value: Any = None) -> str | None:
        """`field` as the client knows it; in an entity that it does not name, as replies show it."""
        named = written.name(field) or written.holding(value) or written.name(f"{_snake(entity)}_{field}")
        model = self._models.get(entity)
        if named is not None or model is None:
            return named
        for each in msgspec.structs.fields(model.cls):
            if field in (each.name, each.encode_name):
                return each.encode_name
        return self._longest(model, field, written)

    def _longest(self, model: Model, key: str, written: Written) -> str | None:
        """Of a key that is too long, the part that is to blame."""
        fields = [field for each in model.key.attributes if each.name == key for field in each.fields]
        names = [
            name for each in fields if (name := written.name(each) or written.name(f"{_snake(model.name)}_{each}"))
        ]
        return max(names, key=lambda name: len(str(written.values.get(name))), default=None)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
