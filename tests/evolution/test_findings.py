"""Every class of findings of the doctor: reported without a change, then repaired, also while programs write."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    AlreadyExists,
    CountOf,
    DesignMismatch,
    Entity,
    Expires,
    Index,
    Item,
    Keys,
    NotFound,
    NotUnique,
    Store,
    SumOf,
    Table,
    Unique,
    Was,
    connect,
    pattern,
    prove,
)
from partita.dynamodb.backend import Backend
from partita.dynamodb.requests import DeleteItem, PutItem, Scan, UpdateItem, UpdateTable
from partita.dynamodb.shapes import DeleteIndexAction, IndexUpdate
from partita.evolution.diagnosis import diagnose
from partita.evolution.item_work import TALLY
from partita.plan.effects import COUNTED
from partita.store import design_watch
from partita.store.design_watch import DesignWatch, own_design
from tests.evolution import shop

UNTIL = datetime(2100, 1, 1, tzinfo=UTC)
REPAIRS = 3
SEEDS = int(os.environ.get("PARTITA_DOCTOR_SEEDS", "4"))
table = Table("clinic", "PK", "SK", ttl="ttl", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),))


class Patient(Entity, table=table, key=("P#{patient}", "P")):
    patient: str
    email: Annotated[str, Unique()]
    phone: Annotated[str | None, Was[str, str]("tel")] = None
    nickname: Annotated[str | None, Was[str, str]("nick", removed=True)] = None
    visits: Annotated[int, CountOf(lambda: Visit)] = 0
    paid: Annotated[int, SumOf(lambda: Visit, "price")] = 0


class Visit(Entity, table=table, key=("P#{patient}", "V#{number:4}"), old_keys=[("P#{patient}", "V#{number:plain}")]):
    patient: str
    number: int
    status: str = "OPEN"
    price: Annotated[int, msgspec.Meta(ge=0)] = 5

    by_status = Keys("GSI1", "STATUS#{status}", "{patient}#{number:4}")


class Session(Entity, table=table, key=("S#{session}", "S")):
    session: str
    until: datetime

    expiry = Expires("until")


@pattern
def one_patient(patient: str) -> Item[Patient]: ...


@pattern
def one_visit(patient: str, number: int) -> Item[Visit]: ...


design = prove("clinic", table)
Key = tuple[str, str]
ONE: Key = ("P#p1", "V#0001")
P1: Key = ("P#p1", "P")
S1: Key = ("S#s1", "S")
ALIASES = {"#t": "ttl", "#c": COUNTED, "#y": f"{TALLY}x-visits"}


def at(key: Key) -> dict[str, Any]:
    return {"PK": {"S": key[0]}, "SK": {"S": key[1]}}


def update(key: Key, expression: str, value: Any = None) -> Callable[[Backend], Any]:
    request = UpdateItem(
        table_name="clinic",
        key=at(key),
        update_expression=expression,
        expression_attribute_names={alias: name for alias, name in ALIASES.items() if alias in expression} or None,
        expression_attribute_values=None if value is None else {":v": value},
    )
    return lambda backend: backend.call(request)


def delete(key: Key) -> Callable[[Backend], Any]:
    return lambda backend: backend.call(DeleteItem(table_name="clinic", key=at(key)))


def put(key: Key, **attributes: Any) -> Callable[[Backend], Any]:
    return lambda backend: backend.call(PutItem(table_name="clinic", item=at(key) | attributes))


def rename(old: Key, new: Key) -> Callable[[Backend], Any]:
    """Stores an item under another key, as other code does."""

    def damage(backend: Backend) -> None:
        (item,) = [each for each in stored(backend) if (each["PK"]["S"], each["SK"]["S"]) == old]
        delete(old)(backend)
        backend.call(PutItem(table_name="clinic", item=item | at(new)))

    return damage


def in_old_form(backend: Backend) -> None:
    update(P1, "SET tel = :v", {"S": "tel-1"})(backend)
    update(P1, "REMOVE phone")(backend)


def guard(email: str, owner: str) -> Callable[[Backend], Any]:
    return put(guard_key(email), guardOf={"M": at((f"P#{owner}", "P"))})


def guard_key(email: str) -> Key:
    return f"UNIQUE#Patient#email#{email}", "UNIQUE"


def drop_index(backend: Backend) -> None:
    drop = IndexUpdate(delete=DeleteIndexAction(index_name="GSI1"))
    backend.call(UpdateTable(table_name="clinic", global_secondary_index_updates=[drop]))


REPAIRED = {
    "index key of another value": (update(ONE, "SET GSI1PK = :v", {"S": "STATUS#LOST"}), "stale index keys", "GSI1"),
    "missing index key": (update(ONE, "REMOVE GSI1SK"), "stale index keys", "GSI1"),
    "stale TTL": (update(S1, "SET #t = :v", {"N": "5000000000"}), "stale TTLs", "ttl"),
    "missing TTL": (update(S1, "REMOVE #t"), "stale TTLs", "ttl"),
    "earlier form": (in_old_form, "attributes in another form", "phone"),
    "removed form": (update(P1, "SET nick = :v", {"S": "Pat"}), "attributes that the design removes", "nick"),
    "old key": (rename(ONE, ("P#p1", "V#1")), "items under other keys", "V#1"),
    "missing guard": (delete(guard_key("1@x")), "missing guards", "email"),
    "guard of a missing item": (guard("ghost", "gone"), "orphaned guards", "ghost"),
    "guard of an earlier value": (guard("before@x", "p1"), "orphaned guards", "before@x"),
    "guard of no unique value": (put(("UNIQUE#Patient#name#x", "U"), guardOf={"M": at(P1)}), "orphaned guards", "name"),
    "counting mark": (update(ONE, "SET #c = :v", {"S": "x"}), "leftovers of counting", "V#0001"),
    "tally": (update(P1, "SET #y = :v", {"N": "3"}), "leftovers of counting", "P#p1"),
    "wrong count": (update(P1, "SET visits = :v", {"N": "9"}), "wrong counters", "visits is 9, its children make 3"),
    "wrong sum": (update(P1, "SET paid = :v", {"N": "1"}), "wrong counters", "paid is 1, its children make 15"),
    "missing count": (update(P1, "REMOVE visits"), "wrong counters", "visits is 0, its children make 3"),
}
LEFT = {
    "unexplained": (put(("OTHER", "x")), "unexplained items", "OTHER x"),
    "unreadable": (update(ONE, "SET price = :v", {"S": "much"}), "unreadable items", "Visit P#p1 V#0001: "),
    "orphaned child": (
        put(
            ("P#no", "V#0001"),
            patient={"S": "no"},
            number={"N": "1"},
            status={"S": "OPEN"},
            price={"N": "5"},
            GSI1PK={"S": "STATUS#OPEN"},
            GSI1SK={"S": "no#0001"},
        ),
        "orphaned children",
        "Visit P#no V#0001: its Patient does not exist",
    ),
    "value of another": (
        put(("P#p4", "P"), patient={"S": "p4"}, email={"S": "1@x"}, visits={"N": "0"}, paid={"N": "0"}),
        "missing guards",
        "Patient P#p4 P",
    ),
    "missing index": (drop_index, "tables", "clinic: index GSI1 is missing"),
}


def stored(backend: Backend) -> list[dict[str, Any]]:
    items = [msgspec.json.decode(raw) for raw in backend.call(Scan(table_name="clinic")).items or ()]
    return sorted(items, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))


@pytest.fixture
def backend() -> Iterator[Backend]:
    with connect("memory:", maintain=False) as opened:
        db = Store(opened, design)
        db.create_tables()
        for number in range(1, 4):
            db.create(Patient(patient=f"p{number}", email=f"{number}@x", phone=f"tel-{number}", nickname="Pat"))
            db.create(Session(session=f"s{number}", until=UNTIL))
            for visit in range(1, 4):
                db.create(Visit(patient=f"p{number}", number=visit))
        yield opened


@pytest.mark.parametrize("name", REPAIRED)
def test_damage_is_reported_then_repaired(backend: Backend, name: str) -> None:
    damage, kind, words = REPAIRED[name]
    healthy = stored(backend)
    damage(backend)
    damaged, db = stored(backend), Store(backend, design)
    found = diagnose(db)
    assert [(each, len(several)) for each, several in found.findings.items()] == [(kind, 1)]
    assert words in found.findings[kind][0]
    assert (found.repaired, stored(backend)) == (0, damaged)
    again = diagnose(db, repair=True)
    assert (again.findings, again.repaired > 0) == (found.findings, True)
    assert stored(backend) == healthy
    assert diagnose(db).findings == {}


@pytest.mark.parametrize("name", LEFT)
def test_what_people_must_decide_about_is_reported_and_left_alone(backend: Backend, name: str) -> None:
    damage, kind, words = LEFT[name]
    damage(backend)
    damaged, db = stored(backend), Store(backend, design)
    for repair in (False, True):
        found = diagnose(db, repair=repair)
        assert any(words in each for each in found.findings[kind]), found.findings
        assert stored(backend) == damaged


def test_items_that_expired_long_ago_are_deleted(backend: Backend) -> None:
    healthy, db = stored(backend), Store(backend, design)
    for name, days in (("old", 3), ("new", 1)):
        db.put(Session(session=name, until=datetime.now(UTC) - timedelta(days=days)))
    found = diagnose(db)
    assert found.findings == {"expired items not deleted": ["Session S#old S"]}
    assert (diagnose(db, repair=True).repaired, diagnose(db).findings) == (1, {})
    assert [each["PK"]["S"] for each in stored(backend) if each not in healthy] == ["S#new"]


def test_item_that_expired_by_a_wrong_ttl_is_for_people_to_decide_about(backend: Backend) -> None:
    """By its own attributes it goes on for years: it is not deleted by a repair."""
    update(S1, "SET #t = :v", {"N": "12"})(backend)
    damaged, db = stored(backend), Store(backend, design)
    for repair in (False, True):
        assert diagnose(db, repair=repair).findings == {"items that expired by a wrong TTL": ["Session S#s1 S"]}
        assert stored(backend) == damaged


def test_data_of_another_design_is_reported_and_not_repaired() -> None:
    """The guards and index keys of a later design are no damage."""
    old, new = shop.first(), shop.second(unique=True)
    with connect("memory:") as backend:
        db = Store(backend, new.design)
        db.create_tables()
        db.create(new.customer(customer_id="c", email="c@x"))
        earlier = Store(backend, old.design)
        assert any("GSI1 is gone" in each for each in diagnose(earlier).findings["design"])
        with pytest.raises(DesignMismatch, match="the data does not satisfy design"):
            diagnose(earlier, repair=True)
        assert new.customer.__name__ == type(db.find_by_unique(new.customer, "email", "c@x")).__name__


class Program:
    """A program that writes between the requests of the doctor."""

    def __init__(self, backend: Backend, random: Random) -> None:
        self._backend = backend
        self._random = random
        self.db = Store(backend, own_design(design))
        self.db.watch = DesignWatch(self.db.design, self.db.context)

    def call(self, request: Any) -> Any:
        if self._random.random() < 0.2:
            self.step()
        return self._backend.call(request)

    def step(self, _: float = 0) -> None:
        random, patient = self._random, f"p{self._random.randrange(1, 4)}"
        visit = one_visit(patient, random.randrange(1, 7))
        with suppress(NotFound, NotUnique, AlreadyExists):
            match random.randrange(6):
                case 0 | 1:
                    self.db.create(Visit(patient=patient, number=random.randrange(1, 7), price=random.randrange(9)))
                case 2:
                    self.db.delete(visit)
                case 3:
                    with self.db.change(visit) as draft:
                        draft.status, draft.price = random.choice(["OPEN", "DONE"]), random.randrange(9)
                case 4:
                    with self.db.change(one_patient(patient)) as person:
                        person.email = f"{random.randrange(1, 5)}@{patient}"  # one that nobody else wants
                case 5:
                    with self.db.change(one_patient(patient)) as person:
                        person.phone = random.choice([None, "tel-1"])


@pytest.mark.parametrize("seed", range(SEEDS))
def test_repairs_are_right_while_programs_write(backend: Backend, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(design_watch, "CHECK_EVERY", timedelta(0))
    random = Random(seed)
    for name in random.sample(list(REPAIRED), 6):
        if name != "old key":  # a program may have written the same visit under its key meanwhile
            REPAIRED[name][0](backend)
    program = Program(backend, random)
    shared = Store(program, design, sleep=program.step)
    for _ in range(REPAIRS):
        diagnose(shared, repair=True)
    assert diagnose(Store(backend, design)).findings == {}
    db = Store(backend, design)
    with connect("memory:", design) as new:
        new.create_tables()
        for person in db.scan(Patient):
            new.create(msgspec.structs.replace(person, visits=0, paid=0))
        for each in db.scan(Session, Visit):
            new.create(each)
        assert stored(backend) == stored(new.backend)
