"""What a path names must exist and be visible: `/posts/{post_id}/comments` is nested in GET `/posts/{post_id}`.

A nested route answers 404 where that GET does, with the same words for an entity that does not exist and for one that
the caller may not see. A list of a parent that everyone may see is read at once; only if it is empty, the parent is
looked for. Any other operation looks for it first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, get_args

from partita.errors import NotFound
from partita.rest.access import AccessDenied
from partita.rest.auth.identity import Caller
from partita.rest.etags import IfMatch
from partita.rest.problems import Problem
from partita.rest.routes import JsonReply, Route, RouteCall, SeenParent, is_list, names_one
from partita.store.reading import Page

_NO_MATCH = IfMatch(None)


def nested(route: Route, routes: Sequence[Route]) -> Route:
    """The route with checks of the parents that its path names; `routes` are all of its API."""
    outermost_first = sorted(routes, key=lambda each: len(each.segments))
    parents = [_Parent.of(each, route) for each in outermost_first if _is_parent(each, route)]
    hides = route.method == "GET" and names_one(route) and route.who.needs_entity
    if not parents and not hides:
        return route
    restricted = [each for each in parents if each.route.who.needs_entity]
    nearest = restricted[-1:]  # a caller who may see a like need not see its post
    run = _checked(route, nearest, [each for each in parents if each not in restricted], hides=hides)
    return replace(route, run=run)


def may_see(caller: Caller, route: Route, arguments: Mapping[str, Any], reply: JsonReply) -> bool:
    """Whether a reply that was made for another caller is also one for this caller."""
    if not route.who.allows(caller, arguments, reply.entity):
        return False
    if caller.groups & route.who.groups:
        return True
    return all(parent.rule.allows(caller, parent.arguments, parent.entity) for parent in reply.parents)


class _Parent(NamedTuple):
    """The GET of an entity that the path of a nested route names, and its parameters as the nested route has them."""

    route: Route
    names: dict[str, str]

    @staticmethod
    def of(parent: Route, route: Route) -> "_Parent":
        names = zip((each.name for each in parent.in_path), (each.name for each in route.in_path), strict=False)
        return _Parent(parent, dict(names))

    def arguments(self, call: RouteCall) -> dict[str, Any]:
        in_query = {each.name: call.arguments.get(each.name, each.default) for each in self.route.in_query}
        return in_query | {own: call.arguments[name] for own, name in self.names.items()}

    def see(self, call: RouteCall) -> SeenParent | None:
        """Reads the parent; raises 404 if it does not exist or is hidden. None if its reply could not be cached."""
        arguments = self.arguments(call)
        try:
            found = self.route.run(call._replace(arguments=arguments, body=None, if_match=_NO_MATCH))
        except AccessDenied:
            raise _hidden(self.route, arguments) from None
        if not isinstance(found, JsonReply) or not found.cacheable:
            return None
        return SeenParent(self.route.who, arguments, found.entity)

    def find(self, call: RouteCall) -> None:
        """Raises 404 if the parent does not exist."""
        try:
            self.see(call)
        except Problem as problem:
            if problem.status == 404:
                raise


def _is_parent(parent: Route, route: Route) -> bool:
    if parent.method != "GET" or not names_one(parent) or any(each.required for each in parent.in_query):
        return False
    if parent is route or len(parent.segments) > len(route.segments):
        return False
    pairs = zip(parent.segments, route.segments, strict=False)
    same = all(mine == other or (_is_placeholder(mine) and _is_placeholder(other)) for mine, other in pairs)
    return same and (route.method not in ("GET", "PUT") or len(parent.segments) < len(route.segments))


def _is_placeholder(segment: str) -> bool:
    return segment.startswith("{")


def _checked(
    route: Route, restricted: list[_Parent], visible: list[_Parent], *, hides: bool
) -> Callable[[RouteCall], Any]:
    inner, who = route.run, route.who
    finds_itself = is_list(route) or (route.method == "GET" and names_one(route))
    looked_for_first = [] if finds_itself or who.needs_entity else visible[-1:]

    def run(call: RouteCall) -> Any:
        decides = who.needs_entity or bool(call.caller.groups & who.groups)  # the rule of the route itself
        seen = [] if decides else [each.see(call) for each in restricted]
        for parent in looked_for_first:
            parent.find(call)
        try:
            result = inner(call)
        except AccessDenied:
            if hides:
                raise _hidden(route, call.arguments) from None
            for parent in restricted:
                parent.see(call)
            raise
        finds_parents = _is_empty(result) and call.arguments.get("cursor") is None
        if finds_parents:
            for parent in (*visible, *(restricted if decides else ())):
                parent.find(call)
        if not isinstance(result, JsonReply):
            return result
        parents = tuple(each for each in seen if each is not None)
        is_same_for_others = who.needs_entity or len(parents) == len(restricted)  # not where a group has decided
        if finds_parents:
            is_same_for_others = not restricted and all(each.route.who.is_open for each in visible)
        return result._replace(parents=parents, cacheable=result.cacheable and is_same_for_others)

    return run


def _is_empty(result: Any) -> bool:
    if isinstance(result, JsonReply):
        return result.body.startswith(b'{"items":[]')
    return isinstance(result, Page) and not result.items


def _hidden(route: Route, arguments: Mapping[str, Any]) -> Problem:
    """The 404 of an entity that the caller may not see: the same as of one that does not exist."""
    key = {each.name: arguments[each.name] for each in route.in_path}
    return Problem(404, "not-found", str(NotFound(_entity_name(route.result), key)))


def _entity_name(result: Any) -> str:
    """The name of the entity that is returned; of several, the first."""
    several = get_args(result)
    return str(several[0].__struct_config__.tag) if several else result.__name__
