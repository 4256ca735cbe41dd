"""A marker without an effect, and a default or transition of another type, are rejected by the class statement."""

import enum
from datetime import datetime, timedelta
from typing import Annotated, Any

import pytest

from partita import (
    CreatedAt,
    DesignError,
    Entity,
    Expires,
    InKey,
    Ordered,
    StoredAs,
    Table,
    Transitions,
    Unique,
    Version,
)
from partita.design.entities import EntityMeta


class State(str, enum.Enum):
    OPEN = "open"
    CLOSED = "closed"


def declared(kind: Any, **body: Any) -> Any:
    names = {"__annotations__": {"key": str, "x": kind}, "__module__": __name__, **body}
    return EntityMeta("Thing", (Entity,), names, table=Table("things", pk="PK", ttl="ttl"), key="THING#{key}")


REJECTED: list[tuple[Any, dict[str, Any], str]] = [
    (Annotated[int, Version], {"x": 0}, "it is marked with the class Version, which has no effect; write Version(...)"),
    (Annotated[datetime, CreatedAt], {}, "it is marked with the class CreatedAt, which has no effect"),
    (Annotated[str, Unique], {}, "it is marked with the class Unique, which has no effect"),
    (Annotated[str | None, InKey], {"x": None}, "it is marked with the class InKey, which has no effect"),
    (Annotated[str, Unique("key")], {}, "Unique names key, but as an annotation it is about 'x' alone"),
    (Annotated[int, Unique(case_insensitive=True)], {}, "int has no case, so case_insensitive has no effect"),
    (Annotated[str, Ordered(0, 9)], {}, "Ordered needs int or Decimal, but it is str"),
    (Annotated[str, StoredAs("")], {}, "StoredAs('') is not a name of an attribute; use 1 to 65535 bytes of text"),
    (Annotated[str, StoredAs(3)], {}, "StoredAs(3) is not a name of an attribute"),  # type: ignore[arg-type]
    (int, {"x": "a"}, "'a' is str, but the attribute is int; write a value of int"),
    (int, {"x": None}, "None is NoneType, but the attribute is int"),
    (State, {"x": "open"}, "'open' is str, but the attribute is State"),
    (datetime, {"x": datetime(2025, 1, 1)}, "is a time without a zone, but the attribute is datetime"),
    (Annotated[State, Transitions({"open": ["closed"]})], {}, "'open' is str, but the attribute is State"),
    (Annotated[State, Transitions({State.OPEN: []}, start=["new"])], {}, "'new' is str, but the attribute is State"),
    (Annotated[str, Transitions({"open": "closed"})], {}, "Transitions needs a list, not 'closed'"),
    (Annotated[str, Transitions({"open": []}, start="open")], {}, "Transitions needs a list, not 'open'"),
    (Annotated[str, Transitions(["open"])], {}, "Transitions needs a dict"),  # type: ignore[arg-type]
    (datetime, {"kept": Expires("x", after=3)}, "Expires(after=3) is not a duration"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("kind", "body", "error"), REJECTED, ids=[each[2] for each in REJECTED])
def test_what_has_no_effect_is_rejected(kind: Any, body: dict[str, Any], error: str) -> None:
    with pytest.raises(DesignError) as rejected:
        declared(kind, **body)
    assert error in str(rejected.value)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (Annotated[State | None, Transitions({None: [State.OPEN], State.OPEN: [None]}, start=[None])], {"x": None}),
        (Annotated[str, Unique(case_insensitive=True)], {}),
        (float, {"x": 1}),
        (datetime, {"kept": Expires("x", after=timedelta(days=1))}),
    ],
)
def test_what_has_an_effect_is_accepted(kind: Any, body: dict[str, Any]) -> None:
    declared(kind, **body)
