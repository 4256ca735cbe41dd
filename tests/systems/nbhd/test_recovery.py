"""A restore brings data back within its time, and no purged account; sites as files can be put back."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from partita import ConfigurationError, JobRunner, Store, connect, settle
from partita.dynamodb.requests import DescribeContinuousBackups, DescribeTable, DescribeTimeToLive, ListTables
from partita.recovery import Place, import_table, restored_copy
from partita_systems.nbhd import design as d
from partita_systems.nbhd.consumers import builder
from partita_systems.nbhd.daily_export import export_place
from partita_systems.nbhd.jobs import jobs
from partita_systems.nbhd.purge_ledger import KEPT
from partita_systems.nbhd.recovery import rehearse_restore, replay_purges
from partita_systems.nbhd.service import Nbhd
from partita_systems.nbhd.site_folder import read_sites, write_sites
from tests.store.clocks import Clock
from tests.systems.nbhd.conftest import ALICE, BORA
from tests.timing import PATIENCE


@pytest.fixture
def db(clock: Clock) -> Iterator[Store]:
    """On an engine that has the clock as well: its history is by that time."""
    store = connect("memory:", d.design, clock=clock, sleep=lambda _: None)
    with store:
        store.create_tables()
        yield store


@pytest.fixture
def purged(nbhd: Nbhd, db: Store, clock: Clock) -> timedelta:
    """Bora had an account with a site, and was purged; how long ago the account was whole."""
    site = nbhd.create_site(BORA, "Market", "events", "market")
    nbhd.start_build(BORA, site.site_id)
    settle(db, builder)
    home = nbhd.create_neighborhood(ALICE, "Downtown").neighborhood_id
    nbhd.join(home, BORA)
    clock.passes(days=1)
    nbhd.delete_account(BORA)
    clock.passes(days=31)
    assert nbhd.purge_due() == 1
    clock.passes(hours=1)
    return timedelta(days=31, hours=2)


def test_a_purged_account_does_not_come_back_with_a_restore(
    nbhd: Nbhd, db: Store, clock: Clock, purged: timedelta
) -> None:
    at = clock() - purged
    with restored_copy(db, at) as before:
        assert before(d.user(BORA)) is not None
    with restored_copy(db, at) as restored:
        assert replay_purges(db, restored) == [BORA]
        assert restored(d.user(BORA)) is None
        left = list(restored.scan(d.Site, d.BuildJob, d.Membership, d.Invitation, d.SiteExport, d.HistoryLink))
        assert not any(BORA in str(each) for each in left)
        assert restored(d.user(ALICE)) is not None
        assert replay_purges(db, restored) == []


def test_an_account_that_registered_again_after_its_purge_stays(
    nbhd: Nbhd, db: Store, clock: Clock, purged: timedelta
) -> None:
    nbhd.register(BORA, "bora2.bsky.social", "보라")
    clock.passes(minutes=1)
    done = rehearse_restore(db)
    assert (done.replayed, done.accounts) == ([], 3)


def test_a_rehearsal_counts_replays_measures_and_leaves_nothing(
    db: Store, nbhd: Nbhd, clock: Clock, purged: timedelta
) -> None:
    done = rehearse_restore(db, clock() - purged)
    assert (done.accounts, done.sites, done.replayed) == (2, 0, [BORA])
    assert done.is_in_time
    assert [name for name in db.backend.call(ListTables()).table_names or [] if "rehearsal" in name] == []


def test_a_restored_table_has_stream_expiry_indexes_and_recovery(db: Store, nbhd: Nbhd, clock: Clock) -> None:
    clock.passes(seconds=2)
    with restored_copy(db) as restored:
        name = restored.table_name(d.nbhd)
        described = db.backend.call(DescribeTable(table_name=name)).table
        assert described is not None
        assert described.stream_specification is not None
        assert len(described.global_secondary_indexes or []) == 4
        expiry = db.backend.call(DescribeTimeToLive(table_name=name)).time_to_live_description
        backups = db.backend.call(DescribeContinuousBackups(table_name=name)).continuous_backups_description
        assert expiry is not None
        assert expiry.attribute_name == "ttl"
        assert "ENABLED" in str(backups)


def test_the_ledger_forgets_what_no_copy_can_have(nbhd: Nbhd, clock: Clock, purged: timedelta) -> None:
    ledger = nbhd.purge_ledger
    assert ledger.purged_at(BORA) is not None
    assert ledger.forget(clock()) == 0
    assert ledger.forget(clock() + KEPT) == 1
    assert ledger.purged_at(BORA) is None


def test_the_ledger_does_not_name_anybody(nbhd: Nbhd, purged: timedelta) -> None:
    objects = nbhd.files.objects
    assert not any("bora" in f"{each.key}{objects.get(each.key)!r}" for each in objects.list("purged/"))


def test_all_data_is_exported_every_night_and_kept_for_35_days(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "backup").mkdir()
    monkeypatch.setenv("NBHD_EXPORTS", "s3://backup/nightly")
    monkeypatch.setenv("PARTITA_BUCKETS", str(tmp_path))
    with connect("memory:", d.design, clock=clock, buckets=tmp_path) as db:
        db.create_tables()
        Nbhd(db).register(ALICE, "alice.bsky.social", "Alice")
        runner = JobRunner(db, jobs)
        runner.create_tables()
        runner.step()
        clock.passes(hours=3)
        runner.step()
        (manifest,) = tmp_path.glob("backup/nightly/AWSDynamoDB/*/manifest-summary.json")
        source = Place("backup", str((manifest.parent / "data").relative_to(tmp_path / "backup")))
        with connect("memory:", buckets=tmp_path) as engine:
            copy = Store(engine, d.design, clock=clock)
            import_table(copy, d.nbhd, source, compression="GZIP")
            assert copy.one(d.user(ALICE)).display_name == "Alice"
        clock.passes(days=34)
        runner.step()
        assert manifest.exists()
        clock.passes(days=2)
        runner.step()
        assert not manifest.exists()
        assert len(list(tmp_path.glob("backup/nightly/AWSDynamoDB/*/manifest-summary.json"))) == 2


def test_a_place_for_exports_is_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NBHD_EXPORTS", raising=False)
    assert export_place() is None
    monkeypatch.setenv("NBHD_EXPORTS", "exports/nightly")
    with pytest.raises(ConfigurationError, match="use s3://bucket/prefix"):
        export_place()


# sites as files ---------------------------------------------------------------------------------------------------


def test_sites_are_files_that_change_with_them_and_can_be_put_back(
    nbhd: Nbhd, db: Store, blog: d.Site, tmp_path: Path
) -> None:
    other = nbhd.create_site(BORA, "Old", "events", "old")
    assert write_sites(db, tmp_path) == 2
    (file,) = tmp_path.glob(f"*alice/{blog.site_id}.json")
    before = file.read_bytes()
    assert write_sites(db, tmp_path) == 2
    assert file.read_bytes() == before
    nbhd.configure(ALICE, blog.site_id, {"author": "Mallory"})
    nbhd.delete_site(BORA, other.site_id)
    write_sites(db, tmp_path)
    assert b"Mallory" in file.read_bytes()
    assert len(list(tmp_path.glob("*/*.json"))) == 1
    file.write_bytes(before)
    assert read_sites(db, tmp_path) == (1, [])
    assert db.one(d.site(ALICE, blog.site_id)).config == blog.config
    assert read_sites(db, tmp_path) == (0, [])


def test_a_lost_site_is_created_again_under_its_id(nbhd: Nbhd, db: Store, blog: d.Site, tmp_path: Path) -> None:
    write_sites(db, tmp_path)
    db.delete(d.site(ALICE, blog.site_id))
    assert read_sites(db, tmp_path) == (1, [])
    assert db.one(d.site(ALICE, blog.site_id)).subdomain == "alice"


def test_files_that_cannot_be_put_back_are_reported_and_the_others_are(
    nbhd: Nbhd, db: Store, blog: d.Site, tmp_path: Path
) -> None:
    write_sites(db, tmp_path)
    folder = next(tmp_path.iterdir())
    (folder / "broken.json").write_text("{")
    (folder / "shop.json").write_text('{"title": "a", "template": "shop", "subdomain": "b", "config": {}}')
    nbhd.configure(ALICE, blog.site_id, {})
    changed, problems = read_sites(db, tmp_path)
    assert changed == 1
    assert [each.partition(": ")[0].rpartition("/")[2] for each in problems] == ["broken.json", "shop.json"]


@pytest.mark.slow
def test_the_commands_write_read_and_rehearse(tmp_path: Path) -> None:
    file, folder = tmp_path / "nbhd.db", tmp_path / "sites"
    with connect(file, d.design, durability="process") as db:
        db.create_tables()
        nbhd = Nbhd(db)
        nbhd.register(ALICE, "alice.bsky.social", "Alice")
        nbhd.create_site(ALICE, "My Blog", "blog", "alice")

    def run(*arguments: str | Path) -> str:
        command = [sys.executable, "-m", "partita_systems.nbhd", *arguments, "--on", file]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout

    assert run("write", folder) == f"1 sites in {folder}\n"
    assert run("read", folder) == "0 sites have changed\n"
    assert "1 accounts and 1 sites restored" in run("rehearse")
