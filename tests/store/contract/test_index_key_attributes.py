"""Attributes that are stored in an index key only, on every backend."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
import pytest

from partita import (
    ConditionFailed,
    CountOf,
    DesignError,
    Entity,
    F,
    Index,
    InKey,
    Item,
    Items,
    Keys,
    NotUnique,
    Store,
    StoredItemInvalid,
    Table,
    Unique,
    View,
    pattern,
    prove,
)
from partita.dynamodb.requests import PutItem, Scan
from partita.plan.unchanged import unchanged_condition
from tests.store.clocks import Clock
from tests.store.conftest import fresh


class Brief(View):
    user: Annotated[str, InKey()]
    task: Annotated[str, InKey()]
    rank: Annotated[int, InKey("GSI1SK")] = 0

    of_team = Keys("GSI2", "TEAM#{team}", "{task}")


table = Table(
    "tasks",
    pk="PK",
    sk="SK",
    indexes=(Index("GSI1", "GSI1PK", "GSI1SK"), Index("GSI2", "GSI2PK", "GSI2SK", project=(Brief,))),
)


class User(Entity, table=table, key=("USER#{user}", "USER")):
    user: str
    urgent: Annotated[int, CountOf(lambda: Task, via={"user": "assignee"})] = 0


class Task(Brief, Entity, table=table, key=("USER#{user}", "TASK#{task}")):
    state: Annotated[Literal["open", "done"], InKey("GSI1PK")] = "open"
    price: Annotated[Decimal, InKey("GSI1SK")] = Decimal(0)
    label: Annotated[str, InKey("GSI1SK"), Unique()]
    assignee: Annotated[str | None, InKey("GSI1SK")] = None
    team: str = "red"
    seen: int = 0

    by_state = Keys("GSI1", "STATE#{state}", "{rank:3}#{price:+4.2}#{label}#{assignee?}")


@pattern
def user(user: str) -> Item[User]: ...
@pattern
def task(user: str, task: str) -> Item[Task]: ...
@pattern
def tasks_of(user: str) -> Items[User | Task]: ...
@pattern(Task.by_state.largest_first("rank"))
def by_state(state: Literal["open", "done"]) -> Items[Task]: ...
@pattern(Brief.of_team)
def of_team(team: str) -> Items[Brief]: ...


design = prove("tasks", table)


@pytest.fixture
def db(backend: Any, clock: Clock) -> Store:
    store = fresh(backend, design, clock)
    store.create(User(user="ann"))
    store.create(Task(user="ann", task="t1", rank=3, price=Decimal("-1.50"), label="e\u0301#1", assignee="ann"))
    store.create(Task(user="ann", task="t2", label="two"))
    return store


def disk(db: Store, sort_key: str) -> dict[str, Any]:
    items = [msgspec.json.decode(item) for item in db.backend.call(Scan(table_name="tasks")).items or ()]
    (found,) = (item for item in items if item["SK"]["S"] == sort_key)
    return dict(found)


def test_value_is_stored_once_and_read_back_from_every_index(db: Store) -> None:
    item = disk(db, "TASK#t1")
    assert item["GSI1SK"] == {"S": "003#n999849#\u00e9$S1#ann"}
    assert not {"rank", "state", "price", "label", "assignee", "user", "task"} & set(item)
    whole = db.one(task("ann", "t1"))
    assert (whole.state, whole.rank, whole.price, whole.label, whole.assignee) == (
        "open",
        3,
        Decimal("-1.5"),
        "\u00e9#1",
        "ann",
    )
    assert [each.label for each in db(by_state("open"))] == ["\u00e9#1", "two"]
    assert [each.rank for each in db(of_team("red"))] == [3, 0]
    assert len(list(db(tasks_of("ann")))) == 3
    assert {each.label for each in db.scan(Task)} == {"\u00e9#1", "two"}


def test_change_of_a_part_keeps_the_others(db: Store) -> None:
    with db.change(task("ann", "t1")) as draft:
        draft.rank += 4
    with db.change(task("ann", "t1")) as draft:
        draft.state = "done"
        draft.assignee = None
    with db.change(task("ann", "t1")) as draft:
        draft.seen += 1
    found = db.one(task("ann", "t1"))
    assert (found.rank, found.state, found.assignee, found.seen) == (7, "done", None, 1)
    assert (found.price, found.label) == (Decimal("-1.5"), "\u00e9#1")
    assert [each.task for each in db(by_state("done"))] == ["t1"]


def test_counters_and_uniqueness_follow_the_value(db: Store) -> None:
    assert db.one(user("ann")).urgent == 1
    with db.change(task("ann", "t2")) as draft:
        draft.assignee = "ann"
    assert db.one(user("ann")).urgent == 2
    with pytest.raises(NotUnique), db.change(task("ann", "t2")) as draft:
        draft.label = "\u00e9#1"
    with db.change(task("ann", "t1")) as draft:
        draft.label = "one"
    assert db.find_by_unique(Task, "label", "one") == db.one(task("ann", "t1"))
    db.delete(task("ann", "t1"))
    assert db.one(user("ann")).urgent == 1
    assert db.find_by_unique(Task, "label", "one") is None


def test_replace_put_and_update_write_the_index_key(db: Store) -> None:
    whole = db.one(task("ann", "t2"))
    whole.rank = 5
    db.replace(whole)
    assert db.one(task("ann", "t2")).rank == 5

    def raise_rank(found: Task) -> None:
        found.rank += 1
        found.price = Decimal(2)

    db.update(task("ann", "t2"), raise_rank)
    assert disk(db, "TASK#t2")["GSI1SK"] == {"S": "006#p000200#two"}


def test_concurrent_steps_of_two_parts_are_all_counted(db: Store) -> None:
    def step(number: int) -> None:
        with db.change(task("ann", "t2")) as draft:
            if number % 2:
                draft.rank += 1
            else:
                draft.price += 1

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(step, range(12)))
    found = db.one(task("ann", "t2"), consistent=True)
    assert (found.rank, found.price) == (6, Decimal(6))


def test_condition_of_an_unchanged_entity_sees_the_index_key(db: Store) -> None:
    seen = db.one(task("ann", "t2"))
    with db.change(task("ann", "t2")) as draft:
        draft.rank = 9
    condition = unchanged_condition(seen)
    assert condition is not None
    with pytest.raises(Exception, match="condition"), db.change(task("ann", "t2"), when=condition) as draft:
        draft.team = "blue"
    condition = unchanged_condition(db.one(task("ann", "t2")))
    with db.change(task("ann", "t2"), when=condition) as draft:
        draft.team = "blue"
    assert db.one(task("ann", "t2")).team == "blue"


def test_item_without_the_index_key_is_reported(db: Store) -> None:
    item = disk(db, "TASK#t2")
    for change, reason in (
        ({}, "the index key GSI1SK is missing, which holds values of the entity"),
        ({"GSI1SK": {"S": "x"}}, "GSI1SK is 'x', which is not a key of {rank:3}#{price:+4.2}#{label}#{assignee?}"),
    ):
        broken = {name: value for name, value in item.items() if name != "GSI1SK"} | change
        db.backend.call(PutItem(table_name="tasks", item=broken))
        with pytest.raises(StoredItemInvalid, match="GSI1SK") as refusal:
            db.one(task("ann", "t2"))
        assert reason in str(refusal.value)


def test_condition_on_the_first_part_is_a_condition_on_the_index_key(db: Store) -> None:
    with db.change(task("ann", "t2"), when=(F.rank == 0) & (F.state == "open") & (F.rank < 1)) as draft:
        draft.seen = 1
    for wrong in (F.rank == 3, F.rank > 0, F.state == "done"):
        with pytest.raises(ConditionFailed), db.change(task("ann", "t2"), when=wrong) as draft:
            draft.seen = 2
    refused = pytest.raises(DesignError, match="behind another part")
    with refused, db.change(task("ann", "t2"), when=F.label == "two") as draft:
        draft.seen = 2
    assert db.one(task("ann", "t2")).seen == 1
    assert {each.task for each in db.scan(Task, where=F.rank > 0)} == {"t1"}
