"""Keys that are too long for every item: rejected by `prove`, with the bytes that the shortest one has."""

from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from random import Random
from typing import Annotated, Any, Literal

import pytest

from partita import DesignError, Entity, F, Keys, Ordered, Table, Unique, connect, prove
from partita.design.entities import EntityMeta
from partita.design.key_languages import (
    ANY_CHARACTER,
    Language,
    characters,
    exactly,
    literal,
    one_of,
    optional,
    repeated,
    sequence,
    texts,
)
from tests.store.declared import BY_TEXT, table

PARTITION, SORT = 2048, 1024


def rejected(things: Table) -> str:
    with pytest.raises(DesignError) as raised:
        prove("things", things)
    return str(raised.value)


def declared(pk: str, sk: str = "THING", things: Table | None = None) -> Table:
    things = things or table()

    class Thing(Entity, table=things, key=(pk, sk)):
        thing: str
        n: int = 0
        note: str | None = None

    return things


def test_error_says_how_long_the_shortest_key_is() -> None:
    assert rejected(declared("{thing}", "THING#" + "x" * SORT)) == (
        f"Thing: the key 'SK' (THING#{'x' * 54}...) has at least 1,030 bytes, and "
        "DynamoDB takes 1,024, so no item could be written; shorten its constants, or the widths of its numbers"
    )


