"""Keys at work in a store: what each form of a key part promises holds for what is read back."""

import enum
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest

from partita import (
    ALL_SHARDS,
    DesignError,
    Entity,
    F,
    Index,
    InKey,
    InvalidValue,
    Item,
    Items,
    Keys,
    Ordered,
    Query,
    Store,
    Table,
    View,
    collection,
    connect,
    fan_out,
    get,
    pattern,
    prove,
    query,
)


def store(table: Table) -> Store:
    db = Store(connect("memory:", maintain=False), prove("forms", table))
    db.create_tables()
    return db


def table(*indexes: Index) -> Table:
    return Table("forms", pk="PK", sk="SK", indexes=indexes)


def test_equal_decimals_are_in_one_shard() -> None:
    forms = table()

    class Price(Entity, table=forms, key=("P#{p}", "{price:shard(64)}#{price:+4.2}")):
        p: str
        price: Decimal

    db = store(forms)
    db.create(Price(p="1", price=Decimal("1.50")))
    for text in ("1.5", "1.50", "1.500", "15E-1"):
        assert db(get(Price, "1", Decimal(text))) is not None, text


def test_shards_of_a_sort_key_are_merged_in_the_order_of_what_follows() -> None:
    forms = table()

    class Card(Entity, table=forms, key=("P#{p}", "{card:shard(4)}#{score:3}#{card}")):
        p: str
        card: str
        score: int

    @pattern
    def cards(p: str) -> Items[Card]:
        return query(Card, p, ALL_SHARDS).smallest_first("score")

    db = store(forms)
    for score in range(20):
        db.create(Card(p="1", card=f"c{score * 7 % 20}", score=score))
    call: Query[Card] = cards("1")
    assert [each.score for each in db(call)] == list(range(20))
    assert [each.score for each in db(call).page(7).items] == list(range(7))


def test_descending_flag_is_found_by_ranges() -> None:
    forms = table()

    class Task(Entity, table=forms, key=("P#{p}", "{done:desc}")):
        p: str
        done: bool

    @pattern
    def tasks(p: str, done: bool) -> Items[Task]:
        return query(Task, p).until(done)

    db = store(forms)
    for done in (False, True):
        db.create(Task(p="1", done=done))
    assert [each.done for each in db(tasks("1", False))] == [False]
    assert len(list(db(tasks("1", True)))) == 2


def test_bounds_of_a_part_that_is_given_already_are_rejected() -> None:
    forms = table(Index("ByName", "NamePK", "NameSK"))

    class User(Entity, table=forms, key=("U#{name}", "U")):
        name: str
        by_name = Keys("ByName", "N#{name}", "F#{name:fold}")

    read = User.by_name.query("ann").until("b")
    with pytest.raises(DesignError, match=r"every part of User\.ByName has a value, so there is none for a range"):
        store(forms).explain(read)


def test_value_that_an_old_key_cannot_hold_is_stored_under_the_new_one() -> None:
    forms = table()

    class Note(Entity, table=forms, key=("P#{p}", "{name}#{n:3}"), old_keys=[("P#{p}", "{name:plain}#{n:plain}")]):
        p: str
        name: str
        n: int

    db = store(forms)
    note = Note(p="1", name="a#b", n=1)
    db.create(note)
    assert db(get(Note, "1", "a#b", 1)) == note


def test_view_of_key_attributes_alone_is_a_projection_of_keys() -> None:
    class Brief(View):
        owner: str
        by_owner = Keys("ByOwner")

    forms = table(Index("ByOwner", "owner", project=(Brief,)))

    class Note(Brief, Entity, table=forms, key=("P#{p}", "N")):
        p: str

    db = store(forms)
    db.create(Note(p="1", owner="ann"))
    assert list(db(Brief.by_owner.query("ann"))) == [Brief(owner="ann")]


def test_shard_of_a_number_that_is_given_for_another_part_is_its_hash() -> None:
    forms = table(Index("ByNumber", "NumberPK", "NumberSK"))

    class Card(Entity, table=forms, key=("C#{n:3}", "C")):
        n: int
        by_number = Keys("ByNumber", "N#{n:3}", "{n:shard(4)}#C")

    db = store(forms)
    for n in range(20):
        db.create(Card(n=n))
        assert list(db(Card.by_number.query(n))) == [Card(n=n)]


