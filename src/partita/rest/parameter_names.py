"""Names of parameters as clients write them: one thing has one name in paths, query strings and bodies.

- A parameter is named as attributes are: by the naming of the design's tables (`card_id`: `cardId`).
- The placeholder of an entity is named as in the path of its GET: `/users/{author_id}/cards` is
  `/users/{userId}/cards` where there is a GET of `/users/{user_id}`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from partita.design.naming import naming, snake_case
from partita.plan.design import Design
from partita.rest.routes import Parameter, Route, names_one

FIXED = frozenset({"limit", "cursor", "include", "ids"})  # in every API

Naming = Callable[[str], str]


def naming_of(design: Design) -> Naming:
    """The naming of the design's tables; that of Python where they differ."""
    chosen = {table.naming for table in design.tables}
    return naming(design.name, chosen.pop()) if len(chosen) == 1 else snake_case


def with_sent_names(routes: Sequence[Route], name_of: Naming) -> list[Route]:
    """The routes with the names of their parameters as clients write them."""
    placeholders: dict[tuple[str, ...], str] = {}
    of_entities = [route for route in routes if route.method == "GET" and names_one(route)]
    for route in sorted(of_entities, key=lambda each: len(each.segments)):
        for position, parameter in zip(_positions(route), route.in_path, strict=True):
            placeholders.setdefault(position, parameter.name)
    return [_renamed(route, placeholders, name_of) for route in routes]


def _renamed(route: Route, placeholders: dict[tuple[str, ...], str], name_of: Naming) -> Route:
    in_path = _path_names(route, placeholders)
    return replace(
        route,
        in_path=tuple(
            replace(each, sent_name=name_of(name)) for each, name in zip(route.in_path, in_path, strict=True)
        ),
        in_query=tuple(replace(each, sent_name=_query_name(each, name_of)) for each in route.in_query),
        naming=name_of,
    )


def _query_name(parameter: Parameter, name_of: Naming) -> str:
    return parameter.name if parameter.name in FIXED else name_of(parameter.name)


def _path_names(route: Route, placeholders: dict[tuple[str, ...], str]) -> list[str]:
    """The names of a path's parameters as the GET of each entity has them, if they differ from one another."""
    own = [each.name for each in route.in_path]
    names = [placeholders.get(position, name) for position, name in zip(_positions(route), own, strict=True)]
    in_query = [each.name for each in route.in_query]
    return names if len({*names, *in_query}) == len(names) + len(in_query) else own


def _positions(route: Route) -> list[tuple[str, ...]]:
    """Where the placeholders of a path are: the path up to each of them, without names."""
    anonymous = tuple("{}" if segment.startswith("{") else segment for segment in route.segments)
    return [anonymous[:end] for end, segment in enumerate(anonymous, 1) if segment == "{}"]
