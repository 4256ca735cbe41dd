"""An item that has expired and is still stored is as good as none: every conditional write treats the two alike."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Annotated, Any

import pytest

from partita import (
    ConditionFailed,
    CountOf,
    Entity,
    Expires,
    F,
    Item,
    NotFound,
    References,
    Store,
    StoreError,
    Table,
    Unique,
    connect,
    pattern,
    prove,
)
from partita.errors import ReferenceMissing
from tests.store.clocks import Clock

AT = Clock().now
table = Table("things", "PK", "SK", ttl="ttl")


class Shelf(Entity, table=table, key=("SHELF#{shelf}", "SHELF")):
    shelf: str
    things: Annotated[int, CountOf(lambda: Counted)] = 0


class Plain(Entity, table=table, key=("PLAIN#{name}", "PLAIN")):
    name: str
    color: str = "red"
    until: datetime | None = None
    end = Expires("until")


class Named(Entity, table=table, key=("NAMED#{name}", "NAMED")):
    name: str
    nick: Annotated[str, Unique()] = "nick"
    color: str = "red"
    until: datetime | None = None
    end = Expires("until")


class Counted(Entity, table=table, key=("COUNTED#{name}", "COUNTED")):
    name: str
    shelf: Annotated[str, References(lambda: Shelf)] = "s"
    color: str = "red"
    until: datetime | None = None
    end = Expires("until")


@pattern
def plain(name: str) -> Item[Plain]: ...
@pattern
def named(name: str) -> Item[Named]: ...
@pattern
def counted(name: str) -> Item[Counted]: ...


design = prove("things", table)
GETS: dict[type[Any], Any] = {Plain: plain, Named: named, Counted: counted}
CONDITIONS = {
    "equal": F.color == "red",
    "not equal": F.color != "blue",
    "exists": F.color.exists(),
    "absent": F.color.is_absent(),
    "not": ~(F.color == "red"),
    "either": F.color.is_absent() | (F.color == "red"),
    "both": F.color.exists() & F.color.is_in("red", "blue"),
}


def _check(db: Store, call: Any, when: Any) -> None:
    with db.transaction() as transaction:
        transaction.check(call, when)
        transaction.create(Plain(name="witness"))


def _delete(db: Store, call: Any, when: Any) -> None:
    with db.transaction() as transaction:
        transaction.delete(call, when=when)
        transaction.create(Plain(name="witness"))


def _change(db: Store, call: Any, when: Any) -> None:
    with db.change(call, when=when) as draft:
        draft.color = "green"


def _change_together(db: Store, call: Any, when: Any) -> None:
    with db.transaction() as transaction:
        transaction.change(call, when=when).color = "green"
        transaction.create(Plain(name="witness"))


def _create(db: Store, call: Any, when: Any) -> None:
    """A creation under a condition on what is stored under its key."""
    entity = next(each for each, get in GETS.items() if get("x").read is call.read)
    db.create(
        entity(name=call.arguments[0], color="green", nick="other")
        if entity is Named
        else entity(name=call.arguments[0]),
        when=when,
    )
    db.delete(call)


WRITES: dict[str, Callable[[Store, Any, Any], object]] = {
    "check": _check,
    "create": _create,
    "delete in a transaction": _delete,
    "delete": lambda db, call, when: db.delete(call, when=when),
    "change": _change,
    "change in a transaction": _change_together,
}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(clock: Clock) -> Iterator[Store]:
    with connect("memory:", design, clock=clock, maintain=False) as db:
        db.create_tables()
        db.create(Shelf(shelf="s"))
        yield db


def _outcome(db: Store, write: Callable[[Store, Any, Any], object], call: Any, when: Any) -> str:
    try:
        return repr(write(db, call, when))
    except (StoreError, ReferenceMissing) as error:
        return type(error).__name__


@pytest.mark.parametrize("entity", GETS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("write", WRITES)
def test_expired_item_is_judged_like_none(
    db: Store, clock: Clock, entity: type[Any], condition: str, write: str
) -> None:
    get, when = GETS[entity], CONDITIONS[condition]
    of_none = _outcome(db, WRITES[write], get("none"), when)
    db.delete(plain("witness"))
    db.create(entity(name="old", until=AT + timedelta(minutes=1)))
    clock.passes(minutes=2)
    assert _outcome(db, WRITES[write], get("old"), when) == of_none
    assert db.get(get("old")) is None


@pytest.mark.parametrize("entity", GETS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("write", [each for each in WRITES if each != "create"])
def test_live_item_is_judged_by_its_values(db: Store, entity: type[Any], write: str) -> None:
    db.create(entity(name="new", until=AT + timedelta(minutes=1)))
    with pytest.raises(ConditionFailed):
        WRITES[write](db, GETS[entity]("new"), F.color == "blue")
    WRITES[write](db, GETS[entity]("new"), F.color == "red")


def test_missing_item_is_not_found_by_a_change(db: Store) -> None:
    with pytest.raises(NotFound):
        _change(db, plain("none"), F.color.is_absent())


def test_value_of_an_item_that_is_created_expired_is_free_in_its_transaction() -> None:
    clock = Clock()
    db = Store(connect("memory:", maintain=False), design, clock=clock)
    db.create_tables()
    past = clock.now - timedelta(hours=1)
    with db.transaction() as transaction:
        transaction.create(Named(name="a", nick="n", until=past))
        transaction.create(Named(name="b", nick="n"))
    assert db.get(named("a")) is None
    with pytest.raises(StoreError, match="is taken"):
        db.create(Named(name="c", nick="n"))
    db.delete(named("b"))
    db.create(Named(name="c", nick="n"))