def test_items_of_one_range_are_told_apart_by_the_forms_of_their_keys() -> None:
    forms = table()

    class Visit(Entity, table=forms, key=("P#{p}", "X#{at:day}")):
        p: str
        at: datetime = datetime(2025, 1, 1, tzinfo=UTC)

    class Page(Entity, table=forms, key=("P#{p}", "X#{n:4}")):
        p: str
        n: int

    @pattern
    def both(p: str) -> Items[Visit | Page]: ...

    db = store(forms)
    made = [db.create(Page(p="1", n=12)), db.create(Visit(p="1"))]
    assert list(db(both("1"))) == made
    assert list(db.scan(Page)) == made[:1]
    db.adopt()
    assert list(db(both("1"))) == made


def test_date_is_not_taken_for_a_time() -> None:
    forms = table()

    class Call(Entity, table=forms, key=("P#{p}", "X#{at}")):
        p: str
        at: Annotated[datetime, InKey()]

    class Day(Entity, table=forms, key=("P#{p}", "X#{day}")):
        p: str
        day: date

    @pattern
    def both(p: str) -> Items[Call | Day]: ...

    db = store(forms)
    made = [
        db.create(Day(p="1", day=date(2025, 1, 2))),
        db.create(Call(p="1", at=datetime(2025, 1, 2, 3, tzinfo=UTC))),
    ]
    assert list(db(both("1"))) == made


def test_every_shard_of_a_sort_key_is_read() -> None:
    forms = table()

    class Card(Entity, table=forms, key=("P#{p}", "{name:shard(4)}#{name}")):
        p: str
        name: str

    @pattern
    def cards(p: str) -> Items[Card]:
        return query(Card, p, ALL_SHARDS)

    db = store(forms)
    names = {str(number) for number in range(20)}
    for name in names:
        db.create(Card(p="1", name=name))
    assert {each.name for each in db(cards("1"))} == names


def test_two_fan_outs_read_every_combination() -> None:
    forms = table()

    class Cell(Entity, table=forms, key=("CELL#{p}#{q}", "{name}")):
        p: str
        q: str
        name: str

    @pattern
    def cells(ps: Sequence[str], qs: Sequence[str]) -> Items[Cell]:
        return query(Cell, fan_out(ps, 3), fan_out(qs, 3))

    db = store(forms)
    for p in "ab":
        for q in "xyz":
            db.create(Cell(p=p, q=q, name="1"))
    assert {each.p + each.q for each in db(cells(["a", "b"], ["x", "y"]))} == {"ax", "ay", "bx", "by"}


def test_part_of_a_sort_key_is_fanned_out() -> None:
    forms = table()

    class Card(Entity, table=forms, key=("P#{p}", "{kind}#{name}")):
        p: str
        kind: str
        name: str

    @pattern
    def of_kinds(p: str, kinds: Sequence[str]) -> Items[Card]:
        return query(Card, p, fan_out(kinds, 3))

    db = store(forms)
    for kind in "abc":
        db.create(Card(p="1", kind=kind, name="1"))
    assert {each.kind for each in db(of_kinds("1", ["a", "c"]))} == {"a", "c"}


def test_last_character_of_unicode_is_in_a_range_without_an_end() -> None:
    forms = table()

    class Card(Entity, table=forms, key=("P#{p}", "{name}")):
        p: str
        name: str

    @pattern
    def since(p: str, name: str) -> Items[Card]:
        return query(Card, p).since(name)

    db = store(forms)
    made = db.create(Card(p="1", name="\U0010ffffa"))
    assert list(db(since("1", "a"))) == [made]


class Level(enum.IntEnum):
    LOW = 7
    HIGH = 3


def test_enum_of_numbers_is_ranked() -> None:
    forms = table()

    class Task(Entity, table=forms, key=("P#{p}", "{level:ranked}")):
        p: str
        level: Level

    @pattern(query(Task).smallest_first("level"))
    def tasks(p: str) -> Items[Task]: ...

    db = store(forms)
    for level in reversed(Level):
        db.create(Task(p="1", level=level))
    assert [each.level for each in db(tasks("1"))] == list(Level)


