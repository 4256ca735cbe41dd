"""Reading, on every backend: order, ranges, collections, fan-out, pages, cursors, batches."""

from datetime import date, timedelta
from decimal import Decimal

import pytest

from partita import AlreadyExists, InvalidCursor, InvalidValue, NotFound, Store, StoredItemInvalid
from partita.dynamodb.requests import PutItem
from tests.store.clocks import Clock
from tests.store.kitchen_sink_design import (
    Artist,
    Importance,
    Kind,
    Mention,
    Note,
    Size,
    State,
    Work,
    artist,
    everything_of,
    mentions_in,
    mentions_like,
    note,
    notes,
    notes_between,
    shown_by_importance,
    shown_of_importance,
    tagged,
    work,
    works_of_days,
    works_of_kind,
)


@pytest.fixture(autouse=True)
def ann(db: Store) -> Artist:
    return db.create(Artist(artist_id="ann", country="PT", handle="Ann"))


def full_work(clock: Clock) -> Work:
    return Work(
        work_id="w1",
        artist_id="ann",
        title="Café — 배터리",
        state=State.PUBLISHED,
        price=Decimal("12.50"),
        kind=Kind("collage"),
        year=2024,
        score=-3,
        tags={"oil", "blue"},
        years=frozenset({1999, 2001}),
        size=Size(100, 200, framed=True),
        steps=["one", "two"],
        lines=["a"],
        parts={"frame": Decimal("1.5")},
        thumb=b"\x00\xff",
        hung_on=date(2024, 2, 29),
        published_at=clock(),
        s3_key="vectors/1",
    )


def test_created_entity_is_read_back_equal(db: Store, clock: Clock) -> None:
    stored = db.create(full_work(clock))
    assert db(work("w1")) == stored
    assert stored.version == 1
    assert stored.created_at == stored.updated_at == clock()
    assert stored.title == "Café — 배터리"


def test_absent_item_is_none_and_one_raises_not_found(db: Store) -> None:
    assert db(work("nowhere")) is None
    with pytest.raises(NotFound, match=r"^Work nowhere does not exist$"):
        db.one(work("nowhere"))


def test_second_creation_is_rejected(db: Store) -> None:
    with pytest.raises(AlreadyExists, match=r"^Artist ann already exists$"):
        db.create(Artist(artist_id="ann", country="ES", handle="other"))


def test_negative_numbers_sort_by_value(db: Store) -> None:
    for number in (10, -10, 9, 0, -9, 100, -1):
        db.create(Note(artist_id="ann", number=number, text=str(number)))
    assert [each.number for each in db(notes("ann"))] == [-10, -9, -1, 0, 9, 10, 100]
    assert [each.number for each in db(notes_between("ann", -9, 9))] == [-9, -1, 0, 9]
    assert db.one(note("ann", -9)).text == "-9"


def test_index_sorts_by_rank_then_by_falling_price(db: Store, clock: Clock) -> None:
    rows = [("a", Importance.LOW, "5"), ("b", Importance.HIGH, "-1.5"), ("c", Importance.HIGH, "10")]
    rows += [("d", Importance.MEDIUM, "9"), ("e", Importance.HIGH, "9.99")]
    for work_id, importance, price in rows:
        db.create(
            Work(
                work_id=work_id,
                artist_id="ann",
                title=work_id,
                state=State.PUBLISHED,
                importance=importance,
                price=Decimal(price),
                published_at=clock(),
            )
        )
    assert [each.work_id for each in db(shown_by_importance(State.PUBLISHED))] == ["c", "e", "b", "d", "a"]
    found = db(shown_of_importance(State.PUBLISHED, Importance.HIGH, Decimal(-2), Decimal("9.99")))
    assert [each.work_id for each in found] == ["e", "b"]


def test_collection_returns_each_item_as_its_own_entity(db: Store, clock: Clock, ann: Artist) -> None:
    one = db.create(Note(artist_id="ann", number=1, text="x"))
    two = db.create(Mention(artist_id="ann", where="Lisboa", at=clock()))
    assert list(db(everything_of("ann"))) == [two, one, ann]


