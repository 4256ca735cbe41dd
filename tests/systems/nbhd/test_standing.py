"""Roles, consent, publication, names and leases: what members, sites and builders may rely on."""

from collections.abc import Callable

import pytest

from partita import InvalidValue, NotFound, NotUnique, Store
from partita_systems.nbhd import design as d
from partita_systems.nbhd.errors import LastAdmin
from partita_systems.nbhd.reserved_names import RESERVED
from partita_systems.nbhd.service import MAX_ADMINISTERED, Nbhd
from tests.rest.client import Client
from tests.store.clocks import Clock
from tests.systems.nbhd.conftest import ALICE, BORA, CHLOE, disk


def active_admins(db: Store, home: str) -> int:
    found = db(d.members(home))
    return sum((each.role, each.status) == (d.Role.ADMIN, d.MembershipStatus.ACTIVE) for each in found)


# a neighborhood always has an admin -------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["leave", "set_role", "delete_account"])
def test_the_last_admin_cannot_leave_step_down_or_delete_the_account(
    nbhd: Nbhd, db: Store, downtown: d.Neighborhood, end: str
) -> None:
    nbhd.join(downtown.neighborhood_id, BORA)
    ends: dict[str, Callable[[], object]] = {
        "leave": lambda: nbhd.leave(downtown.neighborhood_id, ALICE),
        "set_role": lambda: nbhd.set_role(downtown.neighborhood_id, ALICE, d.Role.MEMBER),
        "delete_account": lambda: nbhd.delete_account(ALICE),
    }
    before = disk(db)
    with pytest.raises(
        LastAdmin, match=f"{ALICE} is the only admin of {downtown.neighborhood_id}; make another member admin first"
    ):
        ends[end]()
    assert disk(db) == before
    nbhd.set_role(downtown.neighborhood_id, BORA, d.Role.ADMIN)
    ends[end]()
    assert (
        active_admins(db, downtown.neighborhood_id) == db.one(d.neighborhood(downtown.neighborhood_id)).admin_count == 1
    )


def test_the_last_admin_gets_a_conflict_over_http(nbhd: Nbhd, downtown: d.Neighborhood, anonymous: Client) -> None:
    alice, here = anonymous.by(ALICE), f"/neighborhoods/{downtown.neighborhood_id}/members/{ALICE}"
    replies = [alice.delete(here), alice.put(f"{here}/role", {"role": "member"}), alice.delete(f"/users/{ALICE}")]
    assert [each.status for each in replies] == [409, 409, 409]
    assert all(downtown.neighborhood_id in each.json["detail"] for each in replies)


def test_closing_a_neighborhood_ends_the_role_of_its_last_admin(nbhd: Nbhd, downtown: d.Neighborhood) -> None:
    nbhd.close(downtown.neighborhood_id, ALICE)
    nbhd.delete_account(ALICE)


def test_an_inactive_admin_does_not_count(nbhd: Nbhd, db: Store, downtown: d.Neighborhood) -> None:
    nbhd.join(downtown.neighborhood_id, BORA)
    nbhd.set_role(downtown.neighborhood_id, BORA, d.Role.ADMIN)
    nbhd.delete_account(BORA)
    assert db.one(d.user(BORA)).administered_count == 0
    with pytest.raises(LastAdmin):
        nbhd.leave(downtown.neighborhood_id, ALICE)
    nbhd.restore_account(BORA)
    assert (db.one(d.user(BORA)).administered_count, db.one(d.neighborhood(downtown.neighborhood_id)).admin_count) == (
        1,
        2,
    )
    nbhd.leave(downtown.neighborhood_id, ALICE)


def test_deleting_an_account_names_every_neighborhood_that_would_have_no_admin(nbhd: Nbhd) -> None:
    homes = [nbhd.create_neighborhood(ALICE, f"Home {number}").neighborhood_id for number in range(3)]
    nbhd.join(homes[1], BORA)
    nbhd.set_role(homes[1], BORA, d.Role.ADMIN)
    with pytest.raises(LastAdmin) as error:
        nbhd.delete_account(ALICE)
    assert sorted(error.value.neighborhood_ids) == sorted([homes[0], homes[2]])


