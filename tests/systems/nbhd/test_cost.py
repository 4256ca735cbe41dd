"""Every access pattern costs one GetItem or Query, however much data there is."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from partita import Get, Query, Store
from partita_systems.nbhd import design as d
from partita_systems.nbhd.service import Nbhd, month
from tests.store.clocks import Clock
from tests.systems.cost import ONE_READ, costs, put_unchecked
from tests.systems.nbhd.conftest import ALICE, BORA, CHLOE, disk

pytestmark = pytest.mark.slow


CROWD = 280
PAGE = Path(d.__file__).with_name("page.md")


def calls(nbhd: Nbhd, clock: Clock) -> list[Get[Any] | Query[Any]]:
    """Every pattern with arguments that find something."""
    home = nbhd.create_neighborhood(ALICE, "Downtown").neighborhood_id
    nbhd.join(home, BORA)
    left = nbhd.leave(home, BORA).left_at
    site = nbhd.create_site(ALICE, "Blog", "blog", "alice", {"posts": []}).site_id
    gone = nbhd.create_site(ALICE, "Old blog", "blog", "alice-old").site_id
    nbhd.delete_site(ALICE, gone)
    nbhd.finish_build(ALICE, nbhd.start_build(ALICE, site))
    exported = nbhd.export_site(ALICE, site).export_id
    nbhd.invite(home, CHLOE, ALICE)
    nbhd.db.create(d.Purge(did="did:plc:gone", due_at=clock()))
    return [
        *(d.account(BORA), d.purge("did:plc:gone"), d.purges_due(clock() - timedelta(days=1), clock())),
        *(d.invitation(CHLOE, home), d.invitations_of_user(CHLOE)),
        *(d.history_links(BORA), d.history_link(BORA, home, left)),
        *(d.user(ALICE), d.users().page(3), d.users_between(*month(clock().year, 1)).page(3)),
        *(d.neighborhood(home), d.neighborhoods().page(1), d.neighborhoods_by_slug("downtown")),
        *(d.members(home), d.memberships(home), d.member(home, ALICE), d.memberships_of_user(ALICE)),
        *(d.past_members(home), d.past_member(home, left, BORA)),
        *(d.sites_of_user(ALICE), d.site(ALICE, site), d.deleted_sites_of_user(ALICE), d.deleted_site(ALICE, gone)),
        *(d.builds_of_site(site), d.build(site, clock()), d.builds_in_index(site)),
        *(d.exports_of_site(ALICE, site), d.export(ALICE, site, exported), d.object_space()),
    ]


def crowd(clock: Clock) -> Iterator[Any]:
    """A hundred of every entity, of other users, neighborhoods and sites, with older times."""
    at = clock() - timedelta(days=60)
    for number in range(CROWD):
        did, home, site = f"did:plc:{number}", f"n_{number}", f"s_{number}"
        yield d.User(did=did, bluesky_handle=f"h{number}.bsky.social", display_name="Somebody", created_at=at)
        yield d.Neighborhood(neighborhood_id=home, name="Elsewhere", slug=f"e{number}", creator_did=did, created_at=at)
        yield d.Membership(neighborhood_id=home, did=did, joined_at=at)
        yield d.PastMembership(neighborhood_id=home, left_at=at, did=did, role=d.Role.MEMBER, member_since=at)
        for shelf, name in ((d.Shelf.SITE, site), (d.Shelf.DELETED, f"{site}d")):
            yield d.Site(
                did=did,
                shelf=shelf,
                site_id=name,
                title="Other",
                template="blog",
                subdomain=name,
                public_url="https://x",
            )
        yield d.BuildJob(job_id=f"j_{number}", site_id=site, started_at=at)
        yield d.SiteExport(did=did, site_id=site, export_id="x", exported_at=clock(), archive_url="/x")


def test_every_pattern_costs_one_read_with_a_hundred_times_more_data(nbhd: Nbhd, db: Store, clock: Clock) -> None:
    every = calls(nbhd, clock)
    assert {call.read.name for call in every} == d.design.patterns.keys()
    alone = len(disk(db))
    expected = dict.fromkeys(d.design.patterns, ONE_READ)
    assert costs(db, every) == expected
    put_unchecked(db, crowd(clock))
    assert len(disk(db)) > 100 * alone
    assert costs(db, every) == expected


def test_finding_by_name_costs_two_strongly_consistent_gets(nbhd: Nbhd, db: Store, clock: Clock) -> None:
    calls(nbhd, clock)
    put_unchecked(db, crowd(clock))
    for find in (
        lambda: nbhd.find_by_handle("alice@bsky.social"),
        lambda: nbhd.find_by_slug("downtown"),
        lambda: nbhd.find_by_subdomain("alice"),
    ):
        with db.measure() as used:
            assert find() is not None
        assert (used.requests, used.reads) == (2, 2.0)


def test_the_neighborhoods_of_a_user_cost_one_query_and_one_batch(nbhd: Nbhd, db: Store, clock: Clock) -> None:
    calls(nbhd, clock)
    put_unchecked(db, crowd(clock))
    with db.measure() as used:
        assert len(nbhd.neighborhoods_of(ALICE).items) == 1
    assert (used.requests, used.reads) == (2, 1.0)


def test_joining_rewrites_one_index_summary_without_the_description(nbhd: Nbhd, db: Store) -> None:
    home = nbhd.create_neighborhood(ALICE, "Downtown", description="A long story. " * 140).neighborhood_id
    with db.measure() as used:
        nbhd.join(home, BORA)
    # twice each: the membership (1), the neighborhood of 2 to 3 KB (3), the check of the user (1); once each: the
    # membership in GSI3 (1), the summary in GSI1 (1)
    assert (used.requests, used.writes) == (1, 12.0)


def test_documented_units_equal_the_measured_units(nbhd: Nbhd, db: Store) -> None:
    documented = {row[1].strip(): row[3].strip() for row in map(_cells, PAGE.read_text().splitlines()) if len(row) == 6}
    site = nbhd.create_site(ALICE, "Blog", "blog", "alice").site_id
    home = nbhd.create_neighborhood(ALICE, "Downtown").neighborhood_id
    operations: dict[str, Callable[[], object]] = {
        "register": lambda: nbhd.register("did:plc:dan", "dan.bsky.social", "Dan"),
        "create a neighborhood": lambda: nbhd.create_neighborhood(ALICE, "Uptown"),
        "join": lambda: nbhd.join(home, BORA),
        "leave": lambda: nbhd.leave(home, BORA),
        "close a neighborhood with one member": lambda: nbhd.close(home, ALICE),
        "start and finish a build": lambda: nbhd.finish_build(ALICE, nbhd.start_build(ALICE, site)),
        "find by handle, slug or subdomain": lambda: nbhd.find_by_slug("uptown"),
    }
    for name, act in operations.items():
        with db.measure() as used:
            act()
        units = [f"{used.reads:g} read"] * bool(used.reads) + [f"{used.writes:g} write"] * bool(used.writes)
        assert documented[name] == ", ".join(units), name


def _cells(line: str) -> list[str]:
    return line.split("|")
