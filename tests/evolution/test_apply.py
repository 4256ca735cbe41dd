"""Applying a changed design: the example of a new user, exactly, also while programs of both designs write."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    ConfigurationError,
    Design,
    DesignMismatch,
    Entity,
    Expires,
    Index,
    Keys,
    MigrationBlocked,
    NotFound,
    NotReady,
    PartitaError,
    ReadOnlyStore,
    Store,
    Table,
    connect,
    prove,
)
from partita.dynamodb.canonical import item_size
from partita.dynamodb.limits import ITEM_BYTES
from partita.dynamodb.requests import DeleteItem, PutItem, Scan, TransactWriteItems
from partita.evolution.apply import Progress, apply_design, roll_back
from partita.evolution.diagnosis import diagnose
from partita.evolution.migration_plan import plan_migration
from partita.store import design_watch
from partita.store.design_watch import own_design
from tests.evolution.shop import Shop, first, second
from tests.timing import PATIENCE

CUSTOMERS = 20
PAUSE = 0.05  # seconds between the reads of a program that has nothing to write any more
OPERATIONS = int(os.environ.get("PARTITA_APPLY_OPERATIONS", "12"))  # of each program beside an application


@pytest.fixture(autouse=True)
def quick_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs read the state of their data more often than every ten seconds."""
    monkeypatch.setattr(design_watch, "CHECK_EVERY", timedelta(seconds=0.1))


def stored(db: Store) -> list[dict[str, Any]]:
    """Every item of the shop, in the order of their keys."""
    items, start = [], None
    while True:
        reply = db.backend.call(Scan(table_name="shop", exclusive_start_key=start, consistent_read=True))
        items += [msgspec.json.decode(raw) for raw in reply.items or ()]
        if reply.last_evaluated_key is None:
            return sorted(items, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))
        start = msgspec.json.decode(reply.last_evaluated_key)


def filled(db: Store, shop: Shop, customers: int = CUSTOMERS, orders: int = 19) -> Store:
    db.create_tables()
    for at in range(customers):
        db.create(shop.customer(customer_id=f"c{at}", email=f"{at}@example.com"))
        for number in range(orders):
            db.create(shop.order(customer_id=f"c{at}", order_id=f"{at}-{number:02}", price=number))
    return db


def built_from_nothing(db: Store, shop: Shop) -> list[dict[str, Any]]:
    """The items of a new store into which every entity of this one is created, with the design."""
    with connect("memory:", shop.design) as new:
        new.create_tables()
        for customer in db.scan(shop.customer):
            new.create(shop.customer(customer_id=customer.customer_id, email=customer.email))
        for order in db.scan(shop.order):
            new.create(order)
        return stored(new)


def test_new_index_and_counter_are_an_error_at_connect_then_planned_then_applied(tmp_path: Path) -> None:
    file, old, new = tmp_path / "shop.db", first(), second()
    with connect(file, old.design, durability="process") as db:
        filled(db, old)
    with pytest.raises(DesignMismatch, match=r"partita plan(.|\n)*Customer counts open_orders is new") as refusal:
        connect(file, new.design)
    assert "index GSI1 is new: GSI1PK S | GSI1SK S, ALL" in refusal.value.differences
    with connect(file, durability="process") as backend:
        plan = plan_migration(Store(backend, new.design))
        assert plan.tables == ["create index GSI1"]
        assert {step.action: step.items for step in plan.steps} == {
            "write the keys of Order in index GSI1": 380,
            "count Order for open_orders": 380,
            "count Order for spent": 380,
            "set Customer.open_orders": 20,
            "set Customer.spent": 20,
        }
        apply_design(Store(backend, new.design))
        after = plan_migration(Store(backend, new.design))
        assert not after.has_work
    with connect(file, new.design, durability="process") as db:
        assert len(list(db(new.by_status("OPEN")))) == 380
        for at in range(CUSTOMERS):
            customer = db.one(new.one_customer(f"c{at}"))
            assert (customer.open_orders, customer.spent) == (19, sum(range(19)))
        assert stored(db) == built_from_nothing(db, new)


def test_second_application_changes_nothing() -> None:
    with connect("memory:") as backend:
        old = first()
        filled(Store(backend, old.design), old)
        apply_design(Store(backend, second().design))
        db = Store(backend, second().design)
        before = stored(db)
        again = apply_design(db)
        assert (again.changed, again.tables, stored(db)) == (0, [], before)


