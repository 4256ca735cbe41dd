"""The error of an unknown value lists the known ones, at any depth of a body and in an address."""

import enum
from typing import Annotated, Any, Literal

import msgspec
import pytest

from partita.rest.parsing import converted, decoder_of
from partita.rest.problems import Problem
from partita.rest.routes import Parameter


class Side(enum.Enum):
    LEFT = "left"
    RIGHT = "right"


class Inner(msgspec.Struct, rename="camel"):
    the_side: Side
    number: Literal[1, 2] | None = None


class Body(msgspec.Struct, rename="camel", kw_only=True):
    side: Annotated[Literal["a", "b"], msgspec.Meta(description="A side.")] | None = None
    many_inner: list[Inner] = []
    by_name: dict[str, Inner] = {}


@pytest.mark.parametrize(
    ("body", "field", "detail"),
    [
        (b'{"side":"c"}', "side", "side has an unknown value: 'c'; use a, b"),
        (
            b'{"manyInner":[{"theSide":"left"},{"theSide":"up"}]}',
            "manyInner[1].theSide",
            "manyInner[1].theSide has an unknown value: 'up'; use left, right",
        ),
        (
            b'{"manyInner":[{"theSide":"left","number":3}]}',
            "manyInner[0].number",
            "manyInner[0].number has an unknown value: 3; use 1, 2",
        ),
        (
            b'{"byName":{"x":{"theSide":"up"}}}',
            "byName",
            "a value in byName has an unknown value: 'up'; use left, right",
        ),
    ],
)
def test_unknown_value_in_a_body(body: bytes, field: str, detail: str) -> None:
    with pytest.raises(Problem) as found:
        decoder_of(Body)(body)
    assert (found.value.status, found.value.field, found.value.detail) == (422, field, detail)


@pytest.mark.parametrize("kind", [Side, Side | None, Annotated[Literal["left", "right"], msgspec.Meta()]])
def test_unknown_value_in_an_address(kind: Any) -> None:
    with pytest.raises(Problem) as found:
        converted(Parameter("the_side", kind, sent_name="theSide"), "up")
    assert found.value.detail == "theSide has an unknown value: 'up'; use left, right"
