"""Each problem of the document that the page lists, and the behaviour that solves it."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from partita import (
    AlreadyExists,
    ConditionFailed,
    InvalidValue,
    NotFound,
    NotUnique,
    ReferenceMissing,
    Store,
)
from partita.dynamodb.requests import PutItem
from partita.dynamodb.values import Item
from partita_systems.nbhd import design as d
from partita_systems.nbhd.service import Nbhd, month
from partita_systems.nbhd.validation import MAX_CONFIG_BYTES
from tests.store.clocks import Clock
from tests.systems.nbhd.conftest import ALICE, BORA, CHLOE, disk

# names on disk ----------------------------------------------------------------------------------------------------


def test_items_on_disk_have_the_document_s_names_and_keys(nbhd: Nbhd, db: Store, clock: Clock) -> None:
    nbhd.register(
        "did:plc:dan",
        "dan@bsky.social",
        "Dan",
        bluesky_did="did:plc:xyz789",
        avatar_url="https://cdn/d.jpg",
        bio="Community organizer",
    )
    home = nbhd.create_neighborhood("did:plc:dan", "Downtown")
    site = nbhd.create_site("did:plc:dan", "My Blog", "blog", "dan", {"author": "Dan"})
    job = nbhd.start_build("did:plc:dan", site.site_id)
    nbhd.finish_build("did:plc:dan", job, log_url="https://logs/1")
    stored = disk(db)
    now = f"{clock():%Y-%m-%dT%H:%M:%S}.000000Z"
    assert stored["USER#did:plc:dan PROFILE"].keys() == {
        *("PK", "SK", "did", "bluesky_handle", "bluesky_did", "display_name", "avatar_url", "profile_images", "bio"),
        *("created_at", "updated_at", "entity_type", "administered_count"),
    }
    assert stored[f"NBHD#{home.neighborhood_id} METADATA"].keys() == {
        *("PK", "SK", "id", "name", "slug", "description", "creator_did", "created_at", "member_count"),
        *("privacy", "settings", "entity_type", "admin_count"),
    }
    assert stored[f"NBHD#{home.neighborhood_id} METADATA"]["settings"] == {
        "M": {"allow_site_creation": {"BOOL": True}, "require_email_verification": {"BOOL": False}}
    }
    assert stored[f"NBHD#{home.neighborhood_id} MEMBER#did:plc:dan"].keys() == {
        "PK",
        "SK",
        "role",
        "joined_at",
        "user_did",
        "status",
    }
    assert stored[f"USER#did:plc:dan SITE#{site.site_id}"].keys() == {
        *("PK", "SK", "site_id", "title", "template", "status", "subdomain", "config"),
        *("created_at", "updated_at", "built_at", "public_url"),
    }
    assert stored[f"USER#did:plc:dan SITE#{site.site_id}"]["public_url"] == {"S": "https://dan.nbhd.city"}
    assert stored[f"BUILD#{site.site_id} JOB#{now}"].keys() == {
        *("PK", "SK", "job_id", "site_id", "status", "started_at", "completed_at", "log_url", "lease_until"),
        *("created_at", "ttl", "owner_did"),
    }


def test_items_in_the_form_of_the_document_can_be_read(nbhd: Nbhd, db: Store) -> None:
    old: Item = {
        "PK": {"S": "BUILD#site-001"},
        "SK": {"S": "JOB#2026-01-10T09:15:00Z"},
        "job_id": {"S": "job-abc123"},
        "site_id": {"S": "site-001"},
        "status": {"S": "completed"},
        "started_at": {"S": "2026-01-10T09:15:00Z"},
        "error": {"NULL": True},
        "log_url": {"S": "https://x/logs"},
    }
    db.backend.call(PutItem(table_name="nbhd-city", item=old))
    (job,) = db(d.builds_of_site("site-001"))
    assert (job.job_id, job.status, job.error) == ("job-abc123", d.BuildStatus.COMPLETED, None)
    assert job.started_at == datetime(2026, 1, 10, 9, 15, tzinfo=UTC)


# GSI1 on entity_type: no example item has it ----------------------------------------------------------------------


def test_users_and_neighborhoods_write_entity_type_and_are_listed_newest_first(
    nbhd: Nbhd, db: Store, clock: Clock, downtown: d.Neighborhood
) -> None:
    clock.passes(days=1)
    nbhd.register("did:plc:dan", "dan.bsky.social", "Dan")
    uptown = nbhd.create_neighborhood(BORA, "Uptown")
    assert next(iter(db(d.users()))).did == "did:plc:dan"
    assert len(list(db(d.users()))) == 4
    assert [each.neighborhood_id for each in db(d.neighborhoods())] == [
        uptown.neighborhood_id,
        downtown.neighborhood_id,
    ]
    assert disk(db)["USER#did:plc:dan PROFILE"]["entity_type"] == {"S": "USER"}
    assert disk(db)[f"NBHD#{uptown.neighborhood_id} METADATA"]["entity_type"] == {"S": "NBHD"}


def test_users_of_a_month_include_its_first_and_last_microsecond(nbhd: Nbhd, db: Store, clock: Clock) -> None:
    year = clock().year
    clock.now = datetime(year, 1, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    nbhd.register("did:plc:last", "last.bsky.social", "Last")
    clock.passes(microseconds=1)
    nbhd.register("did:plc:february", "february.bsky.social", "February")
    january = [each.did for each in db(d.users_between(*month(year, 1)))]
    assert january[0] == "did:plc:last"
    assert sorted(january[1:]) == [ALICE, BORA, CHLOE]
    assert [each.did for each in db(d.users_between(*month(year, 2)))] == ["did:plc:february"]
    assert month(2024, 2)[1] == datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC)


def test_a_private_neighborhood_leaves_the_list_and_keeps_its_slug(
    nbhd: Nbhd, db: Store, downtown: d.Neighborhood
) -> None:
    nbhd.set_privacy(downtown.neighborhood_id, d.Privacy.PRIVATE)
    assert list(db(d.neighborhoods())) == []
    assert "entity_type" not in disk(db)[f"NBHD#{downtown.neighborhood_id} METADATA"]
    assert nbhd.find_by_slug("downtown-collective") == db.one(d.neighborhood(downtown.neighborhood_id))
    nbhd.set_privacy(downtown.neighborhood_id, d.Privacy.PUBLIC)
    assert [each.neighborhood_id for each in db(d.neighborhoods())] == [downtown.neighborhood_id]


# GSI4 "builds by site": it lists sites and no builds --------------------------------------------------------------


def test_builds_of_a_site_are_newest_first_and_without_the_site(
    nbhd: Nbhd, db: Store, clock: Clock, blog: d.Site
) -> None:
    jobs = []
    for _ in range(12):
        clock.passes(minutes=1)
        jobs.append(nbhd.start_build(ALICE, blog.site_id))
        nbhd.finish_build(ALICE, jobs[-1])
    newest = [job.job_id for job in reversed(jobs)]
    assert [each.job_id for each in db(d.builds_of_site(blog.site_id))] == newest
    assert [each.job_id for each in db(d.builds_in_index(blog.site_id)).page().items] == newest[:10]
    assert [each.job_id for each in db(d.builds_in_index(blog.site_id))] == newest
    assert "filter" in db.explain(d.builds_in_index(blog.site_id))


# JOB#{timestamp}: two in one second overwrite each other ----------------------------------------------------------


def test_two_builds_in_one_second_are_two_items(nbhd: Nbhd, db: Store, clock: Clock, blog: d.Site) -> None:
    nbhd.finish_build(ALICE, nbhd.start_build(ALICE, blog.site_id))
    clock.passes(milliseconds=1)
    nbhd.finish_build(ALICE, nbhd.start_build(ALICE, blog.site_id))
    assert len(list(db(d.builds_of_site(blog.site_id)))) == 2


def test_a_second_build_in_the_same_millisecond_is_rejected(nbhd: Nbhd, db: Store, blog: d.Site) -> None:
    first = nbhd.start_build(ALICE, blog.site_id)
    nbhd.finish_build(ALICE, first)
    with pytest.raises(AlreadyExists):
        nbhd.start_build(ALICE, blog.site_id)
    assert [each.job_id for each in db(d.builds_of_site(blog.site_id))] == [first.job_id]


def test_one_build_of_a_site_runs_at_a_time(nbhd: Nbhd, clock: Clock, blog: d.Site) -> None:
    running = nbhd.start_build(ALICE, blog.site_id)
    clock.passes(seconds=1)
    with pytest.raises(NotUnique, match=r"BuildJob.one_at_a_time: '.*' is taken"):
        nbhd.start_build(ALICE, blog.site_id)
    nbhd.finish_build(ALICE, running, error="no template")
    nbhd.start_build(ALICE, blog.site_id)


def test_the_running_build_is_found_with_two_get_items(nbhd: Nbhd, db: Store, blog: d.Site) -> None:
    running = nbhd.start_build(ALICE, blog.site_id)
    with db.measure() as used:
        assert nbhd.running_build(blog.site_id) == running
    assert used.requests == 2
    nbhd.finish_build(ALICE, running)
    assert nbhd.running_build(blog.site_id) is None


def test_a_successful_build_publishes_and_a_failed_one_does_not_change_the_site(
    nbhd: Nbhd, db: Store, clock: Clock, blog: d.Site
) -> None:
    clock.passes(minutes=1)
    nbhd.finish_build(ALICE, nbhd.start_build(ALICE, blog.site_id))
    built = db.one(d.site(ALICE, blog.site_id))
    assert (built.status, built.built_at) == (d.SiteStatus.PUBLISHED, clock())
    assert built.updated_at == blog.updated_at
    clock.passes(minutes=1)
    job = nbhd.start_build(ALICE, blog.site_id)
    nbhd.finish_build(ALICE, job, error="no template")
    assert db.one(d.site(ALICE, blog.site_id)) == built
    failed = db.one(d.build(blog.site_id, job.started_at))
    assert (failed.status, failed.error, failed.completed_at) == (d.BuildStatus.FAILED, "no template", clock())
    with pytest.raises(ConditionFailed):
        nbhd.finish_build(ALICE, job)


def test_deleting_a_site_during_its_build_fails_the_build(nbhd: Nbhd, db: Store, blog: d.Site) -> None:
    job = nbhd.start_build(ALICE, blog.site_id)
    nbhd.delete_site(ALICE, blog.site_id)
    nbhd.finish_build(ALICE, job)
    assert db.one(d.build(blog.site_id, job.started_at)).error == "the site was deleted during the build"
    with pytest.raises(InvalidValue, match=r"BuildJob.site_id: did:plc:alice has no site"):
        nbhd.start_build(ALICE, blog.site_id)


# slug unique by GSI2: an index is eventually consistent -----------------------------------------------------------


def test_a_slug_is_unique_and_found_by_its_guard_and_in_the_index(
    nbhd: Nbhd, db: Store, downtown: d.Neighborhood
) -> None:
    with pytest.raises(NotUnique, match=r"Neighborhood.slug: 'downtown-collective' is taken"):
        nbhd.create_neighborhood(BORA, "Downtown  COLLECTIVE!")
    assert nbhd.find_by_slug("Downtown Collective") == downtown
    assert [each.neighborhood_id for each in db(d.neighborhoods_by_slug("downtown-collective"))] == [
        downtown.neighborhood_id
    ]


def test_renaming_reserves_the_new_slug_and_releases_the_old(nbhd: Nbhd, db: Store, downtown: d.Neighborhood) -> None:
    other = nbhd.create_neighborhood(BORA, "Uptown")
    with pytest.raises(NotUnique, match=r"Neighborhood.slug: 'uptown' is taken"):
        nbhd.rename(downtown.neighborhood_id, "Uptown")
    assert db.one(d.neighborhood(downtown.neighborhood_id)).name == "Downtown Collective"
    nbhd.rename(downtown.neighborhood_id, "Riverside", "river-side")
    assert nbhd.find_by_slug("downtown-collective") is None
    assert nbhd.find_by_slug("river-side") == db.one(d.neighborhood(downtown.neighborhood_id))
    nbhd.rename(other.neighborhood_id, "Downtown Collective")


def test_a_handle_is_unique_without_case(nbhd: Nbhd) -> None:
    with pytest.raises(NotUnique, match=r"User.bluesky_handle: 'ALICE@bsky.social' is taken"):
        nbhd.register("did:plc:other", "@ALICE@bsky.social", "Not Alice")
    nbhd.change_handle(ALICE, "alice.nbhd.city")
    nbhd.register("did:plc:other", "ALICE@bsky.social", "Another Alice")
    found = nbhd.find_by_handle("Alice.nbhd.city")
    assert found is not None
    assert found.did == ALICE


def test_a_subdomain_is_unique_and_released_on_change(nbhd: Nbhd, db: Store, blog: d.Site) -> None:
    with pytest.raises(NotUnique, match=r"Site.subdomain: 'alice' is taken"):
        nbhd.create_site(BORA, "Mine", "blog", "Alice")
    nbhd.change_subdomain(ALICE, blog.site_id, "alice-writes")
    assert db.one(d.site(ALICE, blog.site_id)).public_url == "https://alice-writes.nbhd.city"
    nbhd.create_site(BORA, "Mine", "blog", "alice")
    found = nbhd.find_by_subdomain("ALICE-writes")
    assert found is not None
    assert found.site_id == blog.site_id


def test_guards_have_no_index_attributes(nbhd: Nbhd, db: Store, downtown: d.Neighborhood, blog: d.Site) -> None:
    nbhd.start_build(ALICE, blog.site_id)
    indexed = {name for index in d.nbhd.indexes for name in (*index.pk, *index.sk)}
    guards = [item for key, item in disk(db).items() if key.startswith("UNIQUE#")]
    assert len(guards) == 6
    assert not any(guard.keys() & indexed for guard in guards)


# member_count: drifts ---------------------------------------------------------------------------------------------


def test_member_count_follows_joining_and_leaving(nbhd: Nbhd, db: Store, downtown: d.Neighborhood) -> None:
    assert downtown == db.one(d.neighborhood(downtown.neighborhood_id))
    assert downtown.member_count == 1
    nbhd.join(downtown.neighborhood_id, BORA)
    nbhd.join(downtown.neighborhood_id, CHLOE)
    with pytest.raises(AlreadyExists):
        nbhd.join(downtown.neighborhood_id, CHLOE)
    assert db.one(d.neighborhood(downtown.neighborhood_id)).member_count == 3
    nbhd.leave(downtown.neighborhood_id, BORA)
    with pytest.raises(NotFound):
        nbhd.leave(downtown.neighborhood_id, BORA)
    assert db.one(d.neighborhood(downtown.neighborhood_id)).member_count == 2
    assert {each.did: each.role for each in db(d.members(downtown.neighborhood_id))} == {
        ALICE: d.Role.ADMIN,
        CHLOE: d.Role.MEMBER,
    }


def test_joining_requires_an_existing_user_and_neighborhood(nbhd: Nbhd, db: Store, downtown: d.Neighborhood) -> None:
    before = disk(db)
    with pytest.raises(ReferenceMissing, match="Membership refers to Neighborhood"):
        nbhd.join("n_none", BORA)
    with pytest.raises(ReferenceMissing, match="Membership refers to User"):
        nbhd.join(downtown.neighborhood_id, "did:plc:nobody")
    with pytest.raises(ReferenceMissing, match="refers to User"):
        nbhd.create_neighborhood("did:plc:nobody", "Nowhere")
    assert disk(db) == before


def test_neighborhoods_of_a_user_are_listed_last_joined_first(nbhd: Nbhd, db: Store, clock: Clock) -> None:
    homes = []
    for name in ("One", "Two", "Three"):
        clock.passes(days=1)
        homes.append(nbhd.create_neighborhood(ALICE, name).neighborhood_id)
    page = nbhd.neighborhoods_of(ALICE, size=2)
    assert [each.neighborhood_id for each in page.items] == [homes[2], homes[1]]
    assert [each.neighborhood_id for each in nbhd.neighborhoods_of(ALICE, size=2, cursor=page.cursor).items] == [
        homes[0]
    ]


# membership history for ever --------------------------------------------------------------------------------------


def test_leaving_writes_history_without_index_attributes_and_rejoining_keeps_it(
    nbhd: Nbhd, db: Store, clock: Clock, downtown: d.Neighborhood
) -> None:
    joined = nbhd.join(downtown.neighborhood_id, BORA).joined_at
    nbhd.set_role(downtown.neighborhood_id, BORA, d.Role.ADMIN)
    clock.passes(days=10)
    past = nbhd.leave(downtown.neighborhood_id, BORA)
    assert (past.role, past.member_since, past.left_at) == (d.Role.ADMIN, joined, clock())
    assert db(d.member(downtown.neighborhood_id, BORA)) is None
    assert list(db(d.memberships_of_user(BORA))) == []
    clock.passes(days=10)
    assert nbhd.join(downtown.neighborhood_id, BORA).role == d.Role.MEMBER
    nbhd.leave(downtown.neighborhood_id, BORA)
    assert [each.left_at.day for each in db(d.past_members(downtown.neighborhood_id))] == [21, 11]
    rows = [item for key, item in disk(db).items() if " HISTORY#" in key]
    assert len(rows) == 4  # each with its link
    assert not any(row.keys() & {"user_did", "joined_at", "created_at", "entity_type"} for row in rows)


def test_history_can_be_pseudonymised(nbhd: Nbhd, db: Store, downtown: d.Neighborhood) -> None:
    nbhd.join(downtown.neighborhood_id, BORA)
    past = nbhd.leave(downtown.neighborhood_id, BORA)
    with db.change(d.past_member(downtown.neighborhood_id, past.left_at, BORA)) as draft:
        draft.did = "gone"
    assert [each.did for each in db(d.past_members(downtown.neighborhood_id))] == ["gone"]


# deleted sites and accounts would stay in the documented lists ----------------------------------------------------


def test_a_deleted_site_is_not_listed_keeps_its_subdomain_and_can_be_restored(
    nbhd: Nbhd, db: Store, clock: Clock, blog: d.Site
) -> None:
    nbhd.delete_site(ALICE, blog.site_id)
    assert list(db(d.sites_of_user(ALICE))) == []
    assert db(d.site(ALICE, blog.site_id)) is None
    assert nbhd.find_by_subdomain("alice") is None
    (deleted,) = db(d.deleted_sites_of_user(ALICE))
    assert (deleted.site_id, deleted.deleted_at) == (blog.site_id, clock())
    assert f"USER#{ALICE} DELETED_SITE#{blog.site_id}" in disk(db)
    with pytest.raises(NotUnique):
        nbhd.create_site(BORA, "Mine", "blog", "alice")
    clock.passes(days=6)
    nbhd.restore_site(ALICE, blog.site_id)
    assert list(db(d.sites_of_user(ALICE))) == [blog]
    clock.passes(days=60)
    assert nbhd.find_by_subdomain("alice") == blog


def test_a_deleted_site_expires_after_seven_days_and_releases_its_subdomain(
    nbhd: Nbhd, db: Store, clock: Clock, blog: d.Site
) -> None:
    nbhd.delete_site(ALICE, blog.site_id)
    clock.passes(days=7)
    assert list(db(d.deleted_sites_of_user(ALICE))) == []
    with pytest.raises(NotFound):
        nbhd.restore_site(ALICE, blog.site_id)
    mine = nbhd.create_site(BORA, "Mine", "blog", "alice")
    assert nbhd.find_by_subdomain("alice") == mine


def test_a_purged_site_releases_its_subdomain(nbhd: Nbhd, db: Store, blog: d.Site) -> None:
    nbhd.delete_site(ALICE, blog.site_id)
    db.delete(d.deleted_site(ALICE, blog.site_id))
    nbhd.create_site(BORA, "Mine", "blog", "alice")


def test_a_deleted_account_leaves_the_indexes_and_its_memberships_are_inactive(
    nbhd: Nbhd, db: Store, clock: Clock, downtown: d.Neighborhood
) -> None:
    nbhd.join(downtown.neighborhood_id, BORA)
    nbhd.delete_account(BORA)
    assert BORA not in [each.did for each in db(d.users())]
    assert nbhd.find_by_handle("bora.bsky.social") is None
    assert db.one(d.neighborhood(downtown.neighborhood_id)).member_count == 1
    assert db.one(d.member(downtown.neighborhood_id, BORA)).status == d.MembershipStatus.INACTIVE
    profile = disk(db)[f"USER#{BORA} PROFILE"]
    assert "entity_type" not in profile
    assert profile["ttl"] == {"N": str(int((clock() + timedelta(days=30)).timestamp()))}


def test_a_deleted_account_can_be_restored_within_thirty_days(
    nbhd: Nbhd, db: Store, clock: Clock, downtown: d.Neighborhood
) -> None:
    nbhd.join(downtown.neighborhood_id, BORA)
    nbhd.delete_account(BORA)
    nbhd.delete_account(BORA)
    with pytest.raises(NotUnique):
        nbhd.register("did:plc:other", "bora.bsky.social", "Other")
    clock.passes(days=29)
    nbhd.restore_account(BORA)
    assert BORA in [each.did for each in db(d.users())]
    assert db.one(d.neighborhood(downtown.neighborhood_id)).member_count == 2
    assert nbhd.find_by_handle("bora.bsky.social") == db.one(d.user(BORA))
    clock.passes(days=60)
    assert db(d.user(BORA)) is not None


def test_an_interrupted_deletion_of_an_account_can_be_repeated(
    nbhd: Nbhd, db: Store, clock: Clock, downtown: d.Neighborhood
) -> None:
    nbhd.join(downtown.neighborhood_id, BORA)
    with db.change(d.user(BORA)) as draft:
        draft.deleted_at = clock()
    assert db.one(d.neighborhood(downtown.neighborhood_id)).member_count == 2
    nbhd.delete_account(BORA)
    assert db.one(d.neighborhood(downtown.neighborhood_id)).member_count == 1


def test_a_deleted_account_expires_after_thirty_days_and_releases_its_handle(
    nbhd: Nbhd, db: Store, clock: Clock
) -> None:
    nbhd.delete_account(BORA)
    clock.passes(days=30)
    assert db(d.user(BORA)) is None
    with pytest.raises(NotFound):
        nbhd.restore_account(BORA)
    nbhd.register("did:plc:other", "bora.bsky.social", "Other")


def test_a_deleted_account_cannot_join_or_create_anything(nbhd: Nbhd, db: Store, downtown: d.Neighborhood) -> None:
    site = nbhd.create_site(BORA, "Before", "blog", "before").site_id
    nbhd.delete_account(BORA)
    before = disk(db)
    with pytest.raises(InvalidValue, match=r"Membership.did: the account is deleted"):
        nbhd.join(downtown.neighborhood_id, BORA)
    with pytest.raises(InvalidValue, match=r"User.did: the account is deleted"):
        nbhd.change_handle(BORA, "bora.nbhd.city")
    with pytest.raises(InvalidValue, match=r"Neighborhood.creator_did: the account is deleted"):
        nbhd.create_neighborhood(BORA, "Uptown")
    with pytest.raises(InvalidValue, match=r"Site.did: the account is deleted"):
        nbhd.create_site(BORA, "Mine", "blog", "bora")
    with pytest.raises(InvalidValue, match=r"BuildJob.site_id: the account of its owner is deleted"):
        nbhd.start_build(BORA, site)
    assert disk(db) == before


# settings without a subject ---------------------------------------------------------------------------------------


def test_settings_of_a_neighborhood_control_its_sites(nbhd: Nbhd, db: Store) -> None:
    home = nbhd.create_neighborhood(ALICE, "Downtown", settings=d.Settings(require_email_verification=True))

    def create(did: str, *, verified: bool) -> d.Site:
        return nbhd.create_site(
            did, "Ours", "blog", "ours", neighborhood_id=home.neighborhood_id, email_verified=verified
        )

    with pytest.raises(InvalidValue, match=r"Site.neighborhood_id: .* only with a verified e-mail address"):
        create(ALICE, verified=False)
    with pytest.raises(InvalidValue, match=r"Site.neighborhood_id: did:plc:bora is not an active member"):
        create(BORA, verified=True)
    with db.change(d.neighborhood(home.neighborhood_id)) as draft:
        draft.settings = d.Settings(allow_site_creation=False)
    with pytest.raises(InvalidValue, match=r"Site.neighborhood_id: .* allows no new sites"):
        create(ALICE, verified=True)
    with db.change(d.neighborhood(home.neighborhood_id)) as draft:
        draft.settings = d.Settings()
    assert create(ALICE, verified=False).neighborhood_id == home.neighborhood_id


# config.posts in one item: 400 KB ---------------------------------------------------------------------------------


def test_a_config_that_is_too_large_is_rejected_naming_the_field(nbhd: Nbhd, db: Store, blog: d.Site) -> None:
    posts = [{"title": "long", "text": "x" * 1000}] * 300
    with pytest.raises(InvalidValue, match=r"Site.config: \d+,\d+ bytes of JSON"):
        nbhd.configure(ALICE, blog.site_id, {"posts": posts})
    deep: dict[str, object] = {}
    for _ in range(31):
        deep = {"in": deep}
    with pytest.raises(InvalidValue, match=r"Site.config: nested 32 levels deep"):
        nbhd.configure(ALICE, blog.site_id, deep)
    with pytest.raises(InvalidValue, match=r"Site.config"):
        nbhd.create_site(ALICE, "Odd", "blog", "odd", {"posts": object()})
    assert db.one(d.site(ALICE, blog.site_id)) == blog


@pytest.mark.parametrize("worst", [1, None, "글"])  # a digit and its comma are two bytes of JSON and three in DynamoDB
def test_the_largest_config_fits_an_item_whatever_it_contains(
    nbhd: Nbhd, db: Store, blog: d.Site, worst: object
) -> None:
    count = MAX_CONFIG_BYTES // (len(msgspec.json.encode(worst)) + 1) - 10
    nbhd.configure(ALICE, blog.site_id, {"posts": [worst] * count})
    assert len(db.one(d.site(ALICE, blog.site_id)).config["posts"]) == count


# schema versioning ------------------------------------------------------------------------------------------------


def test_old_and_new_images_of_a_profile_are_stored_side_by_side(nbhd: Nbhd, db: Store) -> None:
    with db.change(d.user(ALICE)) as draft:
        draft.profile_images = {"avatar": d.Image(url="https://cdn/new.jpg", size="large")}
    stored = disk(db)[f"USER#{ALICE} PROFILE"]
    assert stored["avatar_url"] == {"S": "https://cdn/new.jpg"}
    assert stored["profile_images"] == {
        "M": {"avatar": {"M": {"url": {"S": "https://cdn/new.jpg"}, "size": {"S": "large"}}}}
    }
    (listed,) = [each for each in db(d.users()) if each.did == ALICE]
    assert listed.profile_images == db.one(d.user(ALICE)).profile_images


# retention --------------------------------------------------------------------------------------------------------


def test_builds_expire_after_ninety_days_and_release_the_running_build(
    nbhd: Nbhd, db: Store, clock: Clock, blog: d.Site
) -> None:
    nbhd.start_build(ALICE, blog.site_id)
    clock.passes(days=90)
    assert list(db(d.builds_of_site(blog.site_id))) == []
    assert list(db(d.builds_in_index(blog.site_id))) == []
    nbhd.start_build(ALICE, blog.site_id)
    assert len(list(db(d.builds_of_site(blog.site_id)))) == 1


def test_the_table_has_recovery_time_to_live_and_stream(db: Store) -> None:
    assert (d.nbhd.recovery_days, d.nbhd.ttl, d.nbhd.stream) == (35, "ttl", "NEW_AND_OLD_IMAGES")
    assert db.differences() == []
