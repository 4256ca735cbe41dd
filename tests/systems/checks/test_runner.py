"""The runner: slow pages side by side, a lease for one probe, nothing run twice. Alerts: one each, delivered."""

import threading
from datetime import timedelta
from typing import Any

import pytest

from partita import ConsumerAdministration, JobRunner, Store, settle
from partita_systems import delivery as port
from partita_systems.checks import design as d
from partita_systems.checks import jobs as checks_jobs
from partita_systems.checks.consumers import alerts, delivery
from partita_systems.checks.runner import LEASE, CheckRunner
from partita_systems.checks.service import Checks
from tests.systems.checks.conftest import DOWN, UP, Clock
from tests.systems.checks.running import run_due
from tests.timing import PATIENCE

URL = "https://example.com/"


@pytest.fixture
def user(checks: Checks) -> str:
    return checks.register("ana@example.com", check_limit=1000).user_id


def add(checks: Checks, user: str, count: int = 1) -> list[str]:
    return [checks.add(user, URL, d.CheckType.AVAILABILITY, 60_000).check_id for _ in range(count)]


def test_slow_pages_are_probed_side_by_side_and_each_once(checks: Checks, db: Store, user: str) -> None:
    added = add(checks, user, 20)
    together = threading.Barrier(10, timeout=PATIENCE)
    probed: list[str] = []

    def probe(check: d.Check) -> d.Outcome:
        probed.append(check.check_id)
        together.wait()
        return UP

    assert CheckRunner(db, probe, concurrency=10).run_due() == 20
    assert sorted(probed) == sorted(added)


def test_no_more_checks_are_claimed_than_threads_are_free(checks: Checks, db: Store, user: str, clock: Clock) -> None:
    """A hundred slow pages one after the other: none waits under a lease that ends before its turn."""
    add(checks, user, 5)
    probed: list[str] = []

    def probe(check: d.Check) -> d.Outcome:
        probed.append(check.check_id)
        clock.passes(seconds=LEASE.total_seconds() * 0.9)
        return UP

    assert CheckRunner(db, probe, concurrency=1).run_due() == 5
    assert len(set(probed)) == len(probed) == 5


def test_probe_that_raises_is_down_and_others_go_on(checks: Checks, db: Store, user: str) -> None:
    broken, *rest = add(checks, user, 3)

    def probe(check: d.Check) -> d.Outcome:
        if check.check_id == broken:
            raise AssertionError("marked section")
        return UP

    assert CheckRunner(db, probe).run_due() == 3
    states = {each: db.one(d.check(each)).last_result for each in (broken, *rest)}
    assert [found and found.status for found in states.values()] == ["DOWN", "UP", "UP"]


def test_runner_that_is_stopped_finishes_what_it_has_begun(checks: Checks, db: Store, user: str) -> None:
    add(checks, user, 3)
    stopping = threading.Event()

    def probe(check: d.Check) -> d.Outcome:
        stopping.set()
        return UP

    assert CheckRunner(db, probe, concurrency=1).run(stopping.is_set) == 1


def test_two_runners_never_record_one_run_twice(checks: Checks, db: Store, user: str) -> None:
    added = add(checks, user, 60)
    runners = [CheckRunner(db, lambda check: UP, concurrency=4) for _ in range(3)]
    threads = [threading.Thread(target=each.run_due) for each in runners]
    for each in threads:
        each.start()
    for each in threads:
        each.join(PATIENCE)
    assert [len(list(db(d.results(each)))) for each in added] == [1] * 60


