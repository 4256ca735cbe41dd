"""Deleting an owner that also counts items which it does not own: rejected as a whole, and it stays usable."""

import random
from collections.abc import Iterator
from typing import Annotated

import pytest

from partita import CountOf, Entity, Item, Items, Owns, StillReferenced, Store, Table, connect, pattern, prove

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


def test_owner_that_cannot_be_deleted_in_the_end_can_be_used_again(db: Store) -> None:
    """A task of the other team's board counts in this team."""
    db.create(Task(team_id="blue", board_id="b", task_id="t", counted_by="red"))
    with pytest.raises(StillReferenced):
        db.delete(team("red"))
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
                    if before.guests:
                        assert list(db(boards(name))) == owned
                    edit(db, name)
        for found_team in db.scan(Team):
            assert found_team.guests == sum(one.team_id == found_team.team_id for one in db.scan(Guest))
            assert found_team.tasks == sum(one.counted_by == found_team.team_id for one in db.scan(Task))
