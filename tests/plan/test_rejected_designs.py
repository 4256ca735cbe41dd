"""Designs that would lose or mix items, or that cannot be read back, are rejected at load with what to write."""

import enum
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    DesignError,
    Dimensions,
    Entity,
    F,
    Index,
    InKey,
    Items,
    Keys,
    Nearest,
    Ordered,
    Table,
    Vector,
    VectorIndex,
    View,
    pattern,
    prove,
    query,
)
from partita.design.entities import EntityMeta


class Level(enum.Enum):
    HIGH = "high"


def table(*indexes: Index) -> Table:
    return Table("things", pk="PK", sk="SK", indexes=indexes)


def keys_of_a_flag_and_a_digit() -> Table:
    things = table()

    class Digit(Entity, table=things, key=("P#{p}", "X#{n:1}")):
        p: str
        n: int

    class Flag(Entity, table=things, key=("P#{p}", "X#{done}")):
        p: str
        done: bool

    return things


def keys_of_a_number_and_its_complement() -> Table:
    things = table()

    class Rising(Entity, table=things, key=("P#{p}", "X#{n:4}")):
        p: str
        n: int

    class Falling(Entity, table=things, key=("P#{p}", "X#{n:4,desc}")):
        p: str
        n: int

    return things


def plain_text_beside_a_constant() -> Table:
    things = table()

    class Anything(Entity, table=things, key=("P", "{name:plain}")):
        name: str

    class Book(Entity, table=things, key=("P", "BOOK#{name}")):
        name: str

    return things


def order_of_folded_text() -> Table:
    things = table()

    class Name(Entity, table=things, key=("P#{p}", "{name:fold}#{n:2}")):
        p: str
        name: str
        n: int

    @pattern(query(Name).smallest_first("name"))
    def by_name(p: str) -> Items[Name]: ...

    return things


def newest_first_of_a_day() -> Table:
    things = table()

    class Visit(Entity, table=things, key=("P#{p}", "{at:day}#{name}")):
        p: str
        at: datetime
        name: str

    @pattern(query(Visit).newest_first())
    def newest(p: str) -> Items[Visit]: ...

    return things


def range_of_an_unranked_enum() -> Table:
    class Size(enum.Enum):
        BIG = "z"
        SMALL = "a"

    things = table()

    class Shirt(Entity, table=things, key=("P#{p}", "{size}")):
        p: str
        size: Size

    @pattern
    def from_size(p: str, size: Size) -> Items[Shirt]:
        return query(Shirt, p).since(size)

    return things


def argument_that_the_keys_do_not_share() -> Table:
    things = table()

    class Post(Entity, table=things, key=("B#{b}", "POST#{name}")):
        b: str
        name: str

    class Note(Entity, table=things, key=("B#{b}", "NOTE#{name}")):
        b: str
        name: str

    @pattern
    def both(b: str, name: str) -> Items[Post | Note]: ...

    return things


def index_with_an_attribute_of_another_one() -> Table:
    things = table(Index("GSI1", "GPK", "GSK"), Index("GSI2", "GPK", "created"))

    class Paper(Entity, table=things, key=("PAPER#{p}", "X")):
        p: str
        created: str
        status: str
        listed = Keys("GSI1", "S#{status}", "{p}")

    class Book(Entity, table=things, key=("BOOK#{p}", "X")):
        p: str
        created: str
        status: str
        listed = Keys("GSI2", "S#{status}")

    @pattern(Book.listed)
    def books(status: str) -> Items[Book]: ...

    return things


def attribute_that_two_indexes_write() -> Table:
    things = table(Index("GSI1", "GPK", "GSK"), Index("GSI2", "GPK", "GSK2"))

    class Book(Entity, table=things, key=("BOOK#{p}", "X")):
        p: str
        status: str
        kind: str
        by_status = Keys("GSI1", "S#{status}", "{p}")
        by_kind = Keys("GSI2", "K#{kind}", "{p}")

    return things


def condition_of_an_index_of_stored_attributes() -> Table:
    things = table(Index("ByOwner", "owner", "SK"))

    class Book(Entity, table=things, key=("BOOK#{p}", "X")):
        p: str
        owner: str
        state: str = "open"
        mine = Keys("ByOwner", when=F.state == "open")

    return things


def filter_for_none_that_another_entity_passes() -> Table:
    things = table()

    class Note(Entity, table=things, key=("P#{p}", "{name}")):
        p: str
        name: str
        text: str | None = None

    class Book(Entity, table=things, key=("P#{p}", "BOOK#{isbn}")):
        p: str
        isbn: str

    @pattern
    def empty(p: str) -> Items[Note]:
        return query(Note, p).where(F.text == None)  # noqa: E711 - the syntax of a condition

    return things


