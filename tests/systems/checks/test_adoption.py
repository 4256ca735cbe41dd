"""Items of the team's own code can be read as they are, and adoption converts them to the design."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from partita import NotUnique, Store
from partita_systems.checks import design as d
from partita_systems.checks.adoption import adopt
from partita_systems.checks.service import Checks
from tests.store.conftest import fresh
from tests.systems.checks.conftest import DOWN, UP, Clock, add, disk, put
from tests.systems.checks.running import run_due

pytestmark = pytest.mark.slow


EXECUTED = datetime(2024, 6, 29, 14, 5, tzinfo=UTC)


def document_user(db: Store, **other: Any) -> None:
    """The example item of the document's USER table."""
    item = {
        "PK": "123456",
        "SK": "USER",
        "email": "user@example.com",
        "tier": "PRO",
        "checkLimit": 100,
        "status": "ACTIVE",
        "createdAt": "2024-06-29T12:00:00Z",
        "updatedAt": "2024-06-29T12:00:00Z",
    }
    put(db, "USER", **(item | other))


def document_check(db: Store, *left_out: str, **other: Any) -> None:
    """The example item of the document's CHECK table."""
    item = {
        "PK": "abcdef",
        "SK": "CHECK",
        "userid": "123456",
        "url": "https://example.com",
        "checkType": "AVAILABILITY",
        "delayMs": 300_000,
        "status": "ACTIVE",
        "attributes": {"keyword": "Example"},
        "createdAt": "2024-06-29T14:00:00Z",
        "updatedAt": "2024-06-29T14:00:00Z",
        "lastExecutedAt": "2024-06-29T14:05:00Z",
        "lastResult": {"status": "UP", "responseTime": 250, "keywordFound": True},
    }
    put(db, "CHECK", **{name: each for name, each in (item | other).items() if name not in left_out})


@pytest.fixture
def db(backend: Any, clock: Clock) -> Store:
    """New tables on each backend in turn."""
    return fresh(backend, d.design, clock)


@pytest.fixture
def example(db: Store) -> Store:
    """A store with the example items of the document."""
    document_user(db)
    document_check(db)
    return db


def adoption_result(db: Store) -> tuple[int, int, int, int, list[str]]:
    found = adopt(db)
    assert found.unknown == []
    return found.rewritten, found.guards_created, found.counted, found.created, found.refused


def test_the_example_items_can_be_read_and_listed(example: Store) -> None:
    check = example.one(d.check("abcdef"))
    assert check.last_result == UP
    assert (check.due_at, check.failures) == (EXECUTED + timedelta(minutes=5), 0)
    assert list(example(d.checks_of_user("123456"))) == [check]
    (summary,) = example(d.checks_by_type_and_status(d.CheckType.AVAILABILITY, d.CheckStatus.ACTIVE))
    assert summary.check_id == "abcdef"


def test_the_example_items_can_be_changed_before_adoption(example: Store, checks: Checks) -> None:
    checks.pause("abcdef")
    assert "dueShard" not in disk(example, "CHECK")[0]
    checks.resume("abcdef")
    assert [each.check_id for each in example(d.due_checks(checks.now()))] == ["abcdef"]
    checks.remove("abcdef")
    assert disk(example, "CHECK") == []


def test_adopted_items_are_due_counted_and_guarded(example: Store, checks: Checks) -> None:
    assert list(example(d.due_checks(checks.now()))) == []
    assert adoption_result(example) == (2, 1, 1, 0, [])
    assert example.one(d.user("123456")).check_count == 1
    assert [each.check_id for each in example(d.due_checks(checks.now()))] == ["abcdef"]
    with pytest.raises(NotUnique):
        checks.register("USER@example.com")
    assert run_due(checks, lambda _: UP) == 1
    assert adoption_result(example) == (0, 0, 0, 0, [])


