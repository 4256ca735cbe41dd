"""What nbhd.city promises over HTTP beyond its service: who may no longer act, and what a body may hold."""

import pytest

from partita import Store
from partita_systems.nbhd import design as d
from partita_systems.nbhd.service import Nbhd
from tests.rest.client import Client
from tests.store.clocks import Clock
from tests.systems.nbhd.conftest import ALICE, BORA, CHLOE, disk


@pytest.fixture
def bora(nbhd: Nbhd, downtown: d.Neighborhood, nobody: Client) -> Client:
    """Bora, who is an admin of Downtown."""
    nbhd.join(downtown.id, BORA)
    nbhd.set_role(downtown.id, BORA, d.Role.ADMIN)
    return nobody.by(BORA)


# a deleted account ------------------------------------------------------------------------------------------------


def test_a_deleted_account_no_longer_governs(nbhd: Nbhd, db: Store, downtown: d.Neighborhood, bora: Client) -> None:
    home = f"/neighborhoods/{downtown.id}"
    assert bora.patch(home, {"description": "Ours"}).status == 200
    nbhd.delete_account(BORA)
    before = disk(db)
    assert bora.patch(home, {"description": "Mine"}).status == 403
    assert bora.put(f"{home}/members/{ALICE}/role", {"role": "member"}).status == 403
    assert bora.put(f"{home}/members/{CHLOE}").status == 403
    assert bora.get(f"{home}/past-members").status == 403
    assert bora.delete(home).status == 403
    assert disk(db) == before
    nbhd.restore_account(BORA)
    assert bora.patch(home, {"description": "Ours again"}).status == 200


def test_a_deleted_account_does_not_govern_before_its_memberships_know(
    db: Store, downtown: d.Neighborhood, bora: Client
) -> None:
    with db.change(d.user(BORA)) as draft:
        draft.deleted_at = db.context.clock()
    assert db.one(d.member(downtown.id, BORA)).status == d.Standing.ACTIVE
    assert bora.patch(f"/neighborhoods/{downtown.id}", {"description": "Mine"}).status == 403


def test_a_deleted_account_changes_neither_its_profile_nor_its_sites(
    nbhd: Nbhd, db: Store, blog: d.Site, nobody: Client
) -> None:
    nbhd.delete_account(ALICE)
    alice, me, site = nobody.by(ALICE), f"/users/{ALICE}", f"/users/{ALICE}/sites/{blog.site_id}"
    before = disk(db)
    refused = [
        alice.patch(me, {"display_name": "Ghost"}),
        alice.put(f"{me}/handle", {"bluesky_handle": "ghost.bsky.social"}),
        alice.post(f"{me}/sites", {"title": "Ghost", "template": "blog", "subdomain": "ghost"}),
        alice.patch(site, {"title": "Ghost"}),
        alice.post(f"{site}/builds"),
    ]
    assert [each.status for each in refused] == [403] * 5
    assert disk(db) == before
    assert alice.get(me).status == 200
    assert alice.post(f"{me}/restoration").status == 204
    assert alice.patch(me, {"display_name": "Alice again"}).status == 200


def test_a_deleted_account_takes_nothing_away_and_puts_nothing_back(
    nbhd: Nbhd, db: Store, downtown: d.Neighborhood, blog: d.Site, nobody: Client
) -> None:
    other = nbhd.create_site(ALICE, "Old", "blog", "old").site_id
    nbhd.delete_site(ALICE, other)
    job = nbhd.start_build(ALICE, blog.site_id).job_id
    nbhd.delete_account(ALICE)
    alice, site = nobody.by(ALICE), f"/users/{ALICE}/sites/{blog.site_id}"
    before = disk(db)
    refused = [
        alice.delete(site),
        alice.post(f"/users/{ALICE}/deleted-sites/{other}/restoration"),
        alice.delete(f"{site}/builds/{job}"),
        alice.delete(f"/neighborhoods/{downtown.id}/members/{ALICE}"),
    ]
    assert [each.status for each in refused] == [403] * 4
    assert disk(db) == before
    group_admin = nobody.by("did:plc:root", "admin")
    assert group_admin.delete(f"{site}/builds/{job}").status == 204
    assert group_admin.delete(site).status == 204


def test_what_a_purged_account_left_is_taken_away_by_the_group_admin(
    nbhd: Nbhd, blog: d.Site, clock: Clock, nobody: Client
) -> None:
    nbhd.delete_account(ALICE)
    clock.passes(days=31)
    site = f"/users/{ALICE}/sites/{blog.site_id}"
    assert nobody.by("did:plc:root", "admin").delete(site).status == 204


