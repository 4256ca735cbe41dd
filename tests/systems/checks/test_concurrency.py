"""Concurrent writers on every backend: counters stay exact, and unique items exist once."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from partita import InvalidValue, LimitReached, NotFound, NotUnique, ReferenceMissing, Store
from partita_systems.checks import design as d
from partita_systems.checks.service import Checks
from tests.store.clocks import Clock
from tests.store.conftest import fresh
from tests.systems.checks.conftest import UP, add, disk

pytestmark = pytest.mark.slow

THREADS = 8


@pytest.fixture
def db(backend: Any) -> Store:
    """New tables on each backend in turn, with the real clock and real pauses between retries."""
    fresh(backend, d.design, Clock())
    return Store(backend, d.design)


def at_once(work: Callable[[Any], Any], over: Iterable[Any]) -> list[Any]:
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(work, over))


def counted(db: Store, user_id: str) -> tuple[int, int]:
    """The counter, and the number of checks."""
    count = db.one(d.user(user_id), consistent=True).check_count
    return count, len(list(db(d.checks_of_user(user_id))))


def try_to_add(checks: Checks, user_id: str) -> str | None:
    try:
        return add(checks, user_id).check_id
    except (LimitReached, ReferenceMissing, InvalidValue):
        return None


def test_of_many_concurrent_registrations_of_one_address_exactly_one_succeeds(checks: Checks) -> None:
    def register(number: int) -> bool:
        try:
            checks.register("one@example.com" if number % 2 else "ONE@example.com")
        except NotUnique:
            return False
        return True

    assert sum(at_once(register, range(16))) == 1
    assert checks.find_by_email("One@Example.com") is not None


def test_of_two_concurrent_changes_to_one_address_one_fails(checks: Checks) -> None:
    users = [checks.register(f"{name}@example.com").user_id for name in ("a", "b", "c", "d")]

    def change(user_id: str) -> bool:
        try:
            checks.change_email(user_id, "one@example.com")
        except NotUnique:
            return False
        return True

    assert sum(at_once(change, users)) == 1
    free = [name for name in ("a", "b", "c", "d") if checks.find_by_email(f"{name}@example.com") is None]
    assert len(free) == 1
    assert checks.register(f"{free[0]}@example.com").user_id


def test_concurrent_creations_and_deletions_stay_within_the_limit(checks: Checks, db: Store) -> None:
    user = checks.register("a@example.com", check_limit=10).user_id
    created = [each for each in at_once(lambda _: try_to_add(checks, user), range(24)) if each]
    assert counted(db, user) == (10, 10) == (len(created), 10)
    at_once(lambda turn: checks.remove(created[turn % 4]) if turn % 2 else try_to_add(checks, user), range(16))
    count, there = counted(db, user)
    assert count == there <= 10


def test_concurrent_deletions_of_one_check_count_once(checks: Checks, db: Store) -> None:
    user = checks.register("a@example.com").user_id
    first, *_ = [add(checks, user) for _ in range(3)]
    at_once(lambda _: checks.remove(first.check_id), range(8))
    assert counted(db, user) == (2, 2)


def test_of_several_runners_exactly_one_claims_and_records_a_check(checks: Checks, db: Store) -> None:
    user = checks.register("a@example.com", check_limit=20).user_id
    created = [add(checks, user).check_id for _ in range(12)]
    claimed = [claim for found in at_once(checks.claim, [12] * 4) for claim in found]
    assert sorted(claim.check.check_id for claim in claimed) == sorted(created)
    recorded = at_once(lambda claim: checks.record(claim, UP) is not None, claimed * 2)
    assert sum(recorded) == 12
    assert [len(list(db(d.results(each)))) for each in created] == [1] * 12


def test_a_user_who_is_deleted_while_checks_are_created_leaves_none_behind(checks: Checks, db: Store) -> None:
    user = checks.register("a@example.com", check_limit=40).user_id
    for _ in range(4):
        add(checks, user)

    def act(turn: int) -> None:
        if turn in (6, 9):
            try:
                checks.remove_user(user)
            except NotFound:
                return
        else:
            try_to_add(checks, user)

    at_once(act, range(24))
    assert disk(db, "CHECK") == []
    assert disk(db, "USER") == []