def test_a_check_that_never_ran_is_due_one_delay_after_its_creation(db: Store) -> None:
    document_check(db, "lastExecutedAt", "lastResult")
    assert db.one(d.check("abcdef")).due_at == datetime(2024, 6, 29, 14, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ({"available": True}, d.Outcome()),
        ({"status": "UP", "responseTime": 12.5}, d.Outcome(status="UP", response_time=12.5)),
    ],
)
def test_a_result_of_another_form_can_be_read_and_is_kept_until_the_next_run(
    example: Store, checks: Checks, stored: dict[str, Any], read: d.Outcome
) -> None:
    document_check(example, lastResult=stored)
    assert example.one(d.check("abcdef")).last_result == read
    assert [each.last_result for each in example(d.checks_of_user("123456"))] == [read]
    before = disk(example, "CHECK")[0]["lastResult"]
    assert adoption_result(example)[-1] == []
    assert disk(example, "CHECK")[0]["lastResult"] == before
    assert run_due(checks, lambda _: UP) == 1
    assert example.one(d.check("abcdef")).last_result == UP


def test_an_old_check_that_failed_stays_failed_until_a_good_run(db: Store, checks: Checks, clock: Clock) -> None:
    document_user(db)
    document_check(db, status="FAILED")
    assert adoption_result(db)[-1] == []
    run_due(checks, lambda _: DOWN)
    failed = db.one(d.check("abcdef"))
    assert (failed.status, failed.failures) == (d.CheckStatus.FAILED, 4)
    clock.passes(hours=6)
    run_due(checks, lambda _: UP)
    assert db.one(d.check("abcdef")).status == d.CheckStatus.ACTIVE


def test_an_address_with_capitals_is_found_in_any_case_after_adoption(db: Store, checks: Checks) -> None:
    document_user(db, email="User@Example.com")
    found = checks.find_by_email("User@Example.com")
    assert found is not None, "found with the same capitals before adoption"
    assert adoption_result(db) == (2, 1, 0, 0, [])
    for email in ("user@example.com", "USER@EXAMPLE.COM", "User@Example.com"):
        found = checks.find_by_email(email)
        assert found is not None, email
        assert (found.user_id, found.email) == ("123456", "user@example.com")
    assert found.updated_at == datetime(2024, 6, 29, 12, tzinfo=UTC)
    assert adoption_result(db) == (0, 0, 0, 0, [])
    checks.change_email("123456", "other@example.com")
    checks.register("user@example.com")


def test_of_two_users_with_one_address_one_is_adopted_and_the_other_reported(db: Store) -> None:
    stored = {"u1": "User@example.com", "u2": "USER@example.com"}
    for user_id, email in stored.items():
        document_user(db, PK=user_id, email=email)
    *_, report = adoption_result(db)
    holder = db.find_by_unique(d.User, "email", "user@example.com")
    assert holder is not None
    assert holder.email == "user@example.com"
    (other,) = stored.keys() - {holder.user_id}
    assert report == [f"User {other} USER: User.email: {stored[other]!r} is taken"]
    assert db.one(d.user(other)).email == stored[other]
    assert adoption_result(db) == (0, 0, 0, 0, report)


def test_an_invalid_address_and_a_missing_user_are_reported(db: Store) -> None:
    document_user(db, email="nobody")
    document_check(db, userid="gone")
    *_, report = adoption_result(db)
    assert report == [
        "User 123456: User.email: 'nobody' is not a valid e-mail address",
        "Check abcdef: its user gone does not exist",
    ]


def test_an_interrupted_adoption_can_be_repeated(db: Store, checks: Checks) -> None:
    document_user(db, email="User@Example.com")
    document_check(db)
    db.adopt()
    assert adoption_result(db) == (1, 0, 0, 0, [])
    found = checks.find_by_email("user@example.com")
    assert found is not None
    assert found.check_count == 1


def test_a_counter_is_not_decremented_before_adoption(example: Store, checks: Checks) -> None:
    document_check(example, PK="second")
    checks.remove("abcdef")
    assert example.one(d.user("123456")).check_count == 0, "a check that was never counted is not subtracted"
    assert adoption_result(example)[-1] == []
    assert example.one(d.user("123456")).check_count == 1
    document_check(example)
    checks.remove("second")
    checks.remove("abcdef")
    assert example.one(d.user("123456")).check_count == 0
    assert adoption_result(example) == (0, 0, 0, 0, [])


def test_adoption_leaves_our_own_items_unchanged(db: Store, checks: Checks) -> None:
    user = checks.register("a@example.com")
    add(checks, user.user_id)
    checks.pause(add(checks, user.user_id).check_id)
    run_due(checks, lambda _: DOWN)
    before = disk(db, "USER"), disk(db, "CHECK")
    assert adoption_result(db) == (0, 0, 0, 0, [])
    assert (disk(db, "USER"), disk(db, "CHECK")) == before