def test_the_published_sites_of_a_deleted_account_are_hidden_until_it_comes_back(
    nbhd: Nbhd, blog: d.Site, clock: Clock, nobody: Client
) -> None:
    nbhd.finish_build(ALICE, nbhd.start_build(ALICE, blog.site_id))
    site = f"/users/{ALICE}/sites/{blog.site_id}"

    def seen() -> list[int]:
        return [nobody.get(site).status, nobody.by(BORA).get(site).status, nobody.get("/subdomains/alice").status]

    assert seen() == [200, 200, 200]
    nbhd.delete_account(ALICE)
    assert seen() == [401, 403, 404]
    assert [nobody.by(*who).get(site).status for who in ((ALICE,), ("did:plc:root", "admin"))] == [200, 200]
    nbhd.restore_account(ALICE)
    assert seen() == [200, 200, 200]
    nbhd.delete_account(ALICE)
    clock.passes(days=31)
    assert seen() == [401, 403, 404]


def test_a_deleted_account_is_out_of_the_list_of_members_until_it_comes_back(
    nbhd: Nbhd, downtown: d.Neighborhood, bora: Client, nobody: Client
) -> None:
    def listed() -> list[str]:
        return [each["user_did"] for each in nobody.get(f"/neighborhoods/{downtown.id}/members").json["items"]]

    assert listed() == [ALICE, BORA]
    nbhd.delete_account(BORA)
    assert listed() == [ALICE]
    nbhd.restore_account(BORA)
    assert listed() == [ALICE, BORA]


# what a body may hold ---------------------------------------------------------------------------------------------


def test_a_setting_that_is_left_out_stays_as_it_is(nbhd: Nbhd, db: Store, nobody: Client) -> None:
    home = nbhd.found(ALICE, "Strict", settings=d.Settings(require_email_verification=True))
    alice, path = nobody.by(ALICE), f"/neighborhoods/{home.id}"
    changed = alice.patch(path, {"settings": {"allow_site_creation": False}})
    assert changed.json["settings"] == {"allow_site_creation": False, "require_email_verification": True}
    assert alice.patch(path, {"settings": {}}).json["settings"] == changed.json["settings"]
    assert db.one(d.neighborhood(home.id)).settings == d.Settings(
        allow_site_creation=False, require_email_verification=True
    )


def test_what_is_made_of_blanks_is_refused_by_its_own_name(
    nbhd: Nbhd, downtown: d.Neighborhood, blog: d.Site, nobody: Client
) -> None:
    alice, site = nobody.by(ALICE), {"title": "Bread", "template": "blog", "subdomain": "bread"}
    for reply, field in (
        (nobody.by("did:plc:new").post("/users", {"bluesky_handle": "n.x", "display_name": " "}), "display_name"),
        (alice.patch(f"/users/{ALICE}", {"display_name": "\t"}), "display_name"),
        (alice.patch(f"/neighborhoods/{downtown.id}", {"name": "\u3000"}), "name"),
        (alice.post(f"/users/{ALICE}/sites", site | {"title": " "}), "title"),
        (alice.patch(f"/users/{ALICE}/sites/{blog.site_id}", {"title": " "}), "title"),
    ):
        assert (reply.status, reply.json["field"]) == (422, field), reply.body


def test_what_is_no_handle_is_refused_by_the_name_of_the_parameter(nobody: Client) -> None:
    refused = nobody.get("/handles/x")
    assert (refused.status, refused.json["field"]) == (422, "handle")


@pytest.mark.usefixtures("nbhd")
def test_a_site_of_a_neighborhood_that_does_not_exist_says_so(nobody: Client) -> None:
    new = {"title": "Bread", "template": "blog", "subdomain": "bread", "neighborhood_id": "none"}
    refused = nobody.by(ALICE).post(f"/users/{ALICE}/sites", new)
    assert (refused.status, refused.json["field"]) == (422, "neighborhood_id")
    assert "none, which does not exist" in refused.json["detail"]


def test_an_unknown_member_inside_a_body_is_refused_by_name(
    nbhd: Nbhd, db: Store, downtown: d.Neighborhood, nobody: Client
) -> None:
    alice, path = nobody.by(ALICE), f"/neighborhoods/{downtown.id}"
    before = disk(db)
    image = {"avatar": {"url": "https://cdn/a.jpg", "zzz": 1}}
    refused = [
        alice.patch(path, {"settings": {"foo": 1}}),
        alice.post("/neighborhoods", {"name": "Uptown", "settings": {"foo": 1}}),
        alice.patch(f"/users/{ALICE}", {"profile_images": image}),
    ]
    assert [each.status for each in refused] == [422] * 3
    assert [each.json["field"] for each in refused] == ["settings.foo", "settings.foo", "profile_images.avatar.zzz"]
    assert disk(db) == before


