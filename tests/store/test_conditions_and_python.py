"""A condition that is accepted means what the same expression means in Python, in every place that evaluates it."""

import operator
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Annotated, Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita import (
    Compressed,
    ConditionFailed,
    DesignError,
    Entity,
    F,
    InvalidValue,
    Item,
    Store,
    Table,
    connect,
    pattern,
    prove,
)
from partita.design.conditions import Condition
from partita.plan.items import item_of, values_of
from partita.plan.predicates import design_predicate

table = Table("shelves", pk="PK", sk="SK")


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class State(StrEnum):
    OPEN = "open"
    SHUT = "shut"


class Inner(msgspec.Struct):
    tags: set[str] = msgspec.field(default_factory=set)
    note: str | None = None
    number: int = 0
    label: str | None = "none"


class Thing(Entity, table=table, key=("THING", "{code}")):
    code: str
    tags: set[str] = msgspec.field(default_factory=set)
    more_tags: set[str] = msgspec.field(default_factory=set)
    maybe_tags: set[str] | None = None
    numbers: frozenset[int] = frozenset()
    data: bytes = b""
    maybe_data: bytes | None = None
    names: list[str] = msgspec.field(default_factory=list)
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    inner: Inner = msgspec.field(default_factory=Inner)
    maybe_inner: Inner | None = None
    flag: bool = False
    maybe_flag: bool | None = None
    number: int = 0
    maybe_number: int | None = None
    other_number: int | None = None
    at: datetime = datetime(2025, 1, 1, tzinfo=UTC)
    day: date = date(2025, 1, 1)
    color: Color = Color.RED
    state: State = State.OPEN
    serial: UUID = UUID(int=1)
    text: str = ""
    maybe_text: str | None = None
    zipped: Annotated[str, Compressed()] = ""
    price: Decimal = Decimal(0)


@pattern
def thing(code: str) -> Item[Thing]: ...


design = prove("shelves", table)

_TAGS = st.sampled_from(["", "a", "ab"]).map(set)
_NUMBERS = st.integers(0, 2)
_TEXTS = st.sampled_from(["", "a", "ab"])
_BYTES = st.sampled_from([b"", b"a", b"ab"])
_INNER = st.builds(Inner, tags=_TAGS, note=st.none() | _TEXTS, number=_NUMBERS, label=st.none() | _TEXTS)
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "tags": _TAGS,
    "more_tags": _TAGS,
    "maybe_tags": st.none() | _TAGS.filter(bool),
    "numbers": st.sampled_from([frozenset(), frozenset({1}), frozenset({1, 2})]),
    "data": _BYTES,
    "maybe_data": st.none() | _BYTES,
    "names": st.sampled_from(["", "a", "ab"]).map(list),
    "counts": st.sampled_from(["", "a", "ab"]).map(lambda names: dict.fromkeys(names, 1)),
    "inner": _INNER,
    "maybe_inner": st.none() | _INNER,
    "flag": st.booleans(),
    "maybe_flag": st.none() | st.booleans(),
    "number": _NUMBERS,
    "maybe_number": st.none() | _NUMBERS,
    "other_number": st.none() | _NUMBERS,
    "at": st.sampled_from([datetime(2025, 1, day, tzinfo=UTC) for day in (1, 2)]),
    "day": st.sampled_from([date(2025, 1, 1), date(2025, 1, 2)]),
    "color": st.sampled_from(Color),
    "state": st.sampled_from(State),
    "serial": st.sampled_from([UUID(int=1), UUID(int=2)]),
    "text": _TEXTS,
    "maybe_text": st.none() | _TEXTS,
    "zipped": _TEXTS,
    "price": st.sampled_from([Decimal(0), Decimal(1)]),
}
_INSIDE = [("inner", "tags"), ("inner", "note"), ("inner", "label"), ("maybe_inner", "tags"), ("maybe_inner", "label")]
_INSIDE += [("counts", "a")]
_PATHS = [*((name,) for name in _VALUES), *_INSIDE]
_OPERATORS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


class Case(msgspec.Struct, frozen=True):
    """A condition, and the same in Python."""

    condition: Callable[[], Condition]
    python: Callable[[Any], Any]
    text: str

    def __repr__(self) -> str:
        return self.text


def field(path: tuple[str, ...]) -> Any:
    found = F[path[0]]
    for step in path[1:]:
        found = found[step]
    return found


def value(entity: Any, path: tuple[str, ...]) -> Any:
    found = entity
    for step in path:
        found = found.get(step) if isinstance(found, dict) else getattr(found, step, None)
    return found


def size(entity: Any, path: tuple[str, ...]) -> int:
    found = value(entity, path)
    return len(found.encode() if isinstance(found, str) else found)


