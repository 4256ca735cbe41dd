"""Whole numbers in keys as other code writes them, `USER#12`: a form of their own, without an order."""

from typing import Annotated

import pytest

from partita import DesignError, Entity, InKey, InvalidValue, Item, Items, Store, Table, connect, pattern, prove, query
from tests.store.declared import opened, table

NUMBERS = (-12, -1, 0, 1, 2, 10, 12, 100, 12 * 10**20)

things = table()


class User(Entity, table=things, key=("USERS#{group:plain}", "{user:plain}")):
    group: Annotated[int, InKey()]
    user: Annotated[int, InKey()]


class Post(Entity, table=things, key=("USERS#{group:plain}", "{user:plain}#POST#{post:plain}")):
    group: int
    user: int
    post: int


class Label(Entity, table=things, key=("USERS#{group:plain}", "LABEL-{label}")):
    group: int
    label: str


@pattern
def user(group: int, user: int) -> Item[User]: ...
@pattern
def with_posts(group: int, user: int) -> Items[User | Post]: ...
@pattern
def posts(group: int, user: int) -> Items[Post]: ...
@pattern
def labels(group: int) -> Items[Label]: ...


@pytest.fixture
def db() -> Store:
    store = opened(things)
    store.put_many([User(group=group, user=each) for each in NUMBERS for group in (1, 10)])
    store.put_many([Post(group=1, user=each, post=post) for each in NUMBERS for post in (0, 10)])
    store.put_many([Label(group=1, label=each) for each in ("1", "-1", "a")])
    return store


def test_each_number_has_a_key_of_its_own(db: Store) -> None:
    for each in NUMBERS:
        assert db(user(10, each)) == User(group=10, user=each)
        assert list(db(with_posts(10, each))) == [User(group=10, user=each)]
        expected = [Post(group=1, user=each, post=post) for post in (0, 10)]
        assert list(db(posts(1, each))) == expected
        assert list(db(with_posts(1, each))) == [User(group=1, user=each), *expected]
    assert [each.label for each in db(labels(1))] == ["-1", "1", "a"]


def test_parent_and_children_of_a_plain_number_are_one_range(db: Store) -> None:
    assert "1 Query per page" in db.explain(with_posts(1, 2))


def test_plain_numbers_promise_no_order() -> None:
    things = table()

    class Score(Entity, table=things, key=("GAME#{game}", "{points:plain}")):
        game: str
        points: int

    for read in (query(Score, "g").largest_first("points"), query(Score, "g").since(3)):
        with pytest.raises(DesignError, match=r"do not sort as its values do; write \{points:"):
            connect("memory:", prove("things", things)).explain(read)


def test_sign_of_a_number_may_not_be_the_separator_that_follows() -> None:
    dashes = Table("things", pk="PK", sk="SK", separator="-")

    class Score(Entity, table=dashes, key=("GAME-{game}", "{points:plain}-{player}")):
        game: str
        points: int
        player: str

    db = opened(dashes)
    db.create(Score(game="g", points=12, player="p"))
    assert [each.points for each in db(query(Score, "g", 12))] == [12]
    with pytest.raises(InvalidValue, match="contains '-', and the key goes on after it"):
        db.create(Score(game="g", points=-1, player="p"))
