"""A change of a check makes it due accordingly at once, not after its old due time."""

from datetime import timedelta
from typing import Any

import pytest

from partita import Store
from partita_systems.checks import design as d
from partita_systems.checks.service import Checks
from tests.rest.client import Client
from tests.systems.checks.conftest import DOWN, UP, Clock, add
from tests.systems.checks.running import run_due

HOUR = 3_600_000


@pytest.fixture
def check(checks: Checks, clock: Clock) -> d.Check:
    """A check that runs every hour and has just run."""
    created = add(checks, checks.register("ana@example.com", user_id="ana").user_id, HOUR)
    assert run_due(checks, lambda _: UP) == 1
    clock.passes(minutes=10)
    assert checks.claim(10) == []
    return created


def claimed(checks: Checks) -> list[str]:
    return [each.check.check_id for each in checks.claim(10)]


@pytest.mark.parametrize(
    "change", [{"url": "https://example.org/"}, {"attributes": {"keyword": "Other"}}, {"delay_ms": 60_000}]
)
def test_a_changed_check_is_due_at_once(checks: Checks, check: d.Check, change: dict[str, Any]) -> None:
    checks.change(check.check_id, **change)
    assert claimed(checks) == [check.check_id]


def test_a_changed_delay_counts_from_the_last_run(checks: Checks, check: d.Check, clock: Clock) -> None:
    assert checks.change(check.check_id, delay_ms=15 * 60_000).due_at == clock() + timedelta(minutes=5)
    assert claimed(checks) == []
    assert checks.change(check.check_id, delay_ms=2 * HOUR).due_at == clock() + timedelta(minutes=110)
    clock.passes(minutes=110)
    assert claimed(checks) == [check.check_id]


def test_a_change_of_nothing_leaves_the_due_time(checks: Checks, check: d.Check) -> None:
    before = checks.db.one(d.check(check.check_id)).due_at
    same = checks.change(check.check_id, url=check.url, delay_ms=HOUR, attributes=check.attributes)
    assert same.due_at == before


def test_a_new_check_stays_due_when_its_delay_changes(checks: Checks, clock: Clock) -> None:
    created = add(checks, checks.register("bo@example.com").user_id)
    assert checks.change(created.check_id, delay_ms=HOUR).due_at == clock()


def test_a_resumed_check_is_due_at_once(checks: Checks, check: d.Check) -> None:
    assert checks.pause(check.check_id).status == d.CheckStatus.PAUSED
    assert claimed(checks) == []
    assert checks.resume(check.check_id).status == d.CheckStatus.ACTIVE
    assert claimed(checks) == [check.check_id]


def test_another_address_forgets_the_failures_of_the_last_one(checks: Checks, check: d.Check, clock: Clock) -> None:
    for _ in range(d.FAILURES_IN_A_ROW):
        clock.passes(hours=6)
        run_due(checks, lambda _: DOWN)
    assert checks.db.one(d.check(check.check_id)).status == d.CheckStatus.FAILED
    changed = checks.change(check.check_id, url="https://example.org/")
    assert (changed.status, changed.failures, changed.due_at) == (d.CheckStatus.ACTIVE, 0, clock())


def test_a_paused_check_stays_paused_when_it_is_changed(checks: Checks, check: d.Check) -> None:
    checks.pause(check.check_id)
    assert checks.change(check.check_id, url="https://example.org/").status == d.CheckStatus.PAUSED
    assert claimed(checks) == []


def test_the_result_of_a_run_before_the_change_is_not_recorded(checks: Checks, check: d.Check, clock: Clock) -> None:
    clock.passes(hours=1)
    (claim,) = checks.claim(10)
    checks.change(check.check_id, url="https://example.org/")
    assert checks.record(claim, DOWN) is None
    (again,) = checks.claim(10)
    assert again.check.url == "https://example.org/"


def test_a_change_over_http_answers_with_the_new_due_time(ana: Client, runner: Client, db: Store, clock: Clock) -> None:
    new = {"url": "https://example.com/", "checkType": "AVAILABILITY", "delayMs": HOUR}
    check = ana.post("/checks", new).json["checkId"]
    (claim,) = runner.post("/claims", {}).json["items"]
    assert runner.post(f"/checks/{check}/results", {"status": "UP", "until": claim["until"]}).status == 201
    clock.passes(minutes=1)
    changed = ana.patch(f"/checks/{check}", {"delayMs": 10_000})
    assert (changed.status, changed.json["delayMs"]) == (200, 10_000)
    assert changed.json["dueAt"] < clock().isoformat()
    assert [each["check"]["checkId"] for each in runner.post("/claims", {}).json["items"]] == [check]
    assert ana.post(f"/checks/{check}/pause").json["status"] == "PAUSED"
    assert ana.post(f"/checks/{check}/resume").json["status"] == "ACTIVE"


def test_a_run_is_not_an_edit(checks: Checks, check: d.Check, clock: Clock) -> None:
    before = checks.db.one(d.check(check.check_id))
    clock.passes(hours=1)
    run_due(checks, lambda _: DOWN)
    after = checks.db.one(d.check(check.check_id))
    assert (after.updated_at, after.created_at) == (before.updated_at, before.created_at)
    assert after.last_executed_at == clock()
