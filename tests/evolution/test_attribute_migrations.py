"""Migrations of attributes over three releases, with programs of two of them side by side."""

import time
from datetime import timedelta
from functools import partial
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    Design,
    DesignMismatch,
    Entity,
    Item,
    MigrationBlocked,
    NotUnique,
    Store,
    Table,
    Unique,
    Was,
    connect,
    pattern,
    prove,
)
from partita.design.entities import EntityMeta
from partita.dynamodb.requests import Scan, UpdateItem
from partita.evolution.apply import apply_design, roll_back
from partita.evolution.diagnosis import diagnose
from partita.evolution.migration_plan import plan_migration, plan_text
from partita.plan.fingerprint import table_facts
from partita.store import design_watch
from partita.store.design_watch import DesignWatch, own_design
from partita.store.flows import run


class Release:
    """A design in which a person has a nick, or a nickname, with its entity and pattern."""

    def __init__(self, field: str, kind: Any) -> None:
        table = Table("people", "PK")
        namespace = {"__annotations__": {"person_id": str, field: kind}, field: None}
        self.field = field
        self.person: Any = EntityMeta("Person", (Entity,), namespace, table=table, key="PERSON#{person_id}")

        def person(person_id: str) -> Any: ...

        generic: Any = Item
        person.__annotations__["return"] = generic[self.person]
        self.get: Any = pattern(person)
        self.design: Design = prove("people", table)
        self.table = table

    def program(self, backend: Any) -> Store:
        """A store that follows the state of the data, and is recorded."""
        db = Store(backend, own_design(self.design))
        db.watch = DesignWatch(db.design, db.context)
        return db

    def read(self, db: Store, person_id: str) -> Any:
        return getattr(db.one(self.get(person_id)), self.field)

    def write(self, db: Store, person_id: str, value: str | None) -> None:
        with db.change(self.get(person_id)) as draft:
            setattr(draft, self.field, value)


def releases() -> tuple[Release, Release, Release, Release]:
    return (
        Release("nick", str | None),
        Release("nickname", Annotated[str | None, Was("nick")]),
        Release("nickname", Annotated[str | None, Was("nick", removed=True)]),
        Release("nickname", str | None),
    )


@pytest.fixture(autouse=True)
def quick_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(design_watch, "CHECK_EVERY", timedelta(0))


@pytest.fixture
def backend() -> Any:
    with connect("memory:") as opened:
        yield opened


def items(backend: Any) -> list[set[str]]:
    """The names of the attributes of each item."""
    found = [msgspec.json.decode(raw) for raw in backend.call(Scan(table_name="people")).items]
    return [set(each) - {"PK", "person_id"} for each in found]


def end(db: Store) -> None:
    assert db.watch is not None
    run(db.watch.leave(), db.backend, time.sleep)


def _notice(release: Release, db: Store, _: float) -> None:
    """While an application waits, a program works, and so reads the new state."""
    release.read(db, "p0")


def filled(backend: Any, release: Release) -> None:
    db = Store(backend, release.design)
    db.create_tables()
    for at in range(30):
        db.create(release.person(person_id=f"p{at}", **{release.field: f"n{at}"}))


def test_three_releases_rename_an_attribute(backend: Any) -> None:
    first, both, last, plain = releases()
    filled(backend, first)
    plan = plan_migration(Store(backend, both.design))
    assert [(each.items, each.action) for each in plan.steps] == [(30, "convert or fill in Person.nickname")]
    apply_design(Store(backend, both.design))
    assert items(backend) == [{"nick", "nickname"}] * 30
    plan = plan_migration(Store(backend, last.design))
    assert [(each.items, each.action) for each in plan.steps] == [(30, "remove Person.nick")]
    apply_design(Store(backend, last.design))
    assert items(backend) == [{"nickname"}] * 30
    db = Store(backend, plain.design)
    assert not plan_migration(db).steps
    apply_design(db)
    assert not plan_migration(db).has_work
    assert [plain.read(db, f"p{at}") for at in range(30)] == [f"n{at}" for at in range(30)]
    assert diagnose(db).findings == {}


def test_programs_of_both_designs_see_each_others_writes(backend: Any) -> None:
    first, both, last, _ = releases()
    filled(backend, first)
    for earlier, later in ((first, both), (both, last)):
        old, new = earlier.program(backend), later.program(backend)
        assert earlier.read(old, "p0") is not None
        with pytest.raises(MigrationBlocked, match="programs with the earlier design still work"):
            apply_design(Store(backend, later.design), patience=0)
        for value in ("a", None, "b"):
            later.write(new, "p0", value)
            assert (earlier.read(old, "p0"), later.read(new, "p0")) == (value, value)
            earlier.write(old, "p0", f"{value}!")
            assert (earlier.read(old, "p0"), later.read(new, "p0")) == (f"{value}!", f"{value}!")
            earlier.write(old, "p0", None)
            assert later.read(new, "p0") is None
            earlier.write(old, "p0", "again")
        end(old)
        notice = partial(_notice, later, new)
        apply_design(Store(backend, later.design, sleep=notice))
        assert later.read(new, "p0") == "again"
        end(new)


