"""GET of several entities by their ids, in one batch read: `/cards/by-id?ids=c_1,c_2`."""

from typing import Annotated, Any

import msgspec

from partita.design.patterns import Pattern
from partita.errors import DesignError, InvalidValue
from partita.rest import routes
from partita.rest.access import Rule
from partita.rest.problems import Problem
from partita.rest.routes import Parameter, Route, RouteCall

MOST_IDS = 100  # keys in one BatchGetItem
LONGEST_IDS = 20_000  # characters

_Ids = Annotated[
    str,
    msgspec.Meta(min_length=1, max_length=LONGEST_IDS, description=f"Up to {MOST_IDS} ids, separated by commas."),
]


def reading_many(path: str, pattern: Pattern[Any, Any], who: Rule, name: str, cache: str) -> Route:
    """GET of the entities with these ids that exist and that the caller may see, in the order of the ids."""
    entity: Any = routes.read_type(pattern)
    if len(pattern.arguments) != 1:
        raise DesignError(path, f"the pattern {pattern.name} has several arguments; a batch read is by one id")
    (argument,) = pattern.arguments
    result = msgspec.defstruct(f"{entity.__name__}Batch", [("items", list[entity]), ("missing", list[str])])

    def read(call: RouteCall) -> Any:
        ids = list(dict.fromkeys(each.strip() for each in call.arguments["ids"].split(",") if each.strip()))
        if not 1 <= len(ids) <= MOST_IDS:
            raise Problem(422, "invalid", f"ids must have 1 to {MOST_IDS} ids, not {len(ids)}", "ids")
        try:
            found = call.db.get_many([pattern(each) for each in ids])
        except InvalidValue as error:
            raise Problem(422, "invalid", f"ids: {error.reason}", "ids") from None
        seen = {
            each: one
            for each, one in zip(ids, found, strict=True)
            if one is not None and who.allows(call.caller, {argument.name: each}, one)
        }
        return result(items=list(seen.values()), missing=[each for each in ids if each not in seen])

    described = f"Get several {entity.__name__} entities by id; `missing` has the ids of those that do not exist."
    return Route(
        "GET",
        path,
        name or f"{pattern.name}s",
        described,
        read,
        who,
        (),
        (Parameter("ids", _Ids),),
        result=result,
        cache=cache,
    )
