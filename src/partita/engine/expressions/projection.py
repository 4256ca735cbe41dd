"""A projection's tree and a scope to a function that keeps only some parts of an item."""

from collections.abc import Iterable, Sequence
from typing import Any

from partita.dynamodb.values import AttributeValue, Item, ResolvedPath, value_at
from partita.engine.expressions.nodes import ProjectionNode
from partita.engine.expressions.scope import Scope, path_text
from partita.engine.expressions.tokens import ExpressionError


def resolve_paths(tree: ProjectionNode, scope: Scope) -> list[ResolvedPath]:
    """The paths with names put in; no two may overlap."""
    paths = [scope.path(path) for path in tree.paths]
    check_disjoint(paths)
    return paths


def check_disjoint(paths: Sequence[ResolvedPath]) -> None:
    """Refuses two paths of which one holds the other, or that disagree on what a part is."""
    for at, later in enumerate(paths):
        for earlier in paths[:at]:
            relation = _relation(earlier, later)
            if relation:
                raise ExpressionError(
                    f"Two document paths {relation} with each other; must remove or rewrite one of these paths; "
                    f"path one: {path_text(earlier)}, path two: {path_text(later)}"
                )


def _relation(one: ResolvedPath, two: ResolvedPath) -> str | None:
    for left, right in zip(one, two, strict=False):
        if type(left) is not type(right):
            return "conflict"
        if left != right:
            return None
    return "overlap"


def project(item: Item, paths: Iterable[ResolvedPath]) -> Item:
    """The parts of an item that the paths lead to; list elements move together.

    >>> project({"a": {"M": {"b": {"N": "1"}, "c": {"N": "2"}}}}, [("a", "c")])
    {'a': {'M': {'c': {'N': '2'}}}}
    """
    found: dict[str, Any] = {}
    for path in paths:
        value = value_at(item, path)
        if value is not None:
            _insert(found, path, value)
    return {name: _nested_value(branch) for name, branch in found.items()}


class _Branch(dict[str | int, Any]):
    """Parts below one path; told apart from the values at its ends by its class."""


def _insert(found: dict[Any, Any], path: ResolvedPath, value: AttributeValue) -> None:
    for part in path[:-1]:
        found = found.setdefault(part, _Branch())
    found[path[-1]] = value


def _nested_value(branch: Any) -> AttributeValue:
    if not isinstance(branch, _Branch):
        return branch  # type: ignore[no-any-return]
    if isinstance(next(iter(branch)), int):
        return {"L": [_nested_value(branch[index]) for index in sorted(branch, key=int)]}
    return {"M": {str(name): _nested_value(each) for name, each in branch.items()}}
