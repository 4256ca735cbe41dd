"""Equal values have one key, however the caller spells them: in `:plain` parts and shards, too."""

import enum
import unicodedata
from decimal import Decimal
from typing import Annotated, Any

import pytest

from partita import CountOf, DesignError, Entity, Index, InvalidValue, Keys, OpenEnum, Table, get, query
from partita.design.entities import EntityMeta
from partita.design.key_parts import ShardPart
from tests.store.declared import opened, table

E_ACUTE = unicodedata.normalize("NFD", "é")
PAIRS: dict[str, tuple[Any, Any, Any]] = {
    "an int for a float": (float, 1.0, 1),
    "a large int for a float": (float, 1e20, 10**20),
    "zero with a sign": (float, 0.0, -0.0),
    "trailing zeros": (Decimal, Decimal("1.5"), Decimal("1.50")),
    "an exponent": (Decimal, Decimal(100), Decimal("1E+2")),
    "an exact zero with a sign": (Decimal, Decimal(0), Decimal("-0")),
    "decomposed text": (str, "é", E_ACUTE),
}


def declared(kind: Any, form: str, things: Table) -> tuple[Any, Any]:
    """A parent, and a child that counts in it, with a value of the kind in their keys."""
    key = ("P#{p}", f"X#{{x:{form}}}")
    child = EntityMeta(
        "Child",
        (Entity,),
        {"__annotations__": {"c": str, "p": str, "y": kind}, "__module__": __name__},
        table=things,
        key=("C#{c}", "C"),
    )
    counts = Annotated[int, CountOf(child, via={"x": "y"})]
    names = {"__annotations__": {"p": str, "x": kind, "n": counts}, "__module__": __name__, "n": 0}
    return EntityMeta("Thing", (Entity,), names, table=things, key=key), child


@pytest.mark.parametrize("form", ["plain", "shard(64)"])
@pytest.mark.parametrize("pair", PAIRS)
def test_item_is_found_by_every_spelling_of_its_key(pair: str, form: str) -> None:
    kind, one, other = PAIRS[pair]
    for written, asked in ((one, other), (other, one)):
        things = table()
        thing, child = declared(kind, form, things)
        with opened(things) as db:
            db.create(thing(p="a", x=written))
            db.put(thing(p="a", x=asked))
            db.create(child(c="c", p="a", y=asked))
            assert [each.n for each in db(query(thing, "a"))] == [1]
            assert db.get(get(thing, "a", asked)) == db.get(get(thing, "a", written))
            found: Any = db.get(get(thing, "a", asked))
            assert (found.x, found.n) == (one, 1)
            db.delete(get(child, "c"))
            assert db.delete(get(thing, "a", asked)) is not None


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 7


class Tier(OpenEnum):
    FREE = "free"


def test_shard_of_an_enum_is_that_of_its_value() -> None:
    for member in (Color.RED, Level.HIGH, Tier.FREE, Tier("gold")):
        assert ShardPart(1000, type(member)).write(member) == ShardPart(1000).write(str(member.value))


@pytest.mark.parametrize("kind", [set[str], frozenset[int], list[int], dict[str, int], Any])
def test_value_without_a_text_of_its_own_has_no_shard(kind: Any) -> None:
    """The text of a set differs from process to process."""
    with pytest.raises(DesignError, match=r"\{x:shard\(64\)\} is not a form of"):
        declared(kind, "shard(64)", table())


@pytest.mark.parametrize("form", ["plain", "ranked"])
def test_flags_are_no_part_of_a_key(form: str) -> None:
    """A combination is not among the members, so a scan missed its item."""
    with pytest.raises(DesignError, match=f"{{x:{form}}} is not a form of Mode"):
        declared(enum.IntFlag("Mode", ["READ", "WRITE"]), form, table())


@pytest.mark.parametrize("values", [{"A": 1, "B": "1"}, {"A": 1.5}, {"A": (1, 2)}, {"A": True}])
def test_enum_whose_members_cannot_be_read_back_is_rejected(values: dict[str, Any]) -> None:
    with pytest.raises(DesignError) as raised:
        declared(enum.Enum("Odd", values), "shard(8)", table())
    assert str(raised.value) == (
        "Child.y: Odd has members that are neither all text nor all whole numbers; give the members of Odd texts"
    )


def test_empty_text_of_an_enum_that_is_itself_a_key_is_an_invalid_value() -> None:
    class Empty(enum.Enum):
        NONE = ""
        SOME = "some"

    things = Table("things", pk="PK", indexes=(Index("ByKind", "kind", "PK"),))

    class Thing(Entity, table=things, key="THING#{thing_id}"):
        thing_id: str
        kind: Empty

        by_kind = Keys("ByKind")

    with opened(things) as db, pytest.raises(InvalidValue) as raised:
        db.create(Thing(thing_id="a", kind=Empty.NONE))
    assert str(raised.value) == "Thing.kind: empty text cannot be part of a key"
