"""Waiting for the programs that work on data."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from partita import AUTO, DesignMismatch, F, MigrationBlocked, NotReady, Store, connect
from partita.dynamodb.backend import Backend
from partita.dynamodb.requests import DeleteItem, GetItem, PutItem
from partita.dynamodb.values import Item
from partita.errors import DesignRecordInvalid
from partita.evolution import programs
from partita.evolution.apply import apply_design
from partita.evolution.migration_plan import plan_migration
from partita.store import design_watch
from partita.store.design_records import fetch_designs
from partita.store.design_watch import DesignWatch, own_design
from tests.evolution.shop import first, second
from tests.evolution.test_apply import filled
from tests.evolution.test_kills import Stopped, StoppingBackend
from tests.evolution.test_random_changes import Version


class MonotonicClock:
    """A clock that stands still, except while an application waits."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def wait(self, seconds: float) -> None:
        self.seconds += seconds


def test_program_that_has_nothing_to_do_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record stands still: it reads the state before it does anything else, so further states need no wait."""
    clock = MonotonicClock()
    monkeypatch.setattr(programs, "time", clock)
    old, new = first(), second()
    with connect("memory:") as backend:
        db: Any = filled(Store(backend, own_design(old.design)), old, 2, 2)
        db.watch = DesignWatch(db.design, db.context)
        assert db.one(old.one_customer("c1")).email == "1@example.com"
        apply_design(Store(backend, new.design, sleep=clock.wait))
    assert 0 <= clock.seconds - design_watch.VALID_FOR.total_seconds() < timedelta(seconds=2).total_seconds()


@pytest.mark.parametrize("hours", [-20, -2, 2, 20])
def test_program_whose_clock_is_wrong_is_waited_for(hours: int) -> None:
    """Records expire; that of a program whose clock is behind must not have expired when it is written."""
    old, new = first(), second()
    with connect("memory:") as backend:
        filled(Store(backend, own_design(old.design)), old, 2, 2)
        db: Any = Store(backend, own_design(old.design), clock=lambda: datetime.now(UTC) + timedelta(hours=hours))
        db.watch = DesignWatch(db.design, db.context)
        assert db.one(old.one_customer("c1")).email == "1@example.com"
        with pytest.raises(MigrationBlocked, match="programs with the earlier design still work: process"):
            apply_design(Store(backend, new.design, sleep=lambda _: None), patience=0)


def test_run_that_ended_on_a_machine_whose_clock_is_ahead_is_taken_over() -> None:
    """Its place would have been held for hours."""
    old, new = first(), second()
    with connect("memory:") as backend:
        filled(Store(backend, own_design(old.design)), old, 2, 2)
        with suppress(Stopped):
            apply_design(Store(StoppingBackend(backend, 15, after=False), new.design))
        key: Item = {"PK": {"S": "TABLE#shop"}, "SK": {"S": "DESIGN"}}
        found = msgspec.json.decode(backend.call(GetItem(table_name="partita-designs", key=key)).item or b"")
        assert found["state"] != {"S": "public"}
        until = f"{datetime.now(UTC) + timedelta(hours=5):%Y-%m-%dT%H:%M:%S.%fZ}"
        held = {"runner": {"S": "another/1/2 machine"}, "runnerUntil": {"S": until}}
        backend.call(PutItem(table_name="partita-designs", item=found | held))
        waits: list[float] = []
        apply_design(Store(backend, new.design, sleep=waits.append))
        assert waits.count(30) == 1
        assert not plan_migration(Store(backend, new.design)).has_work


@pytest.mark.parametrize("damage", [{"state": {"S": "hologram"}}, {"facts": {"B": "AAAA"}}])
def test_record_that_cannot_be_read_is_an_error_that_says_what_to_do(tmp_path: Path, damage: Item) -> None:
    old, path = first(), tmp_path / "shop.db"
    with connect(path) as backend:
        filled(Store(backend, own_design(old.design)), old, 2, 2)
        key: Item = {"PK": {"S": "TABLE#shop"}, "SK": {"S": "DESIGN"}}
        stored = backend.call(GetItem(table_name="partita-designs", key=key)).item
        backend.call(PutItem(table_name="partita-designs", item=msgspec.json.decode(stored or b"") | damage))
        advice = "item TABLE#shop DESIGN of table partita-designs cannot be read: .* newer version .* delete the item"
        for use in (lambda: connect(path, old.design), lambda: apply_design(Store(backend, old.design))):
            with pytest.raises(DesignRecordInvalid, match=advice):
                use()
        backend.call(DeleteItem(table_name="partita-designs", key=key))
        apply_design(Store(backend, old.design))
    connect(path, old.design).close()


@pytest.mark.parametrize(
    ("before", "after", "effect"),
    [
        ({"status index"}, {"status index", "status text"}, "programs of this design do not write Order until"),
        ({"count"}, {"count", "open only"}, "programs of this design do not write Order until"),
        ({"count", "note"}, {"note"}, "miss there what new ones write: Customer counts orders"),
        ({"note"}, {"note", "status index"}, "none: programs of both designs may work"),
    ],
)
def test_what_earlier_programs_would_misread_is_not_written_while_they_work(
    before: set[str], after: set[str], effect: str
) -> None:
    old, new = Version(frozenset(before)), Version(frozenset(after))
    with connect("memory:") as backend:
        earlier = Store(backend, own_design(old.design))
        earlier.create_tables()
        earlier.create(old.customer(customer="c", email="c"))
        earlier.create(old.new_order("c", "o", 1, 1))
        earlier.watch = DesignWatch(earlier.design, earlier.context)
        earlier.get(old.one_order("c", "o"))
        assert effect in plan_migration(Store(backend, new.design)).affects
        with pytest.raises(MigrationBlocked, match="has another design"):
            apply_design(Store(backend, new.design), patience=0)
        later = Store(backend, own_design(new.design))
        later.watch = DesignWatch(later.design, later.context)
        assert later.one(new.one_order("c", "o")).price == 1
        if "do not write" in effect:
            with pytest.raises(NotReady, match="Order"):
                later.create(new.new_order("c", "p", 1, 1))
            with pytest.raises(NotReady, match="Order"):
                later.delete(new.one_order("c", "o"))
            with pytest.raises(NotReady, match="Order"), later.transaction() as transaction:
                transaction.delete(new.one_order("c", "o"))
        else:
            later.put(new.new_order("c", "o", 2, 2))
        later.create(new.customer(customer="d", email="d"))


def test_program_of_the_earlier_design_is_rejected_while_items_are_backfilled() -> None:
    """It began after the application had waited for such programs: nothing would find what it writes."""
    old, new = first(), second()
    with connect("memory:") as backend:
        filled(Store(backend, own_design(old.design)), old, 2, 2)
        states = set()
        for requests in range(1000):
            with suppress(Stopped):
                apply_design(Store(StoppingBackend(backend, requests, after=True), own_design(new.design)))
            earlier: Any = Store(backend, own_design(old.design))
            record = earlier._run(fetch_designs(earlier.context, ["shop"]), "read")["shop"]
            earlier.watch = DesignWatch(earlier.design, earlier.context)
            if record.state == "backfilling":
                with pytest.raises(DesignMismatch, match="open_orders") as raised:
                    earlier.get(old.one_customer("c1"))
                assert raised.value.is_older
            states.add(record.state)
            if record.state == "cleaning":
                break
        assert {"building", "backfilling"} <= states


class Building:
    """Data of customers with orders, to which a design with counters and unique e-mails is being applied."""

    def __init__(self, backend: Backend) -> None:
        old, self.shop = first(), second(unique=True)
        earlier: Any = filled(Store(backend, own_design(old.design)), old, 2, 2)
        earlier.watch = DesignWatch(earlier.design, earlier.context)
        earlier.get(old.one_customer("c1"))
        with pytest.raises(MigrationBlocked, match="has another design"):
            apply_design(Store(backend, self.shop.design), patience=0)
        self.db: Any = Store(backend, own_design(self.shop.design))
        self.db.watch = DesignWatch(self.db.design, self.db.context)

    def updated(self) -> Any:
        seen: list[Any] = []

        def edit(customer: Any) -> None:
            seen.append(customer.open_orders)
            customer.email = "new@x"

        found = self.db.update(self.shop.one_customer("c1"), edit)
        return [*seen, found.open_orders]

    def changed(self) -> None:
        with self.db.change(self.shop.one_customer("c1"), when=NONE) as draft:
            draft.email = "new@x"

    def in_transaction(self, action: Callable[[Any], None]) -> None:
        with self.db.transaction() as transaction:
            action(transaction)


NONE = F.open_orders == 0
COUNTERS_READ: dict[str, Callable[[Building], list[Any]]] = {
    "get": lambda at: [at.db.one(at.shop.one_customer("c1")).open_orders],
    "get many": lambda at: [each.open_orders for each in at.db.get_many([at.shop.one_customer("c1")])],
    "together": lambda at: [each.open_orders for each in at.db.transact_get(at.shop.one_customer("c1"))],
    "scan": lambda at: [each.open_orders for each in at.db.scan(at.shop.customer)],
    "update": lambda at: at.updated(),
    "put": lambda at: [at.db.put(at.shop.customer(customer_id="c1", email="1@example.com")).open_orders],
}
DECIDED: dict[str, Callable[[Building], Any]] = {
    "deletion": lambda at: at.db.delete(at.shop.one_customer("c1")),
    "checked deletion": lambda at: at.db.delete(at.shop.one_customer("c1"), check=lambda _: None),
    "deletion in a transaction": lambda at: at.in_transaction(lambda t: t.delete(at.shop.one_customer("c1"))),
    "scan": lambda at: list(at.db.scan(at.shop.customer, where=NONE)),
    "creation": lambda at: at.db.create(at.shop.customer(customer_id="d", email="d"), when=NONE),
    "change": lambda at: at.changed(),
    "change in a transaction": lambda at: at.in_transaction(lambda t: t.change(at.shop.one_customer("c1"), when=NONE)),
    "check": lambda at: at.in_transaction(lambda t: t.check(at.shop.one_customer("c1"), NONE)),
    "unique value": lambda at: at.db.find_by_unique(at.shop.customer, "email", "1@example.com"),
}


@pytest.mark.parametrize("name", COUNTERS_READ)
def test_counter_that_is_not_counted_yet_is_unknown_to_every_read(name: str) -> None:
    with connect("memory:") as backend:
        assert set(COUNTERS_READ[name](Building(backend))) == {AUTO}


@pytest.mark.parametrize("name", DECIDED)
def test_nothing_is_decided_by_what_is_not_there_yet(name: str) -> None:
    """A customer with orders that are not counted yet could be deleted, and one with an e-mail was not found."""
    with connect("memory:") as backend:
        building = Building(backend)
        building.db.one(building.shop.one_customer("c1"))
        with pytest.raises(NotReady, match="Customer"):
            DECIDED[name](building)
