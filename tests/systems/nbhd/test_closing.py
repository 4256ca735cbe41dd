"""Closing a neighborhood: every membership becomes history, whatever happens meanwhile and wherever it stops."""

from contextlib import suppress

import pytest

from partita import InvalidValue, NotFound, ReferenceMissing, Store
from partita.rest import Problem
from partita_systems.nbhd import design as d
from partita_systems.nbhd.service import Nbhd
from tests.rest.client import Client
from tests.store.clocks import Clock
from tests.systems.nbhd.conftest import ALICE, BORA, CHLOE, Interrupted, dies, disk, interrupted, restore

MOMENTS = range(1, 40)


@pytest.fixture
def full(nbhd: Nbhd, downtown: d.Neighborhood, clock: Clock) -> str:
    """Downtown with Bora, and Chloé whose account is deleted."""
    clock.passes(days=1)
    nbhd.join(downtown.id, BORA)
    nbhd.join(downtown.id, CHLOE)
    nbhd.delete_account(CHLOE)
    clock.passes(days=1)
    return downtown.id


def left_behind(db: Store, home: str) -> list[str]:
    """Keys of the neighborhood that are no history, and its guards."""
    return [
        key
        for key in disk(db)
        if (key.startswith(f"NBHD#{home}") and " HISTORY#" not in key) or key.startswith("UNIQUE#Neighborhood")
    ]


def history(db: Store, home: str) -> list[str]:
    return sorted(each.did for each in db(d.past_members(home)))


def test_a_closed_neighborhood_leaves_the_history_of_every_member(
    nbhd: Nbhd, db: Store, full: str, clock: Clock
) -> None:
    nbhd.close(full, ALICE)
    past = {each.did: each for each in db(d.past_members(full))}
    assert past.keys() == {ALICE, BORA, CHLOE}
    assert past[ALICE].role == d.Role.ADMIN
    assert past[BORA].member_since == db.one(d.user(ALICE)).created_at.replace(day=2)
    assert {each.left_at for each in past.values()} == {clock()}
    assert left_behind(db, full) == []
    nbhd.found(BORA, "Downtown Collective")
    with pytest.raises(NotFound):
        nbhd.close(full, ALICE)


def test_closing_goes_on_wherever_it_was_interrupted(nbhd: Nbhd, db: Store, full: str) -> None:
    before = disk(db)
    stopped = 0
    for moment in MOMENTS:
        restore(db, before)
        with suppress(Interrupted):
            interrupted(db, moment, dies).close(full, ALICE)
            break
        stopped += 1
        with suppress(NotFound):  # it was about to answer
            nbhd.close(full, ALICE)
        assert (left_behind(db, full), history(db, full)) == ([], [ALICE, BORA, CHLOE])
    assert stopped > 10


def test_nobody_is_left_in_a_neighborhood_that_closes_while_somebody_joins_leaves_or_comes_back(
    nbhd: Nbhd, db: Store, full: str
) -> None:
    nbhd.register("did:plc:dan", "dan.bsky.social", "Dan")
    before = disk(db)
    refused = (NotFound, ReferenceMissing, InvalidValue)
    for act in (
        lambda: nbhd.join(full, "did:plc:dan"),
        lambda: nbhd.leave(full, BORA),
        lambda: nbhd.restore_account(CHLOE),
        lambda: nbhd.delete_account(BORA),
        lambda: nbhd.set_role(full, BORA, d.Role.ADMIN),
        lambda: nbhd.rename(full, "Uptown"),
        lambda: nbhd.close(full, BORA),
    ):
        for moment in MOMENTS:
            restore(db, before)

            def meanwhile(act: object = act) -> None:
                assert callable(act)
                with suppress(*refused):
                    act()

            service = interrupted(db, moment, meanwhile)
            with suppress(NotFound):
                service.close(full, ALICE)
            assert left_behind(db, full) == []
            assert {ALICE, BORA, CHLOE} <= set(history(db, full))
            assert len(history(db, full)) == len(set(history(db, full)))


def test_while_it_is_closed_nobody_joins_or_builds_and_no_list_has_it(nbhd: Nbhd, db: Store, full: str) -> None:
    with pytest.raises(Interrupted):
        interrupted(db, 3, dies).close(full, ALICE)
    assert db.one(d.neighborhood(full)).closed_by == ALICE
    assert list(db(d.neighborhoods())) == []
    nbhd.register("did:plc:dan", "dan.bsky.social", "Dan")
    with pytest.raises(InvalidValue, match=r"Membership.neighborhood_id: .* is being closed"):
        nbhd.join(full, "did:plc:dan")
    with pytest.raises(InvalidValue, match=r"Site.neighborhood_id"):
        nbhd.create_site(BORA, "Ours", "blog", "ours", neighborhood_id=full)


def test_closing_what_has_changed_since_takes_nothing(nbhd: Nbhd, db: Store, full: str, nobody: Client) -> None:
    before = disk(db)
    alice = nobody.by(ALICE)
    path = f"/neighborhoods/{full}"
    stale = alice.get(path).tag
    for moment in MOMENTS:
        restore(db, before)
        seen = db.one(d.neighborhood(full))

        def unchanged(found: d.Neighborhood, seen: d.Neighborhood = seen) -> None:
            if found.description != seen.description:
                raise Problem(412, "precondition-failed", "changed")

        def edits() -> None:
            with suppress(NotFound), db.change(d.neighborhood(full)) as draft:
                draft.description = "Changed"

        with suppress(Problem):
            interrupted(db, moment, edits).close(full, ALICE, unchanged)
            continue
        assert len(list(db(d.memberships(full)))) == 3
        assert db.one(d.neighborhood(full)).closed_by is None
    restore(db, before)
    edits()
    kept = disk(db)
    assert alice.delete(path, if_match=stale).status == 412
    assert disk(db) == kept
    assert alice.delete(path, if_match=alice.get(path).tag).status == 204


def test_who_closes_it_may_go_on_when_they_are_no_member_any_more(
    nbhd: Nbhd, db: Store, full: str, nobody: Client
) -> None:
    with pytest.raises(Interrupted):
        interrupted(db, 6, dies).close(full, ALICE)
    assert db(d.member(full, ALICE)) is None
    assert nobody.by(BORA).delete(f"/neighborhoods/{full}").status == 403
    assert nobody.by(ALICE).delete(f"/neighborhoods/{full}").status == 204
    assert history(db, full) == [ALICE, BORA, CHLOE]


def test_the_history_of_a_closed_neighborhood_is_there_for_the_group_admin(
    nbhd: Nbhd, full: str, nobody: Client
) -> None:
    nbhd.close(full, ALICE)
    path = f"/neighborhoods/{full}/past-members"
    assert len(nobody.by("root", "admin").get(path).json["items"]) == 3
    assert (nobody.get(path).status, nobody.by(ALICE).get(path).status) == (401, 403)
    assert nobody.by("root", "admin").get(f"/neighborhoods/{full}").status == 404
