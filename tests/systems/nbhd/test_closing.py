"""Closing a neighborhood: every membership becomes history, even with concurrent writes and interruptions."""

from contextlib import suppress

import pytest

from partita import InvalidValue, NotFound, ReferenceMissing, Store
from partita.rest import Problem
from partita_systems.nbhd import design as d
from partita_systems.nbhd.service import Nbhd
from tests.rest.client import Client
from tests.store.clocks import Clock
from tests.systems.nbhd.conftest import ALICE, BORA, CHLOE, Interrupted, disk, interrupted, restore, stop

MOMENTS = range(1, 40)


@pytest.fixture
def full(nbhd: Nbhd, downtown: d.Neighborhood, clock: Clock) -> str:
    """The id of Downtown with Bora, and Chloé, whose account is deleted."""
    clock.passes(days=1)
    nbhd.join(downtown.neighborhood_id, BORA)
    nbhd.join(downtown.neighborhood_id, CHLOE)
    nbhd.delete_account(CHLOE)
    clock.passes(days=1)
    return downtown.neighborhood_id


def left_behind(db: Store, home: str) -> list[str]:
    """Keys of the neighborhood except its history, and its guards."""
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
    nbhd.create_neighborhood(BORA, "Downtown Collective")
    with pytest.raises(NotFound):
        nbhd.close(full, ALICE)


def test_a_closing_interrupted_after_any_request_can_be_repeated(nbhd: Nbhd, db: Store, full: str) -> None:
    before = disk(db)
    stopped = 0
    for moment in MOMENTS:
        restore(db, before)
        with suppress(Interrupted):
            interrupted(db, moment, stop).close(full, ALICE)
            break
        stopped += 1
        with suppress(NotFound):  # it was already closed
            nbhd.close(full, ALICE)
        assert (left_behind(db, full), history(db, full)) == ([], [ALICE, BORA, CHLOE])
    assert stopped > 10


@pytest.mark.slow
def test_no_membership_remains_when_others_write_during_the_closing(nbhd: Nbhd, db: Store, full: str) -> None:
    nbhd.register("did:plc:dan", "dan.bsky.social", "Dan")
    before = disk(db)
    expected = (NotFound, ReferenceMissing, InvalidValue)
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

            def write(act: object = act) -> None:
                assert callable(act)
                with suppress(*expected):
                    act()

            service = interrupted(db, moment, write)
            with suppress(NotFound):
                service.close(full, ALICE)
            assert left_behind(db, full) == []
            assert {ALICE, BORA, CHLOE} <= set(history(db, full))
            assert len(history(db, full)) == len(set(history(db, full)))


def test_a_neighborhood_under_closing_accepts_no_members_or_sites_and_is_not_listed(
    nbhd: Nbhd, db: Store, full: str
) -> None:
    with pytest.raises(Interrupted):
        interrupted(db, 3, stop).close(full, ALICE)
    assert db.one(d.neighborhood(full)).closed_by == ALICE
    assert list(db(d.neighborhoods())) == []
    nbhd.register("did:plc:dan", "dan.bsky.social", "Dan")
    with pytest.raises(InvalidValue, match=r"Membership.neighborhood_id: .* is being closed"):
        nbhd.join(full, "did:plc:dan")
    with pytest.raises(InvalidValue, match=r"Site.neighborhood_id"):
        nbhd.create_site(BORA, "Ours", "blog", "ours", neighborhood_id=full)


def test_a_conditional_closing_of_a_changed_neighborhood_changes_nothing(
    nbhd: Nbhd, db: Store, full: str, anonymous: Client
) -> None:
    before = disk(db)
    alice = anonymous.by(ALICE)
    path = f"/neighborhoods/{full}"
    stale = alice.get(path).tag
    for moment in MOMENTS:
        restore(db, before)
        seen = db.one(d.neighborhood(full))

        def unchanged(found: d.Neighborhood, seen: d.Neighborhood = seen) -> None:
            if found.description != seen.description:
                raise Problem(412, "precondition-failed", "changed")

        def edit() -> None:
            with suppress(NotFound), db.change(d.neighborhood(full)) as draft:
                draft.description = "Changed"

        with suppress(Problem):
            interrupted(db, moment, edit).close(full, ALICE, unchanged)
            continue
        assert len(list(db(d.memberships(full)))) == 3
        assert db.one(d.neighborhood(full)).closed_by is None
    restore(db, before)
    edit()
    changed = disk(db)
    assert alice.delete(path, if_match=stale).status == 412
    assert disk(db) == changed
    assert alice.delete(path, if_match=alice.get(path).tag).status == 204


def test_an_interrupted_closing_can_be_repeated_by_a_former_member(
    nbhd: Nbhd, db: Store, full: str, anonymous: Client
) -> None:
    with pytest.raises(Interrupted):
        interrupted(db, 7, stop).close(full, ALICE)
    assert db(d.member(full, ALICE)) is None
    assert anonymous.by(BORA).delete(f"/neighborhoods/{full}").status == 403
    assert anonymous.by(ALICE).delete(f"/neighborhoods/{full}").status == 204
    assert history(db, full) == [ALICE, BORA, CHLOE]


def test_the_group_admin_reads_the_history_of_a_closed_neighborhood(nbhd: Nbhd, full: str, anonymous: Client) -> None:
    nbhd.close(full, ALICE)
    path = f"/neighborhoods/{full}/past-members"
    assert len(anonymous.by("root", "admin").get(path).json["items"]) == 3
    assert (anonymous.get(path).status, anonymous.by(ALICE).get(path).status) == (401, 404)
    assert anonymous.by("root", "admin").get(f"/neighborhoods/{full}").status == 404