def filter_by_what_is_not_projected() -> Table:
    class Brief(View):
        p: str
        owner: str
        by_owner = Keys("ByOwner")

    things = table(Index("ByOwner", "owner", "PK", project=(Brief,)))

    class Book(Brief, Entity, table=things, key=("P#{p}", "X")):
        state: str = "open"

    @pattern(Brief.by_owner.where(F.state == "open"))
    def open_books(owner: str) -> Items[Brief]: ...

    return things


def filter_by_a_key_of_the_index() -> Table:
    things = table(Index("ByScore", "owner", "score"))

    class Book(Entity, table=things, key=("P#{p}", "X")):
        p: str
        owner: str
        score: int
        scored = Keys("ByScore")

    @pattern
    def good(owner: str) -> Items[Book]:
        return Book.scored.query(owner).where(F.score > 5)

    return things


def filter_by_what_only_the_key_holds() -> Table:
    things = table()

    class Book(Entity, table=things, key=("P#{p}", "X#{name}")):
        p: str
        name: Annotated[str, InKey()]

    @pattern
    def named(p: str) -> Items[Book]:
        return query(Book, p).where(F.name == "1")

    return things


def none_beside_another_default() -> Table:
    things = table()

    class Book(Entity, table=things, key=("BOOK#{p}", "X")):
        p: str
        cap: Annotated[int | None, Ordered(0, 999)] = 100

    return things


def set_with_elements_as_default() -> Table:
    things = table()

    class Book(Entity, table=things, key=("BOOK#{p}", "X")):
        p: str
        tags: set[str] = msgspec.field(default_factory=lambda: {"new"})

    return things


REJECTED: dict[Callable[[], Table], str] = {
    keys_of_a_flag_and_a_digit: "can have the same key: PK 'P#a', SK 'X#1'; give one of them another constant",
    keys_of_a_number_and_its_complement: (
        "can have the same key: PK 'P#a', SK 'X#8888'; give one of them another constant"
    ),
    plain_text_beside_a_constant: ("can have the same key: PK 'P', SK 'BOOK#a'; give one of them another constant"),
    order_of_folded_text: (
        "by_name: it declares the order of 'name', but the key holds only a part of it; "
        "write {name} in the sort key, or leave the order out"
    ),
    newest_first_of_a_day: (
        "newest: it declares the order of 'at', but the key holds only a part of it; "
        "write {at} in the sort key, or leave the order out"
    ),
    range_of_an_unranked_enum: (
        "from_size: it takes a range of 'size', whose texts do not sort as its values do; rank it: {size:ranked}"
    ),
    argument_that_the_keys_do_not_share: (
        "both: 'name' cannot be part of the key condition, since the keys of Post and Note differ before it; "
        "leave 'name' out, or read the entities by patterns of their own"
    ),
    index_with_an_attribute_of_another_one: (
        "declare Keys('GSI2') on Paper and return it too, or rename an attribute of the index"
    ),
    attribute_that_two_indexes_write: (
        "Book: GSI1 and GSI2 both write 'GPK', and not the same text under the same condition; "
        "give one of the indexes an attribute of its own"
    ),
    condition_of_an_index_of_stored_attributes: (
        "Book.ByOwner: its key is made of stored attributes alone, so `when` cannot keep an item out of the index; "
        "filter with .where(...), or write a template for one of its attributes"
    ),
    filter_for_none_that_another_entity_passes: (
        "return Book too with collection(...), or give it another constant in its key"
    ),
    filter_by_what_is_not_projected: (
        "open_books: it filters by 'state', which index 'ByOwner' does not project; "
        "project 'state', or leave the filter out"
    ),
    filter_by_a_key_of_the_index: (
        "good: it filters by 'score', which is in the key that is queried; DynamoDB filters other attributes; "
        "give 'score' as a part of the key, or a range of it"
    ),
    filter_by_what_only_the_key_holds: (
        "named: it filters by 'name', which is in the key that is queried; DynamoDB filters other attributes; "
        "give 'name' as a part of the key, or a range of it"
    ),
    none_beside_another_default: (
        "Book.cap: None is not stored, so it would be read as the default 100; "
        "make the default None, or remove `| None`"
    ),
    set_with_elements_as_default: (
        "Book.tags: DynamoDB stores no empty set, so one would be read as the default {'new'}; make the default empty"
    ),
}


@pytest.mark.parametrize("declare", REJECTED)
def test_design_is_rejected_with_what_to_write(declare: Callable[[], Table]) -> None:
    def load() -> Any:
        return prove("things", declare())

    with pytest.raises(DesignError) as rejection:
        load()
    assert str(rejection.value).endswith(REJECTED[declare])


