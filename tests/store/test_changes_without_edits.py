"""A change without edits still requires what it says, alone and in a transaction alike."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest

from partita import (
    ConditionFailed,
    Entity,
    F,
    InvalidValue,
    Item,
    NotFound,
    Store,
    Table,
    Unique,
    Version,
    VersionConflict,
    connect,
    pattern,
    prove,
)

table = Table("things", "PK", "SK")


class Bare(Entity, table=table, key=("BARE#{name}", "BARE")):
    name: str


class Plain(Entity, table=table, key=("PLAIN#{name}", "PLAIN")):
    name: str
    color: str = "red"


class Rich(Entity, table=table, key=("RICH#{name}", "RICH")):
    name: str
    color: str = "red"
    nick: Annotated[str | None, Unique()] = None
    version: Annotated[int, Version()] = 0


class Strict(Entity, table=table, key=("STRICT#{name}", "STRICT")):
    name: str
    color: str


@pattern
def bare(name: str) -> Item[Bare]: ...
@pattern
def plain(name: str) -> Item[Plain]: ...
@pattern
def rich(name: str) -> Item[Rich]: ...
@pattern
def strict(name: str) -> Item[Strict]: ...


design = prove("things", table)
Change = Callable[..., None]


def alone(db: Store, call: Any, **options: Any) -> None:
    with db.change(call, **options):
        pass


def together(db: Store, call: Any, **options: Any) -> None:
    with db.transaction() as transaction:
        transaction.change(call, **options)


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", design, maintain=False) as opened:
        opened.create_tables()
        yield opened


each_way = pytest.mark.parametrize("change", [alone, together])


@each_way
@pytest.mark.parametrize(("call", "entity"), [(bare, Bare), (plain, Plain), (rich, Rich)])
def test_creating_change_creates_the_item(db: Store, change: Change, call: Any, entity: Any) -> None:
    change(db, call("a"), create=True)
    assert db.one(call("a")) == (Rich(name="a", version=1) if entity is Rich else entity(name="a"))


@each_way
def test_creating_change_leaves_a_stored_item_as_it_is(db: Store, change: Change) -> None:
    stored = db.create(Rich(name="a", color="blue", nick="n"))
    change(db, rich("a"), create=True)
    assert db.one(rich("a")) == stored


@each_way
def test_creating_change_needs_what_has_no_default(db: Store, change: Change) -> None:
    with pytest.raises(InvalidValue, match=r"^Strict\.color: it has no default"):
        change(db, strict("a"), create=True)


@each_way
@pytest.mark.parametrize("call", [plain, rich])
def test_condition_is_checked(db: Store, change: Change, call: Any) -> None:
    with pytest.raises(NotFound):
        change(db, call("a"), when=F.color == "red")
    with pytest.raises(NotFound):
        change(db, call("a"), when=F.color.is_absent())
    db.create((Plain if call is plain else Rich)(name="a"))
    change(db, call("a"), when=F.color == "red")
    with pytest.raises(ConditionFailed):
        change(db, call("a"), when=F.color == "blue")


@each_way
def test_version_is_checked_and_stays(db: Store, change: Change) -> None:
    with pytest.raises(NotFound):
        change(db, rich("a"), version=1)
    db.create(Rich(name="a"))
    change(db, rich("a"), version=1)
    with pytest.raises(VersionConflict):
        change(db, rich("a"), version=2)
    assert db.one(rich("a")).version == 1


@each_way
def test_change_that_says_nothing_sends_nothing(db: Store, change: Change) -> None:
    class Silent:
        """A backend that takes no request."""

        def call(self, request: Any) -> Any:
            raise AssertionError(request)

    silent: Any = Silent()
    change(Store(silent, design), plain("a"))
