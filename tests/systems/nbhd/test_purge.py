"""When the grace period of a deleted account is over, everything that was the user's goes, and the DID begins anew."""

from contextlib import suppress
from itertools import count

import pytest

from partita import AlreadyExists, InvalidValue, Store
from partita_systems.nbhd import design as d
from partita_systems.nbhd.adoption import adopt
from partita_systems.nbhd.service import Nbhd
from tests.rest.client import Client
from tests.store.clocks import Clock
from tests.systems.nbhd.conftest import ALICE, BORA, CHLOE, Disk, Interrupted, disk, interrupted, restore, stop

_numbers = count(1)


@pytest.fixture
def expired(nbhd: Nbhd, downtown: d.Neighborhood, clock: Clock) -> str:
    """Bora, whose account was deleted 31 days ago, with everything that an account can have; the id of Downtown."""
    other = nbhd.create_neighborhood(CHLOE, "Uptown").neighborhood_id
    nbhd.join(downtown.neighborhood_id, BORA)
    nbhd.set_role(downtown.neighborhood_id, BORA, d.Role.ADMIN)
    nbhd.join(other, BORA)
    clock.passes(days=1)
    nbhd.leave(other, BORA)
    own = nbhd.create_neighborhood(BORA, "Bora's", "boras").neighborhood_id
    nbhd.join(own, CHLOE)
    nbhd.set_role(own, CHLOE, d.Role.ADMIN)
    nbhd.invite(other, BORA, CHLOE)
    site = nbhd.create_site(BORA, "Market", "blog", "market").site_id
    nbhd.finish_build(BORA, nbhd.start_build(BORA, site))
    clock.passes(minutes=1)
    nbhd.start_build(BORA, site)
    deleted = nbhd.create_site(BORA, "Old", "blog", "old").site_id
    nbhd.delete_account(BORA)
    clock.passes(days=29)
    with db_at(nbhd).change(d.site(BORA, deleted)) as draft:
        draft.shelf = d.Shelf.DELETED
        draft.deleted_at = clock()
    clock.passes(days=2)
    return downtown.neighborhood_id


def db_at(nbhd: Nbhd) -> Store:
    return nbhd.db


def left(db: Store) -> list[str]:
    """The keys of items that name Bora, except those that the time to live deletes: profile, guard, invitation."""
    expired = (f"USER#{BORA} PROFILE", "UNIQUE#User", f"USER#{BORA} INVITATION#")
    return sorted(key for key, item in disk(db).items() if BORA in f"{key} {item}" and not key.startswith(expired))


def test_a_purge_leaves_nothing_that_names_the_account(nbhd: Nbhd, db: Store, expired: str) -> None:
    assert left(db)
    done = nbhd.purge(BORA)
    assert (done.sites, done.builds, done.memberships, done.history) == (2, 2, 2, 1)
    assert left(db) == []
    assert nbhd.purge(BORA) == type(done)()
    assert db.one(d.neighborhood(expired)).member_count == 1


def test_a_purge_releases_subdomains_and_handles(nbhd: Nbhd, expired: str) -> None:
    nbhd.purge(BORA)
    assert nbhd.create_site(ALICE, "Market", "blog", "market").subdomain == "market"
    assert nbhd.create_site(ALICE, "Old", "blog", "old").subdomain == "old"
    assert nbhd.change_handle(ALICE, "bora.bsky.social").bluesky_handle == "bora.bsky.social"


def test_history_stays_under_pseudonyms(nbhd: Nbhd, db: Store, expired: str) -> None:
    uptown = nbhd.find_by_slug("uptown")
    assert uptown is not None
    nbhd.purge(BORA)
    past = [each for home in (expired, uptown.neighborhood_id) for each in db(d.past_members(home))]
    assert [each.role for each in past] == [d.Role.ADMIN, d.Role.MEMBER]
    assert all(each.did.startswith("did:purged:") for each in past)
    assert len({each.did for each in past}) == 2
    assert adopt(db).refused == []


def test_the_neighborhood_of_a_purged_creator_names_no_creator(nbhd: Nbhd, db: Store, expired: str) -> None:
    nbhd.purge(BORA)
    own = nbhd.find_by_slug("boras")
    assert own is not None
    assert own.creator_did is None
    assert db.one(d.neighborhood(own.neighborhood_id)).admin_count == 1


