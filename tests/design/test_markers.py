"""Markers that do not fit their attributes, and invariants that cannot be enforced, are rejected at import."""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from types import new_class
from typing import Annotated, Any, NewType

import pytest

from partita import (
    Compressed,
    CountOf,
    CreatedAt,
    DesignError,
    Entity,
    Expires,
    F,
    Index,
    Keys,
    Limit,
    Ordered,
    StoredAs,
    SumOf,
    Table,
    Unique,
    UpdatedAt,
    Version,
)

COUNTED = Annotated[int, Ordered(0, 999), CountOf(lambda: Part)]


class Part(Entity, table=Table("parts", pk="PK"), key="PART#{thing_id}"):
    thing_id: str


def declared(attributes: dict[str, Any], body: dict[str, Any], key: tuple[str, str] = ("T#{thing_id}", "T")) -> Any:
    """The entity `Thing` with these attributes beside its id, and these rules."""
    table = Table("things", "PK", "SK", (Index("GSI1", "A", "B"),), ttl="ttl", type_attribute="type")
    annotations = {"__annotations__": {"thing_id": str} | attributes}
    return new_class(
        "Thing", (Entity,), {"table": table, "key": key}, lambda namespace: namespace.update(annotations | body)
    )


def said(attributes: dict[str, Any], body: dict[str, Any], **options: Any) -> str:
    with pytest.raises(DesignError) as refusal:
        declared(attributes, body, **options)
    return str(refusal.value)


@pytest.mark.parametrize(
    ("hint", "wrong"),
    [
        (Annotated[str, CountOf(Part)], "CountOf needs int, but it is str; write kept: Annotated[int, ...]"),
        (Annotated[float, Version()], "Version needs int, but it is float; write kept: Annotated[int, ...]"),
        (Annotated[str, SumOf(Part, "n")], "SumOf needs Decimal, but it is str; write kept: Annotated[Decimal, ...]"),
        (Annotated[str, CreatedAt()], "CreatedAt needs datetime, but it is str; write kept: Annotated[datetime, ...]"),
        (
            Annotated[date, UpdatedAt()],
            "UpdatedAt needs datetime, but it is date; write kept: Annotated[datetime, ...]",
        ),
        (Annotated[int, CountOf(Part)], "a counter starts at its default, and it has none; write kept: ... = 0"),
    ],
)
def test_automatic_attribute_must_have_the_type_of_its_marker(hint: Any, wrong: str) -> None:
    assert said({"kept": hint}, {}) == f"Thing.kept: {wrong}"


@pytest.mark.parametrize(
    "limit",
    [
        lambda: Limit(F.a >= 0),
        lambda: Limit(F.a < 3),
        lambda: Limit(F.most >= F.a),
        lambda: Limit((F.a <= 3) & (F.most <= 3)),
        lambda: Limit(F.a.is_in(1, 2)),
        lambda: Limit(F.a <= "many"),
        lambda: Limit(F.name <= 3),
        lambda: Limit(F.a.b <= 3),
        lambda: Limit(2 <= 3),  # type: ignore[arg-type]
    ],
)
def test_limit_in_another_form_is_rejected(limit: Callable[[], Limit]) -> None:
    assert said({"a": int, "most": int, "name": str}, {"bound": limit()}) == (
        "Thing: a limit must have the form attribute <= bound; write Limit(F.count <= 10) or "
        "Limit(F.count <= F.maximum), one for each attribute"
    )


@pytest.mark.parametrize("limit", [Limit(F.a <= 3), Limit(F.a <= F.most), Limit(F.most <= Decimal("0.5"))])
def test_an_attribute_is_limited_by_a_number_or_another_attribute(limit: Limit) -> None:
    declared({"a": int, "most": Decimal}, {"bound": limit})


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        (
            lambda: Keys("GSI1", "ALL", "{parts}"),
            (
                "Thing.GSI1: 'parts' is a counter, so a key that contains it would become stale; use "
                "the attribute itself as the key of the index, or count in a service"
            ),
        ),
        (
            lambda: Keys("GSI1", "ALL", "X", when=F.parts > 0),
            (
                "Thing.GSI1: 'parts' is a counter, so a key that contains it would become stale; use "
                "the attribute itself as the key of the index, or count in a service"
            ),
        ),
        (
            lambda: Expires("at", when=F.parts <= 0),
            ("Thing: 'parts' is a counter, so an expiry that depends on it would become stale; count in a service"),
        ),
        (
            lambda: Unique("name", when=F.parts > 0),
            (
                "Thing.rule: 'parts' is a counter, so a unique value that contains it would become stale; "
                "count in a service"
            ),
        ),
        (
            lambda: Unique("name", "parts"),
            (
                "Thing.rule: 'parts' is a counter, so a unique value that contains it would become stale; "
                "count in a service"
            ),
        ),
    ],
)
def test_nothing_is_derived_from_a_counter(rule: Callable[[], Any], wrong: str) -> None:
    assert said({"name": str, "at": datetime, "parts": COUNTED}, {"rule": rule(), "parts": 0}) == wrong


