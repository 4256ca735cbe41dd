"""Health, history and the stream: read from the real parts of the library."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from partita import Change, Consumer, HandlerTransaction, Store, connect
from partita.consumers.runner import ConsumerRunner
from partita.consumers.worker import create_state_tables
from partita.dynamodb.exceptions import DynamoDBError
from partita.dynamodb.requests import DescribeTable, PutItem, UpdateContinuousBackups, UpdateItem
from partita.dynamodb.shapes import PointInTimeRecoverySpecification
from partita.engine.engine import Engine
from partita.jobs.job import Jobs
from partita.jobs.job_runner import JobRunner
from partita.studio.budgets import BudgetExceeded, MeteredBackend
from partita.studio.sessions import StudioSession
from partita.studio.stream_page import read_events
from partita.studio.studio_app import StudioApplication
from partita.studio.visits import StudioDesign, Visit
from partita.studio.write_policy import DataPlace
from tests.studio.browser_client import TOKEN, StudioClient, commit
from tests.studio.shop import NOON, Customer, Order, customer, design, order

KEY = json.dumps({"PK": {"S": "CUSTOMER#c1"}, "SK": {"S": "ORDER#2025-05-01T12:00:00.000000Z#o0"}})


@pytest.fixture
def client(engine: Engine, db: Store) -> StudioClient:
    opened = StudioDesign("shop", design, engine, history=engine.item_history, hot_keys=engine.hot_keys)
    return StudioClient(StudioApplication({"shop": opened}, DataPlace("memory:", writable=True), TOKEN))


def test_empty_states_of_health(client: StudioClient) -> None:
    view = client.view("/studio/shop/health")
    assert (view["consumers"], view["jobs"], view["check"]) == ([], [], None)
    assert view["tables"][0]["items"] == 5
    page = client.get("/studio/shop/health").text
    assert "No consumers" in page
    assert "No backups." in page


def test_plan_and_doctor_run_when_they_are_asked_for(client: StudioClient, engine: Engine) -> None:
    assert client.view("/studio/shop/health", check="plan")["check"]["is_good"]
    assert client.view("/studio/shop/health", check="doctor")["check"]["is_good"]
    wrong = UpdateItem(
        table_name="shop",
        key=json.loads(KEY),
        update_expression="SET GSI1PK = :wrong",
        expression_attribute_values={":wrong": {"S": "STATUS#SHIPPED"}},
    )
    engine.call(wrong)
    found = client.view("/studio/shop/health", check="doctor")["check"]
    assert not found["is_good"]
    assert "stale index keys" in found["text"]
    assert client.get("/studio/shop/health", check="other").status == 422


def test_backup_and_restore_into_a_new_table(client: StudioClient, engine: Engine) -> None:
    fields = {"table": "shop", "backup-shop": "first"}
    assert client.post("/studio/shop/backup", **fields).status == 303
    (table,) = client.view("/studio/shop/health")["tables"]
    assert table["backups"][0].startswith("backup first of ")
    (arn,) = table["backup_arns"]
    assert (
        client.post("/studio/shop/restore", **{"table": "shop", "target-shop": "copy", "from-shop": arn}).status == 303
    )
    engine.maintenance.step()
    described = engine.call(DescribeTable(table_name="copy")).table
    assert described is not None
    assert (
        client.post("/studio/shop/restore", **{"table": "shop", "target-shop": "shop", "from-shop": arn}).status == 422
    )
    assert client.post("/studio/shop/restore", **{"table": "other", "target-other": "x"}).status == 404
    assert client.post("/studio/shop/restore", **{"table": "shop", "target-shop": "y", "at-shop": "soon"}).status == 422


class _Broken:
    """A studio on data with a consumer that gives up every change, with a clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)  # the studio has the clock of the machine
        self.handled: list[str] = []
        self.fails = True
        self.consumer = Consumer("mails", tries=1)
        self.consumer.on(Order)(self._handle)
        self.jobs = Jobs("shop")
        self.jobs.every(hours=1)(self._tidy)

    def _handle(self, change: Change[Order], t: HandlerTransaction) -> None:
        if self.fails:
            raise ValueError("no <b>mail</b> server")
        self.handled.append(change.id)

    def seconds(self) -> float:
        return self.now.timestamp()

    def _tidy(self, db: Store) -> None:
        """A job that does nothing."""


@pytest.fixture
def broken() -> Iterator[tuple[_Broken, Store, StudioClient]]:
    world = _Broken()
    with connect("memory:", design, clock=lambda: world.now) as db:
        db.create_tables()
        create_state_tables(db)
        JobRunner(db, world.jobs).create_tables()
        opened = StudioDesign("shop", design, db.backend, [world.consumer], world.jobs)
        yield world, db, StudioClient(StudioApplication({"shop": opened}, DataPlace("memory:", writable=True), TOKEN))


