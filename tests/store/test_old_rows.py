"""Queries of entities with old keys: what is stored under them is found, in the order of the new keys."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from partita import (
    AlreadyExists,
    DesignError,
    Entity,
    Index,
    Item,
    Items,
    Keys,
    Query,
    Store,
    Table,
    connect,
    fan_out,
    pattern,
    prove,
    query,
)
from partita.design.entities import EntityMeta
from partita.dynamodb.requests import PutItem

games = Table("games", pk="PK", sk="SK")


class Score(
    Entity,
    table=games,
    key=("GAME#{game}", "SCORE#{points:+6}#{who}"),
    old_keys=[("GAME#{game:plain}", "SCORE#{points:plain}#{who:plain}")],
):
    game: str
    points: int
    who: str


class Move(Entity, table=games, key=("GAME#{game}", "TURN#{turn:4}")):
    game: str
    turn: int


@pattern
def best(game: str) -> Items[Score]:
    return query(Score, game).largest_first("points")


@pattern
def worst(game: str) -> Items[Score]:
    return query(Score, game).smallest_first("points")


@pattern
def with_points(game: str, points: int) -> Items[Score]: ...


@pattern
def at_least(game: str, points: int) -> Items[Score]:
    return query(Score, game).since(points).smallest_first("points")


@pattern
def with_some_points(game: str, points: list[int]) -> Items[Score]:
    return query(Score, game, fan_out(points, 3))


design = prove("games", games)


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, design)
        store.create_tables()
        for points in (9, 10, 100, 2):
            put_under_old_key(store, points, "ann")
        for points in (1, 9, 11, 50):
            store.create(Score(game="go", points=points, who="bob"))
        store.create(Move(game="go", turn=1))
        yield store


def put_under_old_key(db: Store, points: int, who: str) -> None:
    attributes = {"game": {"S": "go"}, "points": {"N": str(points)}, "who": {"S": who}}
    key = {"PK": {"S": "GAME#go"}, "SK": {"S": f"SCORE#{points}#{who}"}}
    db.backend.call(PutItem(table_name="games", item=key | attributes))


ORDERED = [(1, "bob"), (2, "ann"), (9, "ann"), (9, "bob"), (10, "ann"), (11, "bob"), (50, "bob"), (100, "ann")]


def scores(db: Store, call: Query[Score]) -> list[tuple[int, str]]:
    return [(score.points, score.who) for score in db(call)]


def test_both_forms_are_listed_in_one_order(db: Store) -> None:
    assert scores(db, worst("go")) == ORDERED
    assert scores(db, best("go")) == ORDERED[::-1]


def test_part_and_bounds_hold_for_both_forms(db: Store) -> None:
    assert scores(db, with_points("go", 9)) == [(9, "ann"), (9, "bob")]
    assert scores(db, at_least("go", 10)) == ORDERED[4:]
    assert sorted(scores(db, with_some_points("go", [2, 9, 11]))) == [(2, "ann"), (9, "ann"), (9, "bob"), (11, "bob")]


@pytest.mark.parametrize("size", range(1, 10))
def test_every_page_size_gives_the_same(db: Store, size: int) -> None:
    for call in (worst("go"), best("go"), at_least("go", 3), with_points("go", 9)):
        found: list[Score] = []
        cursor: str | None = None
        while True:
            page = db(call).page(size, cursor)
            found += page.items
            cursor = page.cursor
            if cursor is None:
                break
        assert found == list(db(call))


def test_what_is_stored_under_both_keys_is_listed_once(db: Store) -> None:
    put_under_old_key(db, 11, "bob")
    assert scores(db, worst("go")) == ORDERED


def test_put_replaces_what_is_under_the_old_key(db: Store) -> None:
    db.put(Score(game="go", points=9, who="ann"))
    assert scores(db, worst("go")) == ORDERED
    assert db.adopt().rewritten == 3


def test_explanation_says_what_old_keys_cost(db: Store) -> None:
    old = "every page also reads what is under the old key (GAME#{game:plain}, SCORE#{points:plain}#{who:plain})"
    assert old in db.explain(best("go"))


def test_old_key_in_a_partition_that_the_pattern_does_not_know_is_rejected() -> None:
    table = Table("other", pk="PK", sk="SK")

    class Task(Entity, table=table, key=("TASKS", "{list}#{name}"), old_keys=[("LIST#{list:plain}", "{name:plain}")]):
        list: str
        name: str

    @pattern
    def every() -> Items[Task]: ...

    missing = r"^every: items under the old key \(LIST#{list:plain}, {name:plain}\) would be missing: its partition "
    with pytest.raises(DesignError, match=missing + "needs 'list'; migrate the stored items"):
        prove("other", table)


def test_order_of_an_index_that_shares_the_sort_key_is_rejected() -> None:
    table = Table("shared", pk="PK", sk="SK", indexes=(Index("ByOwner", "owner", "SK"),))

    class Note(Entity, table=table, key=("N#{note}", "{n:+6}"), old_keys=[("N#{note:plain}", "{n:plain}")]):
        note: str
        n: int
        owner: str
        mine = Keys("ByOwner")

    @pattern
    def of_owner(owner: str) -> Items[Note]:
        return Note.mine.query(owner).smallest_first("n")

    with pytest.raises(DesignError, match=r"of_owner: Note\.ByOwner sorts by 'SK', which items under an old key have"):
        prove("shared", table)


@pytest.mark.parametrize("old", ["{n:plain}", "OLD#{n:plain}"])
def test_index_whose_partition_gives_a_part_of_the_sort_key_is_rejected(old: str) -> None:
    table = Table("shared", pk="PK", sk="SK", indexes=(Index("ByNumber", "n", "SK"),))

    class Note(Entity, table=table, key=("N#{note}", "{n:+6}"), old_keys=[("N#{note:plain}", old)]):
        note: str
        n: int
        numbered = Keys("ByNumber")

    @pattern
    def of_number(n: int) -> Items[Note]:
        return Note.numbered.query(n)

    with pytest.raises(DesignError, match=r"of_number: Note\.ByNumber sorts by 'SK', which items under an old key"):
        prove("shared", table)


def test_index_whose_sort_key_begins_with_a_constant_that_old_keys_lack_is_rejected() -> None:
    table = Table("shared", pk="PK", sk="SK", indexes=(Index("ByOwner", "owner", "SK"),))

    class Note(Entity, table=table, key=("N#{note}", "NOTE#{n:6}"), old_keys=[("N#{note:plain}", "OLD#{n:plain}")]):
        note: str
        n: int
        owner: str
        mine = Keys("ByOwner")

    @pattern
    def of_owner(owner: str) -> Items[Note]:
        return Note.mine.query(owner)

    with pytest.raises(DesignError, match=r"of_owner: Note\.ByOwner sorts by 'SK', which items under an old key have"):
        prove("shared", table)


events = Table("events", pk="PK", sk="SK")


class Event(
    Entity, table=events, key=("EVENTS#{place}", "{at:desc}"), old_keys=[("EVENTS#{place:plain}#OLD", "AT#{at:plain}")]
):
    place: str
    at: datetime
    seats: int = 0


@pattern
def event(place: str, at: datetime) -> Item[Event]: ...
@pattern
def events_at(place: str) -> Items[Event]: ...


@pytest.mark.parametrize("text", ["2025-01-01T12:00:00Z", "2025-01-01T12:00:00.000Z", "2025-01-01T12:00:00+00:00"])
def test_time_of_an_old_key_is_found_in_every_width(text: str) -> None:
    noon = datetime(2025, 1, 1, 12, tzinfo=UTC)
    with connect("memory:", prove("events", events)) as db:
        db.create_tables()
        key = {"PK": {"S": "EVENTS#hall#OLD"}, "SK": {"S": f"AT#{text}"}}
        db.backend.call(PutItem(table_name="events", item={**key, "place": {"S": "hall"}, "at": {"S": text}}))
        assert db.one(event("hall", noon)).at == noon
        with pytest.raises(AlreadyExists):
            db.create(Event(place="hall", at=noon))
        with db.change(event("hall", noon)) as draft:
            draft.seats = 3
        assert [each.seats for each in db.scan(Event)] == [3]


def test_value_that_an_old_key_cannot_hold_is_not_looked_for_under_it() -> None:
    with connect("memory:", prove("events", events)) as db:
        db.create_tables()
        noon = datetime(2025, 1, 1, 12, tzinfo=UTC)
        db.create(Event(place="hall#2", at=noon))
        assert [each.place for each in db(events_at("hall#2"))] == ["hall#2"]
        assert db.one(event("hall#2", noon)).seats == 0


def test_fan_out_leaves_out_values_that_an_old_key_cannot_hold() -> None:
    halls = Table("halls", pk="PK", sk="SK")

    class Seat(Entity, table=halls, key=("S#{hall}", "{row}"), old_keys=[("OLD#{hall:plain}#S", "{row:plain}")]):
        hall: str
        row: str

    @pattern
    def seats(halls: Sequence[str]) -> Items[Seat]:
        return query(Seat, fan_out(halls, 3))

    with connect("memory:", prove("halls", halls)) as db:
        db.create_tables()
        db.create(Seat(hall="a#", row="1"))
        old = {"PK": {"S": "OLD#a#S"}, "SK": {"S": "2"}, "hall": {"S": "a"}, "row": {"S": "2"}}
        db.backend.call(PutItem(table_name="halls", item=old))
        assert sorted(each.row for each in db(seats(["a#", "a"]))) == ["1", "2"]


@pytest.mark.parametrize("constant", ["OLD#RED-", "OLD-RED-", "RED", "RE#", "RED-#", "RED-OLD-"])
def test_old_constants_are_found_where_the_key_begins_with_a_constant_and_a_part(constant: str) -> None:
    """The range of today begins with `RED-`; whether it contains the old keys depends on what they begin with."""
    table = Table("boxes", pk="PK", sk="SK")
    names = {"__annotations__": {"box": str, "n": int}, "__module__": __name__}
    old = [("BOX#{box}", f"{constant}{{n:plain}}")]
    ball: Any = EntityMeta("Ball", (Entity,), names, table=table, key=("BOX#{box}", "RED-{n:4}"), old_keys=old)
    with connect("memory:", prove("boxes", table)) as db:
        db.create_tables()
        item = {"PK": {"S": "BOX#a"}, "SK": {"S": f"{constant}7"}, "box": {"S": "a"}, "n": {"N": "7"}}
        db.backend.call(PutItem(table_name="boxes", item=item))
        db.create(ball(box="a", n=8))
        assert sorted(each.n for each in db(query(ball, "a"))) == [7, 8]
