"""Every write and every read of entities with old keys: what is stored under one is found, moved, and never doubled.

A stored item is under its current key, under an old one, or, through other programs, under several: then the one under
the current key is the item, and then the old key that is declared first. Each case is one write of one state; random
sequences look for what the cases leave out.
"""

import enum
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain, combinations
from random import Random
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    AlreadyExists,
    ConditionFailed,
    CountOf,
    DesignError,
    Entity,
    Expires,
    F,
    Index,
    InKey,
    Item,
    Items,
    Keys,
    Limit,
    NotFound,
    Owns,
    PartitaError,
    ReferenceMissing,
    References,
    Store,
    Table,
    Unique,
    Version,
    View,
    collection,
    connect,
    pattern,
    prove,
    query,
)
from partita.dynamodb.requests import PutItem, Scan
from tests.store.declared import BY_TEXT, opened, stored, table

games = Table("games", pk="PK", sk="SK", indexes=(Index("ByWho", "who", "GSI1SK"),))


class Score(
    Entity,
    table=games,
    key=("GAME#{game}", "SCORE#{points:+6}#{who}"),
    old_keys=[
        ("GAME#{game:plain}", "SCORE#{points:plain}#{who:plain}"),
        ("GAME#{game:plain}", "{who:plain}#{points:plain}"),
    ],
):
    game: str
    points: int
    who: str
    text: str = ""

    by_who = Keys("ByWho", None, "SCORE#{game}#{points:+6}")


class Medal(
    Entity,
    table=games,
    key=("MEDALS#{game}", "MEDAL#{points:+6}#{who}"),
    old_keys=[
        ("MEDALS#{game:plain}", "MEDAL#{points:plain}#{who:plain}"),
        ("MEDALS#{game:plain}", "{who:plain}#{points:plain}"),
    ],
):
    game: str
    points: int
    who: str
    text: Annotated[str | None, Unique()] = None
    version: Annotated[int, Version()] = 0

    by_who = Keys("ByWho", None, "MEDAL#{game}#{points:+6}")


@pattern
def a_score(game: str, points: int, who: str) -> Item[Score]: ...
@pattern
def scores(game: str) -> Items[Score]: ...
@pattern
def worst_scores(game: str) -> Items[Score]:
    return query(Score, game).smallest_first("points")


@pattern(Score.by_who)
def scores_of(who: str) -> Items[Score]: ...
@pattern
def a_medal(game: str, points: int, who: str) -> Item[Medal]: ...
@pattern
def medals(game: str) -> Items[Medal]: ...
@pattern
def best_medals(game: str) -> Items[Medal]:
    return query(Medal, game).largest_first("points")


@pattern(Medal.by_who)
def medals_of(who: str) -> Items[Medal]: ...


design = prove("games", games)
POINTS, OTHER = 7, 9
Kind = type[Any]
Writes = dict[str, Callable[[Store, Kind], Any]]
GETS: dict[Kind, Any] = {Score: a_score, Medal: a_medal}
LISTS: dict[Kind, list[Any]] = {
    Score: [lambda: scores("go"), lambda: worst_scores("go"), lambda: scores_of("ann")],
    Medal: [lambda: medals("go"), lambda: best_medals("go"), lambda: medals_of("ann")],
}
FORMS = ("current", "old", "older")


def sort_key(kind: Kind, form: str, points: int, who: str) -> str:
    word = kind.__name__.upper()
    return {"current": f"{word}#p{points:06}#{who}", "old": f"{word}#{points}#{who}", "older": f"{who}#{points}"}[form]


def put_raw(db: Store, kind: Kind, form: str, text: str, points: int = POINTS, who: str = "ann") -> None:
    """Stores an item as another program does."""
    partition = "GAME#go" if kind is Score else "MEDALS#go"
    key = {"PK": {"S": partition}, "SK": {"S": sort_key(kind, form, points, who)}}
    values = {"game": {"S": "go"}, "points": {"N": str(points)}, "who": {"S": who}, "text": {"S": text}}
    index_key = f"{kind.__name__.upper()}#go#p{points:06}"
    item = key | values | {"GSI1SK": {"S": index_key}, "version": {"N": "1"}}
    db.backend.call(PutItem(table_name="games", item=item))