def test_renamed_unique_value_stays_unique_while_programs_of_both_designs_work(backend: Any) -> None:
    """Guards have the name of the attribute: without those of the former name, each design would have its own."""
    old, both, last, _ = (
        Release("nick", Annotated[str | None, Unique()]),
        Release("nickname", Annotated[str | None, Unique(), Was("nick")]),
        Release("nickname", Annotated[str | None, Unique(), Was("nick", removed=True)]),
        Release("nickname", Annotated[str | None, Unique()]),
    )
    filled(backend, old)
    earlier = old.program(backend)
    old.write(earlier, "p1", "Annie")
    with pytest.raises(MigrationBlocked):
        apply_design(Store(backend, both.design, sleep=lambda _: None), patience=0)
    later = both.program(backend)
    with pytest.raises(NotUnique, match=r"Person\.nickname: 'Annie' is taken"):  # no guard was built for it yet
        both.write(later, "p2", "Annie")
    both.write(later, "p2", "Bea")
    with pytest.raises(NotUnique, match=r"Person\.nick: 'Bea' is taken"):
        old.write(earlier, "p0", "Bea")
    both.write(later, "p2", None)
    old.write(earlier, "p0", "Bea")
    end(earlier)
    apply_design(Store(backend, both.design, sleep=lambda _: _notice(both, later, _)))
    with pytest.raises(NotUnique):
        both.write(later, "p2", "Bea")
    end(later)
    apply_design(Store(backend, last.design, sleep=lambda _: None))
    with pytest.raises(NotUnique):
        last.write(last.program(backend), "p2", "Annie")
    last.write(last.program(backend), "p0", "Carl")
    last.write(last.program(backend), "p2", "Bea")
    assert diagnose(Store(backend, last.design)).findings == {}
    found = items(backend)
    assert found.count({"guardOf"}) == sum("nickname" in each for each in found)


def test_last_step_is_refused_while_a_program_of_the_release_before_works(backend: Any) -> None:
    first, both, last, _ = releases()
    filled(backend, first)
    apply_design(Store(backend, both.design))
    db = both.program(backend)
    both.read(db, "p0")
    with pytest.raises(MigrationBlocked, match="has another design"):
        apply_design(Store(backend, last.design), patience=0)
    assert items(backend) == [{"nick", "nickname"}] * 30
    end(db)
    apply_design(Store(backend, last.design), patience=0)
    assert items(backend) == [{"nickname"}] * 30
    with pytest.raises(DesignMismatch):
        both.read(both.program(backend), "p0")


@pytest.mark.parametrize(
    ("at", "to", "said"),
    [
        (1, 3, "Person.nickname still has its earlier form, nick: first apply Was('nick', removed=True)"),
        (0, 2, "Person.nick was never converted: first apply Was('nick') without removed=True"),
    ],
)
def test_skipped_release_is_refused(backend: Any, at: int, to: int, said: str) -> None:
    all_of_them = releases()
    filled(backend, all_of_them[0])
    if at:
        apply_design(Store(backend, all_of_them[at].design))
    before = items(backend)
    db = Store(backend, all_of_them[to].design)
    assert plan_migration(db).blocked == [said]
    assert said in plan_text(plan_migration(db))
    with pytest.raises(MigrationBlocked) as refusal:
        apply_design(db)
    assert said in str(refusal.value)
    assert items(backend) == before


def test_attribute_that_exists_already_is_not_overwritten(backend: Any) -> None:
    both = releases()[1]
    table = Table("people", "PK")

    class Person(Entity, table=table, key="PERSON#{person_id}"):
        person_id: str
        nick: str = ""
        nickname: str = ""

    db = Store(backend, prove("people", table))
    db.create_tables()
    db.create(Person(person_id="p0", nick="a", nickname="b"))
    assert plan_migration(Store(backend, both.design)).blocked == [
        "Person.nickname exists already: give the attribute that nick becomes another name"
    ]


def test_rolled_back_conversion_can_be_applied_again(backend: Any) -> None:
    first, both, _, _ = releases()
    filled(backend, first)
    old = first.program(backend)
    first.read(old, "p0")
    with pytest.raises(MigrationBlocked):
        apply_design(Store(backend, both.design), patience=0)
    roll_back(Store(backend, both.design))
    first.write(old, "p0", "x")
    end(old)
    apply_design(Store(backend, both.design))
    assert both.read(Store(backend, both.design), "p0") == "x"


def test_value_removed_between_its_page_and_its_write_does_not_come_back(backend: Any) -> None:
    first, both, _, _ = releases()
    filled(backend, first)

    class Removing:
        """Removes the old form of every item whenever a page has just been read."""

        def call(self, request: Any) -> Any:
            reply = backend.call(request)
            if isinstance(request, Scan) and request.table_name == "people":
                for at in range(30):
                    key = {"PK": {"S": f"PERSON#p{at}"}}
                    backend.call(UpdateItem(table_name="people", key=key, update_expression="REMOVE nick"))
            return reply

    shared: Any = Removing()
    apply_design(Store(shared, both.design))
    assert items(backend) == [set()] * 30


def test_conversion_is_part_of_the_fingerprint() -> None:
    facts = [table_facts(each.design, each.table).get("Person converts nickname") for each in releases()]
    assert facts == [None, "nick S", "nick S, which is removed", None]