@pytest.mark.parametrize("order", ["1", "12", "1#2", "1$"])
def test_order_and_its_lines_are_read_by_prefix_without_those_of_others(order: str) -> None:
    forms = table(Index("GSI1", "GSI1PK", "GSI1SK"))

    class Order(Entity, table=forms, key=("C#{c}", "ORDER#{order}")):
        c: str
        order: str
        listed = Keys("GSI1", "L#{c}", "ORDER#{order}")

    class Line(Entity, table=forms, key=("C#{c}", "ORDER#{order}#LINE#{line}")):
        c: str
        order: str
        line: str
        listed = Keys("GSI1", "L#{c}", "ORDER#{order}#LINE#{line}")

    @pattern
    def whole(c: str, order: str) -> Items[Order | Line]: ...
    @pattern(collection(Order.listed, Line.listed))
    def whole_by_index(c: str, order: str) -> Items[Order | Line]: ...

    db = store(forms)
    for each in ("1", "12", "1#2", "1$"):
        db.create(Order(c="a", order=each))
        for line in "xy":
            db.create(Line(c="a", order=each, line=line))
    wanted = [Order(c="a", order=order), *(Line(c="a", order=order, line=line) for line in "xy")]
    assert list(db(whole("a", order))) == list(db(whole_by_index("a", order))) == wanted


def test_key_whose_partition_is_a_stored_attribute_is_read_and_deleted() -> None:
    forms = table()

    class Card(Entity, table=forms, key=(None, "CARD#{name}")):
        PK: str
        name: Annotated[str, InKey()]

    @pattern
    def card(PK: str, name: str) -> Item[Card]: ...  # noqa: N803 - the name of the stored attribute
    @pattern
    def cards(PK: str) -> Items[Card]: ...  # noqa: N803

    db = store(forms)
    made = db.create(Card(PK="p", name="1"))
    assert db(card("p", "1")) == made
    assert list(db(cards("p"))) == [made]
    db.delete(card("p", "1"))
    assert db(card("p", "1")) is None


def test_plain_texts_never_share_a_key() -> None:
    forms = table()

    class Pair(Entity, table=forms, key=("P#{p:plain}#{q:plain}", "X")):
        p: str
        q: str

    db = store(forms)
    made = db.create(Pair(p="a", q="b#c"))
    with pytest.raises(InvalidValue, match="#"):
        db.create(Pair(p="a#b", q="c"))
    assert list(db.scan(Pair)) == [made]


def test_entities_whose_prefixes_are_neighbours_are_one_range() -> None:
    forms = table()

    class Apple(Entity, table=forms, key=("P#{p}", "A#{name}")):
        p: str
        name: str

    class Berry(Entity, table=forms, key=("P#{p}", "B#{name}")):
        p: str
        name: str

    class Cherry(Entity, table=forms, key=("P#{p}", "C#{name}")):
        p: str
        name: str

    @pattern
    def fruit(p: str) -> Items[Apple | Berry]: ...

    db = store(forms)
    made = [db.create(each(p="1", name="x")) for each in (Apple, Berry, Cherry)]
    assert list(db(fruit("1"))) == made[:2]


def test_literal_attribute_tells_the_entities_of_an_index_apart() -> None:
    forms = table(Index("ByName", "p", "name"))

    class Apple(Entity, table=forms, key=("A#{p}", "{name}")):
        p: str
        name: str
        kind: Literal["apple"] = "apple"
        by_name = Keys("ByName")

    class Berry(Entity, table=forms, key=("B#{p}", "{name}")):
        p: str
        name: str
        kind: Literal["berry"] = "berry"
        by_name = Keys("ByName")

    @pattern
    def berries(p: str) -> Items[Berry]:
        return Berry.by_name.query(p).where(F.kind == "berry")

    db = store(forms)
    db.create(Apple(p="1", name="x"))
    made = db.create(Berry(p="1", name="x"))
    assert list(db(berries("1"))) == [made]


@pytest.mark.parametrize(("kind", "form"), [(datetime, "{x}"), (date, "{x}"), (int, "{x:6}")])
def test_text_behind_a_constant_is_proven_beside_a_time_and_a_number(kind: Any, form: str) -> None:
    forms = table()

    class Join(Entity, table=forms, key=("ROOM#{p}", "Join:{name}")):
        p: str
        name: str

    class Event(Entity, table=forms, key=("ROOM#{p}", form)):
        p: str
        x: kind

    @pattern
    def joins(p: str) -> Items[Join]: ...
    @pattern
    def events(p: str) -> Items[Event]: ...

    db = store(forms)
    made = db.create(Join(p="1", name="x"))
    assert (list(db(joins("1"))), list(db(events("1")))) == ([made], [])


