"""Unknown members in a request body are reported, at any depth.

A struct that is stored ignores unknown members, since other code may have stored them. A request must not have any, so
its body is compared with its type a second time, as JSON.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from msgspec import inspect

from partita.rest.problems import Problem

Check = Callable[[Any, str], None]  # takes the JSON value and its place in the body


@cache
def unknown_members(kind: Any) -> Check | None:
    """A check that raises if a body of this type has an unknown member; None if it cannot have any."""
    return _checks(inspect.type_info(kind), {})


def structs_in(kind: Any) -> list[type[Any]]:
    """The structs in a body of this type, the outermost first."""
    found: dict[type[Any], Check] = {}
    _checks(inspect.type_info(kind), found)
    return list(found)


def _checks(kind: inspect.Type, structs: dict[type[Any], Check]) -> Check | None:
    match kind:
        case inspect.Metadata():
            return _checks(kind.type, structs)
        case inspect.StructType():
            return _struct(kind, structs)
        case inspect.DictType():
            return _each(_checks(kind.value_type, structs), dict)
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType() | inspect.FrozenSetType():
            return _each(_checks(kind.item_type, structs), list)
        case inspect.UnionType():
            return _one_of([each for each in kind.types if not isinstance(each, inspect.NoneType)], structs)
    return None


def _struct(kind: inspect.StructType, structs: dict[type[Any], Check]) -> Check:
    if kind.cls in structs:
        return structs[kind.cls]
    known: dict[str, Check | None] = {kind.tag_field: None} if kind.tag_field is not None else {}

    def check(value: Any, place: str) -> None:
        for name, held in value.items() if isinstance(value, Mapping) else ():
            there = f"{place}.{name}" if place else name
            if name not in known:
                raise Problem(422, "invalid", f"{there} is not a known member", there)
            inner = known[name]
            if inner is not None:
                inner(held, there)

    structs[kind.cls] = check
    known |= {field.encode_name: _checks(field.type, structs) for field in kind.fields}
    return check


def _each(check: Check | None, container: type[Any]) -> Check | None:
    if check is None:
        return None
    inner = check

    def each(value: Any, place: str) -> None:
        if isinstance(value, container):
            for name, held in value.items() if isinstance(value, dict) else enumerate(value):
                inner(held, f"{place}.{name}" if isinstance(value, dict) else f"{place}[{name}]")

    return each


def _one_of(kinds: list[inspect.Type], structs: dict[type[Any], Check]) -> Check | None:
    """The checks of a union's types, each of which ignores values of the other types."""
    checks = [_checks(each, structs) for each in kinds if not isinstance(each, inspect.StructType)]
    checks.append(_by_tag([each for each in kinds if isinstance(each, inspect.StructType)], structs))
    needed = [each for each in checks if each is not None]

    def check(value: Any, place: str) -> None:
        for each in needed:
            each(value, place)

    return check if needed else None


def _by_tag(kinds: list[inspect.StructType], structs: dict[type[Any], Check]) -> Check | None:
    if len(kinds) < 2:
        return _struct(kinds[0], structs) if kinds else None
    checks = {each.tag: _struct(each, structs) for each in kinds}
    field = kinds[0].tag_field

    def check(value: Any, place: str) -> None:
        if isinstance(value, dict):
            checks[value[field]](value, place)

    return check
