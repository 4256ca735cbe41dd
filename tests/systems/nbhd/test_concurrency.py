"""Concurrent writers on every backend: counters stay exact, and unique items exist once."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from partita import AlreadyExists, InvalidValue, NotFound, NotUnique, ReferenceMissing, Store
from partita_systems.nbhd import design as d
from partita_systems.nbhd.errors import LastAdmin
from partita_systems.nbhd.service import Nbhd
from tests.store.clocks import Clock
from tests.store.conftest import fresh

pytestmark = pytest.mark.slow

THREADS = 8
PEOPLE = [f"did:plc:{number}" for number in range(THREADS)]


@pytest.fixture
def db(backend: Any) -> Store:
    fresh(backend, d.design, Clock())
    return Store(backend, d.design)


@pytest.fixture
def nbhd(db: Store) -> Nbhd:
    service = Nbhd(db)
    for number, did in enumerate(PEOPLE):
        service.register(did, f"p{number}.bsky.social", f"Person {number}")
    return service


def successes(act: Callable[[Any], object], over: Iterable[Any], *losing: type[Exception]) -> int:
    """How many of these concurrent calls succeed; the others fail with one of the expected errors."""

    def attempt(value: Any) -> bool:
        try:
            act(value)
        except losing:
            return False
        return True

    with ThreadPoolExecutor(THREADS) as threads:
        return sum(threads.map(attempt, over))


def count(db: Store, home: str) -> tuple[int, int]:
    active = [each for each in db(d.members(home)) if each.status == d.MembershipStatus.ACTIVE]
    return db.one(d.neighborhood(home), consistent=True).member_count, len(active)


def test_of_many_concurrent_uses_of_one_name_exactly_one_succeeds(db: Store, nbhd: Nbhd) -> None:
    assert successes(lambda did: nbhd.create_neighborhood(did, "Downtown"), PEOPLE * 2, NotUnique) == 1
    assert len(list(db(d.neighborhoods_by_slug("downtown")))) == 1
    assert successes(lambda did: nbhd.change_handle(did, "one.bsky.social"), PEOPLE, NotUnique) == 1
    assert [each.bluesky_handle for each in db(d.users())].count("one.bsky.social") == 1
    assert successes(lambda did: nbhd.create_site(did, "One", "blog", "one"), PEOPLE * 2, NotUnique) == 1
    assert sum(len(list(db(d.sites_of_user(did)))) for did in PEOPLE) == 1


def test_of_many_renames_to_one_slug_one_succeeds_and_the_others_keep_theirs(db: Store, nbhd: Nbhd) -> None:
    homes = [nbhd.create_neighborhood(PEOPLE[0], f"Home {number}") for number in range(THREADS)]
    assert successes(lambda home: nbhd.rename(home.neighborhood_id, "Dream"), homes, NotUnique) == 1
    by_old_slug = [nbhd.find_by_slug(home.slug) for home in homes]
    assert sum(each is None for each in by_old_slug) == 1
    assert nbhd.find_by_slug("dream") is not None


def test_concurrent_joining_and_leaving_is_counted_exactly(db: Store, nbhd: Nbhd) -> None:
    home = nbhd.create_neighborhood(PEOPLE[0], "Downtown").neighborhood_id
    assert successes(lambda did: nbhd.join(home, did), PEOPLE[1:] * 3, AlreadyExists) == THREADS - 1
    assert count(db, home) == (THREADS, THREADS)
    assert successes(lambda did: nbhd.leave(home, did), PEOPLE[1:4] * 3, NotFound) == 3
    assert count(db, home) == (THREADS - 3, THREADS - 3)
    assert len(list(db(d.past_members(home)))) == 3

    def join_and_leave(did: str) -> None:
        nbhd.leave(home, did)
        nbhd.join(home, did)
        nbhd.leave(home, did)

    assert successes(join_and_leave, PEOPLE[4:]) == THREADS - 4
    assert count(db, home) == (1, 1)
    assert len(list(db(d.past_members(home)))) == 3 + 2 * (THREADS - 4)


def test_deleting_accounts_while_others_join_leaves_an_exact_count(db: Store, nbhd: Nbhd) -> None:
    home = nbhd.create_neighborhood(PEOPLE[0], "Downtown").neighborhood_id

    def join_or_delete_account(number: int) -> None:
        did = PEOPLE[1 + number // 2]
        nbhd.delete_account(did) if number % 2 else nbhd.join(home, did)

    successes(join_or_delete_account, range(2 * (THREADS - 1)), InvalidValue)
    for did in PEOPLE[1:]:
        nbhd.delete_account(did)
    assert count(db, home) == (1, 1)
    assert successes(nbhd.restore_account, PEOPLE[1:]) == THREADS - 1
    counted, active = count(db, home)
    assert counted == active


def test_joining_during_a_closing_leaves_history_and_no_membership(db: Store, nbhd: Nbhd) -> None:
    home = nbhd.create_neighborhood(PEOPLE[0], "Downtown").neighborhood_id

    def join(number: int) -> None:
        nbhd.close(home, PEOPLE[0]) if number == THREADS // 2 else nbhd.join(home, PEOPLE[number])

    others = range(1, THREADS)
    joined = successes(join, others, InvalidValue, ReferenceMissing, NotFound) - 1  # as far as the closing has come
    assert db(d.neighborhood(home), consistent=True) is None
    assert list(db(d.memberships(home), consistent=True)) == []
    assert len(list(db(d.past_members(home), consistent=True))) == 1 + joined
    nbhd.create_neighborhood(PEOPLE[1], "Downtown")


def test_of_many_concurrent_builds_of_a_site_one_runs(db: Store, nbhd: Nbhd) -> None:
    site = nbhd.create_site(PEOPLE[0], "Blog", "blog", "blog")
    begin = lambda _: nbhd.start_build(PEOPLE[0], site.site_id)  # noqa: E731
    assert successes(begin, range(16), NotUnique, AlreadyExists) == 1
    (job,) = db(d.builds_of_site(site.site_id))
    nbhd.finish_build(PEOPLE[0], job)
    assert successes(begin, range(16), NotUnique, AlreadyExists) == 1
    assert len(list(db(d.builds_of_site(site.site_id)))) == 2


def test_a_site_that_is_deleted_concurrently_exists_once(db: Store, nbhd: Nbhd) -> None:
    site = nbhd.create_site(PEOPLE[0], "Blog", "blog", "blog")
    assert successes(lambda _: nbhd.delete_site(PEOPLE[0], site.site_id), range(8), NotFound) == 1
    assert successes(lambda _: nbhd.restore_site(PEOPLE[0], site.site_id), range(8), NotFound) == 1
    assert len(list(db(d.sites_of_user(PEOPLE[0])))) == 1
    assert list(db(d.deleted_sites_of_user(PEOPLE[0]))) == []
    assert nbhd.find_by_subdomain("blog") == db.one(d.site(PEOPLE[0], site.site_id))


def test_admins_who_leave_step_down_or_delete_accounts_at_once_leave_one_admin(db: Store, nbhd: Nbhd) -> None:
    dids = [f"did:plc:admin{number}" for number in range(9)]
    for number, did in enumerate(dids):
        nbhd.register(did, f"a{number}.bsky.social", "Admin")
    home = nbhd.create_neighborhood(dids[0], "Crowded").neighborhood_id
    for did in dids[1:]:
        nbhd.join(home, did)
        nbhd.set_role(home, did, d.Role.ADMIN)
    ends: list[Callable[[str], object]] = [
        lambda did: nbhd.leave(home, did),
        lambda did: nbhd.set_role(home, did, d.Role.MEMBER),
        nbhd.delete_account,
    ]
    ended = successes(lambda number: ends[number % 3](dids[number]), range(len(dids)), LastAdmin)
    assert ended == len(dids) - 1
    admins = [each for each in db(d.members(home)) if each.role == d.Role.ADMIN]
    assert len(admins) == db.one(d.neighborhood(home), consistent=True).admin_count == 1
    assert db.one(d.user(admins[0].did), consistent=True).administered_count == 1


def test_of_many_joins_with_one_invitation_one_succeeds(db: Store, nbhd: Nbhd) -> None:
    creator, guest = "did:plc:creator", "did:plc:guest"
    nbhd.register(creator, "creator.bsky.social", "C")
    nbhd.register(guest, "guest.bsky.social", "G")
    home = nbhd.create_neighborhood(creator, "Private", privacy=d.Privacy.PRIVATE).neighborhood_id
    nbhd.invite(home, guest, creator)
    assert successes(lambda _: nbhd.join(home, guest), range(12), NotFound, AlreadyExists) == 1
    assert count(db, home) == (2, 2)