def test_the_admin_of_many_neighborhoods_deletes_the_account_in_one_transaction(nbhd: Nbhd, db: Store) -> None:
    for number in range(MAX_ADMINISTERED + 1):
        home = nbhd.create_neighborhood(ALICE, f"Home {number}").neighborhood_id
        nbhd.join(home, BORA)
        nbhd.set_role(home, BORA, d.Role.ADMIN)
    with pytest.raises(InvalidValue, match="has to hand over some of them first"):
        nbhd.delete_account(ALICE)
    nbhd.leave(home, ALICE)
    nbhd.delete_account(ALICE)
    assert all(each.status == d.MembershipStatus.INACTIVE for each in db(d.memberships_of_user(ALICE)))


# membership needs the member's consent ----------------------------------------------------------------------------


@pytest.fixture
def private(nbhd: Nbhd) -> str:
    return nbhd.create_neighborhood(ALICE, "Secret Garden", privacy=d.Privacy.PRIVATE).neighborhood_id


def test_nobody_can_add_another_user(nbhd: Nbhd, downtown: d.Neighborhood, private: str, anonymous: Client) -> None:
    for home in (downtown.neighborhood_id, private):
        for caller in (anonymous.by(ALICE), anonymous.by("root", "admin")):
            assert caller.put(f"/neighborhoods/{home}/members/{BORA}").status == 403
    assert anonymous.by(BORA).put(f"/neighborhoods/{downtown.neighborhood_id}/members/{BORA}").status == 200


def test_an_invited_user_joins_a_private_neighborhood_once(
    nbhd: Nbhd, db: Store, private: str, anonymous: Client
) -> None:
    alice, bora, chloe = (anonymous.by(each) for each in (ALICE, BORA, CHLOE))
    here, invitation = f"/neighborhoods/{private}", f"/neighborhoods/{private}/invitations/{BORA}"
    join = f"{here}/members/{BORA}"
    assert bora.put(invitation).status in (403, 404)
    assert bora.put(join).status == 404
    made = alice.put(invitation)
    assert (made.status, made.json["invited_by"], made.json["neighborhood_name"]) == (200, ALICE, "Secret Garden")
    assert alice.put(invitation).json == made.json
    assert [each["neighborhood_id"] for each in bora.get(f"/users/{BORA}/invitations").json["items"]] == [private]
    assert [bora.get(here).status, chloe.get(here).status, bora.get(f"{here}/members").status] == [200, 404, 403]
    assert chloe.put(f"{here}/members/{CHLOE}").status == 404
    assert bora.put(join).json["role"] == "member"
    assert bora.get(f"/users/{BORA}/invitations").json["items"] == []
    assert bora.delete(join).status == 204
    assert bora.put(join).status == 404
    assert db.one(d.neighborhood(private)).member_count == 1


def test_an_invitation_is_declined_withdrawn_or_expires(
    nbhd: Nbhd, private: str, anonymous: Client, clock: Clock
) -> None:
    here = f"/neighborhoods/{private}/invitations/{BORA}"
    for caller in (ALICE, BORA):
        nbhd.invite(private, BORA, ALICE)
        assert anonymous.by(CHLOE).delete(here).status == 404
        assert anonymous.by(caller).delete(here).status == 204
        with pytest.raises(NotFound):
            nbhd.join(private, BORA)
    nbhd.invite(private, BORA, ALICE)
    clock.passes(days=31)
    with pytest.raises(NotFound):
        nbhd.join(private, BORA)


def test_members_and_deleted_accounts_cannot_be_invited(nbhd: Nbhd, private: str) -> None:
    with pytest.raises(InvalidValue, match=r"Invitation.did: .* is a member already"):
        nbhd.invite(private, ALICE, ALICE)
    nbhd.delete_account(BORA)
    with pytest.raises(InvalidValue, match=r"Invitation.did: the account is deleted"):
        nbhd.invite(private, BORA, ALICE)


