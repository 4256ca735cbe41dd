"""Sites and their builds: creation, deletion and restoration, and builds with one running at a time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from partita import (
    Condition,
    ConditionFailed,
    F,
    Get,
    InvalidValue,
    NotFound,
    NotUnique,
    ReferenceMissing,
    time_in_id,
)
from partita_systems.nbhd import design as d
from partita_systems.nbhd.building.templates import checked_template
from partita_systems.nbhd.errors import condition_errors
from partita_systems.nbhd.exports import Exports
from partita_systems.nbhd.validation import canonical_subdomain, checked_config, checked_subdomain, public_url

NOT_DELETED = F.deleted_at.is_absent()
NOT_CLOSING = F.closed_by.is_absent()


def no_check(_: Any) -> None:
    """A check that accepts everything."""


class Sites(Exports):
    """Sites and their builds; their archives are in `Exports`."""

    # Sites

    def create_site(
        self,
        did: str,
        title: str,
        template: str,
        subdomain: str,
        config: dict[str, Any] | None = None,
        *,
        neighborhood_id: str | None = None,
        email_verified: bool = False,
    ) -> d.Site:
        """Create a site. A site of a neighborhood needs its permission; `email_verified` is a claim of the token."""
        label = checked_subdomain(subdomain)
        site = d.Site(
            did=did,
            site_id=self.new_id("s"),
            title=title,
            template=checked_template(template),
            subdomain=label,
            neighborhood_id=neighborhood_id,
            config=checked_config(config or {}),
            public_url=public_url(label),
        )
        not_allowed = f"{neighborhood_id} allows no new sites, or only with a verified e-mail address"
        not_member = f"{did} is not an active member of {neighborhood_id}"
        errors = {
            "User": InvalidValue("Site", "the account is deleted", "did"),
            "Neighborhood": InvalidValue("Site", not_allowed, "neighborhood_id"),
            "Membership": InvalidValue("Site", not_member, "neighborhood_id"),
        }
        with (
            self._checking_neighborhood(neighborhood_id),
            condition_errors(errors),
            self.db.transaction() as transaction,
        ):
            transaction.check(d.user(did), NOT_DELETED)
            if neighborhood_id is not None:
                allowed = F.slug.exists() & NOT_CLOSING & ~F.settings.allow_site_creation.is_in(False)
                if not email_verified:
                    allowed &= ~F.settings.require_email_verification.is_in(True)
                transaction.check(d.neighborhood(neighborhood_id), allowed)
                transaction.check(d.member(neighborhood_id, did), F.status == d.MembershipStatus.ACTIVE)
            return transaction.create(site)

    @contextmanager
    def _checking_neighborhood(self, neighborhood_id: str | None) -> Iterator[None]:
        """Raise ReferenceMissing instead of InvalidValue if the neighborhood does not exist."""
        try:
            yield
        except InvalidValue:
            if neighborhood_id is not None and self.db(d.neighborhood(neighborhood_id), consistent=True) is None:
                key = {"neighborhood_id": neighborhood_id}
                raise ReferenceMissing(d.Site.__name__, d.Neighborhood.__name__, key, "neighborhood_id") from None
            raise

    def configure(self, did: str, site_id: str, config: dict[str, Any]) -> None:
        with self.db.change(d.site(did, site_id)) as draft:
            draft.config = checked_config(config)

    def change_subdomain(self, did: str, site_id: str, subdomain: str) -> None:
        """Change the subdomain; the old one is released."""
        label = checked_subdomain(subdomain)
        with self.db.change(d.site(did, site_id)) as draft:
            draft.subdomain = label
            draft.public_url = public_url(label)

    def find_by_subdomain(self, subdomain: str) -> d.Site | None:
        """A site by subdomain, with two GetItems (guard, site); a deleted site is not found but keeps its subdomain."""
        site = self.db.find_by_unique(d.Site, "subdomain", canonical_subdomain(subdomain))
        return site if site is not None and site.shelf == d.Shelf.SITE else None

    def delete_site(self, did: str, site_id: str, check: Callable[[d.Site], None] = no_check) -> None:
        """Delete a site. It can be restored within 7 days and keeps its subdomain until then.

        `check` gets the site first and may raise.
        """

        def mark(site: d.Site) -> None:
            check(site)
            site.shelf = d.Shelf.DELETED
            site.deleted_at = self.now()

        self.db.update(d.site(did, site_id), mark)

    def restore_site(self, did: str, site_id: str) -> d.Site:
        with self.db.change(d.deleted_site(did, site_id)) as draft:
            draft.shelf = d.Shelf.SITE
            draft.deleted_at = None
        return self.db.one(d.site(did, site_id), consistent=True)

    def unpublish(self, did: str, site_id: str) -> d.Site:
        """Hide a site from everyone but its owner; builds do not publish it again, `publish` does."""

        def edit(site: d.Site) -> None:
            site.status = d.SiteStatus.UNPUBLISHED

        return self.db.update(d.site(did, site_id), edit)

    def publish(self, did: str, site_id: str) -> d.Site:
        """Show the last good build of an unpublished site again."""

        def edit(site: d.Site) -> None:
            site.status = d.SiteStatus.DRAFT if site.built_at is None else d.SiteStatus.PUBLISHED

        return self.db.update(d.site(did, site_id), edit)

    # Builds

    def start_build(self, did: str, site_id: str) -> d.BuildJob:
        """Start a build of a site, unless one is running; one whose builder has stopped fails first.

        The consumer `nbhd-builder` runs it; another builder may end it with `finish_build` in its place.
        """
        try:
            return self._start_build(did, site_id)
        except NotUnique:
            running = self.running_build(site_id)
            if running is None or not self._fail_if_abandoned(running):
                raise
        return self._start_build(did, site_id)

    def _start_build(self, did: str, site_id: str) -> d.BuildJob:
        job_id = self.new_id("j")
        started_at = time_in_id(job_id)
        assert started_at is not None
        job = d.BuildJob(
            job_id=job_id, site_id=site_id, owner_did=did, started_at=started_at, lease_until=self.now() + d.LEASE
        )
        errors = {
            "User": InvalidValue("BuildJob", "the account of its owner is deleted", "site_id"),
            "Site": InvalidValue("BuildJob", f"{did} has no site {site_id}", "site_id"),
        }
        with condition_errors(errors), self.db.transaction() as transaction:
            transaction.check(d.user(did), NOT_DELETED)
            transaction.check(d.site(did, site_id), F.site_id == site_id)
            return transaction.create(job)

    def renew_lease(self, job: d.BuildJob) -> d.BuildJob:
        """A sign of life of the builder: the lease of a running build begins again."""
        here = d.build(job.site_id, job.started_at)
        with self.db.change(here, when=F.status == d.BuildStatus.RUNNING, system_change=True) as draft:
            draft.lease_until = self.now() + d.LEASE
        return self.db.one(here, consistent=True)

    def _fail_if_abandoned(self, job: d.BuildJob) -> bool:
        """Fail a running build whose lease has ended; returns False if it has not, or if the builder is back."""
        lease_until = job.lease_until or job.started_at + d.LEASE
        if lease_until > self.now():
            return False
        same = F.lease_until.is_absent() if job.lease_until is None else F.lease_until == job.lease_until
        with suppress(ConditionFailed, NotFound):
            still = (F.status == d.BuildStatus.RUNNING) & same
            with self.db.change(d.build(job.site_id, job.started_at), when=still) as ended:
                ended.status = d.BuildStatus.FAILED
                ended.completed_at = self.now()
                ended.error = f"the builder has stopped: no sign of life for {d.LEASE.seconds // 60} minutes"
            return True
        return False

    def running_build(self, site_id: str) -> d.BuildJob | None:
        """The running build of a site, with two GetItems (guard, job)."""
        return self.db.find_by_unique(d.BuildJob, "one_at_a_time", site_id)

    def find_build(self, site_id: str, job_id: str) -> d.BuildJob | None:
        """A build by id: one GetItem if the id contains the time, else a search through the builds of the site."""
        at = time_in_id(job_id)
        found = self.db(d.build(site_id, at), consistent=True) if at is not None else None
        if found is not None and found.job_id == job_id:
            return found
        return next((each for each in self.db(d.builds_of_site(site_id)) if each.job_id == job_id), None)

    def delete_build(self, job: d.BuildJob, when: Condition | None = None) -> bool:
        """Delete a build; returns False if it is stored under a key of other code, which cannot be deleted here."""
        try:
            return self.db.delete(job, when=F.job_id == job.job_id if when is None else when) is not None
        except ConditionFailed:
            if when is not None:
                raise
            return False

    def finish_build(
        self, did: str, job: d.BuildJob, *, error: str | None = None, log_url: str | None = None
    ) -> d.BuildJob:
        """End a running build. A successful build publishes the site in the same transaction, unless unpublished."""
        site = d.site(did, job.site_id)
        try:
            try:
                self._end_build(job, site, error, log_url, d.SiteStatus.PUBLISHED)
            except ConditionFailed as failed:
                if failed.entity != d.Site.__name__ or error is not None:
                    raise
                self._end_build(job, site, error, log_url, None)
        except (NotFound, ConditionFailed) as missing:
            if missing.entity != d.Site.__name__:
                raise
            self.db.one(
                d.deleted_site(did, job.site_id), consistent=True
            )  # raises NotFound if it is not the user's site
            self._end_build(job, None, error or "the site was deleted during the build", log_url, None)
        return self.db.one(d.build(job.site_id, job.started_at), consistent=True)

    def _end_build(
        self,
        job: d.BuildJob,
        site: Get[d.Site] | None,
        error: str | None,
        log_url: str | None,
        becomes: d.SiteStatus | None,
    ) -> None:
        """End a build. A built site becomes published, if it is not unpublished, or (None) keeps its status."""
        now = self.now()
        with self.db.transaction() as transaction:
            ended = transaction.change(d.build(job.site_id, job.started_at), when=F.status == d.BuildStatus.RUNNING)
            ended.status = d.BuildStatus.COMPLETED if error is None else d.BuildStatus.FAILED
            ended.completed_at = now
            ended.error = error
            ended.log_url = log_url
            if site is not None and error is None:
                when = None if becomes is None else F.status != d.SiteStatus.UNPUBLISHED
                built = transaction.change(site, when=when)
                built.built_at = now
                if becomes is not None:
                    built.status = becomes
            elif site is not None:
                transaction.check(site, F.site_id == job.site_id)