def stored_keys(db: Store) -> list[str]:
    items = db.backend.call(Scan(table_name="games", consistent_read=True)).items or ()
    keys = [msgspec.json.decode(item) for item in items]
    return sorted(key["SK"]["S"] for key in keys if not key["PK"]["S"].startswith("UNIQUE"))


def seen(db: Store, kind: Kind, points: int = POINTS) -> Any:
    """The text of the item as every read gives it; None if it does not exist."""
    call = GETS[kind]("go", points, "ann")
    results = [db.get(call), db.get_many([call])[0], db.transact_get(call)[0]]
    for listed in LISTS[kind]:
        found = [each for each in db(listed()) if (each.points, each.who) == (points, "ann")]
        paged = [each for each in pages(db, listed()) if (each.points, each.who) == (points, "ann")]
        assert found == paged, "pages of one item"
        assert len(found) <= 1, f"{listed()} lists it {len(found)} times"
        results.append(found[0] if found else None)
    for where in (None, F.points == points):
        scanned = [each for each in db.scan(kind, where=where) if (each.points, each.who) == (points, "ann")]
        assert len(scanned) <= 1, f"a scan finds it {len(scanned)} times"
        results.append(scanned[0] if scanned else None)
    texts = {None if each is None else each.text for each in results}
    assert len(texts) == 1, f"the reads differ: {results}"
    return texts.pop()


def pages(db: Store, call: Any) -> Iterator[Any]:
    cursor: str | None = None
    while True:
        page = db(call).page(1, cursor)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


def made(kind: Kind, text: str, points: int = POINTS) -> Any:
    return kind(game="go", points=points, who="ann", text=text)


def in_transaction(act: Callable[[Any, Kind], Any]) -> Callable[[Store, Kind], Any]:
    def run(db: Store, kind: Kind) -> None:
        with db.transaction() as transaction:
            act(transaction, kind)

    return run


def change(db: Store, kind: Kind, name: str = "text", value: Any = "new", *, create: bool = False) -> None:
    with db.change(GETS[kind]("go", POINTS, "ann"), create=create) as draft:
        setattr(draft, name, value)


def replace(db: Store, kind: Kind) -> None:
    found = db.get(GETS[kind]("go", POINTS, "ann")) or made(kind, "new")
    found.text = "new"
    db.replace(found)


def update(db: Store, kind: Kind, name: str = "text", value: Any = "new", points: int = POINTS) -> None:
    db.update(GETS[kind]("go", points, "ann"), lambda each: setattr(each, name, value))


def call(kind: Kind, points: int = POINTS) -> Any:
    return GETS[kind]("go", points, "ann")


def rekey(db: Store, kind: Kind) -> None:
    with db.change(call(kind, OTHER)) as draft:
        draft.points = POINTS


CREATES: Writes = {
    "create": lambda db, kind: db.create(made(kind, "new")),
    "create in a transaction": in_transaction(lambda t, kind: t.create(made(kind, "new"))),
}
PUTS: Writes = {
    "put": lambda db, kind: db.put(made(kind, "new")),
    "put_many": lambda db, kind: db.put_many([made(kind, "new")]),
    "put in a transaction": in_transaction(lambda t, kind: t.put(made(kind, "new"))),
    "change that creates": lambda db, kind: change(db, kind, create=True),
    "change in a transaction that creates": in_transaction(
        lambda t, kind: setattr(t.change(call(kind), create=True), "text", "new")
    ),
    "delete and create": in_transaction(lambda t, kind: (t.delete(call(kind)), t.create(made(kind, "new")))),
}
CHANGES: Writes = {
    "change": change,
    "update": update,
    "replace": replace,
    "change in a transaction": in_transaction(lambda t, kind: setattr(t.change(call(kind)), "text", "new")),
}
DELETES: Writes = {
    "delete": lambda db, kind: db.delete(call(kind)),
    "delete of the entity": lambda db, kind: db.delete(made(kind, "x")),
    "delete with a check": lambda db, kind: db.delete(call(kind), check=lambda _: None),
    "delete_many": lambda db, kind: db.delete_many([call(kind)]),
    "delete in a transaction": in_transaction(lambda t, kind: t.delete(call(kind))),
}
MOVES_AWAY: Writes = {
    "change of the key": lambda db, kind: change(db, kind, "who", "bob"),
    "update of the key": lambda db, kind: update(db, kind, "who", "bob"),
    "change of the key in a transaction": in_transaction(lambda t, kind: setattr(t.change(call(kind)), "who", "bob")),
}
MOVES_HERE: Writes = {
    "change of the key": rekey,
    "update of the key": lambda db, kind: update(db, kind, "points", POINTS, points=OTHER),
    "change of the key in a transaction": in_transaction(
        lambda t, kind: setattr(t.change(call(kind, OTHER)), "points", POINTS)
    ),
}
ONLY_WITHOUT_INVARIANTS = {"put_many", "put in a transaction", "delete_many"}
STATES = [*chain.from_iterable(combinations(FORMS, count) for count in range(4))]


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, design, sleep=lambda _: None)
        store.create_tables()
        yield store


