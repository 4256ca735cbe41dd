"""Items of the document can be read as they are, and adoption converts them to the design."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from partita import Adoption, Store, connect
from partita.dynamodb.requests import PutItem
from partita_systems.nbhd import design as d
from partita_systems.nbhd.adoption import adopt
from partita_systems.nbhd.service import Nbhd
from tests.rest.client import Client
from tests.store.clocks import Clock
from tests.systems.nbhd.conftest import Interrupted, Interrupting, disk, restore, stop

pytestmark = pytest.mark.slow


ALICE = "did:plc:abc123"
HOME, SITE, JOB = "nbhd-001", "site-001", "job-abc123"
BEGUN = datetime(2095, 1, 10, 9, 15, tzinfo=UTC)
USER = {
    "PK": f"USER#{ALICE}",
    "SK": "PROFILE",
    "did": ALICE,
    "bluesky_handle": "alice@bsky.social",
    "bluesky_did": "did:plc:xyz789",
    "display_name": "Alice",
    "avatar_url": "https://cdn/a.jpg",
    "bio": "Community organizer",
    "created_at": "2095-01-01T00:00:00Z",
    "updated_at": "2095-01-10T12:30:00Z",
}
NEIGHBORHOOD = {
    "PK": f"NBHD#{HOME}",
    "SK": "METADATA",
    "id": HOME,
    "name": "Downtown Collective",
    "slug": "downtown-collective",
    "description": "A neighborhood for downtown residents",
    "creator_did": ALICE,
    "created_at": "2095-01-01T00:00:00Z",
    "member_count": 42,
    "privacy": "public",
    "settings": {"allow_site_creation": True, "require_email_verification": False},
}
MEMBERSHIP = {
    "PK": f"NBHD#{HOME}",
    "SK": f"MEMBER#{ALICE}",
    "role": "member",
    "joined_at": "2095-01-05T10:00:00Z",
    "user_did": ALICE,
    "status": "active",
}
STATIC_SITE = {
    "PK": f"USER#{ALICE}",
    "SK": f"SITE#{SITE}",
    "site_id": SITE,
    "title": "My Blog",
    "template": "blog",
    "status": "published",
    "subdomain": "alice",
    "config": {"author": "Alice", "accent_color": "#007bff", "posts": [], "custom_fields": {}},
    "created_at": "2095-01-07T14:20:00Z",
    "updated_at": "2095-01-10T09:15:00Z",
    "built_at": "2095-01-10T09:16:00Z",
    "public_url": "https://alice.nbhd.city",
}
BUILD_JOB = {
    "PK": f"BUILD#{SITE}",
    "SK": "JOB#2095-01-10T09:15:00Z",
    "job_id": JOB,
    "site_id": SITE,
    "status": "completed",
    "started_at": "2095-01-10T09:15:00Z",
    "completed_at": "2095-01-10T09:16:00Z",
    "error": None,
    "log_url": "https://logs/1",
}
DOCUMENT = (USER, NEIGHBORHOOD, MEMBERSHIP, STATIC_SITE, BUILD_JOB)


def put(db: Store, *rows: dict[str, Any]) -> None:
    for row in rows:
        db.backend.call(
            PutItem(table_name="nbhd-city", item={name: attribute_value(value) for name, value in row.items()})
        )


def attribute_value(value: Any) -> dict[str, Any]:
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case int():
            return {"N": str(value)}
        case dict():
            return {"M": {name: attribute_value(each) for name, each in value.items()}}
        case list():
            return {"L": [attribute_value(each) for each in value]}
    return {"S": value}


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.passes(days=20)
    return clock


@pytest.fixture
def db(clock: Clock) -> Iterator[Store]:
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, d.design, clock=clock, sleep=lambda _: None)
        store.create_tables()
        put(store, *DOCUMENT)
        yield store


@pytest.fixture
def nbhd(db: Store) -> Nbhd:
    return Nbhd(db)


def changed_nothing(done: Adoption) -> bool:
    return (done.rewritten, done.guards_created, done.counted, done.created) == (0, 0, 0, 0)


# as they are ------------------------------------------------------------------------------------------------------


def test_every_item_of_the_document_can_be_read(db: Store) -> None:
    assert db.one(d.user(ALICE)).bio == "Community organizer"
    assert db.one(d.neighborhood(HOME)).settings == d.Settings()
    assert [each.did for each in db(d.members(HOME))] == [ALICE]
    assert [each.neighborhood_id for each in db(d.memberships_of_user(ALICE))] == [HOME]
    assert [each.config["author"] for each in db(d.sites_of_user(ALICE))] == ["Alice"]
    assert [(each.job_id, each.started_at, each.error) for each in db(d.builds_of_site(SITE))] == [(JOB, BEGUN, None)]


def test_unknown_members_of_settings_and_images_are_ignored(db: Store) -> None:
    put(db, NEIGHBORHOOD | {"settings": {"require_email_verification": True, "theme": "dark"}})
    put(db, USER | {"profile_images": {"avatar": {"url": "u", "size": "large", "width": 200}}})
    assert db.one(d.neighborhood(HOME)).settings == d.Settings(require_email_verification=True)
    assert db.one(d.user(ALICE)).profile_images == {"avatar": d.Image(url="u", size="large")}


def test_every_operation_works_before_adoption(nbhd: Nbhd, db: Store, clock: Clock) -> None:
    nbhd.register("did:plc:b", "b.bsky.social", "B")
    nbhd.join(HOME, "did:plc:b")
    nbhd.set_role(HOME, ALICE, d.Role.ADMIN)
    nbhd.set_role(HOME, "did:plc:b", d.Role.ADMIN)
    nbhd.change_handle(ALICE, "alice.nbhd.city")
    nbhd.rename(HOME, "Uptown")
    nbhd.configure(ALICE, SITE, {"author": "Alice"})
    created = nbhd.create_site(ALICE, "Ours", "blog", "ours", neighborhood_id=HOME)
    assert nbhd.find_build(SITE, JOB) is not None
    nbhd.finish_build(ALICE, nbhd.start_build(ALICE, SITE))
    assert db.one(d.site(ALICE, SITE)).built_at == clock()
    past = nbhd.leave(HOME, ALICE)
    assert (past.role, past.member_since) == (d.Role.ADMIN, datetime(2095, 1, 5, 10, tzinfo=UTC))
    nbhd.close(HOME, ALICE)
    assert {each.did for each in db(d.past_members(HOME))} == {ALICE, "did:plc:b"}
    assert created.neighborhood_id == HOME


def test_a_missing_setting_has_its_default(nbhd: Nbhd, db: Store) -> None:
    put(db, {name: value for name, value in NEIGHBORHOOD.items() if name != "settings"})
    nbhd.create_site(ALICE, "Ours", "blog", "ours", neighborhood_id=HOME)


def test_a_build_under_a_key_without_a_time_cannot_be_deleted(db: Store, anonymous: Client) -> None:
    put(db, BUILD_JOB | {"SK": "JOB#1768036500", "job_id": "job-epoch"})
    alice, builds = anonymous.by(ALICE), f"/users/{ALICE}/sites/{SITE}/builds"
    assert alice.get(f"{builds}/job-epoch").status == 200
    response = alice.delete(f"{builds}/job-epoch")
    assert (response.status, alice.get(f"{builds}/job-epoch").status) == (409, 200)
    assert "under a key without a time" in response.json["detail"]
    tag = alice.get(f"{builds}/{JOB}").tag
    assert [alice.delete(f"{builds}/{JOB}", if_match=tag).status for _ in range(2)] == [204, 404]
    assert adopt(db).unknown == [f"BUILD#{SITE} JOB#1768036500"]


# adopted ----------------------------------------------------------------------------------------------------------


def test_adoption_creates_guards_counts_index_keys_and_expiry(nbhd: Nbhd, db: Store) -> None:
    done = adopt(db)
    assert (done.refused, done.unknown) == ([], [])
    assert [each.did for each in db(d.users())] == [ALICE]
    assert [(each.neighborhood_id, each.member_count) for each in db(d.neighborhoods())] == [(HOME, 1)]
    assert nbhd.find_by_handle("alice@bsky.social") == db.one(d.user(ALICE))
    assert nbhd.find_by_slug("downtown-collective") == db.one(d.neighborhood(HOME))
    assert nbhd.find_by_subdomain("alice") == db.one(d.site(ALICE, SITE))
    stored = disk(db)[f"BUILD#{SITE} JOB#2095-01-10T09:15:00.000000Z"]
    assert stored["created_at"] == stored["started_at"] == {"S": "2095-01-10T09:15:00.000000Z"}
    assert [each.job_id for each in db(d.builds_in_index(SITE))] == [JOB]
    assert "ttl" in stored
    assert changed_nothing(adopt(db))


def test_a_running_build_of_other_code_can_be_ended_after_adoption(nbhd: Nbhd, db: Store) -> None:
    put(db, BUILD_JOB | {"status": "running", "completed_at": None})
    adopt(db)
    running = nbhd.running_build(SITE)
    assert running is not None
    nbhd.finish_build(ALICE, running)
    found = nbhd.find_build(SITE, JOB)
    assert found is not None
    assert found.status == d.BuildStatus.COMPLETED


def test_adoption_stores_canonical_handles_slugs_and_subdomains(nbhd: Nbhd, db: Store) -> None:
    put(db, USER | {"bluesky_handle": "@Alice.bsky.social"})
    put(db, NEIGHBORHOOD | {"slug": "Downtown_Collective"}, STATIC_SITE | {"subdomain": "Alice"})
    adopt(db)
    assert nbhd.find_by_handle("alice.bsky.social") == db.one(d.user(ALICE))
    assert nbhd.find_by_slug("downtown collective") == db.one(d.neighborhood(HOME))
    assert nbhd.find_by_subdomain("alice") == db.one(d.site(ALICE, SITE))
    assert db.one(d.user(ALICE)).updated_at == datetime(2095, 1, 10, 12, 30, tzinfo=UTC)
    assert db.one(d.site(ALICE, SITE)).updated_at == BEGUN
    assert sorted(key for key in disk(db) if key.startswith("UNIQUE#")) == [
        "UNIQUE#Neighborhood#slug#downtown-collective UNIQUE",
        "UNIQUE#Site#subdomain#alice UNIQUE",
        "UNIQUE#User#bluesky_handle#alice.bsky.social UNIQUE",
    ]
    assert changed_nothing(adopt(db))


def test_items_that_cannot_be_adopted_are_reported(db: Store) -> None:
    put(
        db,
        NEIGHBORHOOD | {"PK": "NBHD#nbhd-002", "id": "nbhd-002", "slug": "Downtown Collective"},
        STATIC_SITE | {"SK": "SITE#site-002", "site_id": "site-002", "subdomain": "my_site"},
        MEMBERSHIP | {"SK": "MEMBER#did:plc:nobody", "user_did": "did:plc:nobody"},
    )
    report = sorted(adopt(db).refused)
    assert [each.split(":")[0] for each in report] == [
        "Membership nbhd-001 did",
        "Neighborhood nbhd-002",
        "Site did",
    ]
    assert "account did:plc:nobody does not exist" in report[0]
    assert "'downtown-collective' is taken" in report[1]
    assert "'my_site'" in report[2]
    again = adopt(db)
    assert (changed_nothing(again), sorted(again.refused)) == (True, report)


def test_adoption_finishes_interrupted_operations(nbhd: Nbhd, db: Store, clock: Clock) -> None:
    _interrupted_operations(nbhd, db, clock)
    done = adopt(db)
    assert (done.created, done.refused) == (3, [])
    assert db(d.neighborhood(HOME)) is None
    assert {each.did for each in db(d.past_members(HOME))} == {ALICE, "did:plc:b"}
    assert [each.did for each in db(d.past_members("nbhd-gone"))] == [ALICE]
    assert (db.one(d.member("nbhd-003", "did:plc:b")).status, db.one(d.neighborhood("nbhd-003")).member_count) == (
        d.MembershipStatus.INACTIVE,
        0,
    )
    assert changed_nothing(adopt(db))


def test_an_adoption_interrupted_after_any_request_is_finished_by_the_next(nbhd: Nbhd, db: Store, clock: Clock) -> None:
    _interrupted_operations(nbhd, db, clock)
    put(db, USER | {"bluesky_handle": "@Alice.bsky.social"}, STATIC_SITE | {"subdomain": "Alice"})
    before = disk(db)
    adopt(db)
    wanted = disk(db)
    for moment in range(1, 200):
        restore(db, before)
        listened = Store(db.backend, d.design, clock=clock, sleep=lambda _: None, on_call=[Interrupting(moment, stop)])
        with suppress(Interrupted):
            adopt(listened)
            break
        adopt(db)
        assert disk(db) == wanted, moment
    assert moment > 30


def _interrupted_operations(nbhd: Nbhd, db: Store, clock: Clock) -> None:
    """A neighborhood under closing, a membership of a deleted neighborhood, and one of a deleted account."""
    nbhd.register("did:plc:b", "b.bsky.social", "B")
    put(db, NEIGHBORHOOD | {"PK": "NBHD#nbhd-003", "id": "nbhd-003", "slug": "third", "member_count": 0})
    nbhd.join("nbhd-003", "did:plc:b")
    nbhd.join(HOME, "did:plc:b")
    with db.change(d.neighborhood(HOME)) as draft:
        draft.closed_by = ALICE
    put(db, MEMBERSHIP | {"PK": "NBHD#nbhd-gone"})
    with db.change(d.user("did:plc:b")) as account:
        account.deleted_at = clock()