@pytest.mark.parametrize("stored", [True, False], ids=["profile still stored", "profile deleted by time to live"])
def test_the_same_did_registers_from_nothing(nbhd: Nbhd, db: Store, expired: str, stored: bool) -> None:
    if not stored:
        restore(db, {key: item for key, item in disk(db).items() if key != f"USER#{BORA} PROFILE"})
    user = nbhd.register(BORA, "bora.bsky.social", "보라")
    assert user.administered_count == 0
    assert list(db(d.memberships_of_user(BORA))) == []
    assert list(db(d.sites_of_user(BORA))) == []
    assert [type(each) for each in db(d.account(BORA))] == [d.User]
    assert nbhd.find_by_subdomain("market") is None
    assert [each.did for each in db(d.members(expired))] == [ALICE]


def test_leftovers_without_a_purge_item_are_purged_at_registration(nbhd: Nbhd, db: Store, expired: str) -> None:
    """An account that was deleted before there were purges."""
    gone = {f"USER#{BORA} PROFILE", f"USER#{BORA} PURGE"}
    restore(db, {key: item for key, item in disk(db).items() if key not in gone})
    nbhd.register(BORA, "bora.bsky.social", "보라")
    assert [type(each) for each in db(d.account(BORA))] == [d.User]


def test_the_job_purges_what_is_due(nbhd: Nbhd, db: Store, downtown: d.Neighborhood, clock: Clock) -> None:
    nbhd.join(downtown.neighborhood_id, BORA)
    nbhd.delete_account(BORA)
    nbhd.delete_account(CHLOE)
    clock.passes(days=29)
    nbhd.restore_account(CHLOE)
    assert nbhd.purge_due() == 0
    clock.passes(days=2)
    assert (nbhd.purge_due(), nbhd.purge_due()) == (1, 0)
    assert left(db) == []
    assert db.one(d.user(CHLOE)).deleted_at is None


def test_an_account_that_can_be_restored_is_not_purged(nbhd: Nbhd, db: Store, anonymous: Client) -> None:
    before = disk(db)
    with pytest.raises(InvalidValue, match="the account is not deleted"):
        nbhd.purge(BORA)
    assert disk(db) == before
    nbhd.delete_account(BORA)
    before = disk(db)
    with pytest.raises(InvalidValue, match="can be restored until 2095-01-31"):
        nbhd.purge(BORA)
    assert anonymous.by("root", "admin").post(f"/users/{BORA}/purge").status == 422
    assert disk(db) == before


def test_machines_and_the_group_admin_purge_over_http(expired: str, db: Store, anonymous: Client) -> None:
    address = f"/users/{BORA}/purge"
    assert [anonymous.post(address).status, anonymous.by(BORA).post(address).status] == [401, 403]
    assert anonymous.by("janitor", "machine").post(address).json["sites"] == 2
    assert anonymous.by("root", "admin").post(address).json["sites"] == 0
    assert left(db) == []


@pytest.mark.slow
def test_a_purge_interrupted_after_any_request_is_finished_by_the_next(nbhd: Nbhd, db: Store, expired: str) -> None:
    before = disk(db)
    stopped = 0
    for moment in range(1, 80):
        restore(db, before)
        with suppress(Interrupted):
            interrupted(db, moment, stop).purge(BORA)
            break
        stopped += 1
        nbhd.purge_due()
        assert left(db) == []
        assert len(list(db(d.past_members(expired)))) == 1
    assert stopped > 15


@pytest.mark.slow
def test_a_purge_never_touches_what_the_did_creates_after_it_registered_again(
    nbhd: Nbhd, db: Store, expired: str
) -> None:
    """The DID registers, joins and creates a site after any request of a purge that is still running."""
    before = disk(db)
    for moment in range(1, 80):
        restore(db, before)
        created: list[d.Site] = []

        def begin(created: list[d.Site] = created) -> None:
            nbhd.register(BORA, f"bora{next(_numbers)}.bsky.social", "보라")
            nbhd.join(expired, BORA)
            created.append(nbhd.create_site(BORA, "New", "blog", f"new-{next(_numbers)}"))

        interrupted(db, moment, begin).purge(BORA)
        if not created:
            assert moment > 15
            return
        assert list(db(d.sites_of_user(BORA))) == created
        assert [each.role for each in db(d.memberships_of_user(BORA))] == [d.Role.MEMBER]
        with pytest.raises(AlreadyExists):
            nbhd.register(BORA, "bora-again.bsky.social", "보라")
    pytest.fail("the purge does not end")


def test_nothing_of_others_is_purged(nbhd: Nbhd, db: Store, expired: str) -> None:
    nbhd.create_site(ALICE, "Mine", "blog", "mine")

    def of_alice(items: Disk) -> Disk:
        return {key: item for key, item in items.items() if ALICE in key}

    before = of_alice(disk(db))
    nbhd.purge(BORA)
    assert of_alice(disk(db)) == before