def in_state(db: Store, kind: Kind, state: tuple[str, ...]) -> str | None:
    for form in state:
        put_raw(db, kind, form, form)
    expected = state[0] if state else None
    assert seen(db, kind) == expected
    return expected


def cases(writes: dict[str, Any]) -> list[Any]:
    return [
        pytest.param(kind, write, state, id=f"{kind.__name__}-{name}-{'+'.join(state) or 'nothing'}")
        for kind in (Score, Medal)
        for name, write in writes.items()
        if kind is Score or name not in ONLY_WITHOUT_INVARIANTS
        for state in STATES
    ]


@pytest.mark.parametrize(("kind", "write", "state"), cases(CREATES))
def test_create_finds_what_is_under_any_key(db: Store, kind: Kind, write: Any, state: tuple[str, ...]) -> None:
    expected = in_state(db, kind, state)
    if expected is None:
        write(db, kind)
        assert seen(db, kind) == "new"
        return
    before = stored_keys(db)
    with pytest.raises(AlreadyExists):
        write(db, kind)
    assert seen(db, kind) == expected
    assert stored_keys(db) == before


@pytest.mark.parametrize(("kind", "write", "state"), cases(PUTS))
def test_put_replaces_what_is_under_any_key(db: Store, kind: Kind, write: Any, state: tuple[str, ...]) -> None:
    in_state(db, kind, state)
    write(db, kind)
    assert seen(db, kind) == "new"
    assert sort_key(kind, "current", POINTS, "ann") in stored_keys(db)


@pytest.mark.parametrize(("kind", "write", "state"), cases(CHANGES))
def test_change_moves_what_is_under_an_old_key(db: Store, kind: Kind, write: Any, state: tuple[str, ...]) -> None:
    if in_state(db, kind, state) is None:
        with pytest.raises(NotFound):
            write(db, kind)
        assert stored_keys(db) == []
        return
    write(db, kind)
    assert seen(db, kind) == "new"
    assert sort_key(kind, "current", POINTS, "ann") in stored_keys(db)


@pytest.mark.parametrize(("kind", "write", "state"), cases(DELETES))
def test_deleted_item_is_under_no_key(db: Store, kind: Kind, write: Any, state: tuple[str, ...]) -> None:
    in_state(db, kind, state)
    write(db, kind)
    assert seen(db, kind) is None
    assert stored_keys(db) == []


@pytest.mark.parametrize(("kind", "write", "state"), cases(MOVES_AWAY))
def test_item_with_a_new_key_leaves_all_earlier_ones(db: Store, kind: Kind, write: Any, state: tuple[str, ...]) -> None:
    if in_state(db, kind, state) is None:
        with pytest.raises(NotFound):
            write(db, kind)
        return
    write(db, kind)
    assert seen(db, kind) is None
    assert stored_keys(db) == [sort_key(kind, "current", POINTS, "bob")]


@pytest.mark.parametrize(("kind", "write", "state"), cases(MOVES_HERE))
def test_new_key_must_be_free_in_every_form(db: Store, kind: Kind, write: Any, state: tuple[str, ...]) -> None:
    put_raw(db, kind, "current", "moved", points=OTHER)
    expected = in_state(db, kind, state)
    if expected is None:
        write(db, kind)
        assert seen(db, kind) == "moved"
        assert seen(db, kind, OTHER) is None
        return
    with pytest.raises(AlreadyExists):
        write(db, kind)
    assert seen(db, kind) == expected
    assert seen(db, kind, OTHER) == "moved"


@pytest.mark.parametrize("state", STATES)
def test_check_in_a_transaction_finds_what_is_under_any_key(db: Store, state: tuple[str, ...]) -> None:
    expected = in_state(db, Score, state)
    for text in FORMS:
        wanted = F.text == text
        act = in_transaction(lambda t, kind: t.check(call(kind), wanted))  # noqa: B023
        if text == expected:
            act(db, Score)
        else:
            with pytest.raises(ConditionFailed):
                act(db, Score)


