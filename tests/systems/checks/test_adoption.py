"""Rows that the team's own code wrote are read as they are, and become what the design says."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from partita import NotUnique, Store
from partita_systems.checks import design as d
from partita_systems.checks.adoption import adopt
from partita_systems.checks.service import Checks
from tests.store.conftest import fresh
from tests.systems.checks.conftest import DOWN, UP, Clock, add, disk, put

EXECUTED = datetime(2024, 6, 29, 14, 5, tzinfo=UTC)


def document_user(db: Store, **other: Any) -> None:
    """The example of the document's USER table."""
    shown = {
        "PK": "123456",
        "SK": "USER",
        "email": "user@example.com",
        "tier": "PRO",
        "checkLimit": 100,
        "status": "ACTIVE",
        "createdAt": "2024-06-29T12:00:00Z",
        "updatedAt": "2024-06-29T12:00:00Z",
    }
    put(db, "USER", **(shown | other))


def document_check(db: Store, *left_out: str, **other: Any) -> None:
    """The example of the document's CHECK table."""
    shown = {
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
    put(db, "CHECK", **{name: each for name, each in (shown | other).items() if name not in left_out})


@pytest.fixture
def db(backend: Any, clock: Clock) -> Store:
    """New tables on each backend in turn."""
    return fresh(backend, d.design, clock)


@pytest.fixture
def example(db: Store) -> Store:
    """The items that the document shows, as it shows them."""
    document_user(db)
    document_check(db)
    return db


def done(db: Store) -> tuple[int, int, int, int, list[str]]:
    found = adopt(db)
    assert found.unknown == []
    return found.rewritten, found.guards_created, found.counted, found.created, found.refused


def test_the_document_s_own_example_is_read_and_listed_as_it_is(example: Store) -> None:
    check = example.one(d.check("abcdef"))
    assert check.last_result == UP
    assert (check.due_at, check.failures) == (EXECUTED + timedelta(minutes=5), 0)
    assert list(example(d.checks_of_user("123456"))) == [check]
    (summary,) = example(d.checks_by_type_and_status(d.CheckType.AVAILABILITY, d.CheckStatus.ACTIVE))
    assert summary.check_id == "abcdef"


def test_the_document_s_own_example_can_be_changed_before_it_is_adopted(example: Store, checks: Checks) -> None:
    checks.pause("abcdef")
    assert "dueShard" not in disk(example, "CHECK")[0]
    checks.resume("abcdef")
    assert [each.check_id for each in example(d.due_checks(checks.now()))] == ["abcdef"]
    checks.remove("abcdef")
    assert disk(example, "CHECK") == []


def test_the_document_s_own_example_becomes_due_counted_and_guarded(example: Store, checks: Checks) -> None:
    assert list(example(d.due_checks(checks.now()))) == []
    assert done(example) == (2, 1, 1, 0, [])
    assert example.one(d.user("123456")).check_count == 1
    assert [each.check_id for each in example(d.due_checks(checks.now()))] == ["abcdef"]
    with pytest.raises(NotUnique):
        checks.register("USER@example.com")
    assert checks.run_due(lambda _: UP) == 1
    assert done(example) == (0, 0, 0, 0, [])


def test_a_check_that_was_never_run_is_due_one_delay_after_it_was_made(db: Store) -> None:
    document_check(db, "lastExecutedAt", "lastResult")
    assert db.one(d.check("abcdef")).due_at == datetime(2024, 6, 29, 14, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ({"available": True}, d.Outcome()),
        ({"status": "UP", "responseTime": 12.5}, d.Outcome(status="UP", response_time=12.5)),
    ],
)
def test_an_old_result_of_another_form_is_read_listed_kept_and_replaced_by_the_next_run(
    example: Store, checks: Checks, stored: dict[str, Any], read: d.Outcome
) -> None:
    document_check(example, lastResult=stored)
    assert example.one(d.check("abcdef")).last_result == read
    assert [each.last_result for each in example(d.checks_of_user("123456"))] == [read]
    before = disk(example, "CHECK")[0]["lastResult"]
    assert done(example)[-1] == []
    assert disk(example, "CHECK")[0]["lastResult"] == before
    assert checks.run_due(lambda _: UP) == 1
    assert example.one(d.check("abcdef")).last_result == UP


