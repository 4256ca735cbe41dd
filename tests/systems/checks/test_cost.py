"""Every access pattern costs one GetItem or Query, however much data there is."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from partita import Get, Query, Store
from partita_systems.checks import design as d
from partita_systems.checks.service import Checks
from tests.systems.checks.conftest import UP, Clock, add, disk
from tests.systems.checks.running import run_due
from tests.systems.cost import ONE_READ, costs, put_unchecked

pytestmark = pytest.mark.slow


CROWD = 100
RUNS = 1_000


def calls(checks: Checks, clock: Clock) -> dict[str, Get[Any] | Query[Any]]:
    """Every pattern with arguments that find something."""
    user = checks.register("ana@example.com").user_id
    check = add(checks, user).check_id
    assert run_due(checks, lambda _: UP) == 1
    checks.pause(add(checks, user).check_id)
    at = clock()
    address = "https://example.com/"
    alert = d.Alert(check_id=check, at=at, kind=d.AlertKind.FAILED, url=address, recipient="ana@example.com")
    checks.db.create(alert)
    every: list[Get[Any] | Query[Any]] = [
        *(d.user(user), d.users_by_email("ana@example.com")),
        *(d.check(check), d.checks_of_user(user)),
        d.checks_by_type_and_status(d.CheckType.AVAILABILITY, d.CheckStatus.PAUSED),
        d.due_checks(at + timedelta(hours=1)),
        *(d.results(check), d.results_between(check, at - timedelta(days=1), at), d.result(check, at)),
        *(d.alerts(check), d.alert(check, at)),
    ]
    return {call.read.name: call for call in every}


def crowd(clock: Clock) -> Iterator[Any]:
    """A hundred of every entity, of other users and times."""
    later = clock() + timedelta(days=1)
    for number in range(CROWD):
        user, check = f"u_{number}", f"c_{number}"
        yield d.User(user_id=user, email=f"{user}@example.com", created_at=clock(), updated_at=clock())
        yield d.Check(
            check_id=check,
            user_id=user,
            url="https://example.com/",
            check_type=d.CheckType.EBAY,
            delay_ms=60_000,
            due_at=later,
            created_at=clock(),
            updated_at=clock(),
        )
        yield d.Result(check_id=check, at=clock(), outcome=UP)


def test_every_pattern_costs_one_read_with_a_hundred_times_more_data(checks: Checks, db: Store, clock: Clock) -> None:
    every = calls(checks, clock)
    assert every.keys() == d.design.patterns.keys()
    expected = dict.fromkeys(every, ONE_READ) | {"due_checks": (d.SHARD_COUNT, d.SHARD_COUNT * 0.5)}
    assert costs(db, every.values()) == expected
    put_unchecked(db, crowd(clock))
    assert len(disk(db, "CHECK")) >= 2 * CROWD
    assert costs(db, every.values()) == expected


def test_a_page_of_results_reads_no_more_than_the_page(checks: Checks, db: Store, clock: Clock) -> None:
    check = add(checks, checks.register("a@example.com").user_id).check_id
    runs = (d.Result(check_id=check, at=clock() - timedelta(minutes=ago), outcome=UP) for ago in range(RUNS))
    put_unchecked(db, runs)
    with db.measure() as used:
        assert len(db(d.results(check)).page(10).items) == 10
    assert (used.requests, used.reads) == (1, 0.5)
    with db.measure() as used:
        assert checks.uptime(check, timedelta(days=7)).runs == RUNS
    assert used.requests == 1
    assert used.reads <= 20