_FORMS = ["value", "value", "field", "size", "size", "size and field", "field and size", "in", "contains", "starts"]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    path, other, compare = (
        draw(st.sampled_from(_PATHS)),
        draw(st.sampled_from(_PATHS)),
        draw(st.sampled_from(_OPERATORS)),
    )
    constant = draw(st.none() | st.one_of(*_VALUES.values()) | _VALUES.get(path[-1], _TAGS))
    number, how, one = draw(_NUMBERS), draw(st.sampled_from(_FORMS)), field(path)
    forms: dict[str, tuple[Callable[[], Condition], Callable[[Any], Any]]] = {
        "value": (lambda: compare(one, constant), lambda each: compare(value(each, path), constant)),
        "field": (lambda: compare(one, field(other)), lambda each: compare(value(each, path), value(each, other))),
        "size": (lambda: compare(one.size(), number), lambda each: compare(size(each, path), number)),
        "size and field": (
            lambda: compare(one.size(), F.number),
            lambda each: compare(size(each, path), each.number),
        ),
        "field and size": (
            lambda: compare(F.number, one.size()),
            lambda each: compare(each.number, size(each, path)),
        ),
        "in": (lambda: one.is_in(constant, "b"), lambda each: value(each, path) in (constant, "b")),
        "contains": (lambda: one.contains(constant), lambda each: constant in value(each, path)),
        "starts": (lambda: one.starts_with(constant), lambda each: value(each, path).startswith(constant)),
    }
    return Case(*forms[how], f"{how}: {path} {compare.__name__} {constant!r}, {number} or {other}")


def in_python(case: Case, entity: Any) -> bool | None:
    """None where Python has no answer: a comparison with None, for which a condition is false or unequal."""
    try:
        return bool(case.python(entity))
    except (TypeError, AttributeError):
        return None


@pytest.fixture(scope="module")
def db() -> Iterator[Store]:
    with connect("memory:", design, maintain=False) as opened:
        opened.create_tables()
        yield opened


@settings(max_examples=400, deadline=None)
@given(st.builds(Thing, code=st.just("x"), **_VALUES), cases(), st.booleans())
def test_condition_means_what_it_means_in_python(db: Store, entity: Thing, case: Case, negated: bool) -> None:
    db.put(entity)
    (entity,) = [db.one(thing("x"))]
    try:
        asked = ~case.condition() if negated else case.condition()
        scanned = bool(list(db.scan(Thing, where=asked)))
    except (DesignError, InvalidValue):
        return
    expected = in_python(case, entity)
    if expected is not None:
        assert scanned == (expected != negated)
    try:
        with db.transaction() as transaction:
            transaction.check(thing("x"), asked)
        checked = True
    except ConditionFailed:
        checked = False
    values = values_of(Thing.__model__, entity)
    assert checked == scanned == design_predicate(Thing.__model__, asked)(item_of(Thing.__model__, values))


NEVER_ALLOWED = {
    "Thing.tags is set[str], which has no order; compare it with == or !=": F.tags < {"a"},
    "Thing.flag is bool, which has no order; compare it with == or !=": F.flag < F.maybe_flag,
    "Thing.color is Color, which has no order; compare it with == or !=": F.color >= Color.RED,
    "Thing.at is datetime, which has no size; compare its value": F.at.size() > 3,
    "Thing.inner is Inner, which has no size; compare its value": F.inner.size() > 3,
    "Thing.tags is set[str], which has no beginning; compare its value, or use contains() for a set or list": (
        F.tags.starts_with("a")
    ),
    "Thing.counts is dict[str, int], which has no elements to look for; compare its value, or test a member with"
    " exists()": F.counts.contains("a"),
    "Thing.zipped is stored compressed; test it with exists() or is_absent()": F.zipped == "a",
    "Thing.text is compared with itself; compare it with another attribute or a value": F.text == F.text,
    "Thing.text is not a number; compare a size with a number": F.tags.size() == F.text,
    "Thing.text and Thing.number have different types, and are never equal; compare attributes of one type": (
        F.text == F.number
    ),
}


@pytest.mark.parametrize("message", NEVER_ALLOWED)
def test_condition_without_a_meaning_is_rejected_with_what_to_write(db: Store, message: str) -> None:
    with pytest.raises(DesignError) as raised:
        list(db.scan(Thing, where=NEVER_ALLOWED[message]))
    assert str(raised.value) == f"Thing: {message}"


def test_empty_set_has_the_size_zero_and_none_has_no_size(db: Store) -> None:
    db.put(Thing(code="x"))

    def found(condition: Condition) -> bool:
        return bool(list(db.scan(Thing, where=condition)))

    assert found(F.tags.size() == 0)
    assert found(F.tags.size() < 1)
    assert not found(F.tags.size() != 0)
    assert found(F.tags.size() <= F.number)
    assert found(F.tags == F.more_tags)
    assert not found(F.maybe_tags.size() == 0)
    assert found(F.maybe_number == F.other_number)
    assert found(F.inner.tags.size() == 0)
    assert not found(F.maybe_inner.tags.size() == 0)


@pytest.mark.parametrize("inner", [Inner(label=None), Inner(label="a"), None])
@pytest.mark.parametrize("text", [None, "a"])
def test_none_equals_none_whether_it_is_absent_or_stored(db: Store, inner: Inner | None, text: str | None) -> None:
    db.put(Thing(code="x", inner=inner or Inner(label=None), maybe_inner=inner, maybe_text=text))
    for path in (F.inner.label, F.maybe_inner.label):
        label = None if inner is None else inner.label
        assert bool(list(db.scan(Thing, where=path == F.maybe_text))) == (label == text)
        assert bool(list(db.scan(Thing, where=F.maybe_text != path))) == (label != text)