def test_constant_behind_every_uuid_is_proven_beside_one() -> None:
    forms = table()

    class About(Entity, table=forms, key=("ROOM#{p}", "meta")):
        p: str

    class Event(Entity, table=forms, key=("ROOM#{p}", "{event}")):
        p: str
        event: UUID

    @pattern
    def events(p: str) -> Items[Event]: ...

    db = store(forms)
    db.create(About(p="1"))
    made = db.create(Event(p="1", event=UUID(int=2**128 - 1)))
    assert list(db(events("1"))) == [made]


def test_prefix_is_proven_beside_text_that_cannot_contain_its_separator() -> None:
    forms = table()

    class Word(Entity, table=forms, key=("P#{p}", "{name}")):
        p: str
        name: str

    class Berry(Entity, table=forms, key=("P#{p}", "B#{name}")):
        p: str
        name: str

    @pattern
    def berries(p: str) -> Items[Berry]: ...

    db = store(forms)
    for name in ("B", "B#x", "B$x"):
        db.create(Word(p="1", name=name))
    made = db.create(Berry(p="1", name="x"))
    assert list(db(berries("1"))) == [made]


def test_bound_below_every_possible_value_gives_nothing() -> None:
    table = Table("bounded", pk="PK", sk="SK")

    class Number(Entity, table=table, key=("P#{p}", "A:#{number}")):
        p: str
        number: Annotated[Decimal, Ordered(-99, 99, 2)]

    class Choice(Entity, table=table, key=("P#{p}", "A:#{choice}#{name:fold}")):
        p: str
        choice: Literal["x", "y-z"]
        name: str

    @pattern
    def before(p: str, choice: Literal["x", "y-z"]) -> Items[Choice]:
        return query(Choice, p).before(choice)

    with connect("memory:", prove("bounded", table)) as db:
        db.create_tables()
        db.create(Number(p="1", number=Decimal(5)))
        one = db.create(Choice(p="1", choice="x", name="a"))
        assert list(db(before("1", "x"))) == []
        assert "before -> Choice" in db.explain(before("1", "x"))
        assert list(db(before("1", "y-z"))) == [one]


def test_folded_part_in_two_places_takes_one_value() -> None:
    forms = table(Index("ByName", "NPK", "NSK"))

    class Person(Entity, table=forms, key=("P#{p}", "P")):
        p: str
        name: str
        by_name = Keys("ByName", "N#{name:fold}", "{name:fold}#{p}")

    @pattern
    def named(name: str, p: str) -> Items[Person]:
        return Person.by_name.query(name, p)

    db = store(forms)
    db.create(Person(p="1", name="Ann B"))
    assert [each.p for each in db(named("ANN B", "1"))] == ["1"]


def test_range_of_a_plain_key_between_two_spellings_of_one_text_is_not_reversed() -> None:
    plain = Table("plain", pk="shop", sk="name")

    class Product(Entity, table=plain):
        shop: str
        name: str

    @pattern
    def between(shop: str, low: str, high: str) -> Items[Product]:
        return query(Product, shop).between(low, high)

    db = store(plain)
    db.create(Product(shop="1", name="caf\u00e9"))
    assert len(list(db(between("1", "caf\u00e9", "cafe\u0301")))) == 1


def test_collection_by_a_plain_key_of_two_types_has_no_range() -> None:
    typed = table(Index("ByMark", "PK", "mark", local=True))

    class Visit(Entity, table=typed, key=("P#{p}", "VISIT")):
        p: str
        mark: datetime
        by_mark = Keys("ByMark")

    class Label(Entity, table=typed, key=("P#{p}", "LABEL")):
        p: str
        mark: str
        by_mark = Keys("ByMark")

    @pattern
    def since(p: str, at: datetime) -> Items[Visit | Label]:
        return collection(Visit.by_mark, Label.by_mark)(p).since(at)

    with pytest.raises(
        DesignError, match=r"^since: 'mark' is datetime in Visit and str in Label, so their keys cannot"
    ):
        prove("typed", typed)


def test_get_of_a_sharded_number_names_it_by_its_value() -> None:
    forms = table()

    class Card(Entity, table=forms, key=("P#{p}", "{n:shard(4)}#{n:3}")):
        p: str
        n: int

    db = connect("memory:", prove("forms", forms), maintain=False)
    db.create_tables()
    stored_cards = [db.create(Card(p="p", n=number)) for number in (0, 3, 4, 99)]
    assert [db.get(get(Card, "p", each.n)) for each in stored_cards] == stored_cards
    assert db.delete(get(Card, "p", 99)) == stored_cards[-1]