def _run(world: _Broken, db: Store) -> None:
    runner = ConsumerRunner(db, world.consumer, timer=world.seconds)
    try:
        runner.take_over()
        for _ in range(4):
            while runner.step():
                pass
            world.now += timedelta(hours=3)
    finally:
        runner.close()


@pytest.mark.parametrize(("action", "times"), [("retry", 1), ("drop", 0)])
def test_dead_letter_is_shown_and_retried_or_dropped(
    broken: tuple[_Broken, Store, StudioClient], action: str, times: int
) -> None:
    world, db, client = broken
    _run(world, db)
    db.create(Customer(customer_id="c1", email="ana@example.com"))
    db.create(Order(customer_id="c1", placed_at=NOON, order_id="o1"))
    _run(world, db)
    (consumer,) = client.view("/studio/shop/health")["consumers"]
    (letter,) = consumer["letters"]
    page = client.get("/studio/shop/health").text
    assert "no &lt;b&gt;mail&lt;/b&gt; server" in page
    fields = {"consumer": "mails", "sequence": letter["sequence"], "action": action}
    assert client.post("/studio/shop/letter", **{**fields, "sequence": "1"}).status == 404
    assert client.post("/studio/shop/letter", **fields).status == 303
    assert client.view("/studio/shop/health")["consumers"][0]["letters"] == []
    world.fails = False
    _run(world, db)
    after = client.view("/studio/shop/health")["consumers"][0]
    assert after["letters"] == []
    assert after["parked"] == 0
    assert len(world.handled) == times


def test_jobs_show_their_schedule(broken: tuple[_Broken, Store, StudioClient]) -> None:
    _, _, client = broken
    (job,) = client.view("/studio/shop/health")["jobs"]
    assert "hour" in job["schedule"]
    assert job["next_run"]


def latest(client: StudioClient) -> str:
    """The number of the last change."""
    return str(client.view("/studio/shop/history", key=KEY)["changes"][0]["number"])


def test_history_shows_each_change_and_stages_the_way_back(client: StudioClient, db: Store) -> None:
    with db.change(order("c1", NOON, "o0")) as draft:
        draft.note = "second"
    view = client.view("/studio/shop/history", key=KEY)
    assert [each["kind"] for each in view["changes"]] == ["changed", "created"]
    assert view["changes"][0]["before"]["note"] == {"S": "<script>alert(1)</script>"}
    assert view["changes"][0]["after"]["note"] == {"S": "second"}
    assert "<script>alert" not in client.get("/studio/shop/history", key=KEY).text
    assert client.post("/studio/shop/undo", key=KEY, table="shop", number=latest(client)).status == 303
    assert commit(client).status == 303
    assert db.one(order("c1", NOON, "o0")).note == "<script>alert(1)</script>"


def test_deleted_item_is_brought_back_from_its_history(client: StudioClient, db: Store) -> None:
    db.delete(order("c1", NOON, "o0"))
    assert [each["kind"] for each in client.view("/studio/shop/history", key=KEY)["changes"]] == ["deleted", "created"]
    assert client.post("/studio/shop/undo", key=KEY, table="shop", number=latest(client)).status == 303
    assert commit(client).status == 303
    assert db.one(order("c1", NOON, "o0")).order_id == "o0"
    assert db.one(customer("c1")).order_count == 3
    assert client.post("/studio/shop/undo", key=KEY, table="shop", number="9").status == 422


def test_history_that_is_not_kept_says_so(reader: StudioClient) -> None:
    assert "No history is kept here" in reader.get("/studio/shop/history", key=KEY).text


@pytest.mark.parametrize("recovery", [False, True])
def test_engine_keeps_the_history_of_an_item(engine: Engine, recovery: bool) -> None:
    from partita.design.tables import Table
    from partita.plan.proof.prove import prove

    db = Store(engine, prove("plain", Table("plain", "PK", "SK")))
    db.create_tables()
    if recovery:
        enabled = PointInTimeRecoverySpecification(point_in_time_recovery_enabled=True)
        engine.call(UpdateContinuousBackups(table_name="plain", point_in_time_recovery_specification=enabled))
    key = {"PK": {"S": "a"}, "SK": {"S": "b"}}
    for number in range(5):
        engine.call(PutItem(table_name="plain", item={**key, "n": {"N": str(number)}}))
        engine.call(PutItem(table_name="plain", item={"PK": {"S": "other"}, "SK": {"S": str(number)}}))
    found = engine.item_history("plain", key)
    assert found.is_kept is recovery
    states = [each.after["n"]["N"] for each in found.changes if each.after is not None]
    assert states == (["4", "3", "2", "1", "0"] if recovery else [])
    assert engine.item_history("plain", key, most=2).is_complete is not recovery
    assert len(engine.item_history("plain", key, examined=4).changes) == (2 if recovery else 0)
    within = engine.item_history("plain", key, most_bytes=1)
    assert (len(within.changes), within.is_complete) == ((1, False) if recovery else (0, True))


