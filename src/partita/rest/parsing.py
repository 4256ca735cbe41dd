"""From a path, a query string and a body to typed arguments; what does not fit is a problem that names the field."""

from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec

from partita.rest.problems import Problem
from partita.rest.routes import Parameter, Route


class Decoders:
    """One decoder a body type, made when it is first needed."""

    def __init__(self) -> None:
        self._made: dict[Any, msgspec.json.Decoder[Any]] = {}

    def decode(self, kind: Any, body: bytes) -> Any:
        decoder = self._made.get(kind)
        if decoder is None:
            decoder = self._made[kind] = msgspec.json.Decoder(kind)
        try:
            return decoder.decode(body)
        except msgspec.ValidationError as error:
            message, _, where = str(error).partition(" - at `$")
            raise Problem(422, "invalid", message, where.strip(".`") or None) from None
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            raise Problem(400, "malformed", "the body is not JSON in UTF-8") from None


def path_arguments(route: Route, values: list[str]) -> dict[str, Any]:
    """The values of a path's placeholders, in order."""
    names = [segment[1:-1] for segment in route.segments if segment.startswith("{")]
    given = {name: _unquoted(name, value) for name, value in zip(names, values, strict=True)}
    return {each.name: converted(each, given[each.name]) for each in route.in_path}


def query_arguments(route: Route, query: bytes) -> dict[str, Any]:
    """The values of the query string; a name that the route does not know is a mistake, not noise."""
    given: dict[str, str] = {}
    if query:
        try:
            pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, max_num_fields=100, errors="strict")
        except ValueError:
            raise Problem(400, "malformed", "the query string cannot be read") from None
        given = dict(pairs)
    known = {each.name for each in route.in_query}
    for name in given:
        if name not in known:
            raise Problem(400, "malformed", f"there is no parameter {name!r} here", name)
    return {each.name: _query_argument(each, given) for each in route.in_query}


def _query_argument(parameter: Parameter, given: dict[str, str]) -> Any:
    if parameter.name in given:
        return converted(parameter, given[parameter.name])
    if parameter.required:
        raise Problem(422, "invalid", f"the parameter {parameter.name!r} is missing", parameter.name)
    return parameter.default


def converted(parameter: Parameter, text: str) -> Any:
    """Text as the parameter's type."""
    if parameter.type is str:
        return text
    try:
        return msgspec.convert(text, parameter.type, strict=False)
    except msgspec.ValidationError as error:
        raise Problem(422, "invalid", str(error).partition(" - at")[0], parameter.name) from None


def _unquoted(name: str, value: str) -> str:
    if "%" not in value:
        return value
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError:
        raise Problem(400, "malformed", "the path is not UTF-8", name) from None
