"""Reactions to changes of nbhd.city: builds are run, and files are deleted after the items that they belong to.

A build is one transaction with its consumer's position: the files first, under the name of the job, and then the job
and the site together. Whatever is interrupted is done again with the same result.
"""

import logging
from datetime import date
from hashlib import sha256
from urllib.parse import quote

from partita import Change, Consumer, Created, Deleted, HandlerTransaction, Updated, time_in_id
from partita_systems.nbhd import design as d
from partita_systems.nbhd import ports
from partita_systems.nbhd.building.build import Build, build, packed
from partita_systems.nbhd.exports import DOWNLOADS
from partita_systems.nbhd.site_files import SiteFiles, build_key, export_key, log_key

builder = Consumer("nbhd-builder")
files = Consumer("nbhd-files")

_log = logging.getLogger("partita.nbhd")
_STOPPED = "the site was deleted during the build"


@builder.on(d.BuildJob)
def build_site(change: Change[d.BuildJob], t: HandlerTransaction) -> None:
    """A build that has been started is run; one of other code is left to its own builder."""
    if not isinstance(change, Created) or change.after.owner_did is None:
        return
    owner, site_id, job_id = change.after.owner_did, change.after.site_id, change.after.job_id
    job = t.get(d.build(site_id, change.after.started_at))
    if job is None or job.job_id != job_id or job.status != d.BuildStatus.RUNNING:
        return  # deleted, or ended by another builder
    site = t.get(d.site(owner, site_id))
    now = t.now()
    done = Build({}, [_STOPPED], _STOPPED) if site is None else _built(site, now.date())
    stored = _files(t) or _new_files(t, change.id)
    log = [f"{now:%Y-%m-%dT%H:%M:%SZ} build {job_id} of {site_id}", *done.log]
    stored.objects.put(log_key(site_id, job_id), "".join(f"{line}\n" for line in log).encode())
    if done.error is None:
        stored.objects.put(build_key(site_id, job_id), packed(done.files))
    ended = t.change(d.build(site_id, job.started_at))
    ended.status = d.BuildStatus.COMPLETED if done.error is None else d.BuildStatus.FAILED
    ended.completed_at = now
    ended.error = done.error
    ended.log_url = f"{DOWNLOADS}/logs/{quote(site_id, safe='')}/{job_id}.txt"
    if site is not None and done.error is None:
        published = t.change(d.site(owner, site_id))
        published.build_id = job_id
        published.built_at = now
        if site.status != d.SiteStatus.UNPUBLISHED:
            published.status = d.SiteStatus.PUBLISHED


@files.on(d.BuildJob)
def delete_files_of_build(change: Change[d.BuildJob], t: HandlerTransaction) -> None:
    """The log of a build goes with its job, and so do its files, unless they are the site's pages."""
    if not isinstance(change, Deleted):
        return
    job = change.before
    stored = _files(t)
    if stored is None:
        return
    stored.objects.delete(log_key(job.site_id, job.job_id))
    if not _is_live(t, job.owner_did, job.site_id, job.job_id):
        stored.objects.delete(build_key(job.site_id, job.job_id))


@files.on(d.Site)
def delete_files_of_site(change: Change[d.Site], t: HandlerTransaction) -> None:
    """The files of a site go with it; a site that only moved, since it was deleted or restored, keeps them."""
    if isinstance(change, Created):
        return
    old, stored = change.before, _files(t)
    if stored is None:
        return
    if isinstance(change, Updated):
        if old.build_id is not None and old.build_id != change.after.build_id:
            _delete_unless_job(t, stored, old.site_id, old.build_id)
        return
    if any(t.get(here(old.did, old.site_id)) is not None for here in (d.site, d.deleted_site)):
        return
    for job in t.find(d.builds_of_site(old.site_id), fenced=False):
        stored.objects.delete(build_key(old.site_id, job.job_id))
    if old.build_id is not None:
        stored.objects.delete(build_key(old.site_id, old.build_id))


@files.on(d.SiteExport)
def delete_archive(change: Change[d.SiteExport], t: HandlerTransaction) -> None:
    """The archive of an export goes with it."""
    stored = _files(t)
    if isinstance(change, Deleted) and stored is not None:
        stored.objects.delete(export_key(change.before.site_id, change.before.export_id))


def _built(site: d.Site, today: date) -> Build:
    """The build of a site; a template that raises is a failed build like any other."""
    try:
        return build(site.title, site.template, site.config, today)
    except Exception as error:  # noqa: BLE001 - the last good build stays, and the log says why
        _log.exception("the template %s failed for site %s", site.template, site.site_id)
        reason = f"the template {site.template} failed: {type(error).__name__}"
        return Build({}, [reason], reason)


def _is_live(t: HandlerTransaction, did: str | None, site_id: str, job_id: str) -> bool:
    """Whether a site, or one that can be restored, has this build as its pages."""
    if did is None:
        return False
    found = (t.get(here(did, site_id)) for here in (d.site, d.deleted_site))
    return any(site is not None and site.build_id == job_id for site in found)


def _delete_unless_job(t: HandlerTransaction, stored: SiteFiles, site_id: str, job_id: str) -> None:
    """Files that are not the site's pages any more stay as long as their job."""
    at = time_in_id(job_id)
    if at is None or t.get(d.build(site_id, at)) is None:
        stored.objects.delete(build_key(site_id, job_id))


def _files(t: HandlerTransaction) -> SiteFiles | None:
    """The files of the table; None before its first build or export."""
    space = t.get(d.object_space(), fenced=False)
    return None if space is None else SiteFiles(ports.objects(), space.space)


def _new_files(t: HandlerTransaction, change_id: str) -> SiteFiles:
    """The files of a table without any: its space is created in the handler's transaction."""
    t.get(d.object_space())
    space = t.create(d.ObjectSpace(space=sha256(change_id.encode()).hexdigest()[:16]))
    return SiteFiles(ports.objects(), space.space)
