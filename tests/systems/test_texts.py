"""No text of a request is stored unchecked: every text of every body has a rule, or is checked as an untyped value."""

from collections.abc import Iterator
from importlib import import_module

import msgspec
import pytest
from msgspec import inspect

SYSTEMS = ["perfectit", "checks", "eecar"]


def texts(kind: inspect.Type, path: str, seen: tuple[type, ...] = ()) -> Iterator[tuple[str, inspect.StrType]]:
    """Every text in a type, with its place."""
    match kind:
        case inspect.StrType():
            yield path, kind
        case inspect.StructType() if kind.cls not in seen:
            for field in kind.fields:
                yield from texts(field.type, f"{path}.{field.encode_name}", (*seen, kind.cls))
        case inspect.UnionType():
            for each in kind.types:
                yield from texts(each, path, seen)
        case inspect.Metadata():
            yield from texts(kind.type, path, seen)
        case inspect.ListType():
            yield from texts(kind.item_type, f"{path}[]", seen)
        case inspect.DictType():
            yield from texts(kind.value_type, f"{path}[]", seen)
            if not isinstance(kind.value_type, inspect.AnyType):  # those are checked by `fields.check_texts`
                yield from texts(kind.key_type, f"{path}.keys", seen)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_text_of_a_body_has_a_rule(name: str) -> None:
    api = import_module(f"partita_systems.{name}.api").api
    bodies = {route.name: inspect.type_info(route.body) for route in api.routes if route.body is not None}
    unruled = [place for route, body in bodies.items() for place, text in texts(body, route) if text.pattern is None]
    assert unruled == UNRULED.get(name, [])


UNRULED = {"eecar": ["cache_match.catalogue.keys"]}  # categories, which `catalogue_of` checks


def untyped(kind: inspect.Type, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The places of untyped maps in a type."""
    match kind:
        case inspect.StructType():
            for field in kind.fields:
                yield from untyped(field.type, (*path, field.encode_name))
        case inspect.UnionType():
            for each in kind.types:
                yield from untyped(each, path)
        case inspect.Metadata():
            yield from untyped(kind.type, path)
        case inspect.DictType() if isinstance(kind.value_type, inspect.AnyType):
            yield path


def test_untyped_maps_of_eecar_are_these() -> None:
    api = import_module("partita_systems.eecar.api").api
    bodies = [inspect.type_info(route.body) for route in api.routes if route.body is not None]
    assert {place[-1] for body in bodies for place in untyped(body)} == {
        *("chemicalProps", "thermalProps", "recyclingInfo", "requirements", "terms", "data", "minSpecs")
    }


def test_structs_are_inspected() -> None:
    class Inner(msgspec.Struct):
        text: str

    class Body(msgspec.Struct):
        inner: list[Inner] | None

    assert [place for place, _ in texts(inspect.type_info(Body), "body")] == ["body.inner[].text"]
