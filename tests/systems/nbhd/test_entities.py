"""Every entity can be created, read, changed and deleted, on every backend."""

from datetime import timedelta
from typing import Any

import pytest

from partita import Get, Store
from partita_systems.nbhd import design as d
from tests.store.clocks import Clock
from tests.store.conftest import fresh
from tests.systems.nbhd.conftest import ALICE


@pytest.fixture
def db(backend: Any, clock: Clock) -> Store:
    return fresh(backend, d.design, clock)


def test_every_entity_is_created_read_changed_and_deleted(db: Store, clock: Clock) -> None:
    now = clock()
    user = d.User(did=ALICE, bluesky_handle="alice.bsky.social", display_name="Alice")
    home = d.Neighborhood(neighborhood_id="n_1", name="Downtown", slug="downtown", creator_did=ALICE)
    member = d.Membership(neighborhood_id="n_1", did=ALICE, joined_at=now)
    past = d.PastMembership(neighborhood_id="n_1", left_at=now, did=ALICE, role=d.Role.MEMBER, member_since=now)
    site = d.Site(did=ALICE, site_id="s_1", title="Blog", template="blog", subdomain="alice", public_url="https://a")
    job = d.BuildJob(job_id="j_1", site_id="s_1", started_at=now)
    invitation = d.Invitation(
        did=ALICE, neighborhood_id="n_1", neighborhood_name="Downtown", invited_by="did:plc:b", invited_at=now
    )
    link = d.HistoryLink(did=ALICE, neighborhood_id="n_1", left_at=now)
    purge = d.Purge(did=ALICE, due_at=now)
    export = d.SiteExport(did=ALICE, site_id="s_1", export_id="x_1", exported_at=now, archive_url="/downloads/x_1.zip")
    life: list[tuple[Any, Get[Any], str, Any]] = [
        (user, d.user(ALICE), "bio", "Community organizer"),
        (home, d.neighborhood("n_1"), "description", "For downtown residents"),
        (member, d.member("n_1", ALICE), "role", d.Role.ADMIN),
        (past, d.past_member("n_1", now, ALICE), "role", d.Role.ADMIN),
        (site, d.site(ALICE, "s_1"), "config", {"posts": [{"title": "첫 글", "likes": 3}]}),
        (job, d.build("s_1", now), "status", d.BuildStatus.COMPLETED),
        (invitation, d.invitation(ALICE, "n_1"), "invited_by", "did:plc:c"),
        (link, d.history_link(ALICE, "n_1", now), "left_at", now),
        (purge, d.purge(ALICE), "due_at", now + timedelta(days=1)),
        (export, d.export(ALICE, "s_1", "x_1"), "archive_url", "https://cdn.nbhd.city/x_1.zip"),
        (d.ObjectSpace(space="a"), d.object_space(), "space", "b"),
    ]
    assert {type(entity) for entity, *_ in life} == {model.cls for model in d.design.models}
    for entity, call, name, value in life:
        created = db.create(entity)
        assert db.one(call) == created
        with db.change(call) as draft:
            setattr(draft, name, value)
        assert getattr(db.one(call), name) == value
    assert db.one(d.neighborhood("n_1")).member_count == 1
    for _, call, _, _ in reversed(life):
        assert db.delete(call) is not None
        assert db(call) is None


def test_deleting_a_neighborhood_deletes_memberships_and_keeps_history(db: Store, clock: Clock) -> None:
    db.create(d.User(did=ALICE, bluesky_handle="alice.bsky.social", display_name="Alice"))
    db.create(d.Neighborhood(neighborhood_id="n_1", name="Downtown", slug="downtown", creator_did=ALICE))
    db.create(d.Membership(neighborhood_id="n_1", did=ALICE, joined_at=clock()))
    left = d.PastMembership(
        neighborhood_id="n_1", left_at=clock(), did="did:plc:b", role=d.Role.MEMBER, member_since=clock()
    )
    db.create(left)
    db.delete(d.neighborhood("n_1"))
    assert list(db(d.memberships_of_user(ALICE))) == []
    assert [each.did for each in db(d.past_members("n_1"))] == ["did:plc:b"]
    db.create(d.Neighborhood(neighborhood_id="n_2", name="Downtown", slug="downtown", creator_did=ALICE))