def test_an_old_check_that_failed_stays_failed_until_a_good_run(db: Store, checks: Checks, clock: Clock) -> None:
    document_user(db)
    document_check(db, status="FAILED")
    assert done(db)[-1] == []
    checks.run_due(lambda _: DOWN)
    failed = db.one(d.check("abcdef"))
    assert (failed.status, failed.failures) == (d.CheckStatus.FAILED, 4)
    clock.passes(hours=6)
    checks.run_due(lambda _: UP)
    assert db.one(d.check("abcdef")).status == d.CheckStatus.ACTIVE


def test_an_address_with_capitals_is_found_after_adoption_whatever_its_case(db: Store, checks: Checks) -> None:
    document_user(db, email="User@Example.com")
    found = checks.find_by_email("User@Example.com")
    assert found is not None, "as it was stored it is found before"
    assert done(db) == (2, 1, 0, 0, [])
    for email in ("user@example.com", "USER@EXAMPLE.COM", "User@Example.com"):
        found = checks.find_by_email(email)
        assert found is not None, email
        assert (found.user_id, found.email) == ("123456", "user@example.com")
    assert found.updated_at == datetime(2024, 6, 29, 12, tzinfo=UTC)
    assert done(db) == (0, 0, 0, 0, [])
    checks.change_email("123456", "other@example.com")
    checks.register("user@example.com")


def test_of_two_who_have_one_address_one_holds_it_and_the_other_is_named_and_left_as_it_was(db: Store) -> None:
    stored = {"u1": "User@example.com", "u2": "USER@example.com"}
    for user_id, email in stored.items():
        document_user(db, PK=user_id, email=email)
    *_, refused = done(db)
    holder = db.find_by_unique(d.User, "email", "user@example.com")
    assert holder is not None
    assert holder.email == "user@example.com"
    (other,) = stored.keys() - {holder.user_id}
    assert refused == [f"User {other} USER: User.email: {stored[other]!r} is taken"]
    assert db.one(d.user(other)).email == stored[other]
    assert done(db) == (0, 0, 0, 0, refused)


def test_what_is_no_address_and_whose_user_is_gone_is_named(db: Store) -> None:
    document_user(db, email="nobody")
    document_check(db, userid="gone")
    *_, refused = done(db)
    assert refused == [
        "User 123456: User.email: 'nobody' is no e-mail address",
        "Check abcdef: its user gone does not exist",
    ]


def test_an_adoption_that_was_interrupted_is_done_again(db: Store, checks: Checks) -> None:
    document_user(db, email="User@Example.com")
    document_check(db)
    db.adopt()
    assert done(db) == (1, 0, 0, 0, [])
    found = checks.find_by_email("user@example.com")
    assert found is not None
    assert found.check_count == 1


def test_a_count_does_not_fall_before_anything_was_counted(example: Store, checks: Checks) -> None:
    document_check(example, PK="second")
    checks.remove("abcdef")
    assert example.one(d.user("123456")).check_count == 0, "what was never counted is not taken away"
    assert done(example)[-1] == []
    assert example.one(d.user("123456")).check_count == 1
    document_check(example)
    checks.remove("second")
    checks.remove("abcdef")
    assert example.one(d.user("123456")).check_count == 0
    assert done(example) == (0, 0, 0, 0, [])


def test_what_this_code_wrote_needs_no_adoption(db: Store, checks: Checks) -> None:
    user = checks.register("a@example.com")
    add(checks, user.user_id)
    checks.pause(add(checks, user.user_id).check_id)
    checks.run_due(lambda _: DOWN)
    before = disk(db, "USER"), disk(db, "CHECK")
    assert done(db) == (0, 0, 0, 0, [])
    assert (disk(db, "USER"), disk(db, "CHECK")) == before