@pytest.mark.parametrize("seed", range(40))
def test_random_writes_of_both_programs_agree_with_a_dictionary(db: Store, seed: int) -> None:
    random = Random(seed)
    kind = random.choice([Score, Medal])
    stored: dict[str, str] = {}
    writes = {**CREATES, **PUTS, **CHANGES, **DELETES}
    names = [name for name in writes if kind is Score or name not in ONLY_WITHOUT_INVARIANTS]
    for step in range(12):
        if random.random() < 0.4:
            form = random.choice(FORMS if kind is Score else FORMS[1:])  # no program overwrites what has a guard
            put_raw(db, kind, form, f"{form}{step}")
            stored[form] = f"{form}{step}"
        else:
            name = random.choice(names)
            exists = bool(stored)
            error: type[PartitaError] | None = None
            try:
                writes[name](db, kind)
            except PartitaError as raised:
                error = type(raised)
            if name in CREATES and exists:
                assert error is AlreadyExists, name
            elif name in CHANGES and not exists:
                assert error is NotFound, name
            else:
                assert error is None, (name, error)
                _write(stored, name)
        first = next((stored[form] for form in FORMS if form in stored), None)
        assert seen(db, kind) == first


def _write(stored: dict[str, str], name: str) -> None:
    """What a write does to the texts under each form of the key."""
    if name in DELETES or (name in PUTS and "change" not in name):
        stored.clear()
    elif "current" not in stored and stored:
        del stored[next(form for form in FORMS if form in stored)]
    if name not in DELETES:
        stored["current"] = "new"


def test_old_key_that_another_item_has_now_is_not_taken_for_it() -> None:
    things = table()

    class Pair(Entity, table=things, key=("PAIR", "{one}#{two}"), old_keys=[("PAIR", "{two:plain}#{one:plain}")]):
        one: str
        two: str
        text: str = ""

    @pattern
    def pair(one: str, two: str) -> Item[Pair]: ...
    @pattern
    def pairs() -> Items[Pair]: ...

    db = opened(things)
    there = db.create(Pair(one="a", two="b", text="there"))
    other = pair("b", "a")
    assert (db.get(other), db.get_many([other]), db.transact_get(other)) == (None, [None], (None,))
    db.delete(other)
    db.delete_many([other])
    with pytest.raises(NotFound), db.change(other) as draft:
        draft.text = "x"
    db.put(Pair(one="b", two="a", text="p"))
    db.put_many([Pair(one="b", two="a", text="q")])
    db.delete(other)
    db.create(Pair(one="b", two="a", text="r"))
    assert db.one(pair("a", "b")) == there
    assert [each.text for each in db(pairs())] == ["there", "r"]


def test_expired_item_under_an_old_key_is_not_there() -> None:
    things = table(ttl="ttl")
    now = datetime(2025, 1, 1, tzinfo=UTC)

    class Pass(Entity, table=things, key=("PASS#{number:4}", "PASS"), old_keys=[("PASS#{number:plain}", "PASS")]):
        number: int
        until: datetime
        kept = Expires("until")

    @pattern
    def a_pass(number: int) -> Item[Pass]: ...

    db = opened(things).with_settings(clock=lambda: now)
    past = now - timedelta(days=1)
    row = {"PK": {"S": "PASS#1"}, "SK": {"S": "PASS"}, "number": {"N": "1"}, "until": {"S": "2024-12-31T00:00:00Z"}}
    db.backend.call(PutItem(table_name="things", item=row | {"ttl": {"N": str(int(past.timestamp()))}}))
    assert db.get(a_pass(1)) is None
    assert db.create(Pass(number=1, until=now + timedelta(days=1))) == db.one(a_pass(1))


