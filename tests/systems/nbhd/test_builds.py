"""Sites build by themselves, once; a failed build keeps the last good one; files live as long as their items."""

import io
import zipfile
from datetime import timedelta

import pytest

from partita import Consumer, ConsumerFaults, JobRunner, NotUnique, Store, settle
from partita.dynamodb.requests import DeleteItem
from partita_systems.nbhd import consumers as reactions
from partita_systems.nbhd import design as d
from partita_systems.nbhd.consumers import builder, files
from partita_systems.nbhd.jobs import jobs, sweep_files
from partita_systems.nbhd.service import Nbhd
from partita_systems.objects import ObjectStore
from tests.rest.client import Client, Response
from tests.store.clocks import Clock
from tests.systems.nbhd.conftest import ALICE, BORA, disk

BOTH: tuple[Consumer, ...] = (builder, files)


@pytest.fixture
def built(nbhd: Nbhd, db: Store, blog: d.Site) -> d.Site:
    """Alice's blog, after its first build."""
    settle(db, *BOTH)
    build(nbhd, db, blog)
    return db.one(d.site(ALICE, blog.site_id))


def build(nbhd: Nbhd, db: Store, site: d.Site) -> d.BuildJob:
    job = nbhd.start_build(site.did, site.site_id)
    settle(db, *BOTH)
    return db.one(d.build(site.site_id, job.started_at))


def keys(objects: ObjectStore, kind: str) -> list[str]:
    return [each.key for each in objects.list("") if f"/{kind}/" in each.key]


def get(client: Client, path: str, **headers: str) -> Response:
    return client.at("").get(path, **headers)


def expire(db: Store, *starts: str) -> None:
    """Delete items as the time to live does, some days after they have expired."""
    for key in disk(db):
        if key.startswith(starts):
            partition, sort = key.split(" ", 1)
            db.backend.call(DeleteItem(table_name="nbhd-city", key={"PK": {"S": partition}, "SK": {"S": sort}}))


# building ---------------------------------------------------------------------------------------------------------


def test_a_started_build_is_run_and_publishes_the_site(nbhd: Nbhd, db: Store, blog: d.Site, clock: Clock) -> None:
    job = build(nbhd, db, blog)
    site = db.one(d.site(ALICE, blog.site_id))
    assert (job.status, job.error, job.completed_at) == (d.BuildStatus.COMPLETED, None, clock())
    assert (site.status, site.build_id, site.built_at) == (d.SiteStatus.PUBLISHED, job.job_id, clock())
    assert site.updated_at == blog.updated_at


def test_a_build_that_is_delivered_again_or_fails_on_the_way_is_one_build(
    nbhd: Nbhd, db: Store, blog: d.Site, clock: Clock, objects: ObjectStore
) -> None:
    faults = ConsumerFaults()
    faults.duplicate(builder, 2)
    faults.fail(builder)
    nbhd.start_build(ALICE, blog.site_id)
    settle(db, builder, faults=faults)
    clock.passes(minutes=5)
    settle(db, builder, faults=faults)
    (job,) = db(d.builds_of_site(blog.site_id))
    assert job.status == d.BuildStatus.COMPLETED
    assert (len(keys(objects, "builds")), len(keys(objects, "logs"))) == (1, 1)


def test_while_a_build_runs_another_one_is_rejected(nbhd: Nbhd, db: Store, blog: d.Site, clock: Clock) -> None:
    nbhd.start_build(ALICE, blog.site_id)
    clock.passes(seconds=1)
    with pytest.raises(NotUnique):
        nbhd.start_build(ALICE, blog.site_id)
    settle(db, builder)
    assert build(nbhd, db, blog).status == d.BuildStatus.COMPLETED