def test_a_private_neighborhood_is_not_found_by_strangers(nbhd: Nbhd, private: str, anonymous: Client) -> None:
    missing = anonymous.by(BORA).get("/neighborhoods/n_missing")
    for path in ("", "/members", f"/members/{ALICE}", "/past-members", f"/invitations/{CHLOE}"):
        for caller in (anonymous, anonymous.by(BORA)):
            assert caller.get(f"/neighborhoods/{private}{path}").status in (401, 404), path
    for reply in (
        anonymous.by(BORA).get(f"/neighborhoods/{private}"),
        anonymous.get(f"/neighborhoods/{private}"),
        anonymous.by(BORA).patch(f"/neighborhoods/{private}", {"name": "Mine"}),
        anonymous.by(BORA).delete(f"/neighborhoods/{private}"),
        anonymous.by(BORA).put(f"/neighborhoods/{private}/members/{ALICE}/role", {"role": "member"}),
        anonymous.by(BORA).get("/slugs/secret-garden"),
    ):
        assert (reply.status, reply.json["title"]) == (404, missing.json["title"])


# publication ------------------------------------------------------------------------------------------------------


def test_an_unpublished_site_is_hidden_until_it_is_published_again(nbhd: Nbhd, blog: d.Site, anonymous: Client) -> None:
    alice, here = anonymous.by(ALICE), f"/users/{ALICE}/sites/{blog.site_id}"
    nbhd.finish_build(ALICE, nbhd.start_build(ALICE, blog.site_id))
    assert anonymous.get("/subdomains/alice").status == 200
    assert anonymous.by(BORA).delete(f"{here}/publication").status in (403, 404)
    assert alice.delete(f"{here}/publication").json["status"] == "unpublished"
    assert [anonymous.get(each).status for each in ("/subdomains/alice", here)] == [404, 404]
    assert alice.get(here).status == 200
    assert alice.put(f"{here}/publication").json["status"] == "published"
    assert anonymous.get("/subdomains/alice").status == 200


def test_a_build_does_not_publish_an_unpublished_site(nbhd: Nbhd, db: Store, blog: d.Site, clock: Clock) -> None:
    running = nbhd.start_build(ALICE, blog.site_id)
    nbhd.unpublish(ALICE, blog.site_id)
    clock.passes(seconds=40)
    assert nbhd.finish_build(ALICE, running).status == d.BuildStatus.COMPLETED
    site = db.one(d.site(ALICE, blog.site_id))
    assert (site.status, site.built_at) == (d.SiteStatus.UNPUBLISHED, clock())
    assert nbhd.publish(ALICE, blog.site_id).status == d.SiteStatus.PUBLISHED


def test_a_site_that_was_never_built_becomes_a_draft_when_it_is_published(nbhd: Nbhd, blog: d.Site) -> None:
    nbhd.unpublish(ALICE, blog.site_id)
    assert nbhd.publish(ALICE, blog.site_id).status == d.SiteStatus.DRAFT


# reserved names ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["www", "API", "admin", " mail ", "postmaster", "ns1", "localhost", "login"])
def test_a_reserved_name_cannot_be_a_subdomain_a_slug_or_a_handle(
    nbhd: Nbhd, blog: d.Site, downtown: d.Neighborhood, anonymous: Client, name: str
) -> None:
    alice, dan = anonymous.by(ALICE), anonymous.by("did:plc:dan")
    site, home = f"/users/{ALICE}/sites", f"/neighborhoods/{downtown.neighborhood_id}"
    for reply, field in (
        (alice.post(site, {"title": "a", "template": "blog", "subdomain": name}), "subdomain"),
        (alice.patch(f"{site}/{blog.site_id}", {"subdomain": name}), "subdomain"),
        (alice.post("/neighborhoods", {"name": "Mine", "slug": name}), "slug"),
        (alice.post("/neighborhoods", {"name": name}), "name"),
        (alice.patch(home, {"slug": name}), "slug"),
        (dan.post("/users", {"bluesky_handle": f"{name.strip()}.bsky.social", "display_name": "D"}), "bluesky_handle"),
        (alice.put(f"/users/{ALICE}/handle", {"bluesky_handle": f"{name.strip()}@nbhd.city"}), "bluesky_handle"),
    ):
        assert (reply.status, reply.json["field"]) == (422, field)
        assert "reserved" in reply.json["detail"]
    assert anonymous.get(f"/subdomains/{name.strip()}").status == 404


