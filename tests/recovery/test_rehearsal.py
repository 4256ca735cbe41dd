"""A rehearsal fails where a restore is wrong, and not where programs work."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from partita import Store, connect
from partita.dynamodb.backup_shapes import DescribeBackup
from partita.dynamodb.requests import DescribeContinuousBackups, Request
from partita.errors import RehearsalFailed, RestorePointMissing
from partita.recovery import back_up, rehearsal
from partita.recovery.rehearsal import rehearse_table
from partita.recovery.restoring import run_restore
from tests.cli import ledger
from tests.cli.ledger import Entry


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", ledger.design) as db:
        db.create_tables()
        for number in range(5):
            db.create(Entry(entry_id=str(number), amount=number))
        yield db


def _restore_with(db: Store, monkeypatch: pytest.MonkeyPatch, before: Any, behind: Any) -> list[str]:
    """Calls two functions around each restore; returns the names of the scratch tables."""
    scratch: list[str] = []

    def restore(backend: Any, planned: Any) -> Any:
        scratch.append(planned.target)
        before()
        described = run_restore(backend, planned)
        behind(described.table_name)
        return described

    monkeypatch.setattr(rehearsal, "run_restore", restore)
    return scratch


def test_item_that_is_changed_and_changed_back_is_no_failure(db: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was the same before and behind, and another one at the second of the restore."""
    times = iter(range(10))

    def restored_while_changed(name: str) -> None:
        if next(times) < 2:  # the restore has seen what was there for a moment
            scratch = db.with_settings(table_names={"ledger": name})
            scratch.delete(ledger.entry("3"))

    reported: list[str] = []
    scratch = _restore_with(db, monkeypatch, lambda: None, restored_while_changed)
    done = rehearse_table(db.backend, "ledger", report=reported.append)
    assert (done.items, done.changed, len(scratch), len(set(scratch))) == (5, 0, 3, 3)
    again = "ledger: 1 item differs, or was changed and changed back meanwhile; rehearsing again"
    assert [each for each in reported if not each.startswith("waiting")] == [again, again]


def test_item_that_is_always_restored_wrongly_is_a_failure(db: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(name: str) -> None:
        with db.with_settings(table_names={"ledger": name}).change(ledger.entry("3")) as draft:
            draft.amount = -1

    scratch = _restore_with(db, monkeypatch, lambda: None, wrong)
    with pytest.raises(RehearsalFailed, match="1 of 5 items differ"):
        rehearse_table(db.backend, "ledger")
    assert len(scratch) == rehearsal.ATTEMPTS


def test_many_wrong_items_are_not_rehearsed_again(db: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "MOST_DIFFERENT", 3)

    def empty(name: str) -> None:
        for number in range(5):
            db.with_settings(table_names={"ledger": name}).delete(ledger.entry(str(number)))

    scratch = _restore_with(db, monkeypatch, lambda: None, empty)
    with pytest.raises(RehearsalFailed, match="5 of 0 items differ"):
        rehearse_table(db.backend, "ledger")
    assert len(scratch) == 1


class _Replies:
    """A backend with replies as Amazon's."""

    def __init__(self, db: Store, change: Any) -> None:
        self._db, self._change = db, change

    def call(self, request: Request[Any]) -> Any:
        reply = self._db.backend.call(request)
        self._change(request, reply)
        return reply


def test_what_is_waited_for_is_reported_and_has_an_end(db: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Amazon is minutes behind, and other servers may never get there."""
    monkeypatch.setattr(rehearsal, "PATIENCE", timedelta(seconds=0.3))
    monkeypatch.setattr(rehearsal, "REPORT_AFTER", 0.0)
    early = datetime(2020, 1, 1, tzinfo=UTC).timestamp()

    def behind(request: Any, reply: Any) -> None:
        if isinstance(request, DescribeContinuousBackups):
            found = reply.continuous_backups_description.point_in_time_recovery_description
            found.earliest_restorable_date_time = found.latest_restorable_date_time = early

    reported: list[str] = []
    with pytest.raises(RestorePointMissing, match="2020-01-01T00:00:00Z"):
        rehearse_table(_Replies(db, behind), "ledger", report=reported.append)
    assert set(reported) == {reported[0]}
    assert reported[0].startswith("waiting: ledger can be restored as at 20")


def test_approximate_numbers_of_a_backup_are_not_compared(db: Store) -> None:
    """Amazon updates the number of a table's items every six hours."""

    def as_amazon(request: Any, reply: Any) -> None:
        if isinstance(request, DescribeContinuousBackups):
            reply.continuous_backups_description.point_in_time_recovery_description = None
        for each in getattr(reply, "backup_summaries", None) or ():
            each.backup_arn = each.backup_arn.replace(":000000000000:", ":123456789012:")
        if isinstance(request, DescribeBackup):
            reply.backup_description.source_table_details.item_count = 3

    back_up(db, "today")
    backend = _Replies(db, as_amazon)
    done = rehearse_table(_Accounts(backend), "ledger")
    assert (done.items, done.is_compared) == (5, False)


class _Accounts:
    """Requests for ARNs of Amazon's account, for an engine."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def call(self, request: Any) -> Any:
        if getattr(request, "backup_arn", None):
            request.backup_arn = request.backup_arn.replace(":123456789012:", ":000000000000:")
        return self._backend.call(request)
