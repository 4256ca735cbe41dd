"""The API of nbhd.city: deleted accounts, request bodies, conditional requests and builds."""

import pytest

from partita import Store
from partita_systems.nbhd import design as d
from partita_systems.nbhd.service import Nbhd
from tests.rest.client import Client
from tests.store.clocks import Clock
from tests.systems.nbhd.conftest import ALICE, BORA, CHLOE, disk


@pytest.fixture
def bora(nbhd: Nbhd, downtown: d.Neighborhood, anonymous: Client) -> Client:
    """A client of Bora, who is an admin of Downtown."""
    nbhd.join(downtown.neighborhood_id, BORA)
    nbhd.set_role(downtown.neighborhood_id, BORA, d.Role.ADMIN)
    return anonymous.by(BORA)


# a deleted account ------------------------------------------------------------------------------------------------


def test_a_deleted_account_loses_its_admin_rights(
    nbhd: Nbhd, db: Store, downtown: d.Neighborhood, bora: Client
) -> None:
    home = f"/neighborhoods/{downtown.neighborhood_id}"
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


def test_a_deleted_account_has_no_rights_before_its_memberships_are_inactive(
    db: Store, downtown: d.Neighborhood, bora: Client
) -> None:
    with db.change(d.user(BORA)) as draft:
        draft.deleted_at = db.now()
    assert db.one(d.member(downtown.neighborhood_id, BORA)).status == d.MembershipStatus.ACTIVE
    assert bora.patch(f"/neighborhoods/{downtown.neighborhood_id}", {"description": "Mine"}).status == 403


def test_a_deleted_account_cannot_change_its_profile_or_its_sites(
    nbhd: Nbhd, db: Store, blog: d.Site, anonymous: Client
) -> None:
    nbhd.delete_account(ALICE)
    alice, me, site = anonymous.by(ALICE), f"/users/{ALICE}", f"/users/{ALICE}/sites/{blog.site_id}"
    before = disk(db)
    responses = [
        alice.patch(me, {"display_name": "Ghost"}),
        alice.put(f"{me}/handle", {"bluesky_handle": "ghost.bsky.social"}),
        alice.post(f"{me}/sites", {"title": "Ghost", "template": "blog", "subdomain": "ghost"}),
        alice.patch(site, {"title": "Ghost"}),
        alice.post(f"{site}/builds"),
    ]
    assert [each.status for each in responses] == [403] * 5
    assert disk(db) == before
    assert alice.get(me).status == 200
    assert alice.post(f"{me}/restoration").json["deleted_at"] is None
    assert alice.patch(me, {"display_name": "Alice again"}).status == 200


def test_a_deleted_account_cannot_delete_or_restore_anything(
    nbhd: Nbhd, db: Store, downtown: d.Neighborhood, blog: d.Site, anonymous: Client
) -> None:
    other = nbhd.create_site(ALICE, "Old", "blog", "old").site_id
    nbhd.delete_site(ALICE, other)
    job = nbhd.start_build(ALICE, blog.site_id).job_id
    nbhd.join(downtown.neighborhood_id, BORA)
    nbhd.set_role(downtown.neighborhood_id, BORA, d.Role.ADMIN)
    nbhd.delete_account(ALICE)
    alice, site = anonymous.by(ALICE), f"/users/{ALICE}/sites/{blog.site_id}"
    before = disk(db)
    responses = [
        alice.delete(site),
        alice.post(f"/users/{ALICE}/deleted-sites/{other}/restoration"),
        alice.delete(f"{site}/builds/{job}"),
        alice.delete(f"/neighborhoods/{downtown.neighborhood_id}/members/{ALICE}"),
    ]
    assert [each.status for each in responses] == [403] * 4
    assert disk(db) == before
    group_admin = anonymous.by("did:plc:root", "admin")
    assert group_admin.delete(f"{site}/builds/{job}").status == 204
    assert group_admin.delete(site).status == 204


def test_the_group_admin_deletes_the_items_of_a_purged_account(
    nbhd: Nbhd, blog: d.Site, clock: Clock, anonymous: Client
) -> None:
    nbhd.delete_account(ALICE)
    clock.passes(days=31)
    site = f"/users/{ALICE}/sites/{blog.site_id}"
    assert anonymous.by("did:plc:root", "admin").delete(site).status == 204