def test_guards_are_in_no_collection_and_no_index(db: Store) -> None:
    assert [type(each) for each in db(everything_of("ann"))] == [Artist]


@pytest.mark.parametrize("other", ["a#b", "a", "a$", "a b", "ab", "a#", "#", "é", "a%23b", "A"])
def test_values_with_separators_have_distinct_keys(db: Store, clock: Clock, other: str) -> None:
    for where in ("a#b", "a", "a$", "a b", "ab", "a#", "#", "é", "a%23b", "A"):
        db.create(Mention(artist_id="ann", where=where, at=clock()))
    assert [each.where for each in db(mentions_in("ann", other))] == [other]


def test_text_sorts_by_value_in_front_of_other_key_parts(db: Store, clock: Clock) -> None:
    values = ["a", "a ", "a !", "a#", "a$", "a%", "aa", "b", "ab c", "é"]
    for where in values:
        db.create(Mention(artist_id="ann", where=where, at=clock()))
    found = [each.where for each in db(mentions_like("ann", "a"))]
    assert found == sorted(value for value in values if value.startswith("a"))


def test_decomposed_text_has_the_same_key(db: Store, clock: Clock) -> None:
    db.create(Mention(artist_id="ann", where="caf\u0065\u0301", at=clock()))
    assert len(list(db(mentions_in("ann", "caf\u00e9")))) == 1


def test_fan_out_merges_days_in_order_with_one_query_each(db: Store, clock: Clock) -> None:
    for number in range(12):
        db.create(Work(work_id=f"w{number:02}", artist_id="ann", title="", published_at=clock()))
        clock.passes(hours=6)
    days = [date(2095, 1, 1), date(2095, 1, 2), date(2095, 1, 3)]
    with db.measure() as used:
        found = [each.work_id for each in db(works_of_days(days))]
    assert found == [f"w{number:02}" for number in reversed(range(12))]
    assert used.requests == 3
    with pytest.raises(InvalidValue, match=r"works_of_days: 8 values, but the pattern allows at most 7"):
        db(works_of_days([date(2095, 1, day) for day in range(1, 9)])).first(1)


