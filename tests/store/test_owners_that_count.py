"""Deleting an owner, or what it owns, that counts items which stay: rejected as a whole, and all stays usable."""

import random
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest

from partita import (
    CountOf,
    Entity,
    Item,
    Items,
    Owns,
    ReferenceMissing,
    StillReferenced,
    Store,
    Table,
    connect,
    pattern,
    prove,
)
from partita.dynamodb.backend import Backend
from partita.dynamodb.requests import DeleteItem, Request, Scan, TransactWriteItems

table = Table("teams", "PK", "SK")


class Team(Entity, table=table, key=("TEAM#{team_id}", "TEAM")):
    team_id: str
    edits: int = 0
    guests: Annotated[int, CountOf(lambda: Guest)] = 0
    tasks: Annotated[int, CountOf(lambda: Task, via={"team_id": "counted_by"})] = 0
    boards = Owns(lambda: (Board,))


class Board(Entity, table=table, key=("TEAM#{team_id}", "BOARD#{board_id}")):
    team_id: str
    board_id: str
    cards = Owns(lambda: (Task,))


class Task(Entity, table=table, key=("TASKS#{team_id}#{board_id}", "TASK#{task_id}")):
    """Owned by a board, and counted by a team, which may be another one."""

    team_id: str
    board_id: str
    task_id: str
    counted_by: str


class Guest(Entity, table=table, key=("GUEST#{guest_id}", "GUEST")):
    guest_id: str
    team_id: str


@pattern
def team(team_id: str) -> Item[Team]: ...
@pattern
def guest(guest_id: str) -> Item[Guest]: ...
@pattern
def boards(team_id: str) -> Items[Board]: ...
@pattern
def task(team_id: str, board_id: str, task_id: str) -> Item[Task]: ...


design = prove("teams", table)


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", design) as db:
        db.create_tables()
        for name in ("red", "blue"):
            db.create(Team(team_id=name))
            db.create(Board(team_id=name, board_id="b"))
        yield db


def edit(db: Store, team_id: str) -> None:
    with db.change(team(team_id)) as draft:
        draft.edits += 1


def test_owner_that_counts_what_it_does_not_own_is_not_deleted_in_part(db: Store) -> None:
    db.create(Guest(guest_id="g", team_id="red"))
    with pytest.raises(StillReferenced, match="Team red still counts Guest items in 'guests'"):
        db.delete(team("red"))
    assert [each.board_id for each in db(boards("red"))] == ["b"]
    edit(db, "red")
    db.delete(guest("g"))
    assert db.delete(team("red")) is not None
    assert list(db(boards("red"))) == []


def test_owner_is_deleted_with_what_its_children_own_and_it_counts(db: Store) -> None:
    db.create(Task(team_id="red", board_id="b", task_id="t", counted_by="red"))
    assert db.delete(team("red")) is not None
    assert db.get(task("red", "b", "t")) is None


def test_owner_that_counts_another_owners_item_is_not_deleted_in_part(db: Store) -> None:
    """A task of the other team's board counts in this team."""
    db.create(Task(team_id="blue", board_id="b", task_id="t", counted_by="red"))
    db.create(Task(team_id="red", board_id="b", task_id="t", counted_by="red"))
    with pytest.raises(StillReferenced, match="Team red still counts Task items in 'tasks'"):
        db.delete(team("red"))
    assert [each.board_id for each in db(boards("red"))] == ["b"]
    assert db.get(task("red", "b", "t")) is not None
    edit(db, "red")
    db.create(Guest(guest_id="g", team_id="red"))
    assert db.one(team("red")).guests == 1


def test_random_deletions_leave_no_owner_unusable(db: Store) -> None:
    chance = random.Random(11)
    for number in range(300):
        name, other = chance.choice(("red", "blue")), chance.choice(("red", "blue"))
        exists = {each: db.get(team(each)) is not None for each in ("red", "blue")}
        if not exists[name]:
            db.create(Team(team_id=name))
            continue
        match chance.randrange(5):
            case 0:
                db.create(Guest(guest_id=f"{number % 5}-{number}", team_id=name))
            case 1:
                for each in list(db.scan(Guest))[:2]:
                    db.delete(each)
            case 2 if exists[other]:
                db.put(Board(team_id=name, board_id="b"))
                db.create(Task(team_id=name, board_id="b", task_id=str(number), counted_by=other))
            case 3:
                for found in list(db.scan(Task))[:2]:
                    db.delete(found)
            case _:
                owned = list(db(boards(name)))
                before = db.one(team(name))
                try:
                    db.delete(team(name))
                except StillReferenced:
                    assert list(db(boards(name))) == owned
                    assert db.one(team(name)) == before
                    edit(db, name)
        for found_team in db.scan(Team):
            assert found_team.guests == sum(one.team_id == found_team.team_id for one in db.scan(Guest))
            assert found_team.tasks == sum(one.counted_by == found_team.team_id for one in db.scan(Task))


lists = Table("lists", "PK", "SK")


class Plan(Entity, table=lists, key=("PLAN#{plan_id}", "PLAN")):
    plan_id: str
    steps = Owns(lambda: (Step,))


class Step(Entity, table=lists, key=("PLAN#{plan_id}", "STEP#{step_id}")):
    """Counts the steps that wait for it, of any plan, and notes, which nobody owns."""

    plan_id: str
    step_id: str
    waits_for_plan: str | None = None
    waits_for: str | None = None
    waiting: Annotated[int, CountOf(lambda: Step, via={"plan_id": "waits_for_plan", "step_id": "waits_for"})] = 0
    notes: Annotated[int, CountOf(lambda: Note)] = 0


class Note(Entity, table=lists, key=("NOTE#{note_id}", "NOTE")):
    note_id: str
    plan_id: str
    step_id: str