@pytest.mark.parametrize(
    ("key", "old", "field"),
    [
        (("A#{a}", "{at:month}"), ("A#{a:plain}", "{at:plain}"), "at"),
        (("A#{a}", "X"), ("A#{a:plain}", "{at:plain}"), "at"),
        (("A#{a:fold}", "{at}"), ("A#{a:plain}", "{at:plain}"), "a"),
        (("A#{a:shard(4)}", "{at}"), ("A#{a:plain}", "{at:plain}"), "a"),
    ],
)
def test_old_key_that_todays_key_does_not_tell_is_rejected(
    key: tuple[str, str], old: tuple[str, str], field: str
) -> None:
    things = Table("things", "PK", "SK")

    class Thing(Entity, table=things, key=key, old_keys=[old]):
        a: str
        at: datetime

    with pytest.raises(
        DesignError, match=rf"^Thing\.{field}: an old key holds it .* would have one key; write {{{field}}}"
    ):
        prove("things", things)


@pytest.mark.parametrize("old", [("A#{a:plain}", "{at:plain}"), ("OLD", "{at:month}#{a:plain}")])
def test_old_key_whose_parts_todays_key_tells_is_accepted(old: tuple[str, str]) -> None:
    things = Table("things", "PK", "SK")

    class Thing(Entity, table=things, key=("A#{a}", "{at:month}#{at}"), old_keys=[old]):
        a: str
        at: datetime

    assert prove("things", things).tables == (things,)


@pytest.mark.parametrize(
    ("key", "old", "text"),
    [
        (("A#{a}", "B#{b}"), ("A#{a}", "B#{b:plain}"), "B#$S"),
        (("A#{a}", "{b}#C"), ("A#{a}", "{b:plain}#C"), "$1#C"),
        (("A#{a}#{b}", "C"), ("A#{a}#{b:plain}", "C"), "A#a#$S"),
    ],
)
def test_a_text_of_a_key_alone_is_one_text_in_all_keys(key: tuple[str, str], old: tuple[str, str], text: str) -> None:
    """The item under `B#a$Sb` could be `a#b`, or `a$Sb` by its old key: nothing in it says which."""
    for hidden in (True, False):
        things = table()
        kind = Annotated[str, InKey()] if hidden else str
        names = {"__annotations__": {"a": str, "b": kind}, "__module__": __name__}
        EntityMeta("Thing", (Entity,), names, table=things, key=key, old_keys=[old])
        if hidden:
            with pytest.raises(DesignError) as rejected:
                prove("test", things)
            assert str(rejected.value).startswith(f"Thing.b: {text!r} has one text in the key")
        else:
            prove("test", things)


def test_a_text_of_a_key_alone_may_have_an_old_key_apart() -> None:
    things = table()

    class Thing(Entity, table=things, key=("A#{a}", "B#{b}#{n:4}"), old_keys=[("A#{a}", "OLD#{b:plain}#{n:plain}")]):
        a: str
        b: Annotated[str, InKey()]
        n: int

    class Code(Entity, table=things, key=("C#{c}", "X"), old_keys=[("C#{c:plain}", "X")]):
        c: Annotated[Level, InKey()]

    prove("test", things)


LOCAL = Index("ByText", "PK", "text", local=True)


@pytest.mark.parametrize("old", ["OLD#{box}", "BOX#{box:plain}", "BOX#{box}"])
def test_an_index_by_the_table_key_needs_one_form_of_it(old: str) -> None:
    """DynamoDB puts an item into the partition that its stored key names, so an old one is in another."""
    things = table(LOCAL)

    class Letter(Entity, table=things, key=("BOX#{box}", "LETTER#{n:4}"), old_keys=[(old, "OLD#{n:plain}")]):
        box: str
        n: int
        text: str

        by_text = Keys("ByText")

    @pattern(Letter.by_text)
    def letters(box: str) -> Items[Letter]: ...

    if old == "BOX#{box}":
        prove("test", things)
        return
    with pytest.raises(DesignError) as rejected:
        prove("test", things)
    assert str(rejected.value) == (
        "letters: Letter.ByText is partitioned by 'PK', which items under an old key have in another form; migrate the "
        "stored items with db.adopt() and remove old_keys, or give the index a partition key of its own"
    )


def test_a_search_by_the_table_key_needs_one_form_of_it() -> None:
    things = Table("things", pk="PK", sk="SK", vector_indexes=(VectorIndex("ByMeaning", "vector", pk="PK"),))

    class Letter(Entity, table=things, key=("BOX#{box}", "{n:4}"), old_keys=[("OLD#{box:plain}", "{n:4}")]):
        box: str
        n: int
        vector: Annotated[Vector, Dimensions(2)]

        by_meaning = Keys("ByMeaning")

    @pattern(Letter.by_meaning.nearest(3))
    def similar(vector: Vector, box: str) -> Nearest[Letter]: ...

    with pytest.raises(DesignError, match=r"Letter\.ByMeaning is partitioned by 'PK', which items under an old key"):
        prove("test", things)
