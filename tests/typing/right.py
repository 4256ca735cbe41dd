"""Calling code as a team writes it: both checkers, in strict mode and without a plugin, have nothing to say."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

from partita import (
    AsyncStore,
    Change,
    Consumer,
    Created,
    Deleted,
    HandlerTransaction,
    JobOutcome,
    JobRun,
    JobRunner,
    Jobs,
    JobStatus,
    JobTick,
    SearchResult,
    Store,
    Transaction,
    Updated,
    Vector,
    connect,
    connect_async,
)
from partita.design import F
from partita.engine.engine import Engine
from partita.remote.sync_backend import RemoteBackend
from tests.design.shop import Customer, Order, Status, account, customer, order, orders_to_ship, shop
from tests.store.parts_design import Part, similar, similar_names, similar_parts

AT = datetime(2025, 1, 1, tzinfo=UTC)


def use(db: Store) -> None:
    stored: Order = db.create(Order(customer_id="c1", order_id="o1", placed_at=AT))
    found: Customer | None = db(customer("c1"))
    sure: Customer = db.one(customer(customer_id="c1"))
    waiting: list[Order] = db(orders_to_ship(Status.OPEN)).first(20)
    for each in db(account("c1")):
        name: str = each.email if isinstance(each, Customer) else each.order_id
        print(name)
    with db.change(order("c1", AT, "o1"), when=F.status == Status.OPEN) as draft:
        draft.status = Status.SHIPPED
        draft.priority += 1
        draft.note = None
    edited: Order = db.update(order("c1", AT, "o1"), lambda one: setattr(one, "note", "later"))
    with db.transaction() as transaction:
        transaction.create(Order(customer_id="c1", order_id="o2", placed_at=AT))
        transaction.change(order("c1", AT, "o1")).note = "both"
    db.replace(edited)
    db.put_many([stored, edited])
    gone: Order | None = db.delete(order("c1", AT, "o1"))
    print(stored, found, sure, waiting, edited, gone)


async def use_async(db: AsyncStore) -> None:
    found: Customer | None = await db(customer("c1"))
    async for each in db(orders_to_ship(Status.OPEN)):
        print(each.priority)
    async with db.change(order("c1", AT, "o1")) as draft:
        draft.priority += 1
    print(found, await db.one(customer("c1")))


def open_stores(file: Path) -> None:
    engine: Engine = connect("memory:", clock=lambda: AT, maintain=False)
    on_file: Engine = connect(file, durability="process")
    db: Store = connect(
        str(file), shop, retries=3, table_names={"shop": "dev-shop"}, cursor_keys=[bytes(16)], tracer=True
    )
    either: Engine | RemoteBackend = connect("http://127.0.0.1:8000", read_timeout=5.0)
    print(engine, on_file, either, db.with_settings(clock=lambda: AT, on_call=[print]))


async def open_stores_on_a_loop() -> None:
    db: AsyncStore = await connect_async("memory:", shop, sleep=asyncio.sleep, slow_call_seconds=1.0)
    print(db.with_settings(retries=0))


notifications = Consumer("notifications")


@notifications.on(Order)
def shipped(change: Change[Order], t: Transaction) -> None:
    if found := change.became(F.status == Status.SHIPPED):
        t.create(Customer(customer_id=change.id, email=found.customer_id))
    match change:
        case Created():
            print(change.after.priority)
        case Updated():
            print(change.before.priority < change.after.priority)
        case Deleted():
            print(change.before.note, change.by_ttl)


@notifications.on(Order, Customer)
async def any_of_two(change: Change[Order] | Change[Customer], t: HandlerTransaction) -> None:
    known: Customer | None = t.get(customer("c1"))
    orders: list[Order] = t.find(orders_to_ship(Status.OPEN), 10)
    print(change.id, change.at, known, orders)


jobs = Jobs("shop", keep=timedelta(days=7))


@jobs.every(minutes=10)
def close_old_orders(db: Store) -> None:
    db.delete_many([order("c1", AT, "o1")])


@jobs.cron("0 3 * * *", timezone="Europe/Berlin", missed="skip", grace=timedelta(minutes=5))
async def send_reports(db: AsyncStore) -> None:
    await db.one(customer("c1"))


@jobs.every(hours=1, name="copy", missed="all")
def copy_orders(db: Store, run: JobRun) -> None:
    at: str | None = run.cursor
    if not run.should_stop:
        run.save(at, done=1, total=2)
    with run.transaction("1", done=2) as transaction:
        transaction.change(order("c1", AT, "o1")).note = "copied"


@jobs.every(hours=1)
async def copy_orders_later(db: AsyncStore, run: JobRun) -> None:
    run.save(None)


def run_jobs(db: Store) -> None:
    runner = JobRunner(db, jobs, lease=timedelta(seconds=10))
    count: int = runner.step()
    tick: JobTick | None = runner.run_now("copy")
    statuses: list[JobStatus] = runner.status()
    failed = [each for each in runner.history("copy") if each.outcome == JobOutcome.FAILED]
    close_old_orders(db)
    print(count, tick, statuses, failed)


def search(db: Store, embedding: Vector) -> None:
    found: list[SearchResult[Part]] = db(similar_parts(embedding, "brakes"))
    for each in db(similar(embedding, category="brakes")):
        size: int = each.item.size
        score: float = each.score
        print(size, score)
    names: list[str] = [each.item.name for each in db(similar_names(embedding, "brakes"))]
    print(found, names, db.explain(similar_parts(embedding, "brakes")))


async def search_async(db: AsyncStore, embedding: Vector) -> None:
    found: list[SearchResult[Part]] = await db(similar_parts(embedding, "brakes"))
    print(found)
