"""A user who is removed leaves nothing behind, whatever comes between."""

import pytest

from partita import Store, ValueRefused
from partita.systems.checks import design as d
from partita.systems.checks.service import Checks
from tests.systems.checks.conftest import UP, add, disk


def test_a_user_who_is_removed_takes_checks_and_results_along(checks: Checks, db: Store) -> None:
    user = checks.register("a@example.com")
    other = add(checks, checks.register("b@example.com").user_id)
    for _ in range(5):
        add(checks, user.user_id)
    assert checks.run_due(lambda _: UP) == 6
    checks.remove_user(user.user_id)
    assert {item["PK"]["S"] for item in disk(db, "CHECK")} == {other.check_id, f"RESULT#{other.check_id}"}
    again = checks.register("A@example.com", user_id=user.user_id)
    assert again.check_count == 0
    assert list(db(d.checks_of_user(user.user_id))) == []


def test_a_removal_that_was_interrupted_is_done_again(
    checks: Checks, db: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = checks.register("a@example.com")
    for _ in range(3):
        add(checks, user.user_id)
    removed: list[str] = []

    def remove_one_and_die(check_id: str) -> None:
        if removed:
            raise KeyboardInterrupt
        removed.append(check_id)
        Checks.remove(checks, check_id)

    monkeypatch.setattr(checks, "remove", remove_one_and_die)
    with pytest.raises(KeyboardInterrupt):
        checks.remove_user(user.user_id)
    monkeypatch.undo()
    left = db.one(d.user(user.user_id))
    assert (left.status, left.check_count) == (d.UserStatus.LEAVING, 2)
    assert checks.claim(10) == []
    checks.remove_user(user.user_id)
    assert disk(db, "USER") == disk(db, "CHECK") == []


def test_who_is_leaving_gets_no_new_checks(checks: Checks, db: Store) -> None:
    user = checks.register("a@example.com")
    with db.change(d.user(user.user_id)) as draft:
        draft.status = d.UserStatus.LEAVING
    with pytest.raises(ValueRefused, match=f"Check.userid: '{user.user_id}' is leaving"):
        add(checks, user.user_id)
    assert disk(db, "CHECK") == []


def test_a_check_that_its_index_does_not_show_yet_is_waited_for(
    checks: Checks, db: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = checks.register("a@example.com")
    add(checks, user.user_id)
    shown, late = d.checks_of_user, ["nobody", "nobody"]
    monkeypatch.setattr(d, "checks_of_user", lambda userid: shown(late.pop() if late else userid))
    checks.remove_user(user.user_id)
    assert disk(db, "USER") == disk(db, "CHECK") == []