def test_owner_is_deleted_with_copies_of_its_children() -> None:
    things = table()

    class Box(Entity, table=things, key=("BOX#{box}", "BOX")):
        box: str
        held: Annotated[int, CountOf(lambda: Thing)] = 0
        contents = Owns(lambda: Thing)

    class Thing(
        Entity, table=things, key=("BOX#{box}", "THING#{n:3}"), old_keys=[("BOX#{box:plain}", "THING#{n:plain}")]
    ):
        box: str
        n: int

    @pattern
    def a_box(box: str) -> Item[Box]: ...

    db = opened(things)
    db.create(Box(box="b"))
    db.create(Thing(box="b", n=1))
    for n in ("1", "2"):
        row = {"PK": {"S": "BOX#b"}, "SK": {"S": f"THING#{n}"}, "box": {"S": "b"}, "n": {"N": n}}
        db.backend.call(PutItem(table_name="things", item=row))
    db.delete(a_box("b"))
    assert list(db.scan(Box, Thing)) == []
    assert stored(db) == []


@pytest.mark.parametrize("neighbour", ["META", "0-h", "z"])
def test_owner_is_deleted_with_children_whose_old_keys_are_outside_of_todays(neighbour: str) -> None:
    """Beside a neighbour, the children are read between the smallest and the largest of today's keys."""
    things = table()

    class Level(enum.Enum):
        HIGH = "high"
        LOW = "low"

    class Room(Entity, table=things, key=("ROOM#{room}", "~")):
        room: str
        counted: Annotated[int, CountOf(lambda: Seat)] = 0
        seats = Owns(lambda: Seat)

    class Seat(
        Entity, table=things, key=("ROOM#{room}", "{level:ranked}"), old_keys=[("ROOM#{room}", "{level:plain}")]
    ):
        room: str
        level: Level

    class Note(Entity, table=things, key=("ROOM#{room}", neighbour)):
        room: str

    @pattern
    def a_room(room: str) -> Item[Room]: ...

    db = opened(things)
    db.create(Room(room="r"))
    db.create(Note(room="r"))
    db.create(Seat(room="r", level=Level.LOW))
    row = {"PK": {"S": "ROOM#r"}, "SK": {"S": "high"}, "room": {"S": "r"}, "level": {"S": "high"}}
    db.backend.call(PutItem(table_name="things", item=row))
    db.delete(a_room("r"))
    assert [each["SK"] for each in stored(db)] == [neighbour]


teams = Table("teams", pk="PK", sk="SK")


class Team(Entity, table=teams, key=("TEAM#{team:4}", "TEAM"), old_keys=[("T#{team:plain}", "T")]):
    team: int
    players: Annotated[int, CountOf(lambda: Player)] = 0
    most: int = 3
    room = Limit(F.players <= F.most)


class Player(Entity, table=teams, key=("PLAYER#{player}", "PLAYER")):
    player: str
    team: Annotated[int | None, References(lambda: Team)] = None


@pattern
def a_team(team: int) -> Item[Team]: ...
@pattern
def a_player(player: str) -> Item[Player]: ...


def join(db: Store, player: str, team: int | None) -> None:
    with db.change(a_player(player)) as draft:
        draft.team = team


def swap(db: Store) -> None:
    with db.transaction() as transaction:
        transaction.delete(a_player("ann"))
        transaction.create(Player(player="bob", team=7))
        transaction.create(Player(player="cid", team=8))


PARENT_WRITES: dict[str, Callable[[Store], Any]] = {
    "create": lambda db: db.create(Player(player="bob", team=7)),
    "delete": lambda db: db.delete(a_player("ann")),
    "change away": lambda db: join(db, "ann", None),
    "change to another": lambda db: join(db, "ann", 8),
    "put": lambda db: db.put(Player(player="ann")),
    "put of a new one": lambda db: db.put(Player(player="bob", team=8)),
    "transaction": swap,
}


@pytest.mark.parametrize("copied", [False, True], ids=["old", "both"])
@pytest.mark.parametrize("name", PARENT_WRITES)
def test_counters_and_references_find_a_parent_under_its_old_key(name: str, copied: bool) -> None:
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, prove("teams", teams), sleep=lambda _: None)
        db.create_tables()
        for team, players in ((7, 1), (8, 0)):
            row = {"team": {"N": str(team)}, "players": {"N": str(players)}, "most": {"N": "3"}}
            backend.call(PutItem(table_name="teams", item={"PK": {"S": f"T#{team}"}, "SK": {"S": "T"}} | row))
            if copied:
                key = {"PK": {"S": f"TEAM#{team:04}"}, "SK": {"S": "TEAM"}}
                backend.call(PutItem(table_name="teams", item=key | row))
        row = {"player": {"S": "ann"}, "team": {"N": "7"}}
        backend.call(PutItem(table_name="teams", item={"PK": {"S": "PLAYER#ann"}, "SK": {"S": "PLAYER"}} | row))
        PARENT_WRITES[name](db)
        teams_of_players = [each.team for each in db.scan(Player)]
        for team in (7, 8):
            assert db.one(a_team(team)).players == teams_of_players.count(team)


