"""A part that is withdrawn leaves nothing behind, wherever that was interrupted."""

import pytest

from partita import SentRequest, Store, connect
from partita_systems.eecar import design as d
from partita_systems.eecar.adoption import adopt
from partita_systems.eecar.service import Eecar
from tests.store.clocks import Clock
from tests.systems.eecar.conftest import a_part, a_spec, a_usage, disk


class Interrupted(Exception):
    """The process ended here."""


def withdrawn_until(db: Store, part_id: str, calls: int) -> bool:
    """Whether the withdrawal was through before so many requests."""
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
def test_a_withdrawal_is_done_again_wherever_it_was_interrupted(uses: int) -> None:
    calls, through = 0, False
    while not through:
        calls += 1
        with connect("memory:", maintain=False) as backend:
            db = Store(backend, d.design, clock=Clock())
            db.create_tables()
            part = listed(db, uses)
            through = withdrawn_until(db, part, calls)
            assert disk(db) == {} or db(d.part(part)) is not None, calls
            adopt(db)
            Eecar(db).parts.withdraw(part)
            assert disk(db) == {}, calls
    assert calls > 5


def listed(db: Store, uses: int) -> str:
    return Eecar(db).parts.list_(a_part(), spec=a_spec(), usages=[a_usage() for _ in range(uses)]).part_id