@pytest.mark.parametrize(
    ("pk", "sk"),
    [
        ("x" * (PARTITION - 2) + "#{thing}", "THING"),
        ("é" * (PARTITION // 2 - 1) + "#{thing}", "THING"),
        ("{thing}#{n:2046}", "THING"),
        ("{thing}", "x" * SORT),
        ("{thing}", "{n:1024}"),
        ("{thing}", "{n:+1023}"),
        ("{thing}", "{n:1000}#" + "x" * 23),
        ("{thing}", "x" * (SORT - 2) + "#{thing}"),
        ("{thing}", "x" * SORT + "#{note?}"),
    ],
)
def test_key_is_rejected_from_the_first_byte_on_that_is_too_many(pk: str, sk: str) -> None:
    things = declared(pk, sk)
    prove("things", things)
    longer = declared(pk, "y" + sk) if len(sk) > 100 or "{" in sk else declared("y" + pk, sk)
    assert "so no item could be written" in rejected(longer)


def test_longest_key_that_is_proven_can_be_written() -> None:
    things = table()

    class Thing(Entity, table=things, key=("x" * (PARTITION - 2) + "#{thing}", "{n:1022}#{thing}")):
        thing: str
        n: int = 0

    with connect("memory:", prove("things", things)) as db:
        db.create_tables()
        db.create(Thing(thing="a"))
        assert [each.thing for each in db.scan(Thing)] == ["a"]


def test_keys_of_indexes_are_measured() -> None:
    things = table(BY_TEXT)

    class Thing(Entity, table=things, key=("{thing}", "THING")):
        thing: str
        done: bool = False

        one = Keys("GSI1", "{thing}", "x" * 2000, when=F.done == True)  # noqa: E712
        other = Keys("GSI1", "{thing}", "y", when=F.done == False)  # noqa: E712

    assert rejected(things).startswith("Thing.GSI1: the key 'GSI1SK' (xxx")


def test_old_keys_are_measured() -> None:
    things = table()

    class Thing(Entity, table=things, key=("{thing}", "THING"), old_keys=[("{thing}", "x" * 2000)]):
        thing: str

    assert "the key 'SK' (xxx" in rejected(things)


class Long(Enum):
    ONE = "x" * 1100
    OTHER = "y" * 1200


@pytest.mark.parametrize("kind", [Long, Literal["z" * 1100]])
@pytest.mark.parametrize("key", [("{thing}", "{kind}"), ("{thing}", None)])
def test_every_value_of_a_type_may_be_too_long(kind: Any, key: Any) -> None:
    things = Table("things", pk="PK", sk="kind" if key[1] is None else "SK")

    names = {"__annotations__": {"thing": str, "kind": kind}, "__module__": __name__}
    EntityMeta("Thing", (Entity,), names, table=things, key=key)
    assert "has at least 1,100 bytes" in rejected(things)


def test_one_short_value_is_enough() -> None:
    things = table()

    class Thing(Entity, table=things, key=("{thing}", "{kind}")):
        thing: str
        kind: Literal["a", "bbbb"]

    prove("things", things)


def test_guards_are_measured() -> None:
    things = table()
    name = "u" * 2100
    names = {"__annotations__": {"thing": str, "kind": str}, name: Unique("kind"), "__module__": __name__}
    EntityMeta("Thing", (Entity,), names, table=things, key=("{thing}", "THING"))
    message = rejected(things)
    assert "the key of its guard has at least" in message
    assert message.endswith("shorten the names of the entity and its attributes, or make fewer attributes unique")


def test_guards_of_listed_values_are_measured() -> None:
    things = table()

    class Thing(Entity, table=things, key=("{thing}", "THING")):
        thing: str
        kind: Literal["x" * 2040]  # type: ignore[valid-type]

        unique = Unique("kind")

    assert rejected(things).startswith("Thing.unique: the key of its guard has at least 2,060 bytes")


@pytest.mark.parametrize("part", ["{n:2049}", "{n:99999}", "{n:999999999}", "{price:10.5000}", "{bounded}"])
def test_number_with_more_digits_than_a_key_has_bytes_is_rejected_at_once(part: str) -> None:
    with pytest.raises(DesignError, match="digits in the key"):

        class Thing(Entity, table=table(), key=("{thing}", part)):
            thing: str
            n: int = 0
            price: Decimal = Decimal(0)
            bounded: Annotated[int, Ordered(0, 10**6000)] = 0


@pytest.mark.parametrize("part", ["{n:" + "9" * 5000 + "}", "{thing:shard(" + "9" * 5000 + ")}"])
def test_count_without_end_is_not_a_form(part: str) -> None:
    with pytest.raises(DesignError, match="is not a form of"):

        class Thing(Entity, table=table(), key=("{thing}", part)):
            thing: str
            n: int = 0


def some_language(random: Random, depth: int = 3) -> Language:
    simple: list[Callable[[], Language]] = [
        lambda: literal("".join(random.choices("aé€😀", k=random.randint(0, 3)))),
        lambda: texts("".join(random.choices("aé€😀", k=random.randint(0, 4))) for _ in range(random.randint(1, 3))),
        lambda: characters(random.choice(["az", "ßé", "€€", "😀😂"])),
        lambda: ANY_CHARACTER,
    ]
    if depth == 0:
        return random.choice(simple)()
    inner = [some_language(random, depth - 1) for _ in range(random.randint(1, 3))]
    made = [
        lambda: sequence(*inner),
        lambda: one_of(*inner),
        lambda: repeated(inner[0]),
        lambda: optional(inner[0]),
        lambda: exactly(2, inner[0]),
    ]
    return random.choice(made)()


def shortest_by_search(language: Language) -> int:
    """The same by trying texts of one, two, three ... bytes."""
    reached: dict[int, set[int]] = {0: {0}}
    for length in range(200):
        states = reached.get(length, set())
        if not states.isdisjoint(language.accepting):
            return length
        for state in states:
            for low, high, to in language.edges[state]:
                for bytes_, first, last in ((1, 0, 0x7F), (2, 0x80, 0x7FF), (3, 0x800, 0xFFFF), (4, 0x10000, 0x10FFFF)):
                    if max(low, first) <= min(high, last):
                        reached.setdefault(length + bytes_, set()).add(to)
    raise AssertionError("no text")


@pytest.mark.parametrize("seed", range(200))
def test_fewest_bytes_are_those_of_a_search(seed: int) -> None:
    language = some_language(Random(seed))
    assert language.fewest_bytes == shortest_by_search(language)
    assert language.fewest_bytes <= language.most_needed_bytes


def test_language_without_a_text_has_no_shortest_one() -> None:
    assert Language(((), ()), frozenset({1})).fewest_bytes is None