class Folder(Entity, table=lists, key=("FOLDER#{inside}", "FOLDER#{folder_id}")):
    """Owns the folders inside it."""

    inside: str
    folder_id: str
    folders = Owns(lambda: (Folder,), via={"inside": "folder_id"})


@pattern
def plan(plan_id: str) -> Item[Plan]: ...
@pattern
def step(plan_id: str, step_id: str) -> Item[Step]: ...
@pattern
def steps(plan_id: str) -> Items[Step]: ...
@pattern
def note(note_id: str) -> Item[Note]: ...
@pattern
def folder(inside: str, folder_id: str) -> Item[Folder]: ...


listing = prove("lists", lists)


@pytest.fixture
def plans() -> Iterator[Store]:
    with connect("memory:", listing) as db:
        db.create_tables()
        for plan_id in ("a", "b"):
            db.create(Plan(plan_id=plan_id))
            for step_id in "xyz":
                db.create(Step(plan_id=plan_id, step_id=step_id))
        yield db


def stored(db: Store) -> list[bytes]:
    return sorted(bytes(item) for item in db.backend.call(Scan(table_name="lists")).items or ())


def test_owner_stays_whole_where_what_it_owns_counts_what_nobody_owns(plans: Store) -> None:
    plans.create(Note(note_id="n", plan_id="a", step_id="y"))
    before = stored(plans)
    with pytest.raises(StillReferenced, match=r"Step a, y still counts Note items in 'notes'"):
        plans.delete(plan("a"))
    assert stored(plans) == before
    plans.delete(note("n"))
    assert plans.delete(plan("a")) is not None
    assert list(plans(steps("a"))) == []


def test_owner_stays_whole_where_what_it_owns_counts_what_another_owns(plans: Store) -> None:
    plans.create(Step(plan_id="b", step_id="w", waits_for_plan="a", waits_for="z"))
    before = stored(plans)
    with pytest.raises(StillReferenced, match=r"Step a, z still counts Step items in 'waiting'"):
        plans.delete(plan("a"))
    assert stored(plans) == before
    assert plans.delete(plan("b")) is not None
    assert plans.delete(plan("a")) is not None


def test_items_of_one_owner_that_count_each_other_are_deleted_with_it(plans: Store) -> None:
    for one, other in (("x", "y"), ("y", "z"), ("z", "x")):
        with plans.change(step("a", one)) as draft:
            draft.waits_for_plan, draft.waits_for = "a", other
    assert plans.delete(plan("a")) is not None
    assert list(plans(steps("a"))) == []
    assert len(list(plans(steps("b")))) == 3


class BeforeFirstDeletion:
    """A backend that lets something happen before the first item is deleted."""

    def __init__(self, inner: Backend, happen: Callable[[], object]) -> None:
        self._inner, self._happen, self._has_happened = inner, happen, False

    def call(self, request: Request[Any]) -> Any:
        if isinstance(request, DeleteItem | TransactWriteItems) and not self._has_happened:
            self._has_happened = True
            self._happen()
        return self._inner.call(request)


def test_nothing_begins_to_count_in_what_is_being_deleted(plans: Store) -> None:
    """A note that is written between the comparison and the deletion would keep its step."""
    rejected: list[ReferenceMissing] = []

    def write() -> None:
        with pytest.raises(ReferenceMissing) as caught:
            plans.create(Note(note_id="late", plan_id="a", step_id="y"))
        rejected.append(caught.value)

    assert Store(BeforeFirstDeletion(plans.backend, write), listing).delete(plan("a")) is not None
    assert len(rejected) == 1
    assert plans.get(note("late")) is None


def test_an_owner_of_its_own_kind_is_deleted_at_any_depth_and_in_circles(plans: Store) -> None:
    for depth in range(400):
        plans.create(Folder(inside=f"{depth}", folder_id=f"{depth + 1}"))
    assert plans.delete(folder("0", "1")) is not None
    plans.create(Folder(inside="c", folder_id="d"))
    plans.create(Folder(inside="d", folder_id="c"))
    plans.create(Folder(inside="e", folder_id="e"))
    assert plans.delete(folder("c", "d")) is not None
    assert plans.delete(folder("e", "e")) is not None
    assert list(plans.scan(Folder)) == []


def test_random_deletions_of_plans_delete_all_or_nothing(plans: Store) -> None:
    chance = random.Random(7)
    rejected = 0
    for number in range(300):
        name, other = chance.choice("ab"), chance.choice("ab")
        if plans.get(plan(name)) is None:
            plans.create(Plan(plan_id=name))
        there = [each.step_id for each in plans(steps(name))]
        others = [each.step_id for each in plans(steps(other))]
        match chance.randrange(5):
            case 0 | 1:
                target = chance.choice(others) if others else None
                wanted = Step(plan_id=name, step_id=chance.choice("uvwxyz"), waits_for=target)
                wanted.waits_for_plan = other if target else None
                plans.put(wanted)
            case 2 if there and number % 3 == 0:
                plans.create(Note(note_id=str(number), plan_id=name, step_id=chance.choice(there)))
            case 3:
                for each in list(plans.scan(Note))[:1]:
                    plans.delete(each)
            case _:
                before = stored(plans)
                try:
                    plans.delete(plan(name))
                except StillReferenced:
                    rejected += 1
                    assert stored(plans) == before
                else:
                    assert list(plans(steps(name))) == []
        for found in plans.scan(Step):
            assert found.notes == sum(
                (one.plan_id, one.step_id) == (found.plan_id, found.step_id) for one in plans.scan(Note)
            )
            waiting = ((one.waits_for_plan, one.waits_for) for one in plans.scan(Step))
            assert found.waiting == sum(each == (found.plan_id, found.step_id) for each in waiting)
    assert rejected > 5