def test_job_runs_what_is_due(
    checks: Checks, db: Store, user: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    (check,) = add(checks, user)

    class Probing:
        def __call__(self, found: d.Check) -> d.Outcome:
            clock.passes(seconds=checks_jobs.SECONDS)
            return UP

    monkeypatch.setattr(checks_jobs, "Prober", Probing)
    runner = JobRunner(db, checks_jobs.jobs)
    runner.create_tables()
    runner.step()
    clock.passes(seconds=checks_jobs.SECONDS)
    runner.step()
    assert db.one(d.check(check)).last_result == UP


# alerts -----------------------------------------------------------------------------------------------------------


class Outbox:
    """Collects messages; fails while it is closed."""

    def __init__(self) -> None:
        self.messages: list[port.Message] = []
        self.is_open = True

    def deliver(self, message: port.Message) -> None:
        if not self.is_open:
            raise port.DeliveryError("closed")
        self.messages.append(message)


@pytest.fixture
def outbox(monkeypatch: pytest.MonkeyPatch) -> Outbox:
    found = Outbox()
    monkeypatch.setattr(port, "delivery", lambda: found)
    return found


def run_times(checks: Checks, clock: Clock, *outcomes: d.Outcome) -> None:
    for outcome in outcomes:
        clock.passes(hours=7)
        run_due(checks, lambda _, outcome=outcome: outcome)  # type: ignore[misc]


def test_owner_is_alerted_when_a_check_fails_and_when_it_recovers(
    checks: Checks, db: Store, user: str, clock: Clock, outbox: Outbox
) -> None:
    (check,) = add(checks, user)
    run_times(checks, clock, DOWN, DOWN)
    settle(db, alerts, delivery)
    assert outbox.messages == []
    run_times(checks, clock, DOWN, DOWN, DOWN)
    settle(db, alerts, delivery)
    run_times(checks, clock, UP, UP)
    settle(db, alerts, delivery)
    assert [(each.to, each.subject) for each in outbox.messages] == [
        ("ana@example.com", f"{URL} is down"),
        ("ana@example.com", f"{URL} is up again"),
    ]
    assert "timeout" in outbox.messages[0].text
    assert [each.kind for each in db(d.alerts(check))] == [d.AlertKind.RECOVERED, d.AlertKind.FAILED]


def test_failed_check_that_is_resumed_or_changed_has_not_recovered(
    checks: Checks, db: Store, user: str, clock: Clock, outbox: Outbox
) -> None:
    first, second = add(checks, user, 2)
    run_times(checks, clock, DOWN, DOWN, DOWN)
    checks.pause(first)
    checks.resume(first)
    checks.change(second, url="https://example.org/")
    settle(db, alerts, delivery)
    assert [each.subject for each in outbox.messages] == [f"{URL} is down"] * 2


def test_message_that_cannot_be_delivered_is_tried_again(
    checks: Checks, db: Store, user: str, clock: Clock, outbox: Outbox
) -> None:
    add(checks, user)
    outbox.is_open = False
    run_times(checks, clock, DOWN, DOWN, DOWN)
    settle(db, alerts, delivery)
    outbox.is_open = True
    clock.passes(hours=1)
    settle(db, alerts, delivery)
    assert len({each.id for each in outbox.messages}) == len(outbox.messages) == 1
    assert ConsumerAdministration(db, delivery.name).status().dead_letters == 0


def test_replayed_changes_create_no_second_alert(
    checks: Checks, db: Store, user: str, clock: Clock, outbox: Outbox
) -> None:
    (check,) = add(checks, user)
    run_times(checks, clock, DOWN, DOWN, DOWN)
    settle(db, alerts)
    clock.passes(days=100_000 / 86_400)
    ConsumerAdministration(db, alerts.name).replay(clock() - timedelta(days=3650))
    settle(db, alerts)
    assert len(list(db(d.alerts(check)))) == 1


def test_deleted_check_takes_its_alerts_along(checks: Checks, db: Store, user: str, clock: Clock) -> None:
    (check,) = add(checks, user)
    run_times(checks, clock, DOWN, DOWN, DOWN)
    settle(db, alerts)
    assert len(list(db(d.alerts(check)))) == 1
    checks.remove(check)
    settle(db, alerts)
    assert list(db(d.alerts(check))) == []


def test_alerts_are_listed_for_the_owner_without_the_address(ana: Any, db: Store) -> None:
    check = ana.post("/checks", {"url": URL, "checkType": "AVAILABILITY", "delayMs": 60_000}).json["checkId"]
    stored = d.Alert(check_id=check, at=db.now(), kind=d.AlertKind.FAILED, url=URL, recipient="ana@example.com")
    db.create(stored)
    (shown,) = ana.get(f"/checks/{check}/alerts").json["items"]
    assert shown["kind"] == "FAILED"
    assert "recipient" not in shown
    assert ana.by("bob").get(f"/checks/{check}/alerts").status == 404
