"""A pattern that is accepted returns items of its own entities, and only those that its arguments name."""

import enum
from typing import Annotated, Any, Literal

import msgspec
import pytest

from partita import (
    DesignError,
    Entity,
    Expires,
    F,
    Index,
    Items,
    Keys,
    OpenEnum,
    ProofError,
    Store,
    StoredAs,
    Table,
    Unique,
    Was,
    collection,
    connect,
    pattern,
    prove,
    query,
)
from partita.design.conditions import Condition
from partita.design.key_templates import PartType, template


def a_store(table: Table) -> Store:
    db = Store(connect("memory:"), prove("foreign", table))
    db.create_tables()
    return db


NOTHING = object()
FILTERS: list[tuple[Any, Any]] = [
    (lambda _: F.note == None, NOTHING),  # noqa: E711
    (lambda _: F.note == F.other, NOTHING),
    (lambda _: F.note != "a", NOTHING),
    (lambda value: F.note == value, None),
    (lambda value: F.note == value, "a"),
    (lambda value: F.note.is_in("a", value), None),
    (lambda _: F.tags == set(), NOTHING),
    (lambda value: F.tags == value, set()),
    (lambda _: F.tags.size() <= 2, NOTHING),
    (lambda _: F.tags.size() == 0, NOTHING),
    (lambda _: F.tags.size() != 1, NOTHING),
    (lambda _: F.note.size() != 1, NOTHING),
    (lambda _: F.note.is_absent(), NOTHING),
    (lambda _: ~(F.note == "a"), NOTHING),
    (lambda _: F.nested.inner == None, NOTHING),  # noqa: E711
    (lambda value: F.nested.inner == value, None),
    (lambda _: F.nick == "a", NOTHING),
    (lambda _: F.renamed == "a", NOTHING),
    (lambda _: F.state == "open", NOTHING),
    (lambda value: F.state == value, "open"),
    (lambda _: F.tags.contains("a"), NOTHING),
    (lambda _: F.note.starts_with("a"), NOTHING),
    (lambda _: (F.state == "open") | (F.note == None), NOTHING),  # noqa: E711
    (lambda _: (F.state == "open") | (F.nick == "a"), NOTHING),
    (lambda _: ((F.state == "open") & (F.x == "1")) | ((F.note == "a") & (F.state == "open")), NOTHING),
]


class Nested(msgspec.Struct):
    inner: str | None = None


@pytest.mark.parametrize(("where", "given"), FILTERS)
def test_accepted_filter_returns_its_own_entity_only(where: Any, given: Any) -> None:
    """The other entity has none of these attributes, or has them under the name of a migrated one."""
    table = Table("tab", pk="PK", sk="SK")

    class Own(Entity, table=table, key=("P#{p}", "{x}")):
        p: str
        x: str
        note: str | None = None
        other: str | None = None
        tags: set[str] = msgspec.field(default_factory=set[str])
        nested: Nested | None = None
        nick: str = "a"
        renamed: Annotated[str, Was("before")] = "a"
        state: str = "open"

    class Other(Entity, table=table, key=("P#{p}", "O#{x}")):
        p: str
        x: str
        name: Annotated[str, Was("nick")] = "a"
        before: str = "a"

    def declared(p: str, value: Any) -> Items[Own]:
        condition: Condition = where(value)
        return query(Own, p).where(condition)

    kind = set[str] if isinstance(given, set) else str | None if given is None else str
    if given is NOTHING:

        def listed(p: str) -> Items[Own]:
            return declared(p, None)

    else:

        def listed(p: str, value: Any) -> Items[Own]:  # type: ignore[misc]
            return declared(p, value)

        listed.__annotations__["value"] = kind
    try:
        read: Any = pattern(listed)
        db = a_store(table)
    except ProofError:
        return
    db.create(Own(p="1", x="1"))
    db.create(Other(p="1", x="1"))
    arguments = ("1",) if given is NOTHING else ("1", given)
    assert all(each.x == "1" and each.p == "1" for each in db(read(*arguments)))
    assert len(list(db(read(*arguments)))) <= 1


def test_filters_of_what_is_always_there_still_drop_others() -> None:
    table = Table("tab", pk="PK", sk="SK")

    class Own(Entity, table=table, key=("P#{p}", "{x}")):
        p: str
        x: str
        state: str = "open"

    class Other(Entity, table=table, key=("P#{p}", "O#{x}")):
        p: str
        x: str

    @pattern
    def listed(p: str, state: str) -> Items[Own]:
        return query(Own, p).where(F.state == state)

    db = a_store(table)
    db.create(Other(p="1", x="1"))
    assert not list(db(listed("1", "open")))


