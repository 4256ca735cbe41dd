"""Projections: the paths of a projection's tree, and the parts of an item at these paths."""

from collections.abc import Iterable, Sequence
from typing import Any

from partita.dynamodb.expression_nodes import ProjectionNode
from partita.dynamodb.values import AttributeValue, Item, ResolvedPath, value_at
from partita.engine.expressions.scope import Scope, path_text
from partita.engine.expressions.tokens import ExpressionError


def resolve_paths(tree: ProjectionNode, scope: Scope) -> list[ResolvedPath]:
    """The paths of a projection with resolved names; no two may overlap."""
    paths = [scope.path(path) for path in tree.paths]
    check_disjoint(paths)
    return paths


def check_disjoint(paths: Sequence[ResolvedPath]) -> None:
    """Rejects two paths of which one contains the other, or that disagree on the type of a part."""
    tree = _PathTree()
    for at, later in enumerate(paths):
        if tree.add(later):
            continue
        for earlier in paths[:at]:
            relation = _relation(earlier, later)
            if relation:
                raise ExpressionError(
                    f"Two document paths {relation} with each other; must remove or rewrite one of these paths; "
                    f"path one: {path_text(earlier)}, path two: {path_text(later)}"
                )


class _PathTree(dict[str | int, "_PathTree"]):
    """Disjoint paths by their parts; one step for each part of a path, where comparing pairs would be quadratic."""

    def add(self, path: ResolvedPath) -> bool:
        """Adds a path; false where it overlaps or conflicts with an earlier one."""
        branch, is_new = self, not self
        for part in path:
            if not is_new and (not branch or type(next(iter(branch))) is not type(part)):
                return False
            is_new = is_new or part not in branch
            branch = branch.setdefault(part, _PathTree())
        return is_new


def _relation(one: ResolvedPath, two: ResolvedPath) -> str | None:
    for left, right in zip(one, two, strict=False):
        if type(left) is not type(right):
            return "conflict"
        if left != right:
            return None
    return "overlap"


def project(item: Item, paths: Iterable[ResolvedPath]) -> Item:
    """The parts of an item at the paths; selected list elements move together.

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
    """The parts below one path, as a class of its own, to distinguish it from values."""


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