class Interrupted:
    """A backend on which something else happens before one of the requests."""

    def __init__(self, inner: Any, before: int, act: Callable[[], Any]) -> None:
        self.inner, self.left, self.act = inner, before, act

    def call(self, request: Any) -> Any:
        self.left -= 1
        if self.left == -1:
            self.act()
        return self.inner.call(request)


@pytest.mark.parametrize("before", range(8))
@pytest.mark.parametrize("name", PARENT_WRITES)
def test_parent_that_another_writer_moves_meanwhile_is_found(name: str, before: int) -> None:
    with connect("memory:", maintain=False) as backend:
        other = Store(backend, prove("teams", teams), sleep=lambda _: None)
        other.create_tables()
        for team, players in ((7, 1), (8, 0)):
            row = {"team": {"N": str(team)}, "players": {"N": str(players)}, "most": {"N": "3"}}
            backend.call(PutItem(table_name="teams", item={"PK": {"S": f"T#{team}"}, "SK": {"S": "T"}} | row))
        row = {"player": {"S": "ann"}, "team": {"N": "7"}}
        backend.call(PutItem(table_name="teams", item={"PK": {"S": "PLAYER#ann"}, "SK": {"S": "PLAYER"}} | row))

        def act() -> None:
            for team in (7, 8):
                other.update(a_team(team), lambda each: setattr(each, "most", 5))

        PARENT_WRITES[name](Store(Interrupted(backend, before, act), prove("teams", teams), sleep=lambda _: None))
        found = [each.team for each in other.scan(Player)]
        assert [other.one(a_team(team)).players for team in (7, 8)] == [found.count(7), found.count(8)]


READS_OF_OLD: dict[str, Callable[[Store], list[Any]]] = {
    "get": lambda db: [db.get(a_score("g", points, "ann"), consistent=True) for points in (5, 40)],
    "get many": lambda db: list(db.get_many([a_score("g", points, "ann") for points in (5, 40)], consistent=True)),
    "get together": lambda db: list(db.transact_get(*(a_score("g", points, "ann") for points in (5, 40)))),
    "query": lambda db: list(db(worst_scores("g"), consistent=True)),
    "pages of one": lambda db: list(pages(db, worst_scores("g"))),
}


@pytest.mark.parametrize("before", range(8))
@pytest.mark.parametrize("name", READS_OF_OLD)
def test_read_finds_an_item_once_that_another_writer_moves_meanwhile(name: str, before: int) -> None:
    with connect("memory:", maintain=False) as backend:
        other = Store(backend, prove("games", games), sleep=lambda _: None)
        other.create_tables()
        other.create(Score(game="g", points=20, who="ann"))
        for points in (5, 40):
            row = {"PK": {"S": "GAME#g"}, "SK": {"S": f"SCORE#{points}#ann"}, "game": {"S": "g"}, "who": {"S": "ann"}}
            row |= {"points": {"N": str(points)}, "GSI1SK": {"S": f"SCORE#g#p{points:06}"}}
            backend.call(PutItem(table_name="games", item=row))

        def act() -> None:
            for points in (40, 5):
                other.update(a_score("g", points, "ann"), lambda each: setattr(each, "text", "moved"))

        reader = Store(Interrupted(backend, before, act), prove("games", games), cursor_keys=[b"k" * 32])
        found = READS_OF_OLD[name](reader)
        there = [None if each is None else each.points for each in found]
        assert [each for each in there if each != 20] == [5, 40]


def test_reference_to_a_parent_under_no_key_is_missing() -> None:
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, prove("teams", teams), sleep=lambda _: None)
        db.create_tables()
        with pytest.raises(ReferenceMissing, match="Player refers to Team 7, which does not exist"):
            db.create(Player(player="bob", team=7))
        assert "ReferenceMissing" in db.explain_create(Player(player="bob", team=7))
        row = {"player": {"S": "ann"}, "team": {"N": "7"}}
        backend.call(PutItem(table_name="teams", item={"PK": {"S": "PLAYER#ann"}, "SK": {"S": "PLAYER"}} | row))
        assert db.delete(a_player("ann")) == Player(player="ann", team=7)