def test_sites_of_a_deleted_account_are_hidden_until_it_is_restored(
    nbhd: Nbhd, blog: d.Site, clock: Clock, anonymous: Client
) -> None:
    nbhd.finish_build(ALICE, nbhd.start_build(ALICE, blog.site_id))
    site = f"/users/{ALICE}/sites/{blog.site_id}"

    def statuses() -> list[int]:
        return [
            anonymous.get(site).status,
            anonymous.by(BORA).get(site).status,
            anonymous.get("/subdomains/alice").status,
        ]

    assert statuses() == [200, 200, 200]
    nbhd.delete_account(ALICE)
    assert statuses() == [404, 404, 404]
    assert [anonymous.by(*who).get(site).status for who in ((ALICE,), ("did:plc:root", "admin"))] == [200, 200]
    nbhd.restore_account(ALICE)
    assert statuses() == [200, 200, 200]
    nbhd.delete_account(ALICE)
    clock.passes(days=31)
    assert statuses() == [404, 404, 404]


def test_a_deleted_account_is_not_listed_as_a_member_until_it_is_restored(
    nbhd: Nbhd, downtown: d.Neighborhood, bora: Client, anonymous: Client
) -> None:
    def listed() -> list[str]:
        return [
            each["did"] for each in anonymous.get(f"/neighborhoods/{downtown.neighborhood_id}/members").json["items"]
        ]

    assert listed() == [ALICE, BORA]
    nbhd.delete_account(BORA)
    assert listed() == [ALICE]
    nbhd.restore_account(BORA)
    assert listed() == [ALICE, BORA]


# request bodies ---------------------------------------------------------------------------------------------------


def test_a_setting_that_is_left_out_stays_unchanged(nbhd: Nbhd, db: Store, anonymous: Client) -> None:
    home = nbhd.create_neighborhood(ALICE, "Strict", settings=d.Settings(require_email_verification=True))
    alice, path = anonymous.by(ALICE), f"/neighborhoods/{home.neighborhood_id}"
    changed = alice.patch(path, {"settings": {"allow_site_creation": False}})
    assert changed.json["settings"] == {"allow_site_creation": False, "require_email_verification": True}
    assert alice.patch(path, {"settings": {}}).json["settings"] == changed.json["settings"]
    assert db.one(d.neighborhood(home.neighborhood_id)).settings == d.Settings(
        allow_site_creation=False, require_email_verification=True
    )


def test_a_blank_text_is_rejected_naming_the_field(
    nbhd: Nbhd, downtown: d.Neighborhood, blog: d.Site, anonymous: Client
) -> None:
    alice, site = anonymous.by(ALICE), {"title": "Bread", "template": "blog", "subdomain": "bread"}
    for reply, field in (
        (anonymous.by("did:plc:new").post("/users", {"bluesky_handle": "n.x", "display_name": " "}), "display_name"),
        (alice.patch(f"/users/{ALICE}", {"display_name": "\t"}), "display_name"),
        (alice.patch(f"/neighborhoods/{downtown.neighborhood_id}", {"name": "\u3000"}), "name"),
        (alice.post(f"/users/{ALICE}/sites", site | {"title": " "}), "title"),
        (alice.patch(f"/users/{ALICE}/sites/{blog.site_id}", {"title": " "}), "title"),
    ):
        assert (reply.status, reply.json["field"]) == (422, field), reply.body


def test_an_invalid_handle_is_rejected_naming_the_parameter(anonymous: Client) -> None:
    response = anonymous.get("/handles/x")
    assert (response.status, response.json["field"]) == (422, "handle")


@pytest.mark.usefixtures("nbhd")
def test_a_site_of_an_unknown_neighborhood_is_rejected(anonymous: Client) -> None:
    new = {"title": "Bread", "template": "blog", "subdomain": "bread", "neighborhood_id": "none"}
    response = anonymous.by(ALICE).post(f"/users/{ALICE}/sites", new)
    assert (response.status, response.json["field"]) == (422, "neighborhood_id")
    assert "none, which does not exist" in response.json["detail"]