@pytest.mark.parametrize(
    ("where", "is_proven"),
    [
        ((F.kind == "visit") | (F.kind == "view"), True),
        (((F.kind == "visit") & (F.count > 1)) | ((F.kind == "view") & (F.count > 0)), True),
        ((F.kind == "visit") & ((F.count > 1) | (F.kind == "view")), True),
        ((F.kind == "visit") | (F.count > 0), False),
    ],
)
def test_alternatives_of_a_filter_drop_what_each_of_them_drops(where: Condition, is_proven: bool) -> None:
    table = Table("tab", pk="PK", sk="SK")

    class Visit(Entity, table=table, key=("P#{p}", "{n:3}#VISIT")):
        p: str
        n: int
        kind: Literal["visit", "view"] = "visit"
        count: int = 5

    class Click(Entity, table=table, key=("P#{p}", "{n:3}#CLICK")):
        p: str
        n: int
        kind: Literal["click"] = "click"
        count: int = 5

    db = a_store(table)
    for n in range(3):
        db.create(Visit(p="1", n=n))
        db.create(Click(p="1", n=n))
    read = query(Visit, "1").where(where)
    if is_proven:
        assert [(type(each), each.n) for each in db(read)] == [(Visit, n) for n in range(3)]
    else:
        with pytest.raises(ProofError, match="can lie in the range"):
            list(db(read))


@pytest.mark.parametrize("form", ["shard(2)", "fold"])
def test_partition_with_a_part_of_a_value_holds_several_parents(form: str) -> None:
    table = Table("tab", pk="PK", sk="SK")

    class Order(Entity, table=table, key=(f"S#{{name:{form}}}", "O#{name}")):
        name: str

    class Line(Entity, table=table, key=(f"S#{{name:{form}}}", "O#{name}#{number:2}")):
        name: str
        number: int

    def order(part: Any, name: str) -> Items[Order | Line]:
        return collection(Order, Line)(part, name)

    order.__annotations__["part"] = int if "shard" in form else str
    read: Any = pattern(order)
    db = a_store(table)
    names = ["a", "A", "b", "c", "d"]
    for name in names:
        db.create(Order(name=name))
        db.create(Line(name=name, number=1))
    for name in names:
        for part in (0, 1) if "shard" in form else (name,):
            assert {each.name for each in db(read(part, name))} <= {name}
    found = [
        each for name in names for part in ((0, 1) if "shard" in form else (name,)) for each in db(read(part, name))
    ]
    assert len(found) == 2 * len(names)


def test_unknown_text_of_an_open_enum_is_not_the_member_of_that_name() -> None:
    class Mood(OpenEnum):
        GOOD = "good"
        BAD = "GOOD-"

    for form in ("{mood}", "{mood}#X"):
        parsed = template("t", form, {"mood": PartType(Mood)}, sorts=True)
        values = [Mood.GOOD, Mood("GOOD"), Mood.BAD, Mood("BAD"), Mood("good-"), Mood("GOOD")]
        texts = [parsed.format("t", {"mood": value}) for value in values]
        assert len(set(texts)) == len({value.value for value in values})
        assert [parsed.parse(text or "") for text in texts] == [{"mood": value} for value in values]


def test_constant_of_a_plain_key_is_compared_as_it_is_stored() -> None:
    class Kind(enum.StrEnum):
        ACUTE = "\u00e9"

    table = Table("tab", pk="PK", sk="SK", indexes=(Index("ByName", "name", "SK"),))

    class Own(Entity, table=table, key=("A#{p}", "{p}")):
        p: str
        name: str

        by_name = Keys("ByName")

    class Other(Entity, table=table, key=("B#{p}", "{p}")):
        p: str
        name: Kind

        by_name = Keys("ByName")

    @pattern
    def named() -> Items[Own]:
        return Own.by_name.query("e\u0301")

    with pytest.raises(ProofError, match=r"Other .* can lie in the range"):
        prove("foreign", table)


def test_decomposed_literal_is_no_key() -> None:
    table = Table("tab", pk="PK", sk="SK")
    with pytest.raises(DesignError, match="is not in the composed form"):

        class Own(Entity, table=table, key=("A#{p}", "{name}")):
            p: str
            name: Literal["e\u0301", "b"]


@pytest.mark.parametrize(
    "settings",
    [
        {"ttl": "ttl", "indexes": (Index("ByTtl", "PK", "ttl"),)},
        {"ttl": "ttl", "indexes": (Index("ByTtl", "SK", "ttl"),)},
        {"ttl": "SK"},
        {"ttl": "same", "type_attribute": "same"},
        {"type_attribute": "SK"},
        {"type_attribute": "kind", "ttl": "ttl", "indexes": (Index("ByKind", "kind", "SK"),)},
    ],
)
def test_attributes_that_the_store_writes_are_no_keys(settings: dict[str, Any]) -> None:
    """An item would be in an index that its entity does not declare, or its key would be overwritten."""
    from datetime import datetime

    table = Table("tab", pk="PK", sk="SK", **settings)
    names = {name for index in table.indexes for name in index.sk + index.pk}
    if "ttl" in names:

        class Own(Entity, table=table, key=("P#{p}", "{x}")):
            p: str
            x: str
            ttl: int

    class Other(Entity, table=table, key=("Q#{p}", "B#{x}")):
        p: str
        x: str
        email: Annotated[str, Unique()]
        at: datetime

        expires = Expires("at") if table.ttl else None
        by = Keys("ByKind", "K#{x}") if "kind" in names else None

    with pytest.raises(DesignError, match=r"TTL attribute|type attribute"):
        prove("foreign", table)


def test_names_of_the_store_are_reserved() -> None:
    table = Table("tab", pk="PK", sk="SK")
    with pytest.raises(DesignError, match="reserved for the store"):

        class Own(Entity, table=table, key=("P#{p}", "X")):
            p: str
            mark: Annotated[str | None, StoredAs("partita-leaving")] = None