def test_collection_finds_each_entity_in_its_old_form() -> None:
    things = table()

    class Post(Entity, table=things, key=("P#{post}", "A#{n:3}"), old_keys=[("OLD#{post:plain}", "{n:plain}")]):
        post: str
        n: int

    class Reply(Entity, table=things, key=("P#{post}", "B#{n:3}"), old_keys=[("P#{post}", "B#{n:plain}")]):
        post: str
        n: int

    @pattern
    def thread(post: str) -> Items[Post | Reply]: ...

    db = opened(things)
    for partition, sort in (("OLD#p", "7"), ("P#p", "B#8")):
        row = {"PK": {"S": partition}, "SK": {"S": sort}, "post": {"S": "p"}, "n": {"N": sort[-1]}}
        db.backend.call(PutItem(table_name="things", item=row))
    assert list(db(thread("p"))) == [Post(post="p", n=7), Reply(post="p", n=8)]


def test_scan_compares_attributes_in_keys_whatever_their_form() -> None:
    things = table()

    class Step(Entity, table=things, key=("S", "S#{n:+6}"), old_keys=[("OLD", "{n:plain}")]):
        n: Annotated[int, InKey()]

    class Moment(Entity, table=things, key=("M", "{at}")):
        at: Annotated[datetime, InKey()]

    db = opened(things)
    for partition, sort in (("OLD", "3"), ("OLD", "20"), ("OLD", "100"), ("M", "2025-01-01T00:00:00Z")):
        db.backend.call(PutItem(table_name="things", item={"PK": {"S": partition}, "SK": {"S": sort}}))
    db.create(Step(n=50))
    start = datetime(2025, 1, 1, tzinfo=UTC)
    db.create(Moment(at=start + timedelta(microseconds=5)))
    for low in (2, 3, 19, 20, 21, 50, 99, 100, 101):
        assert sorted(each.n for each in db.scan(Step, where=F.n >= low)) == [n for n in (3, 20, 50, 100) if n >= low]
        assert [each.n for each in db.scan(Step, where=F.n == low)] == [low] * (low in (3, 20, 50, 100))
    assert [each.at for each in db.scan(Moment, where=F.at == start)] == [start]
    assert [each.at.microsecond for each in db.scan(Moment, where=F.at > start)] == [5]
    assert "FilterExpression" not in db.explain_scan(Step, where=F.n == 3)


def test_filter_by_an_attribute_in_a_key_with_old_forms_is_rejected() -> None:
    things = table(BY_TEXT)

    class Step(Entity, table=things, key=("S", "S#{n:+6}"), old_keys=[("OLD", "{n:plain}")]):
        n: Annotated[int, InKey()]
        who: str
        mine = Keys("GSI1", "WHO#{who}", "X")

    @pattern
    def late_steps(who: str) -> Items[Step]:
        return Step.mine.query(who).where(F.n > 5)

    wrong = "late_steps: it filters by 'n', which is stored in the key only, and in another form under an old key; "
    with pytest.raises(DesignError, match=wrong + "migrate the stored items"):
        prove("things", things)


@pytest.mark.parametrize("places", [*chain.from_iterable(combinations(range(3), count) for count in range(4))])
def test_view_that_lacks_attributes_lists_an_item_under_several_keys_once(places: tuple[int, ...]) -> None:
    things = table(Index("Short", "GSI1PK", "GSI1SK", project=("text",)))

    class Short(View):
        text: str
        short = Keys("Short", "COLOR#{color}", "{number:4}")

    class Ticket(
        Short,
        Entity,
        table=things,
        key=("T#{owner}", "{number:4}"),
        old_keys=[("TICKET#{owner:plain}", "{number:plain}"), ("OLD", "{number:plain}#{owner:plain}")],
    ):
        owner: str
        number: int
        color: str
        grade: int

    @pattern
    def shorts(color: str) -> Items[Short]:
        return Short.short.query(color)

    db = opened(things)
    keys = [("T#ann", "0007"), ("TICKET#ann", "7"), ("OLD", "7#ann")]
    for place in places:
        pk, sk = keys[place]
        texts = {"PK": pk, "SK": sk, "owner": "ann", "color": "red", "text": str(place)}
        texts |= {"GSI1PK": "COLOR#red", "GSI1SK": "0007"}
        item = {name: {"S": text} for name, text in texts.items()} | {"number": {"N": "7"}, "grade": {"N": "1"}}
        db.backend.call(PutItem(table_name="things", item=item))
    first = [] if not places else [Short(text=str(places[0]))]
    assert list(db(shorts("red"))) == first
    assert [each for _ in first for each in db(shorts("red")).page(1).items] == first


