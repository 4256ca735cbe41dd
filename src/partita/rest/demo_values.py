"""Ids that exist in the data, for the forms of a documentation page: from the lists that everyone may read."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from partita.errors import PartitaError
from partita.rest.access import anyone
from partita.rest.auth.identity import Caller
from partita.rest.etags import IfMatch
from partita.rest.routes import JsonReply, Route, RouteCall, is_list
from partita.store.reading import Page

MOST_LISTS = 24
ITEMS = 3


def demo_values(routes: Iterable[Route], call: RouteCall) -> dict[str, str]:
    """A value for each parameter that a list shows; lists below an entity are read once its id is known."""
    waiting = [route for route in routes if _is_open_list(route)]
    found: dict[str, str] = {}
    for _ in range(2):
        for route in waiting[:MOST_LISTS]:
            if all(each.sent_name in found for each in route.in_path):
                for name, value in _members(_items(route, call, found)):
                    found.setdefault(name, value)
    return found


def _is_open_list(route: Route) -> bool:
    if route.method != "GET" or route.who is not anyone or any(each.required for each in route.in_query):
        return False
    return is_list(route)


def _items(route: Route, call: RouteCall, known: dict[str, str]) -> Any:
    arguments = {each.name: each.default for each in route.in_query}
    arguments |= {"limit": ITEMS} | {each.name: known[each.sent_name] for each in route.in_path}
    try:
        result = route.run(call._replace(arguments=arguments, caller=Caller(), body=None, if_match=IfMatch(None)))
    except PartitaError:
        return []
    if isinstance(result, JsonReply):
        return msgspec.json.decode(result.body)["items"]
    return [msgspec.to_builtins(each) for each in result.items] if isinstance(result, Page) else []


def _members(items: list[Any]) -> Iterator[tuple[str, str]]:
    """The texts in some items, by their names, which parameters have too."""
    for item in items:
        for name, value in item.items():
            if isinstance(value, str) and value:
                yield name, value
