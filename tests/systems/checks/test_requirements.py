"""Each problem of the document that the page lists, and the behaviour that solves it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from partita import LimitReached, NotUnique, ReferenceMissing, Store
from partita_systems.checks import design as d
from partita_systems.checks import service
from partita_systems.checks.service import LEASE, Checks
from tests.systems.checks.conftest import DOWN, UP, Clock, add, disk
from tests.systems.checks.running import run_due

# names on disk ----------------------------------------------------------------------------------------------------


def test_items_on_disk_have_the_document_s_names_and_keys(checks: Checks, db: Store) -> None:
    user = checks.register("user@example.com", tier=d.Tier.PRO, check_limit=100)
    check = add(checks, user.user_id)
    (stored,) = [item for item in disk(db, "USER") if item["SK"] == {"S": "USER"}]
    assert stored.keys() == {
        *("PK", "SK", "email", "tier", "checkLimit", "status", "createdAt", "updatedAt"),
        "checkCount",
    }
    assert stored["PK"] == {"S": user.user_id}
    (item,) = disk(db, "CHECK")
    assert item["PK"] == {"S": check.check_id}
    assert item["SK"] == {"S": "CHECK"}
    assert item["userid"] == {"S": user.user_id}
    assert item["attributes"] == {"M": {"keyword": {"S": "Example"}}}
    assert item["createdAt"] == {"S": "2025-01-01T00:00:00.000000Z"}


# find by email: not unique ----------------------------------------------------------------------------------------


def test_an_email_address_is_unique_without_case(checks: Checks) -> None:
    checks.register("Ann@example.com")
    with pytest.raises(NotUnique, match=r"User.email: 'ann@example.com' is taken"):
        checks.register("ANN@EXAMPLE.COM")


def test_a_user_is_found_by_email_in_any_case(checks: Checks) -> None:
    ann = checks.register("Ann@example.com")
    found = checks.find_by_email("ANN@example.com")
    assert found == ann


def test_a_changed_address_is_free_again_and_the_new_one_is_taken(checks: Checks) -> None:
    ann = checks.register("ann@example.com")
    checks.change_email(ann.user_id, "anna@example.com")
    checks.register("ann@example.com")
    with pytest.raises(NotUnique):
        checks.register("anna@example.com")


def test_of_many_registrations_of_one_address_exactly_one_succeeds(checks: Checks) -> None:
    def register(_: int) -> bool:
        try:
            checks.register("one@example.com")
        except NotUnique:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(register, range(40))) == 1


# checkLimit: nothing counts ---------------------------------------------------------------------------------------


def test_creating_a_check_counts_and_stops_at_the_limit(checks: Checks, db: Store) -> None:
    user = checks.register("a@example.com", check_limit=2)
    first = add(checks, user.user_id)
    add(checks, user.user_id)
    with pytest.raises(LimitReached, match="would exceed the limit check_count <= check_limit"):
        add(checks, user.user_id)
    assert db.one(d.user(user.user_id)).check_count == 2
    checks.remove(first.check_id)
    assert db.one(d.user(user.user_id)).check_count == 1
    add(checks, user.user_id)


def test_a_limit_lowered_below_the_count_allows_no_new_check(checks: Checks, db: Store) -> None:
    user = checks.register("a@example.com", check_limit=5)
    for _ in range(3):
        add(checks, user.user_id)
    with db.change(d.user(user.user_id)) as draft:
        draft.check_limit = 1
    with pytest.raises(LimitReached):
        add(checks, user.user_id)
    assert db.one(d.user(user.user_id)).check_count == 3


def test_concurrent_creations_and_deletions_leave_the_exact_count(checks: Checks, db: Store) -> None:
    user = checks.register("a@example.com", check_limit=10)

    def try_to_add(_: int) -> str | None:
        try:
            return add(checks, user.user_id).check_id
        except LimitReached:
            return None

    with ThreadPoolExecutor(8) as threads:
        created = [check_id for check_id in threads.map(try_to_add, range(30)) if check_id]
        assert len(created) == 10
        list(threads.map(checks.remove, created[:4]))
    assert db.one(d.user(user.user_id)).check_count == 6
    assert len(list(db(d.checks_of_user(user.user_id)))) == 6


def test_a_check_of_an_unknown_user_is_rejected_and_nothing_is_written(checks: Checks, db: Store) -> None:
    with pytest.raises(ReferenceMissing, match="Check refers to User nobody, which does not exist"):
        add(checks, "nobody")
    assert disk(db, "CHECK") == []


def test_counting_does_not_change_updated_at(checks: Checks, db: Store, clock: Clock) -> None:
    user = checks.register("a@example.com")
    clock.passes(hours=1)
    add(checks, user.user_id)
    assert db.one(d.user(user.user_id)).updated_at == user.updated_at


# running the checks: no index says what is due --------------------------------------------------------------------


def test_due_checks_are_ordered_over_all_shards_with_one_query_per_shard(
    checks: Checks, db: Store, clock: Clock
) -> None:
    user = checks.register("a@example.com", check_limit=50)
    created = []
    for _ in range(20):
        created.append(add(checks, user.user_id).check_id)
        clock.passes(seconds=1)
    with db.measure() as used:
        due = [check.check_id for check in db(d.due_checks(clock()))]
    assert due == created
    assert used.requests == d.SHARD_COUNT


def test_a_paused_check_is_not_due_and_a_resumed_one_is(checks: Checks, db: Store, clock: Clock) -> None:
    check = add(checks, checks.register("a@example.com").user_id)
    checks.pause(check.check_id)
    assert list(db(d.due_checks(clock()))) == []
    (stored,) = disk(db, "CHECK")
    assert "dueShard" not in stored
    checks.resume(check.check_id)
    assert [each.check_id for each in db(d.due_checks(clock()))] == [check.check_id]


def test_checks_by_type_and_status_have_the_projected_attributes(checks: Checks, db: Store) -> None:
    user = checks.register("a@example.com")
    check = add(checks, user.user_id)
    (summary,) = db(d.checks_by_type_and_status(d.CheckType.AVAILABILITY, d.CheckStatus.ACTIVE))
    assert (summary.check_id, summary.user_id, summary.created_at) == (check.check_id, user.user_id, check.created_at)
    assert list(db(d.checks_by_type_and_status(d.CheckType.AVAILABILITY, d.CheckStatus.PAUSED))) == []


# several runners: two would run one check twice -------------------------------------------------------------------


def test_of_several_runners_exactly_one_claims_a_check(checks: Checks) -> None:
    user = checks.register("a@example.com", check_limit=20)
    for _ in range(12):
        add(checks, user.user_id)
    with ThreadPoolExecutor(6) as threads:
        claimed = [claim.check.check_id for found in threads.map(checks.claim, [12] * 6) for claim in found]
    assert len(claimed) == len(set(claimed)) == 12


def test_a_crashed_runner_loses_its_lease_and_cannot_record_later(checks: Checks, db: Store, clock: Clock) -> None:
    check = add(checks, checks.register("a@example.com").user_id)
    (expired,) = checks.claim(1)
    assert checks.claim(1) == []
    clock.passes(seconds=LEASE.total_seconds() + 1)
    (current,) = checks.claim(1)
    assert checks.record(current, UP)
    assert not checks.record(expired, DOWN)
    assert db.one(d.check(check.check_id)).last_result == UP
    assert len(list(db(d.results(check.check_id)))) == 1


def test_a_suspended_user_s_check_is_not_run(checks: Checks, clock: Clock) -> None:
    user = checks.register("a@example.com")
    add(checks, user.user_id)
    checks.suspend(user.user_id)
    assert checks.claim(10) == []


def test_a_check_paused_while_it_runs_stays_paused(checks: Checks, db: Store) -> None:
    check = add(checks, checks.register("a@example.com").user_id)
    (claim,) = checks.claim(1)
    checks.pause(check.check_id)
    assert not checks.record(claim, UP)
    assert db.one(d.check(check.check_id)).status == d.CheckStatus.PAUSED


# results: would show up as a check --------------------------------------------------------------------------------


def test_a_result_is_in_no_index_and_not_among_the_user_s_checks(checks: Checks, db: Store, clock: Clock) -> None:
    user = checks.register("a@example.com")
    check = add(checks, user.user_id)
    assert run_due(checks, lambda _: UP) == 1
    assert [each.check_id for each in db(d.checks_of_user(user.user_id))] == [check.check_id]
    (result,) = [item for item in disk(db, "CHECK") if str(item["PK"]["S"]).startswith("RESULT#")]
    assert not result.keys() & {"userid", "checkType", "status", "dueShard", "dueAt"}
    assert result["ttl"] == {"N": str(int((clock() + d.KEEP_RESULTS).timestamp()))}


def test_results_expire_and_are_deleted_with_their_check(checks: Checks, db: Store, clock: Clock) -> None:
    check = add(checks, checks.register("a@example.com").user_id)
    run_due(checks, lambda _: UP)
    clock.passes(days=29)
    run_due(checks, lambda _: UP)
    assert len(list(db(d.results(check.check_id)))) == 2
    clock.passes(days=2)
    assert len(list(db(d.results(check.check_id)))) == 1
    checks.remove(check.check_id)
    assert [item["PK"] for item in disk(db, "CHECK")] == []


def test_three_failures_set_failed_with_back_off_and_recovery_sets_active(
    checks: Checks, db: Store, clock: Clock
) -> None:
    check = add(checks, checks.register("a@example.com").user_id, delay_ms=60_000)
    for expected, wait in ((d.CheckStatus.ACTIVE, 60), (d.CheckStatus.ACTIVE, 60), (d.CheckStatus.FAILED, 120)):
        assert run_due(checks, lambda _: DOWN) == 1
        stored = db.one(d.check(check.check_id))
        assert stored.status == expected
        assert stored.due_at == clock() + timedelta(seconds=wait)
        clock.passes(seconds=wait)
    run_due(checks, lambda _: UP)
    recovered = db.one(d.check(check.check_id))
    assert recovered.status == d.CheckStatus.ACTIVE
    assert recovered.failures == 0
    assert recovered.updated_at == check.updated_at


def test_uptime_and_latency_are_those_of_the_window(checks: Checks, clock: Clock) -> None:
    check = add(checks, checks.register("a@example.com").user_id, delay_ms=60_000)
    for outcome in (DOWN, UP, UP, DOWN):
        clock.passes(minutes=1)
        run_due(checks, lambda _, outcome=outcome: outcome)  # type: ignore[misc]
    whole = checks.uptime(check.check_id, timedelta(hours=1))
    assert (whole.runs, whole.share, whole.mean_ms, whole.p95_ms) == (4, 0.5, 250.0, 250.0)
    assert (whole.since, whole.whole) == (clock() - timedelta(hours=1), True)
    assert checks.uptime(check.check_id, timedelta(minutes=2)).runs == 3


def test_uptime_reads_a_bounded_number_of_runs_and_reports_it(
    checks: Checks, db: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = add(checks, checks.register("a@example.com").user_id)
    monkeypatch.setattr(service, "MAX_RUNS", 3)
    for outcome in (DOWN, DOWN, UP, UP, DOWN):
        clock.passes(minutes=1)
        run_due(checks, lambda _, outcome=outcome: outcome)  # type: ignore[misc]
    with db.measure() as used:
        found = checks.uptime(check.check_id, timedelta(hours=1))
    assert (found.runs, found.share, found.whole) == (3, 2 / 3, False)
    assert found.since == clock() - timedelta(minutes=2)
    assert used.requests == 1