escaped_table = Table("escaped", "PK", "SK")


class Named(Entity, table=escaped_table, key=("NAME#{name}", "X"), old_keys=[("NAME#{name:plain}", "X")]):
    name: str


@pattern
def named(name: str) -> Item[Named]: ...


escaped_design = prove("escaped", escaped_table)


def test_old_key_that_equals_the_current_key_of_another_text_is_not_read_as_that() -> None:
    """`b$Sc` as it was once stored is the current key of `b#c`."""
    with connect("memory:", escaped_design) as db:
        db.create_tables()
        item = {"PK": {"S": "NAME#b$Sc"}, "SK": {"S": "X"}, "name": {"S": "b$Sc"}}
        db.backend.call(PutItem(table_name="escaped", item=item))
        other, itself = named("b#c"), named("b$Sc")
        found = Named(name="b$Sc")
        assert (db.get(other), db.get(itself)) == (None, found)
        assert db.get_many([other, itself]) == [None, found]
        assert db.transact_get(other, itself) == (None, found)
        assert db.adopt().rewritten == 1
        db.create(Named(name="b#c"))
        assert (db.get(other), db.get(itself)) == (Named(name="b#c"), found)


mixed_table = Table("mixed", "PK", "SK")


class Head(Entity, table=mixed_table, key=("P#{p}", "A")):
    p: str


class Numbered(Entity, table=mixed_table, key=("P#{p}", "0#{number:3}"), old_keys=[("P#{p}", "0#{number:plain}")]):
    p: str
    number: int


class Beside(Entity, table=mixed_table, key=("P#{p}", "v{part:shard(4)}")):
    p: str
    part: str


@pattern
def heads_and_numbers(p: str) -> Items[Head | Numbered]:
    return collection(Head, Numbered)(p)


mixed_design = prove("mixed", mixed_table)


def test_collection_between_todays_keys_also_lists_what_is_under_old_keys() -> None:
    """Its range begins with `0#000`, and `0#0` lies before that."""
    with connect("memory:", mixed_design) as db:
        db.create_tables()
        for number in (0, 7):
            key = {"PK": {"S": "P#b"}, "SK": {"S": f"0#{number}"}}
            db.backend.call(PutItem(table_name="mixed", item=key | {"p": {"S": "b"}, "number": {"N": str(number)}}))
        db.create(Head(p="b"))
        db.create(Numbered(p="b", number=3))
        found = [each.number for each in db(heads_and_numbers("b")) if isinstance(each, Numbered)]
        assert found == [0, 3, 7]


parts_table = Table("parts", "PK", "SK", indexes=(Index("IX0", "IXPK", "IXSK", project="KEYS_ONLY"),))


class Label(View):
    label: Annotated[str, InKey()]
    by_p = Keys("IX0", "S#{p}", "{number:3}")


class Labelled(
    Label,
    Entity,
    table=parts_table,
    key=("P#{p}", "LABEL#{label}#{number?:3}"),
    old_keys=[("P#{p}", "OLD#{label:plain}#{number?:plain}")],
):
    p: Annotated[str, InKey()]
    number: int | None = None


@pattern
def labels(p: str) -> Items[Label]:
    return query(Label.by_p, p)


@pattern
def labelled(p: str, label: str, number: int | None) -> Item[Labelled]: ...


parts_design = prove("parts", parts_table)


def test_part_of_an_item_in_an_index_is_not_taken_for_a_copy_of_another() -> None:
    """The index does not hold the number, without which the key would be that of another item."""
    with connect("memory:", parts_design) as db:
        db.create_tables()
        db.create(Labelled(p="a", label="l", number=0))
        stored = msgspec.json.decode((db.backend.call(Scan(table_name="parts")).items or [])[0])
        db.delete(labelled("a", "l", 0))
        db.backend.call(PutItem(table_name="parts", item=stored | {"SK": {"S": "OLD#l#0"}}))
        db.create(Labelled(p="a", label="l"))
        assert [each.label for each in db(labels("a"))] == ["l"]