@pytest.mark.parametrize("kind", [int, date, str])
def test_expiry_needs_a_time(kind: type) -> None:
    assert said({"at": kind}, {"kept": Expires("at")}) == (
        f"Thing.at: Expires needs a time, but 'at' is {kind.__name__}; write at: datetime"
    )


def test_an_item_expires_once() -> None:
    assert said({"at": datetime, "end": datetime}, {"one": Expires("at"), "other": Expires("end")}) == (
        "Thing: it has 2 Expires, but an item has one TTL; keep one of them"
    )


@pytest.mark.parametrize(
    ("hint", "body", "wrong"),
    [
        (
            Annotated[str, StoredAs("ttl")],
            {},
            "'ttl' is the TTL attribute of the table, set by Expires; rename it with StoredAs",
        ),
        (
            Annotated[datetime, StoredAs("ttl")],
            {},
            "'ttl' is the TTL attribute of the table, set by Expires; rename it with StoredAs",
        ),
        (
            Annotated[int, StoredAs("ttl")],
            {"kept": Expires("at")},
            "'ttl' is the TTL attribute of the table, set by Expires; rename it with StoredAs",
        ),
        (
            Annotated[str, StoredAs("type")],
            {},
            "'type' is the type attribute of the table; rename it with StoredAs",
        ),
    ],
)
def test_attribute_cannot_have_the_name_of_one_that_the_table_uses(hint: Any, body: dict[str, Any], wrong: str) -> None:
    assert said({"at": datetime, "mine": hint}, body) == f"Thing.mine: {wrong}"


def test_who_writes_the_ttl_without_expires_may() -> None:
    declared({"ttl": int}, {})


@pytest.mark.parametrize("kind", [list[str], set[str], dict[str, str], Any])
def test_collection_cannot_be_unique(kind: Any) -> None:
    name = kind.__name__ if isinstance(kind, type) else str(kind)
    assert said({"name": str, "several": kind}, {"once": Unique("name", "several")}) == (
        f"Thing.once: 'several' is {name}, which cannot be unique; use text, a number or a time"
    )


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        (
            ("T#{thing_id:shard(0)}", "{thing_id}"),
            (
                "PK: {thing_id:shard(0)} is not a form of str; "
                "write {thing_id} or {thing_id:fold} or {thing_id:shard(8)}"
            ),
        ),
        (
            ("T#{number:0}", "T"),
            (
                "PK: {number:0} is not a form of int; "
                "write {number:+10} for ten digits with a sign, or Annotated[int, Ordered(-999, 999)], "
                "or {number:plain} where the order does not matter"
            ),
        ),
        (("T#{thing_id}", ""), "SK: the template is empty, and DynamoDB rejects an empty key; write a constant"),
    ],
)
def test_form_without_values_is_rejected(key: tuple[str, str], wrong: str) -> None:
    assert said({"number": int}, {}, key=key) == f"Thing.{wrong}"


def test_markers_inside_an_optional_type_count_as_those_around_it() -> None:
    things = Table("things", "PK", "SK")
    name = NewType("name", Annotated[str, Unique()])

    class Inside(Entity, table=things, key=("A#{key}", "A#{number?}")):
        key: str
        number: Annotated[int, Ordered(-5, 999)] | None = None
        email: Annotated[str, Unique()] | None = None
        nick: name | None = None
        body: Annotated[Annotated[list[str], Compressed()] | None, StoredAs("b")] = None

    class Around(Entity, table=things, key=("B#{key}", "B#{number?}")):
        key: str
        number: Annotated[int | None, Ordered(-5, 999)] = None
        email: Annotated[str | None, Unique()] = None
        nick: Annotated[str | None, Unique()] = None
        body: Annotated[list[str] | None, Compressed(), StoredAs("b")] = None

    inside, around = Inside.__model__, Around.__model__
    assert [(each.name, each.fields) for each in inside.uniques] == [
        (each.name, each.fields) for each in around.uniques
    ]
    assert [each.name for each in inside.attributes.values()] == [each.name for each in around.attributes.values()]
    assert [type(each.codec) for each in inside.attributes.values()] == [
        type(each.codec) for each in around.attributes.values()
    ]
    assert [each.form for each in _sort_segments(inside)] == [each.form for each in _sort_segments(around)]


def _sort_segments(model: Any) -> Any:
    return model.key.attributes[1].template.segments
