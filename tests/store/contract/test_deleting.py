"""Deleting owners: no child is left without a parent, and a rejected or interrupted deletion loses nothing."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    ConditionFailed,
    CountOf,
    Entity,
    F,
    Item,
    Items,
    NotFound,
    Owns,
    ReferenceMissing,
    References,
    SentRequest,
    Store,
    StoreError,
    Table,
    get,
    pattern,
    prove,
)
from partita.dynamodb.requests import (
    BatchWriteItem,
    DeleteItem,
    PutItem,
    Query,
    Scan,
    TransactWriteItems,
)
from partita.errors import NoReply
from tests.store.clocks import Clock
from tests.store.conftest import fresh

clubs = Table("clubs", pk="PK", sk="SK")


class Club(Entity, table=clubs, key=("CLUB#{club_id}", "CLUB")):
    club_id: str
    name: str = ""
    member_count: Annotated[int, CountOf(lambda: Member)] = 0

    own = Owns(lambda: (Member, Game))


class Member(Entity, table=clubs, key=("CLUB#{club_id}", "MEMBER#{name}")):
    club_id: str
    name: str


class Game(Entity, table=clubs, key=("CLUB#{club_id}", "GAME#{number:+4}")):
    """A child that owns entities itself."""

    club_id: Annotated[str, References(lambda: Club)]
    number: int

    moves = Owns(lambda: Move, via={"game": "number"})


class Move(Entity, table=clubs, key=("CLUB#{club_id}#GAME#{game:+4}", "MOVE#{number:+4}")):
    club_id: str
    game: int
    number: int


@pattern
def club(club_id: str) -> Item[Club]: ...
@pattern
def members(club_id: str) -> Items[Member]: ...
@pattern
def game(club_id: str, number: int) -> Item[Game]: ...


design = prove("clubs", clubs)


@pytest.fixture
def db(backend: Any, clock: Clock) -> Store:
    store = fresh(backend, design, clock)
    store.create(Club(club_id="c"))
    for name in ("ann", "bob"):
        store.create(Member(club_id="c", name=name))
    store.create(Game(club_id="c", number=1))
    store.put_many([Move(club_id="c", game=1, number=number) for number in range(30)])
    return store


def left(db: Store) -> int:
    return len(db.backend.call(Scan(table_name="clubs")).items or ())


def meanwhile(db: Store, request: int, act: Callable[[], object]) -> Store:
    """The same store; `act` runs after a certain request of it."""
    heard: list[SentRequest] = []

    def listen(call: SentRequest) -> None:
        heard.append(call)
        if len(heard) == request:
            act()

    return Store(db.backend, design, clock=db.context.clock, sleep=lambda _: None, on_call=[listen])


@pytest.mark.parametrize("request_number", range(1, 9))
@pytest.mark.parametrize(
    "made", [Member(club_id="c", name="eve"), Game(club_id="c", number=2)], ids=["counted", "sent"]
)
def test_child_created_during_the_deletion_is_deleted_or_rejected(
    db: Store, made: Member | Game, request_number: int
) -> None:
    refused: list[ReferenceMissing] = []

    def join() -> None:
        try:
            db.create(msgspec.structs.replace(made))
        except ReferenceMissing as missing:
            refused.append(missing)

    assert meanwhile(db, request_number, join).delete(club("c")) is not None
    assert left(db) == 0
    assert refused or request_number == 1, "a marked owner gets no new children"


def test_rejected_deletion_deletes_nothing(db: Store) -> None:
    def rename() -> None:
        with db.change(club("c")) as draft:
            draft.name = "Another"

    before = left(db)
    with pytest.raises(ConditionFailed):
        meanwhile(db, 1, rename).delete(club("c"), when=F.name == "")
    assert left(db) == before
    assert db.one(club("c")).member_count == 2
    db.create(Member(club_id="c", name="eve"))


class Broken:
    """A backend that fails after a number of deletions."""

    def __init__(self, backend: Any, deletions: int) -> None:
        self._backend = backend
        self._left = deletions

    def call(self, request: Any, /) -> Any:
        if isinstance(request, BatchWriteItem | DeleteItem | TransactWriteItems):
            self._left -= 1
            if self._left < 0:
                raise NoReply("here", "gone", perhaps_executed=False)
        return self._backend.call(request)


@pytest.mark.parametrize("deletions", range(5))
def test_interrupted_deletion_can_be_finished(db: Store, deletions: int) -> None:
    with pytest.raises(NoReply):
        Store(Broken(db.backend, deletions), design, clock=db.context.clock, retries=0).delete(club("c"))
    assert db(club("c")) is not None, "the parent goes last"
    with pytest.raises(ReferenceMissing):
        db.create(Member(club_id="c", name="eve"))
    assert db.one(club("c")).member_count == len(list(db(members("c"))))
    assert db.delete(club("c")) is not None
    assert left(db) == 0


def test_no_item_is_deleted_twice(db: Store) -> None:
    assert meanwhile(db, 3, lambda: db.delete(club("c"))).delete(club("c")) is None
    assert left(db) == 0
    assert db.delete(club("c")) is None


def test_put_of_an_owner_keeps_its_deletion_mark(db: Store) -> None:
    def put_and_join() -> None:
        with pytest.raises(NotFound):
            db.put(Club(club_id="c", name="Again"))
        with pytest.raises(ReferenceMissing):
            db.create(Game(club_id="c", number=3))

    meanwhile(db, 3, put_and_join).delete(club("c"))
    assert left(db) == 0


def test_children_are_found_by_their_stored_keys(db: Store) -> None:
    """An eventually consistent read might miss a child that was created just before the mark."""
    heard: list[SentRequest] = []
    Store(db.backend, design, clock=db.context.clock, on_call=[heard.append]).delete(club("c"))
    queries = [call.request for call in heard if isinstance(call.request, Query)]
    assert len(queries) == 3
    assert all(each.consistent_read for each in queries)


@pytest.mark.parametrize("request_number", range(2, 9))
def test_entity_that_is_being_deleted_cannot_be_changed(db: Store, request_number: int) -> None:
    refused: list[StoreError] = []

    def write() -> None:
        for act in (rename, checked):
            try:
                act()
            except (NotFound, ConditionFailed) as refusal:
                refused.append(refusal)

    def rename() -> None:
        with db.change(club("c")) as draft:
            draft.name = "Another"

    def checked() -> None:
        with db.transaction() as transaction:
            transaction.check(club("c"), F.name == "")
            transaction.create(Move(club_id="c", game=1, number=99))

    assert meanwhile(db, request_number, write).delete(club("c")) is not None
    assert [type(each) for each in refused] == [NotFound, ConditionFailed]
    assert left(db) == 0


shelves = Table("shelves", pk="PK", sk="SK")


class Shelf(Entity, table=shelves, key=("ROOM#{room}", "SHELF#{shelf}")):
    """One of several owners in a partition, which their children share."""

    room: str
    shelf: str

    books = Owns(lambda: (Book, Label))


class Book(Entity, table=shelves, key=("ROOM#{room}", "BOOK#{shelf}#{book}")):
    room: str
    shelf: str
    book: str


class Label(
    Entity,
    table=shelves,
    key=("LABELS#{shelf:shard(4)}", "{room}#{shelf}"),
    old_keys=[("ROOM#{room:plain}", "LABEL#{shelf:plain}")],
):
    room: str
    shelf: str


shelf_design = prove("shelves", shelves)


def test_children_of_other_owners_stay(backend: Any, clock: Clock) -> None:
    store = fresh(backend, shelf_design, clock)
    names = ("a", "ab", "b")
    for name in names:
        store.create(Shelf(room="r", shelf=name))
    store.put_many([Book(room="r", shelf=name, book=f"{name}{number}") for name in names for number in range(3)])
    store.put_many([Label(room="r", shelf=name) for name in names])
    store.delete(get(Shelf, "r", "a"))
    assert [each.shelf for each in store.scan(Shelf)] == ["ab", "b"]
    assert sorted(each.shelf for each in store.scan(Label)) == ["ab", "b"]
    assert [each.shelf for each in store.scan(Book)] == ["ab"] * 3 + ["b"] * 3


@pytest.mark.parametrize("request_number", range(2, 12))
def test_slow_deletion_spares_a_new_owner_and_its_children(db: Store, request_number: int) -> None:
    def again() -> None:
        db.delete(club("c"))
        db.create(Club(club_id="c", name="New"))
        db.create(Member(club_id="c", name="eve"))

    meanwhile(db, request_number, again).delete(club("c"))
    found = db(club("c"))
    assert found is None or found.member_count == len(list(db(members("c"))))
    assert found is not None or left(db) == 0


def test_child_that_cannot_be_decoded_is_deleted_too(db: Store) -> None:
    row = {"PK": {"S": "CLUB#c"}, "SK": {"S": "MEMBER#mal"}, "club_id": {"N": "1"}}
    db.backend.call(PutItem(table_name="clubs", item=row))
    assert db.delete(club("c")) is not None
    assert left(db) == 0


def test_children_under_an_old_key_are_deleted_too(backend: Any, clock: Clock) -> None:
    store = fresh(backend, shelf_design, clock)
    for name in ("a", "b"):
        store.create(Shelf(room="r", shelf=name))
        row = {"PK": "ROOM#r", "SK": f"LABEL#{name}", "room": "r", "shelf": name}
        store.backend.call(PutItem(table_name="shelves", item={each: {"S": text} for each, text in row.items()}))
    store.delete(get(Shelf, "r", "a"))
    assert [each.shelf for each in store.scan(Label)] == ["b"]