def test_program_of_the_earlier_design_is_rejected_afterwards(tmp_path: Path) -> None:
    file, old, new = tmp_path / "shop.db", first(), second()
    with connect(file, old.design, durability="process") as db:
        filled(db, old, 2, 2)
    with connect(file, durability="process") as backend:
        apply_design(Store(backend, new.design))
    with pytest.raises(DesignMismatch, match="is older than the data"):
        connect(file, old.design)


def test_read_only_store_reads_what_is_there_and_rejects_the_rest(tmp_path: Path) -> None:
    file, old, new = tmp_path / "shop.db", first(), second()
    with connect(file, old.design, durability="process") as db:
        filled(db, old, 2, 2)
    with connect(file, new.design, read_only=True) as db:
        assert db.one(new.one_order("c1", "1-01")).price == 1
        with pytest.raises(NotReady, match=r"shop\.GSI1"):
            list(db(new.by_status("OPEN")))
        with pytest.raises(ReadOnlyStore):
            db.create(new.customer(customer_id="c9"))


def test_two_items_that_want_one_unique_value_are_left_to_people() -> None:
    with connect("memory:") as backend:
        old, new = first(), second(unique=True)
        db = filled(Store(backend, old.design), old, 3, 1)
        db.create(old.customer(customer_id="twin", email="1@example.com"))
        plan = plan_migration(Store(backend, new.design))
        assert [each for each in plan.blocked if "'1@example.com'" in each and "twin" in each]
        with pytest.raises(MigrationBlocked, match=r"1@example\.com"):
            apply_design(Store(backend, new.design))
        with db.change(old.one_customer("twin")) as draft:
            draft.email = "2b@example.com"
        apply_design(Store(backend, new.design))
        found = Store(backend, new.design).find_by_unique(new.customer, "email", "2b@example.com")
        assert getattr(found, "customer_id", None) == "twin"


def test_unfinished_application_can_be_rolled_back(tmp_path: Path) -> None:
    file, old, new = tmp_path / "shop.db", first(), second(unique=True)
    with connect(file, old.design, durability="process") as db:
        filled(db, old, 3, 1)
        db.create(old.customer(customer_id="twin", email="1@example.com"))
    with connect(file, durability="process") as backend:
        with pytest.raises(MigrationBlocked):
            apply_design(Store(backend, new.design))
        roll_back(Store(backend, new.design))
    with connect(file, old.design, durability="process") as db:
        assert db.one(old.one_customer("twin")).email == "1@example.com"
        db.create(old.order(customer_id="c1", order_id="late"))


class _Stopped(Exception):
    pass