def test_a_failed_build_says_why_and_the_last_good_page_is_still_served(
    nbhd: Nbhd, db: Store, built: d.Site, anonymous: Client, clock: Clock
) -> None:
    before = get(anonymous, "/sites/alice/")
    nbhd.configure(ALICE, built.site_id, {"posts": [{"title": "x", "url": "javascript:alert(1)"}]})
    clock.passes(minutes=1)
    job = build(nbhd, db, built)
    assert (job.status, (job.error or "")[:19]) == (d.BuildStatus.FAILED, "config.posts[0].url")
    assert db.one(d.site(ALICE, built.site_id)).build_id == built.build_id
    assert get(anonymous, "/sites/alice/") == before
    assert job.log_url is not None
    log = get(anonymous, job.log_url)
    assert log.headers["content-type"] == "text/plain; charset=utf-8"
    assert b"failed: config.posts[0].url: must be a web address" in log.body


def test_a_template_that_raises_fails_the_build_and_not_the_builder(
    nbhd: Nbhd, db: Store, built: d.Site, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    clock.passes(seconds=1)
    with monkeypatch.context() as patched:
        patched.setattr(reactions, "build", broken)
        job = build(nbhd, db, built)
    clock.passes(seconds=1)
    assert (job.status, job.error) == (d.BuildStatus.FAILED, "the template blog failed: ZeroDivisionError")
    assert build(nbhd, db, built).status == d.BuildStatus.COMPLETED


def test_a_build_does_not_publish_an_unpublished_site(
    nbhd: Nbhd, db: Store, built: d.Site, anonymous: Client, clock: Clock
) -> None:
    clock.passes(seconds=1)
    nbhd.unpublish(ALICE, built.site_id)
    job = build(nbhd, db, built)
    assert db.one(d.site(ALICE, built.site_id)).status == d.SiteStatus.UNPUBLISHED
    assert get(anonymous, "/sites/alice/").status == 404
    nbhd.publish(ALICE, built.site_id)
    assert get(anonymous, "/sites/alice/").status == 200
    assert db.one(d.site(ALICE, built.site_id)).build_id == job.job_id


def test_a_site_that_is_deleted_during_its_build_is_not_published(nbhd: Nbhd, db: Store, blog: d.Site) -> None:
    job = nbhd.start_build(ALICE, blog.site_id)
    nbhd.delete_site(ALICE, blog.site_id)
    settle(db, builder)
    ended = db.one(d.build(blog.site_id, job.started_at))
    assert (ended.status, ended.error) == (d.BuildStatus.FAILED, "the site was deleted during the build")


def test_a_build_of_other_code_is_left_to_its_builder(nbhd: Nbhd, db: Store, blog: d.Site, clock: Clock) -> None:
    db.create(d.BuildJob(job_id="job-1", site_id=blog.site_id, started_at=clock()))
    settle(db, *BOTH)
    assert db.one(d.build(blog.site_id, clock())).status == d.BuildStatus.RUNNING


# serving ----------------------------------------------------------------------------------------------------------


def test_a_site_is_served_by_path_and_by_host_name(built: d.Site, anonymous: Client) -> None:
    page = get(anonymous, "/sites/alice/")
    assert page.status == 200
    assert b"<title>My Blog</title>" in page.body
    for host in ("alice.nbhd.city", "alice.localhost:8000", "ALICE.NBHD.CITY", "alice.nbhd.city."):
        assert get(anonymous, "/", host=host).body == page.body
        assert get(anonymous, "/index.html", host=host).body == page.body
    assert get(anonymous, "/sites/alice").headers["location"] == "/sites/alice/"
    assert get(anonymous, "/sites/alice/style.css").headers["content-type"] == "text/css; charset=utf-8"
    assert get(anonymous, "/sites/alice/", if_none_match=page.tag).status == 304
    assert anonymous.at("").request("HEAD", "/sites/alice/").body == b""
    assert anonymous.at("").post("/sites/alice/").status == 405


def test_a_page_can_do_nothing_but_show_itself(built: d.Site, anonymous: Client) -> None:
    for path in ("/sites/alice/", "/sites/alice/missing.html", "/sites/nobody/"):
        headers = get(anonymous, path).headers
        policy = dict(each.strip().partition(" ")[::2] for each in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == policy["form-action"] == policy["base-uri"] == "'none'"
        assert policy["frame-ancestors"] == "'none'"
        assert "script-src" not in policy
        assert policy["sandbox"] == ""
        assert headers["x-content-type-options"] == "nosniff"


def test_the_host_of_a_site_serves_nothing_else(built: d.Site, anonymous: Client, nbhd: Nbhd) -> None:
    host = "alice.localhost:8000"
    for path in ("/api", "/api/nbhd/users", "/api/nbhd/docs", "/sites/alice/", "/downloads/logs/a/b.txt", "/health"):
        assert get(anonymous, path, host=host).status == 404
    assert anonymous.at("").post("/", {}, host=host).status == 405
    assert get(anonymous, "/", host="a.b.localhost").status == 404


NO_FILES = [
    *("/sites/alice/../../etc/passwd", "/sites/alice/%2e%2e/%2e%2e/etc/passwd", "/sites/alice/..%2findex.html"),
    *("/sites/alice/index.html%00", "/sites/alice//index.html", "/sites/alice/%ff", "/sites/%2e%2e/index.html"),
    *("/sites//index.html", "/sites/alice%2findex.html", "/sites/alice/posts", "/sites/ali ce/"),
    *("/downloads/logs/../x.txt", "/downloads/exports/a/b", "/downloads/logs/a/b.txt", "/downloads/other/x"),
    *("/downloads/exports/did:plc:alice/s/x.zip", "/downloads/", "/downloads/logs/%00/%00.txt"),
]


def test_paths_that_name_no_file_are_not_found(built: d.Site, anonymous: Client) -> None:
    assert {path: get(anonymous, path).status for path in NO_FILES} == dict.fromkeys(NO_FILES, 404)


def test_a_site_is_not_served_before_its_build_nor_after_its_owner_left(
    nbhd: Nbhd, db: Store, blog: d.Site, anonymous: Client
) -> None:
    assert get(anonymous, "/sites/alice/").status == 404
    build(nbhd, db, blog)
    assert get(anonymous, "/sites/alice/").status == 200
    nbhd.delete_account(ALICE)
    assert get(anonymous, "/sites/alice/").status == 404
    nbhd.restore_account(ALICE)
    nbhd.delete_site(ALICE, blog.site_id)
    settle(db, *BOTH)
    assert get(anonymous, "/sites/alice/").status == 404
    nbhd.restore_site(ALICE, blog.site_id)
    settle(db, *BOTH)
    assert get(anonymous, "/sites/alice/").status == 200


def test_a_new_subdomain_serves_the_site_and_the_old_one_nothing(nbhd: Nbhd, built: d.Site, anonymous: Client) -> None:
    nbhd.change_subdomain(ALICE, built.site_id, "alice2")
    assert [get(anonymous, f"/sites/{name}/").status for name in ("alice", "alice2")] == [404, 200]


# exporting --------------------------------------------------------------------------------------------------------


def test_a_site_is_exported_with_its_source_and_its_files_for_seven_days(
    db: Store, built: d.Site, anonymous: Client, clock: Clock, objects: ObjectStore
) -> None:
    alice = anonymous.by(ALICE)
    here = f"/users/{ALICE}/sites/{built.site_id}"
    made = alice.post(f"{here}/exports")
    assert made.status == 201
    archive = get(anonymous, made.json["archive_url"])
    assert archive.headers["content-type"] == "application/zip"
    assert archive.headers["content-disposition"].startswith("attachment")
    with zipfile.ZipFile(io.BytesIO(archive.body)) as read:
        assert read.namelist() == ["site.json", "public/index.html", "public/style.css", "public/icon.svg"]
        assert b'"template": "blog"' in read.read("site.json")
    assert len(alice.get(f"{here}/exports").json["items"]) == 1
    assert anonymous.by(BORA).post(f"{here}/exports").status == 403
    clock.passes(days=6, hours=23)
    assert get(anonymous, made.json["archive_url"]).status == 200
    clock.passes(hours=2)
    assert get(anonymous, made.json["archive_url"]).status == 404
    expire(db, f"USER#{ALICE} EXPORT#")
    settle(db, files)
    assert keys(objects, "exports") == []


def test_the_source_of_a_site_is_put_back_over_http(nbhd: Nbhd, built: d.Site, anonymous: Client) -> None:
    alice, here = anonymous.by(ALICE), f"/users/{ALICE}/sites/{built.site_id}/source"
    source = alice.get(here).json
    assert set(source) == {"format", "title", "template", "subdomain", "config"}
    nbhd.configure(ALICE, built.site_id, {})
    assert alice.put(here, source).json["config"] == source["config"]
    assert alice.put(here, source | {"template": "shop"}).json["field"] == "template"
    assert alice.put(here, source | {"format": 2}).status == 422
    assert anonymous.get(here).status == 401


# lifetimes --------------------------------------------------------------------------------------------------------


def test_logs_and_old_files_go_with_their_job_and_the_pages_stay(
    nbhd: Nbhd, db: Store, built: d.Site, clock: Clock, objects: ObjectStore, anonymous: Client
) -> None:
    clock.passes(minutes=1)
    build(nbhd, db, built)
    assert (len(keys(objects, "builds")), len(keys(objects, "logs"))) == (2, 2)
    clock.passes(days=91)
    expire(db, f"BUILD#{built.site_id}")
    settle(db, *BOTH)
    assert (len(keys(objects, "builds")), len(keys(objects, "logs"))) == (1, 0)
    assert get(anonymous, "/sites/alice/").status == 200
    build(nbhd, db, built)
    assert len(keys(objects, "builds")) == 1


def test_the_files_of_a_deleted_site_go_after_seven_days(
    nbhd: Nbhd, db: Store, built: d.Site, clock: Clock, objects: ObjectStore
) -> None:
    nbhd.delete_site(ALICE, built.site_id)
    settle(db, *BOTH)
    assert len(keys(objects, "builds")) == 1
    clock.passes(days=8)
    expire(db, f"USER#{ALICE} DELETED_SITE#")
    settle(db, *BOTH)
    assert keys(objects, "builds") == []


def test_a_purge_takes_pages_logs_and_archives_along(
    nbhd: Nbhd, db: Store, clock: Clock, objects: ObjectStore, anonymous: Client
) -> None:
    site = nbhd.create_site(BORA, "Market", "events", "market")
    build(nbhd, db, site)
    archive_url = nbhd.export_site(BORA, site.site_id).archive_url
    nbhd.delete_account(BORA)
    runner = JobRunner(db, jobs)
    runner.create_tables()
    runner.step()
    clock.passes(days=6)
    assert get(anonymous, archive_url).status == 200
    clock.passes(days=25)
    runner.step()
    settle(db, *BOTH)
    assert [each.key.split("/")[1] for each in objects.list("")] == ["purged"]
    assert get(anonymous, archive_url).status == 404


@pytest.fixture
def later(db: Store) -> Store:
    """The store after objects have settled; their times are those of this machine."""
    return db.with_settings(clock=lambda: db.now() + timedelta(days=2))


def test_files_that_no_item_has_are_swept(
    nbhd: Nbhd, db: Store, built: d.Site, objects: ObjectStore, later: Store
) -> None:
    nbhd.export_site(ALICE, built.site_id)
    before = [each.key for each in objects.list("")]
    space = before[0].split("/")[0]
    for key in ("builds/s_1.j_1.zip", "logs/s_1.j_1.txt", "exports/s_1.x_1.zip"):
        objects.put(f"{space}/{key}", b"left over")
    objects.put("another-table/builds/s_1.j_1.zip", b"of another table")
    sweep_files(later)
    assert [each.key for each in objects.list("")] == sorted([*before, "another-table/builds/s_1.j_1.zip"])