def test_reserved_names_are_in_the_form_of_subdomains() -> None:
    assert {"www", "api", "admin", "mail", "smtp", "postmaster", "root", "support", "wpad"} <= RESERVED
    assert all(each == each.lower().strip() and each.replace("-", "").isalnum() for each in RESERVED)


def test_a_reserved_name_that_is_in_use_stays_usable(nbhd: Nbhd, db: Store, blog: d.Site) -> None:
    with db.change(d.site(ALICE, blog.site_id)) as draft:
        draft.subdomain = "www"
    assert nbhd.find_by_subdomain("www") is not None


# leases of builds -------------------------------------------------------------------------------------------------


def test_a_build_whose_builder_has_stopped_fails_when_the_next_one_starts(
    nbhd: Nbhd, db: Store, blog: d.Site, clock: Clock
) -> None:
    dead = nbhd.start_build(ALICE, blog.site_id)
    clock.passes(minutes=14)
    with pytest.raises(NotUnique):
        nbhd.start_build(ALICE, blog.site_id)
    clock.passes(minutes=2)
    taken_over = nbhd.start_build(ALICE, blog.site_id)
    assert nbhd.running_build(blog.site_id) == taken_over
    failed = db.one(d.build(blog.site_id, dead.started_at))
    assert (failed.status, failed.completed_at) == (d.BuildStatus.FAILED, clock())
    assert failed.error == "the builder has stopped: no sign of life for 15 minutes"


def test_a_builder_keeps_its_build_by_signs_of_life(nbhd: Nbhd, blog: d.Site, clock: Clock, anonymous: Client) -> None:
    job = nbhd.start_build(ALICE, blog.site_id)
    here = f"/users/{ALICE}/sites/{blog.site_id}/builds/{job.job_id}"
    builder = anonymous.by("builder-1", "builder")
    for _ in range(4):
        clock.passes(minutes=14)
        assert builder.put(f"{here}/lease").status == 200
        with pytest.raises(NotUnique):
            nbhd.start_build(ALICE, blog.site_id)
    assert anonymous.by(ALICE).put(f"{here}/lease").status == 403
    assert builder.put(f"{here}/end", {}).json["status"] == "completed"
    assert builder.put(f"{here}/lease").status == 409


def test_the_end_of_a_build_that_was_taken_over_is_rejected(
    nbhd: Nbhd, blog: d.Site, clock: Clock, anonymous: Client
) -> None:
    late = nbhd.start_build(ALICE, blog.site_id)
    clock.passes(minutes=16)
    nbhd.start_build(ALICE, blog.site_id)
    here = f"/users/{ALICE}/sites/{blog.site_id}/builds/{late.job_id}"
    builder = anonymous.by("builder-1", "builder")
    assert [builder.put(f"{here}/end", {}).status, builder.put(f"{here}/lease").status] == [409, 409]


def test_a_late_end_counts_if_nobody_has_taken_over(nbhd: Nbhd, blog: d.Site, clock: Clock) -> None:
    job = nbhd.start_build(ALICE, blog.site_id)
    clock.passes(hours=1)
    assert nbhd.finish_build(ALICE, job).status == d.BuildStatus.COMPLETED


def test_builds_come_in_pages_of_ten(nbhd: Nbhd, blog: d.Site, clock: Clock, anonymous: Client) -> None:
    for _ in range(11):
        clock.passes(minutes=1)
        nbhd.finish_build(ALICE, nbhd.start_build(ALICE, blog.site_id))
    page = anonymous.by(ALICE).get(f"/users/{ALICE}/sites/{blog.site_id}/builds").json
    assert len(page["items"]) == 10
    assert page["cursor"] is not None