def _by_email() -> Design:
    """By mistake, customers are in the index, and expire."""
    table = Table("shop", "PK", "SK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),), ttl="ttl")

    class Customer(Entity, table=table, key=("CUSTOMER#{customer_id}", "PROFILE")):
        customer_id: str
        email: str = ""
        seen_at: datetime = datetime(2030, 1, 1, tzinfo=UTC)
        by_status = Keys("GSI1", "STATUS#OPEN", "{customer_id}")
        expiry = Expires("seen_at", after=timedelta(days=1))

    class Order(Entity, table=table, key=("CUSTOMER#{customer_id}", "ORDER#{order_id}")):
        customer_id: str
        order_id: str
        status: str = "OPEN"
        price: Annotated[int, msgspec.Meta(ge=0)] = 1

    return prove("shop", table)


@pytest.mark.parametrize("returns_first", [True, False])
def test_index_keys_and_ttls_of_a_rolled_back_design_are_removed_by_the_next_one(returns_first: bool) -> None:
    old, wrong, right = first(), _by_email(), second()

    def stop(at: Progress) -> None:
        if at.phase == "backfilling":
            raise _Stopped

    with connect("memory:") as backend:
        db = filled(Store(backend, own_design(old.design)), old, 2, 1)
        for _ in range(2):
            with pytest.raises(_Stopped):
                apply_design(Store(backend, own_design(wrong)), progress=stop)
            roll_back(Store(backend, own_design(wrong)))
        assert any("GSI1PK" in item for item in stored(db))
        assert "remove Customer.GSI1PK" in [step.action for step in plan_migration(db).steps]
        if returns_first:
            apply_design(db)
            assert not any(item.keys() & {"GSI1PK", "GSI1SK", "ttl"} for item in stored(db))
            assert not plan_migration(db).has_work
        new = Store(backend, own_design(right.design))
        apply_design(new)
        assert sorted(each.order_id for each in new(right.by_status("OPEN"))) == ["0-00", "1-00"]
        assert not any("ttl" in item for item in stored(db))
        assert not plan_migration(new).has_work


def test_item_that_has_no_room_for_index_keys_is_left_to_people() -> None:
    with connect("memory:") as backend:
        old, new = first(), second()
        db = filled(Store(backend, own_design(old.design)), old, 1, 3)
        key = {"PK": {"S": "CUSTOMER#c0"}, "SK": {"S": "ORDER#large"}}
        whole = key | {
            "customer_id": {"S": "c0"},
            "order_id": {"S": "large"},
            "status": {"S": "OPEN"},
            "price": {"N": "1"},
        }
        whole["more"] = {"S": "-" * (ITEM_BYTES - item_size(whole) - len("more"))}
        backend.call(PutItem(table_name="shop", item=whole))
        later = Store(backend, own_design(new.design))
        (blocked,) = plan_migration(later).blocked
        assert blocked == "Order CUSTOMER#c0 ORDER#large: it would be larger than the 400 KB of DynamoDB"
        with pytest.raises(MigrationBlocked, match=r"Order CUSTOMER#c0 ORDER#large: .* larger than the 400 KB"):
            apply_design(later)
        backend.call(DeleteItem(table_name="shop", key=key))
        apply_design(later)
        assert stored(db) == built_from_nothing(later, new)


def test_unexplained_and_unreadable_items_are_reported_and_left_alone() -> None:
    with connect("memory:") as backend:
        old = first()
        db = filled(Store(backend, old.design), old, 1, 1)
        strange = {"PK": {"S": "OTHER"}, "SK": {"S": "x"}}
        broken = {"PK": {"S": "CUSTOMER#c1"}, "SK": {"S": "PROFILE"}, "email": {"N": "1"}}
        for item in (strange, broken):
            backend.call(PutItem(table_name="shop", item=item))
        plan = plan_migration(db)
        assert (plan.unexplained, plan.unreadable) == (1, 1)
        done = apply_design(Store(backend, second().design))
        assert done.unexplained == ["OTHER x"]
        assert len(done.unreadable) == 1
        assert strange in stored(db)
        assert broken in stored(db)


def work(
    file: Path, shop: Shop, seed: int, stop: threading.Event, errors: list[Exception], connected: threading.Semaphore
) -> None:
    """Creates, changes and deletes orders, as a program does, and stays connected until it is stopped."""
    random = Random(seed)
    try:
        with connect(file, shop.design, durability="process") as db:
            connected.release()
            for at in range(OPERATIONS):
                if stop.is_set():
                    return
                customer = f"c{random.randrange(CUSTOMERS)}"
                mine, old = f"w{seed}-{at}", f"{customer[1:]}-{random.randrange(19):02}"
                db.create(shop.order(customer_id=customer, order_id=mine, price=random.randrange(9)))
                if random.random() < 0.5:
                    db.delete(shop.one_order(customer, random.choice([old, mine])))
                    continue
                with suppress(NotFound), db.change(shop.one_order(customer, old)) as draft:
                    draft.status = random.choice(["OPEN", "DONE"])
                    draft.price = random.randrange(9)
            while not stop.wait(PAUSE):
                db.get(shop.one_customer("c0"))  # so it reads the state of its data, as a program with requests does
    except PartitaError as error:
        errors.append(error)


@pytest.mark.slow
def test_result_is_exact_while_32_writers_of_both_designs_work(tmp_path: Path) -> None:
    """16 programs of the earlier design end one after another, as in a rolling deployment, and 16 new ones start."""
    file, old, new = tmp_path / "shop.db", first(), second()
    with connect(file, old.design, durability="process") as db:
        filled(db, old)
    errors: list[Exception] = []
    earlier, later, connected = threading.Event(), threading.Event(), threading.Semaphore(0)
    threads = [threading.Thread(target=work, args=(file, old, seed, earlier, errors, connected)) for seed in range(16)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert connected.acquire(timeout=PATIENCE)  # one that begins later would be rejected

    def deploy() -> None:
        for seed in range(16, 32):
            threads.append(thread := threading.Thread(target=work, args=(file, new, seed, later, errors, connected)))
            thread.start()
        earlier.set()

    phases: list[str] = []

    def progress(at: Any) -> None:
        if at.phase.startswith("waiting") and "waiting" not in phases:
            threading.Thread(target=deploy).start()
        phases.append(at.phase.partition(":")[0])

    with connect(file, durability="process") as backend:
        apply_design(Store(backend, new.design), progress=progress)
        later.set()
        for thread in threads:
            thread.join()
    assert errors == []
    assert "waiting" in phases
    with connect(file, new.design, durability="process") as db:
        assert stored(db) == built_from_nothing(db, new)


def test_deleted_item_never_comes_back() -> None:
    """An item that is deleted between its page and its write stays deleted."""
    with connect("memory:") as backend:
        old = first()
        filled(Store(backend, old.design), old, 1, 30)
        left = {"CUSTOMER#c0": 30}

        class Deleting:
            """Deletes some orders whenever a page has just been read."""

            def call(self, request: Any) -> Any:
                reply = backend.call(request)
                if isinstance(request, Scan) and left["CUSTOMER#c0"] > 20:
                    left["CUSTOMER#c0"] -= 1
                    key = {"PK": {"S": "CUSTOMER#c0"}, "SK": {"S": f"ORDER#0-{left['CUSTOMER#c0']:02}"}}
                    backend.call(DeleteItem(table_name="shop", key=key))
                return reply

        new = second()
        apply_design(Store(Deleting(), new.design))
        db = Store(backend, new.design)
        assert len(list(db.scan(new.order))) == left["CUSTOMER#c0"]


class AnsweringBackend:
    """A backend beside which something is done once, before the n-th request is sent."""

    def __init__(self, backend: Any, requests: int, action: Callable[[], None]) -> None:
        self._backend = backend
        self._left = requests
        self._action = action

    def call(self, request: Any) -> Any:
        self._left -= 1
        if self._left == -1:
            self._action()
        return self._backend.call(request)


def test_a_design_is_applied_by_one_run_at_a_time_and_no_record_of_it_is_lost() -> None:
    """Another run may begin or roll back between any two requests: one of both is a MigrationBlocked, or has ended."""
    old, new = first(), second()
    outcomes = set()
    for requests in range(0, 60, 3):
        for other in (apply_design, roll_back):
            with connect("memory:") as backend:
                filled(Store(backend, old.design), old, 2, 2)

                def act(run: Any = other, at: Any = backend) -> None:
                    try:
                        run(Store(at, new.design))
                        outcomes.add((run.__name__, "done"))
                    except (MigrationBlocked, ConfigurationError) as error:
                        outcomes.add((run.__name__, type(error).__name__))

                with suppress(MigrationBlocked):
                    apply_design(Store(AnsweringBackend(backend, requests, act), new.design))
                apply_design(Store(backend, new.design))
                assert stored(Store(backend, new.design)) == built_from_nothing(Store(backend, new.design), new)
                assert not plan_migration(Store(backend, new.design)).has_work
    assert ("apply_design", "MigrationBlocked") in outcomes
    assert ("roll_back", "done") in outcomes
    assert ("roll_back", "ConfigurationError") in outcomes


def test_guard_whose_deletion_met_another_write_is_deleted_by_the_next_pass() -> None:
    new = second(unique=True)
    key = {"PK": {"S": "UNIQUE#Customer#email#ghost"}, "SK": {"S": "UNIQUE"}}
    owner = {"guardOf": {"M": {"PK": {"S": "CUSTOMER#c1"}, "SK": {"S": "PROFILE"}}}}
    with connect("memory:") as backend:
        db = filled(Store(backend, new.design), new, 2, 2)
        backend.call(PutItem(table_name="shop", item=key | owner))

        class Renaming:
            """A backend on which the owner gets another value when the guard is to be deleted."""

            is_done = False

            def call(self, request: Any) -> Any:
                if isinstance(request, TransactWriteItems) and "ghost" in str(request) and not self.is_done:
                    self.is_done = True
                    with db.change(new.one_customer("c1")) as draft:
                        draft.email = "other"
                return backend.call(request)

        renaming = Renaming()
        apply_design(Store(renaming, new.design))
        assert renaming.is_done
        assert stored(db) == built_from_nothing(db, new)


@pytest.mark.parametrize("rate", [0, -1, float("nan"), 1e-300])
def test_rate_at_which_nothing_would_go_on_is_an_error(rate: float) -> None:
    shop = first()
    with connect("memory:") as backend:
        db = filled(Store(backend, shop.design), shop, 1, 1)
        for use in (apply_design, diagnose):
            with pytest.raises(ConfigurationError, match=r"it must be at least 0\.1"):
                use(db, items_per_second=rate)
        apply_design(db, items_per_second=float("inf"))
        assert diagnose(db, items_per_second=float("inf")).is_healthy
