"""Rules on values hold for steps too: transitions, the bounds of a type, limits, and the bounds of Ordered."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    Entity,
    F,
    InvalidTransition,
    InvalidValue,
    Item,
    Limit,
    LimitReached,
    Ordered,
    Store,
    Transitions,
    pattern,
)
from tests.store.declared import opened, table

things = table()


class Game(Entity, table=things, key=("GAME#{game_id}", "GAME")):
    game_id: str
    level: Annotated[int, Transitions({1: [2], 2: [3]}, start=[1])] = 1
    lives: Annotated[int, msgspec.Meta(ge=0, le=10)] = 3
    speed: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    names: Annotated[list[str], msgspec.Meta(max_length=2)] = msgspec.field(default_factory=list)


class Box(Entity, table=things, key=("BOX#{box_id}", "BOX")):
    box_id: str
    used: int = 0
    most: int = 5

    room = Limit(F.used <= F.most)


@pattern
def game(game_id: str) -> Item[Game]: ...
@pattern
def box(box_id: str) -> Item[Box]: ...


@pytest.fixture
def db() -> Store:
    store = opened(things)
    store.create(Game(game_id="g"))
    store.create(Box(box_id="b", used=1))
    return store


def test_step_follows_the_transitions(db: Store) -> None:
    with db.change(game("g")) as draft:
        draft.level += 1
    with pytest.raises(InvalidTransition), db.change(game("g")) as draft:
        draft.level += 3
    assert db.one(game("g")).level == 2


def too_many_lives(each: Any) -> None:
    each.lives += 100


def too_few_lives(each: Any) -> None:
    each.lives -= 4


def too_slow(each: Any) -> None:
    each.speed -= 1


def too_many_names(each: Any) -> None:
    each.names += ["a", "b", "c"]


@pytest.mark.parametrize("edit", [too_many_lives, too_few_lives, too_slow, too_many_names])
def test_change_beyond_the_bounds_of_a_type_is_rejected(db: Store, edit: Callable[[Any], None]) -> None:
    with pytest.raises(InvalidValue), db.change(game("g")) as draft:
        edit(draft)
    with pytest.raises(InvalidValue):
        db.update(game("g"), edit)
    assert db.one(game("g")) == Game(game_id="g")


def test_step_to_the_bound_itself_is_written_without_a_read(db: Store) -> None:
    with db.measure() as used, db.change(game("g")) as draft:
        draft.lives += 7
    assert (used.requests, db.one(game("g")).lives) == (1, 10)


def test_bound_of_a_step_is_in_the_message(db: Store) -> None:
    with pytest.raises(InvalidValue, match=r"^Game\.lives: .*<= 10"), db.change(game("g")) as draft:
        draft.lives += 100


@pytest.mark.parametrize(
    "write",
    [
        lambda db: db.create(Box(box_id="new", used=99)),
        lambda db: db.put(Box(box_id="b", used=99)),
        lambda db: db.put_many([Box(box_id="b", used=99)]),
        lambda db: db.replace(Box(box_id="b", used=99)),
        lambda db: db.update(box("b"), lambda found: setattr(found, "used", 99)),
    ],
)
def test_no_write_passes_a_limit(db: Store, write: Callable[[Store], object]) -> None:
    with pytest.raises(LimitReached):
        write(db)
    assert list(db.scan(Box)) == [Box(box_id="b", used=1)]


def test_value_outside_ordered_is_rejected() -> None:
    ranks = table()

    class Rank(Entity, table=ranks, key=("RANKS", "{rank}")):
        rank: Annotated[int, Ordered(0, 500)]

    db = opened(ranks)
    db.create(Rank(rank=500))
    for rank in (-1, 501, 999):
        with pytest.raises(InvalidValue):
            db.create(Rank(rank=rank))
