"""Routes that call a service: a function whose parameters say what it takes from the request."""

import inspect
from collections.abc import Callable
from typing import Any

from partita.design.patterns import Pattern
from partita.rest import operation_summaries, routes
from partita.rest.access import Rule
from partita.rest.pattern_routes import EntityLookup, finder
from partita.rest.response_cache import RenderedItem
from partita.rest.routes import Route, RouteCall


def operation(
    method: str, path: str, function: Callable[..., Any], who: Rule, look: EntityLookup | None, **more: Any
) -> Route:
    """The function's route; `more` are settings of the route that do not follow from the function."""
    signature = routes.signature_of(function)

    def operate(call: RouteCall) -> Any:
        entity = None
        if look is not None:
            entity = look.find(call)
            who.check(call.caller, call.arguments, entity)
        given = dict(call.arguments)
        if signature.found:
            given[signature.found] = entity
        if signature.caller:
            given[signature.caller] = call.caller
        if signature.if_match:
            given[signature.if_match] = call.if_match
        if signature.body is not None:
            given[signature.body.name] = call.body
        return function(call.service, **given)

    result = signature.result
    return Route(
        method,
        path,
        function.__name__,
        inspect.getdoc(function) or operation_summaries.words(function.__name__).capitalize() + ".",
        operate,
        who,
        *routes.split(path, signature.parameters),
        body=signature.body.type if signature.body else None,
        result=result,
        takes_if_match=signature.if_match is not None,
        tagged=hasattr(result, "__model__"),
        polymorphic=signature.polymorphic,
        **{"status": 200, **more} if result is not None else {**more, "status": 204},
    )


def looked_up(on: Any) -> EntityLookup:
    """A lookup by a pattern, or by a function of the service."""
    if isinstance(on, Pattern):
        find = finder(on, id(on), lambda found, expires: RenderedItem(b"", expires, found))
        return EntityLookup(lambda call: find(call).entity, depends_only_on_data=True)
    names = list(inspect.signature(on).parameters)[1:]

    def ask(call: RouteCall) -> Any:
        given = {**call.arguments, "caller": call.caller}
        return on(call.service, **{name: given[name] for name in names})

    return EntityLookup(ask, depends_only_on_data=False)