# input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", ["javascript:alert(1)", "data:text/html,x", "not a url", "ftp://a", "https://u:p@a"])
def test_an_address_that_is_not_of_the_web_is_rejected_with_its_field(
    nbhd: Nbhd, blog: d.Site, anonymous: Client, bad: str
) -> None:
    alice = anonymous.by(ALICE)
    new = {"bluesky_handle": "dan.bsky.social", "display_name": "Dan", "avatar_url": bad}
    job = nbhd.start_build(ALICE, blog.site_id).job_id
    end = f"/users/{ALICE}/sites/{blog.site_id}/builds/{job}/end"
    for reply, field in (
        (anonymous.by("did:plc:dan").post("/users", new), "avatar_url"),
        (alice.patch(f"/users/{ALICE}", {"avatar_url": bad}), "avatar_url"),
        (alice.patch(f"/users/{ALICE}", {"profile_images": {"avatar": {"url": bad}}}), "profile_images"),
        (anonymous.by("b", "builder").put(end, {"log_url": bad}), "log_url"),
    ):
        assert (reply.status, reply.json["field"]) == (422, field)
        assert "https://example.com" in reply.json["detail"]


@pytest.mark.parametrize("bad", [" ", "a\nb", "a\x00", "\u200b", "a\u202eb"])
def test_a_blank_or_broken_line_is_rejected_with_its_field(
    nbhd: Nbhd, blog: d.Site, downtown: d.Neighborhood, anonymous: Client, bad: str
) -> None:
    alice = anonymous.by(ALICE)
    for reply, field in (
        (alice.patch(f"/users/{ALICE}", {"display_name": bad}), "display_name"),
        (alice.post("/neighborhoods", {"name": bad}), "name"),
        (alice.patch(f"/neighborhoods/{downtown.neighborhood_id}", {"name": bad}), "name"),
        (alice.patch(f"/users/{ALICE}/sites/{blog.site_id}", {"title": bad}), "title"),
        (alice.patch(f"/users/{ALICE}/sites/{blog.site_id}", {"template": bad}), "template"),
    ):
        assert (reply.status, reply.json["field"]) == (422, field)


def test_descriptions_have_lines_but_no_control_characters(
    nbhd: Nbhd, downtown: d.Neighborhood, anonymous: Client
) -> None:
    alice, here = anonymous.by(ALICE), f"/neighborhoods/{downtown.neighborhood_id}"
    assert alice.patch(here, {"description": "one\ntwo"}).status == 200
    assert alice.patch(here, {"description": "a\x07"}).json["field"] == "description"


# replies ----------------------------------------------------------------------------------------------------------


def test_only_deletions_answer_without_a_body() -> None:
    from partita_systems.nbhd.api import api

    empty = {f"{route.method} {route.path}" for route in api.routes if route.result is None and route.method != "GET"}
    assert all(each.startswith("DELETE ") for each in empty)


def test_public_lists_may_be_cached_for_seconds_and_private_replies_only_by_the_caller(
    nbhd: Nbhd, anonymous: Client
) -> None:
    for address in ("/users", "/neighborhoods"):
        assert anonymous.get(address).headers["cache-control"] == "public, max-age=10"
    for address in ("memberships", "sites", "invitations"):
        assert anonymous.by(ALICE).get(f"/users/{ALICE}/{address}").headers["cache-control"].startswith("private")


def test_an_active_profile_never_expires(nbhd: Nbhd, db: Store, clock: Clock) -> None:
    assert "ttl" not in disk(db)[f"USER#{ALICE} PROFILE"]
    clock.passes(days=36_500)
    assert db.one(d.user(ALICE)).display_name == "Alice"


def test_the_api_describes_every_operation(nbhd: Nbhd, anonymous: Client) -> None:
    from partita_systems.nbhd.api import api

    described = anonymous.get("/openapi.json").json["paths"]
    assert {(route.method.lower(), route.path) for route in api.routes} <= {
        (method, path.removeprefix("/api/nbhd")) for path, methods in described.items() for method in methods
    }