def test_an_empty_neighborhood_is_refused_under_its_own_name(nbhd: Nbhd, nobody: Client) -> None:
    site = {"title": "T", "template": "blog", "subdomain": "t", "neighborhood_id": ""}
    refused = nobody.by(ALICE).post(f"/users/{ALICE}/sites", site)
    assert (refused.status, refused.json["field"]) == (422, "neighborhood_id")


# deletion if nothing has changed ----------------------------------------------------------------------------------


def test_users_and_sites_are_deleted_only_as_they_were_read(
    nbhd: Nbhd, db: Store, blog: d.Site, nobody: Client
) -> None:
    alice = nobody.by(ALICE)
    for path, change in (
        (f"/users/{ALICE}/sites/{blog.site_id}", {"title": "Other"}),
        (f"/users/{ALICE}", {"bio": "Other"}),
    ):
        seen = alice.get(path).tag
        assert alice.patch(path, change, if_match=seen).status == 200
        before = disk(db)
        assert alice.delete(path, if_match=seen).status == 412
        assert disk(db) == before
        assert alice.delete(path, if_match=alice.get(path).tag).status == 204
    assert db.one(d.user(ALICE)).deleted_at is not None
    assert db(d.site(ALICE, blog.site_id)) is None


def test_a_build_that_ends_does_not_stand_in_the_way_of_an_edit(nbhd: Nbhd, blog: d.Site, nobody: Client) -> None:
    alice, path = nobody.by(ALICE), f"/users/{ALICE}/sites/{blog.site_id}"
    seen = alice.get(path).tag
    nbhd.finish_build(ALICE, nbhd.start_build(ALICE, blog.site_id))
    assert alice.patch(path, {"title": "Edited meanwhile"}, if_match=seen).status == 200


# builds -----------------------------------------------------------------------------------------------------------


def test_a_build_ends_only_under_the_owner_of_its_site(nbhd: Nbhd, db: Store, blog: d.Site, nobody: Client) -> None:
    builder = nobody.by("machine", "builder")
    job = nbhd.start_build(ALICE, blog.site_id)
    before = disk(db)
    for body in ({}, {"error": "no template"}):
        wrong = builder.put(f"/users/{BORA}/sites/{blog.site_id}/builds/{job.job_id}/end", body)
        assert (wrong.status, disk(db)) == (404, before)
    assert builder.put(f"/users/{ALICE}/sites/{blog.site_id}/builds/{job.job_id}/end", {}).status == 204
    again = builder.put(f"/users/{ALICE}/sites/{blog.site_id}/builds/{job.job_id}/end", {})
    assert (again.status, db.one(d.build(blog.site_id, job.started_at)).status) == (409, d.BuildStatus.COMPLETED)


def test_a_second_build_is_refused_without_naming_a_field_that_no_body_has(
    nbhd: Nbhd, blog: d.Site, nobody: Client, clock: Clock
) -> None:
    path = f"/users/{ALICE}/sites/{blog.site_id}/builds"
    assert nobody.by(ALICE).post(path).status == 201
    clock.passes(seconds=1)
    refused = nobody.by(ALICE).post(path)
    assert (refused.status, refused.json["detail"]) == (409, f"a build of {blog.site_id} is running")
    assert "field" not in refused.json


def test_a_build_is_read_and_deleted_by_its_id(nbhd: Nbhd, db: Store, blog: d.Site, nobody: Client) -> None:
    alice, builds = nobody.by(ALICE), f"/users/{ALICE}/sites/{blog.site_id}/builds"
    made = alice.post(builds)
    path = f"{builds}/{made.json['job_id']}"
    assert alice.get(path).json == made.json
    assert alice.get(f"/users/{BORA}/sites/{blog.site_id}/builds/{made.json['job_id']}").status == 403
    assert nobody.by(BORA).delete(path).status == 403
    assert alice.delete(path, if_match='"other"').status == 412
    assert alice.delete(path).status == 204
    assert (alice.get(path).status, alice.delete(path).status) == (404, 404)
    assert not any(key.startswith(("BUILD#", "UNIQUE#BuildJob")) for key in disk(db))
    assert nobody.by("root", "admin").get(f"{builds}/job-abc123").status == 404


def test_a_build_of_ours_is_found_by_one_get_item(nbhd: Nbhd, db: Store, blog: d.Site) -> None:
    job = nbhd.start_build(ALICE, blog.site_id)
    with db.measure() as used:
        assert nbhd.find_build(blog.site_id, job.job_id) == job
    assert used.requests == 1
