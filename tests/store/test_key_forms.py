"""Keys at work in a store: what each form of a key part promises holds for what is read back."""

from decimal import Decimal

import pytest

from partita import (
    ALL_SHARDS,
    DesignError,
    Entity,
    Index,
    Items,
    Keys,
    Query,
    Store,
    Table,
    View,
    connect,
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
