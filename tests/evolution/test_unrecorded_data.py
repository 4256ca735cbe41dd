"""Data without a recorded design is compared with that of a program, and not refused."""

import logging
from pathlib import Path
from typing import Any

import pytest

from partita import DesignMismatch, Store, connect
from partita.dynamodb.exceptions import UnlistedError
from partita.dynamodb.operations import ITEM_WRITES
from partita.dynamodb.requests import DeleteTable
from partita.evolution.apply import Progress, apply_design, roll_back
from partita.evolution.migration_plan import plan_migration
from partita.store.design_records import table as record_table
from partita.store.design_watch import CHECK_EVERY, DesignWatch, own_design
from tests.evolution.shop import Shop, first, second
from tests.evolution.test_apply import filled

NOT_READ = (
    "table partita-designs may not be read, so it is not known which design the data of shop has, nor when it changes"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "shop.db"


def stored_by_others(file: Path, shop: Shop) -> None:
    """Data of a design that nobody has recorded."""
    with connect(file, durability="process") as backend:
        db = Store(backend, shop.design)
        db.create_tables()
        db.create(shop.customer(customer_id="c1", email="c1@x"))
        for number in range(3):
            db.create(shop.order(customer_id="c1", order_id=str(number)))
        backend.call(DeleteTable(table_name=record_table.name))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


def test_data_of_another_design_is_reported_with_the_command(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    stored_by_others(file, first())
    new = second()
    with connect(file, new.design) as db:
        assert db.one(new.one_order("c1", "1")).status == "OPEN"
    (said,) = warnings(caplog)
    assert said == (
        "table shop: it is not recorded which design its data has; index GSI1 is missing; "
        "3 of 4 items are not as this design stores them; run partita plan"
    )


def test_data_of_the_same_design_is_not_reported(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    stored_by_others(file, second(unique=True))
    new = second(unique=True)
    with connect(file, new.design) as db:
        assert len(list(db(new.by_status("OPEN")))) == 3
    assert warnings(caplog) == []


def test_first_application_waits_for_programs_that_are_not_recorded_also_after_an_interruption(file: Path) -> None:
    """They read the state within ten seconds: only then it is known which of them have the earlier design."""
    stored_by_others(file, second())
    new = second(unique=True)
    waits: list[float] = []

    def interrupted(seconds: float) -> None:
        waits.append(seconds)
        raise KeyboardInterrupt

    with connect(file, durability="process") as backend:
        with pytest.raises(KeyboardInterrupt):
            apply_design(Store(backend, new.design, sleep=interrupted))
        for _ in range(2):
            apply_design(Store(backend, new.design, sleep=waits.append))
    assert waits == [CHECK_EVERY.total_seconds() * 1.2] * 2


@pytest.mark.parametrize("state", ["building", "backfilling"])
def test_first_application_that_is_rolled_back_leaves_data_without_a_recorded_design(file: Path, state: str) -> None:
    old, new = first(), second()
    stored_by_others(file, old)

    def interrupted(at: Progress) -> None:
        if state == "building" or at.phase == "verifying":
            raise KeyboardInterrupt

    with connect(file, durability="process") as backend:
        db = Store(backend, new.design, sleep=lambda _: None)
        with pytest.raises(KeyboardInterrupt):
            apply_design(db, progress=interrupted)
        assert roll_back(db)
        assert not roll_back(db)
        assert not plan_migration(db).is_recorded
    with connect(file, old.design) as store:
        store.create(old.order(customer_id="c1", order_id="late"))
    with connect(file, durability="process") as backend:
        apply_design(Store(backend, new.design, sleep=lambda _: None))
    with connect(file, new.design) as store:
        assert len(list(store(new.by_status("OPEN")))) == 4


def test_tables_that_an_application_creates_have_no_earlier_programs() -> None:
    with connect("memory:") as backend:
        apply_design(Store(backend, second().design, sleep=_never))


def _never(seconds: float) -> None:
    raise AssertionError("it waits")


def test_new_file_is_not_reported(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    shop = first()
    with connect(file, shop.design) as db:
        db.create_tables()
        db.create(shop.customer(customer_id="c1"))
    assert warnings(caplog) == []


def test_recorded_data_is_not_scanned(file: Path) -> None:
    shop = first()
    with connect(file, shop.design) as db:
        db.create_tables()
    sent: list[Any] = []
    with connect(file, shop.design, on_call=[sent.append]) as db:
        assert db(shop.one_customer("c1")) is None
    assert sent
    assert not [each for each in sent if each.operation == "Scan"]


class Role:
    """A backend on which a program may only read; not even the records where `sees_records` is false."""

    def __init__(self, backend: Any, *, sees_records: bool) -> None:
        self._backend = backend
        self._sees_records = sees_records

    def call(self, request: Any) -> Any:
        is_of_records = record_table.name in str(request)
        if type(request) in ITEM_WRITES or (is_of_records and not self._sees_records):
            raise UnlistedError("AccessDeniedException", 400, "not authorized")
        return self._backend.call(request)


@pytest.mark.parametrize("sees_records", [True, False])
def test_program_that_may_only_read_works(sees_records: bool, caplog: pytest.LogCaptureFixture) -> None:
    shop = first()
    with connect("memory:") as backend:
        filled(Store(backend, shop.design), shop, 2, 2)
        db = Store(Role(backend, sees_records=sees_records), own_design(shop.design))
        db.watch = DesignWatch(db.design, db.context)
        for _ in range(2):
            assert db.one(shop.one_customer("c1")).email == "1@example.com"
    said = [each for each in warnings(caplog) if "may not be read" in each]
    assert said == ([] if sees_records else [NOT_READ])


def test_program_that_may_only_read_is_told_of_another_design() -> None:
    old, new = first(), second()
    with connect("memory:") as backend:
        filled(Store(backend, old.design), old, 2, 2)
        db = Store(Role(backend, sees_records=True), own_design(new.design))
        db.watch = DesignWatch(db.design, db.context)
        with pytest.raises(DesignMismatch, match="Customer counts open_orders is new"):
            db.get(new.one_customer("c1"))