def test_an_unknown_nested_member_is_rejected_naming_the_field(
    nbhd: Nbhd, db: Store, downtown: d.Neighborhood, anonymous: Client
) -> None:
    alice, path = anonymous.by(ALICE), f"/neighborhoods/{downtown.neighborhood_id}"
    before = disk(db)
    image = {"avatar": {"url": "https://cdn/a.jpg", "zzz": 1}}
    responses = [
        alice.patch(path, {"settings": {"foo": 1}}),
        alice.post("/neighborhoods", {"name": "Uptown", "settings": {"foo": 1}}),
        alice.patch(f"/users/{ALICE}", {"profile_images": image}),
    ]
    assert [each.status for each in responses] == [422] * 3
    assert [each.json["field"] for each in responses] == ["settings.foo", "settings.foo", "profile_images.avatar.zzz"]
    assert disk(db) == before


def test_an_empty_neighborhood_id_is_rejected_naming_the_field(nbhd: Nbhd, anonymous: Client) -> None:
    site = {"title": "T", "template": "blog", "subdomain": "t", "neighborhood_id": ""}
    response = anonymous.by(ALICE).post(f"/users/{ALICE}/sites", site)
    assert (response.status, response.json["field"]) == (422, "neighborhood_id")


# conditional deletion ---------------------------------------------------------------------------------------------


def test_if_match_protects_users_and_sites(nbhd: Nbhd, db: Store, blog: d.Site, anonymous: Client) -> None:
    alice = anonymous.by(ALICE)
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


def test_the_end_of_a_build_does_not_conflict_with_an_edit(nbhd: Nbhd, blog: d.Site, anonymous: Client) -> None:
    alice, path = anonymous.by(ALICE), f"/users/{ALICE}/sites/{blog.site_id}"
    seen = alice.get(path).tag
    nbhd.finish_build(ALICE, nbhd.start_build(ALICE, blog.site_id))
    assert alice.patch(path, {"title": "Edited meanwhile"}, if_match=seen).status == 200


# builds -----------------------------------------------------------------------------------------------------------


def test_a_build_ends_only_under_the_path_of_its_owner(nbhd: Nbhd, db: Store, blog: d.Site, anonymous: Client) -> None:
    builder = anonymous.by("machine", "builder")
    job = nbhd.start_build(ALICE, blog.site_id)
    before = disk(db)
    for body in ({}, {"error": "no template"}):
        wrong = builder.put(f"/users/{BORA}/sites/{blog.site_id}/builds/{job.job_id}/end", body)
        assert (wrong.status, disk(db)) == (404, before)
    assert builder.put(f"/users/{ALICE}/sites/{blog.site_id}/builds/{job.job_id}/end", {}).status == 200
    again = builder.put(f"/users/{ALICE}/sites/{blog.site_id}/builds/{job.job_id}/end", {})
    assert (again.status, db.one(d.build(blog.site_id, job.started_at)).status) == (409, d.BuildStatus.COMPLETED)


def test_a_second_build_is_rejected_without_a_field(nbhd: Nbhd, blog: d.Site, anonymous: Client, clock: Clock) -> None:
    path = f"/users/{ALICE}/sites/{blog.site_id}/builds"
    assert anonymous.by(ALICE).post(path).status == 201
    clock.passes(seconds=1)
    response = anonymous.by(ALICE).post(path)
    assert (response.status, response.json["detail"]) == (409, f"a build of {blog.site_id} is running")
    assert "field" not in response.json


def test_a_build_is_read_and_deleted_by_id(nbhd: Nbhd, db: Store, blog: d.Site, anonymous: Client) -> None:
    alice, builds = anonymous.by(ALICE), f"/users/{ALICE}/sites/{blog.site_id}/builds"
    created = alice.post(builds)
    path = f"{builds}/{created.json['job_id']}"
    assert alice.get(path).json == created.json
    assert alice.get(f"/users/{BORA}/sites/{blog.site_id}/builds/{created.json['job_id']}").status == 403
    assert anonymous.by(BORA).delete(path).status == 404
    assert alice.delete(path, if_match='"other"').status == 412
    assert alice.delete(path).status == 204
    assert (alice.get(path).status, alice.delete(path).status) == (404, 404)
    assert not any(key.startswith(("BUILD#", "UNIQUE#BuildJob")) for key in disk(db))
    assert anonymous.by("root", "admin").get(f"{builds}/job-abc123").status == 404


def test_a_build_is_found_with_one_get_item(nbhd: Nbhd, db: Store, blog: d.Site) -> None:
    job = nbhd.start_build(ALICE, blog.site_id)
    with db.measure() as used:
        assert nbhd.find_build(blog.site_id, job.job_id) == job
    assert used.requests == 1