def test_pages_of_a_fan_out_neither_repeat_nor_skip(db: Store, clock: Clock) -> None:
    for number in range(11):
        db.create(Work(work_id=f"w{number:02}", artist_id="ann", title="", published_at=clock()))
        clock.passes(hours=5)
    days = [date(2095, 1, 1) + timedelta(days=each) for each in range(3)]
    found: list[str] = []
    cursor = None
    while True:
        page = db(works_of_days(days)).page(3, cursor)
        found += [each.work_id for each in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert found == [f"w{number:02}" for number in reversed(range(11))]


def test_index_key_may_have_several_attributes(db: Store) -> None:
    for work_id, kind, year, score in (
        ("a", "painting", 2024, 7),
        ("b", "painting", 2024, 11),
        ("c", "painting", 2023, 9),
    ):
        db.create(Work(work_id=work_id, artist_id="ann", title="", kind=Kind(kind), year=year, score=score))
    db.create(Work(work_id="d", artist_id="ann", title="", kind=Kind.PAINTING, year=2024))
    assert [each.work_id for each in db(works_of_kind(Kind.PAINTING, 2024, 0))] == ["b", "a"]
    assert [each.work_id for each in db(works_of_kind(Kind.PAINTING, 2024, 8))] == ["b"]


def test_page_with_a_filter_is_refilled(db: Store, clock: Clock) -> None:
    for number in range(9):
        db.create(Work(work_id=f"w{number}", artist_id="ann", title="", tags={"odd" if number % 2 else "even"}))
        clock.passes(seconds=1)
    assert [each.work_id for each in db(tagged("ann", "odd")).first(3)] == ["w1", "w3", "w5"]


def test_cursor_continues_with_the_next_page(db: Store) -> None:
    for number in range(7):
        db.create(Note(artist_id="ann", number=number, text=""))
    first = db(notes("ann")).page(3)
    second = db(notes("ann")).page(3, first.cursor)
    third = db(notes("ann")).page(3, second.cursor)
    assert [[each.number for each in page.items] for page in (first, second, third)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert third.cursor is None


@pytest.mark.parametrize("count", [2**31, 2**70])
def test_page_of_more_items_than_a_request_can_ask_for_has_all(db: Store, count: int) -> None:
    for number in range(3):
        db.create(Note(artist_id="ann", number=number, text=""))
    assert [each.number for each in db(notes("ann")).page(count).items] == [0, 1, 2]


NOT_A_CURSOR = (
    r"^invalid cursor for notes: it is not a cursor of this query with these arguments; start again without a cursor$"
)


def test_cursor_of_another_query_is_rejected(db: Store) -> None:
    for number in range(3):
        db.create(Note(artist_id="ann", number=number, text=""))
    cursor = db(notes("ann")).page(1).cursor
    with pytest.raises(InvalidCursor, match=NOT_A_CURSOR):
        db(notes("bob")).page(1, cursor)
    with pytest.raises(InvalidCursor, match=NOT_A_CURSOR):
        db(notes("ann")).page(1, "rubbish")


def test_cursor_key_is_replaced_while_the_one_before_is_accepted(db: Store) -> None:
    for number in range(3):
        db.create(Note(artist_id="ann", number=number, text=""))
    old, new = b"the key of last year", b"the key of this year"
    before, during, after = (db.with_settings(cursor_keys=keys) for keys in ([old], [new, old], [new]))
    cursor = before(notes("ann")).page(1).cursor
    assert [each.number for each in during(notes("ann")).page(2, cursor).items] == [1, 2]
    with pytest.raises(InvalidCursor, match=NOT_A_CURSOR):
        after(notes("ann")).page(1, cursor)
    cursor = during(notes("ann")).page(1).cursor
    assert [each.number for each in after(notes("ann")).page(2, cursor).items] == [1, 2]
    with pytest.raises(InvalidCursor, match=NOT_A_CURSOR):
        before(notes("ann")).page(1, cursor)


def test_get_many_returns_entities_in_order(db: Store) -> None:
    for number in range(130):
        db.put(Note(artist_id="ann", number=number, text=str(number)))
    with db.measure() as used:
        found = db.get_many([note("ann", number) for number in (129, 5, 5, 999, *range(120))])
    assert [each.number if each else None for each in found[:4]] == [129, 5, 5, None]
    assert used.requests == 2


def test_item_that_does_not_fit_its_entity_is_named(db: Store) -> None:
    item = {"PK": {"S": "ARTIST#ann"}, "SK": {"S": "NOTE#p0001"}, "artistId": {"S": "ann"}, "number": {"S": "one"}}
    db.backend.call(PutItem(table_name="gallery", item=item))
    with pytest.raises(
        StoredItemInvalid,
        match=r"^Note ARTIST#ann NOTE#p0001 cannot be read as it is stored: number is not stored as N$",
    ):
        db(note("ann", 1))


def test_time_in_any_iso_form_is_read(db: Store, clock: Clock) -> None:
    item = {"PK": {"S": "ARTIST#ann"}, "SK": {"S": "MENTION#x#2024"}, "artistId": {"S": "ann"}, "where": {"S": "x"}}
    for form in (
        "2024-06-29T12:00:00Z",
        "2024-06-29T12:00:00.000Z",
        "2024-06-29T14:00:00+02:00",
        "2024-06-29T12:00:00",
    ):
        db.backend.call(PutItem(table_name="gallery", item={**item, "at": {"S": form}}))
        (found,) = db(mentions_in("ann", "x"))
        assert found.at == clock().replace(year=2024, month=6, day=29, hour=12)


def test_reads_report_their_capacity(db: Store) -> None:
    with db.measure() as used:
        db(artist("ann"))
        db(artist("ann"), consistent=True)
    assert (used.reads, used.writes, used.requests) == (1.5, 0.0, 2)
