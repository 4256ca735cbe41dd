"""Jobs of nbhd.city: purges, the daily export, and files that nothing refers to."""

from collections.abc import Iterator
from datetime import timedelta

from partita import Jobs, Store
from partita_systems.nbhd import design as d
from partita_systems.nbhd.daily_export import export_daily
from partita_systems.nbhd.purge_ledger import PurgeLedger
from partita_systems.nbhd.service import Nbhd
from partita_systems.nbhd.site_files import build_key, export_key, log_key

jobs = Jobs("nbhd")

SETTLED = timedelta(days=1)  # files are stored before the item that they belong to


@jobs.every(minutes=1)
def purge_accounts(db: Store) -> None:
    """Purge every account whose grace period is over."""
    Nbhd(db).purge_due()


@jobs.cron("15 2 * * *")
def export_data(db: Store) -> None:
    """Export all data, where the operator has set a place for it; exports are kept for 35 days."""
    export_daily(db)


@jobs.cron("30 3 * * *")
def sweep_files(db: Store) -> None:
    """Delete files whose item is gone, and entries of the purge ledger that no copy of the data needs.

    Files go by themselves with their items; this finds those of an interrupted build, or of a table that was restored.
    """
    objects = Nbhd(db).files.objects
    old = [
        each.key
        for kind in ("builds/", "logs/", "exports/")
        for each in objects.list(kind)
        if each.modified_at < db.now() - SETTLED
    ]
    named = set(_named(db)) if old else set()
    for key in old:
        if key not in named:
            objects.delete(key)
    PurgeLedger(objects).forget(db.now())


def _named(db: Store) -> Iterator[str]:
    """The keys of all files that an item has."""
    for each in db.scan(d.Site, d.BuildJob, d.SiteExport):
        match each:
            case d.Site(site_id=site_id, build_id=str(build_id)):
                yield build_key(site_id, build_id)
            case d.BuildJob(site_id=site_id, job_id=job_id):
                yield build_key(site_id, job_id)
                yield log_key(site_id, job_id)
            case d.SiteExport(site_id=site_id, export_id=export_id):
                yield export_key(site_id, export_id)