def test_stream_sends_each_change_with_its_entity(client: StudioClient, db: Store) -> None:
    application = client.application
    visit = Visit("/studio", application.place, application.designs, StudioSession(), [])
    visit.arguments = {"design": "shop"}
    live = read_events(visit)
    assert live.read() == []
    with db.change(order("c1", NOON, "o0")) as draft:
        draft.note = "seen"
    (sent,) = live.read()
    kind, _, data = sent.decode().partition("\n")
    change = json.loads(data.removeprefix("data: "))
    assert kind == "event: change"
    assert (change["kind"], change["entity"], change["partition"]) == ("modify", "Order", "CUSTOMER#c1")
    assert change["changed"] == ["note"]
    assert live.read() == []


def test_stream_keeps_up_with_many_writers(client: StudioClient, engine: Engine) -> None:
    application = client.application
    visit = Visit("/studio", application.place, application.designs, StudioSession(), [])
    visit.arguments = {"design": "shop"}
    live = read_events(visit)
    for number in range(1500):
        engine.call(PutItem(table_name="shop", item={"PK": {"S": "busy"}, "SK": {"S": str(number)}}))
    assert len(live.read()) == 1500
    assert live.read() == []


def test_stream_page_says_where_there_is_none(client: StudioClient) -> None:
    assert "data-stream=" in client.get("/studio/shop/stream").text


def test_keys_that_the_server_sees_hot_are_shown_with_their_share(client: StudioClient, db: Store) -> None:
    for _ in range(600):
        db.get(customer("c1"))
    found = client.view("/studio/shop/health")["hot_keys"]
    first = found["keys"][0]
    assert (first["table"], first["key"]) == ("shop", "CUSTOMER#c1")
    assert first["percent"] > 90
    assert "CUSTOMER#c1" in client.get("/studio/shop/health").text


def test_requests_to_an_endpoint_are_not_seen_here(reader: StudioClient) -> None:
    assert reader.view("/studio/shop/health")["hot_keys"] is None
    assert "Not seen from here" in reader.get("/studio/shop/health").text


def test_table_of_a_database_without_backups_still_has_its_size(engine: Engine, db: Store) -> None:
    class WithoutBackups:
        def call(self, request: Any, /) -> Any:
            if "Backup" in type(request).__name__:
                raise DynamoDBError("")
            return engine.call(request)

    opened = StudioDesign("shop", design, WithoutBackups())
    client = StudioClient(StudioApplication({"shop": opened}, DataPlace("http://x", writable=True), TOKEN))
    (table,) = client.view("/studio/shop/health")["tables"]
    assert (table["status"], table["items"], table["has_backups"]) == ("ACTIVE", 5, False)
    assert "This database has no backups." in client.get("/studio/shop/health").text
    reply = client.post("/studio/shop/backup", table="shop", **{"backup-shop": "one"})
    assert (reply.status, "gave no reason" in reply.text) == (422, True)


def test_health_with_more_dead_letters_than_a_page_may_count_shows_the_oldest(
    broken: tuple[_Broken, Store, StudioClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, db, client = broken
    _run(world, db)
    db.create(Customer(customer_id="c1", email="ana@example.com"))
    for number in range(60):
        db.create(Order(customer_id="c1", placed_at=NOON, order_id=f"o{number}"))
    _run(world, db)
    (known,) = client.view("/studio/shop/health")["consumers"]
    assert (known["dead_letters"], len(known["letters"]), known["problem"]) == (60, 50, "")
    assert "The oldest 50." in client.get("/studio/shop/health").text
    whole_call = MeteredBackend.call

    def call(backend: MeteredBackend, request: Any) -> Any:
        if backend.used.requests >= 4:
            raise BudgetExceeded(backend.used, "4 requests")
        return whole_call(backend, request)

    monkeypatch.setattr(MeteredBackend, "call", call)
    (counted,) = client.view("/studio/shop/health")["consumers"]
    assert (counted["state"], len(counted["letters"])) == ("not known", 50)
    page = client.get("/studio/shop/health").text
    assert "at least 50" in page
    assert "the budget of a page is 4 requests" in page
    monkeypatch.undo()
    letter = known["letters"][0]
    fields = {"consumer": "mails", "sequence": letter["sequence"], "action": "retry"}
    assert client.post("/studio/shop/letter", **fields).status == 303


def test_consumer_that_never_ran_says_so(engine: Engine, db: Store) -> None:
    opened = StudioDesign("shop", design, engine, [Consumer("mails")])
    client = StudioClient(StudioApplication({"shop": opened}, DataPlace("memory:"), TOKEN))
    (consumer,) = client.view("/studio/shop/health")["consumers"]
    assert (consumer["state"], consumer["problem"]) == ("has not run here", "")
