"""Withdrawing a part leaves nothing behind, even after an interruption."""

import pytest

from partita import SentRequest, Store, connect
from partita_systems.eecar import design as d
from partita_systems.eecar.adoption import adopt
from partita_systems.eecar.service import Eecar
from tests.store.clocks import Clock
from tests.systems.eecar.conftest import a_part, a_spec, a_usage, disk

pytestmark = pytest.mark.slow


class Interrupted(Exception):
    """Stands for a process that was stopped."""


def withdraw_until(db: Store, part_id: str, calls: int) -> bool:
    """Whether the withdrawal ended before this number of requests."""
    left = [calls]

    def count(_: SentRequest) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Interrupted

    try:
        Eecar(Store(db.backend, d.design, clock=Clock(), on_call=[count])).parts.withdraw(part_id)
    except Interrupted:
        return False
    return True


@pytest.mark.parametrize("uses", [2, 95])
def test_a_withdrawal_interrupted_after_any_request_can_be_repeated(uses: int) -> None:
    calls, done = 0, False
    while not done:
        calls += 1
        with connect("memory:", maintain=False) as backend:
            db = Store(backend, d.design, clock=Clock())
            db.create_tables()
            part = offered_part(db, uses)
            done = withdraw_until(db, part, calls)
            assert disk(db) == {} or db(d.part(part)) is not None, calls
            adopt(db)
            Eecar(db).parts.withdraw(part)
            assert disk(db).keys() <= {"ADOPTED CATEGORIES"}, calls
    assert calls > 5


def offered_part(db: Store, uses: int) -> str:
    return Eecar(db).parts.offer(a_part(), spec=a_spec(), usages=[a_usage() for _ in range(uses)]).part_id
