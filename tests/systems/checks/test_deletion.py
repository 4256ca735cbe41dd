"""Deleting a user or a check leaves nothing behind, whatever happens concurrently."""

from itertools import count
from typing import Any

import pytest

from partita import InvalidValue, Store, connect
from partita_systems.checks import design as d
from partita_systems.checks.service import Checks
from tests.systems.checks.conftest import UP, Clock, add, disk
from tests.systems.checks.running import run_due

pytestmark = pytest.mark.slow


def test_deleting_a_user_deletes_checks_and_results(checks: Checks, db: Store) -> None:
    user = checks.register("a@example.com")
    other = add(checks, checks.register("b@example.com").user_id)
    for _ in range(5):
        add(checks, user.user_id)
    assert run_due(checks, lambda _: UP) == 6
    checks.remove_user(user.user_id)
    assert {item["PK"]["S"] for item in disk(db, "CHECK")} == {other.check_id, f"RESULT#{other.check_id}"}
    again = checks.register("A@example.com", user_id=user.user_id)
    assert again.check_count == 0
    assert list(db(d.checks_of_user(user.user_id))) == []


def test_an_interrupted_deletion_can_be_repeated(checks: Checks, db: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    user = checks.register("a@example.com")
    for _ in range(3):
        add(checks, user.user_id)
    removed: list[str] = []

    def remove_one_and_stop(check_id: str) -> None:
        if removed:
            raise KeyboardInterrupt
        removed.append(check_id)
        Checks.remove(checks, check_id)

    monkeypatch.setattr(checks, "remove", remove_one_and_stop)
    with pytest.raises(KeyboardInterrupt):
        checks.remove_user(user.user_id)
    monkeypatch.undo()
    left = db.one(d.user(user.user_id))
    assert (left.status, left.check_count) == (d.UserStatus.DELETING, 2)
    assert checks.claim(10) == []
    checks.remove_user(user.user_id)
    assert disk(db, "USER") == disk(db, "CHECK") == []


def test_a_user_under_deletion_gets_no_new_checks(checks: Checks, db: Store) -> None:
    user = checks.register("a@example.com")
    with db.change(d.user(user.user_id)) as draft:
        draft.status = d.UserStatus.DELETING
    with pytest.raises(InvalidValue, match=f"Check.userId: user '{user.user_id}' is being deleted"):
        add(checks, user.user_id)
    assert disk(db, "CHECK") == []


def test_deletion_waits_for_a_check_that_the_index_does_not_list_yet(
    checks: Checks, db: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = checks.register("a@example.com")
    add(checks, user.user_id)
    listed, late = d.checks_of_user, ["nobody", "nobody"]
    monkeypatch.setattr(d, "checks_of_user", lambda user_id: listed(late.pop() if late else user_id))
    checks.remove_user(user.user_id)
    assert disk(db, "USER") == disk(db, "CHECK") == []


def left_after_a_result_at(request: int, what: str) -> list[dict[str, Any]] | None:
    """The items that remain if a result is recorded after this request of the deletion; None if there are fewer."""
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, d.design, clock=Clock(), sleep=lambda _: None)
        db.create_tables()
        checks = Checks(db)
        user = checks.register("a@example.com").user_id
        check = add(checks, user).check_id
        (claim,) = checks.claim(1)
        requests = count(1)

        def count_request(_: object) -> None:
            if next(requests) == request:
                checks.record(claim, UP)

        removing = Checks(Store(backend, d.design, clock=Clock(), sleep=lambda _: None, on_call=[count_request]))
        if what == "the check":
            removing.remove(check)
        else:
            removing.remove_user(user)
        return disk(db, "CHECK") if next(requests) > request else None


@pytest.mark.parametrize("what", ["the check", "its user"])
def test_a_result_that_is_recorded_during_the_deletion_is_deleted(what: str) -> None:
    request = 1
    while (left := left_after_a_result_at(request, what)) is not None:
        assert left == [], request
        request += 1
    assert request > 4
