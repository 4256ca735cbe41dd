"""Sites and their builds: creation, deletion and restoration, and builds with one running at a time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from partita import (
    Condition,
    ConditionFailed,
    F,
    Get,
    InvalidValue,
    NotFound,
    ReferenceMissing,
    time_in_id,
)
from partita_systems.nbhd import design as d
from partita_systems.nbhd.errors import condition_errors
from partita_systems.nbhd.validation import checked_config, checked_subdomain, public_url
from partita_systems.service_base import ServiceBase

NOT_DELETED = F.deleted_at.is_absent()
NOT_CLOSING = F.closed_by.is_absent()


def no_check(_: Any) -> None:
    """A check that accepts everything."""


class Sites(ServiceBase):
    """Sites and their builds."""

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
            template=template,
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
        site = self.db.find_by_unique(d.Site, "subdomain", checked_subdomain(subdomain))
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

    def restore_site(self, did: str, site_id: str) -> None:
        with self.db.change(d.deleted_site(did, site_id)) as draft:
            draft.shelf = d.Shelf.SITE
            draft.deleted_at = None

    # Builds

    def start_build(self, did: str, site_id: str) -> d.BuildJob:
        """Start a build of a site, unless one is running."""
        job_id = self.new_id("j")
        started_at = time_in_id(job_id)
        assert started_at is not None
        job = d.BuildJob(job_id=job_id, site_id=site_id, started_at=started_at)
        errors = {
            "User": InvalidValue("BuildJob", "the account of its owner is deleted", "site_id"),
            "Site": InvalidValue("BuildJob", f"{did} has no site {site_id}", "site_id"),
        }
        with condition_errors(errors), self.db.transaction() as transaction:
            transaction.check(d.user(did), NOT_DELETED)
            transaction.check(d.site(did, site_id), F.site_id == site_id)
            return transaction.create(job)

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

    def finish_build(self, did: str, job: d.BuildJob, *, error: str | None = None, log_url: str | None = None) -> None:
        """End a running build. A successful build publishes the site in the same transaction."""
        try:
            self._end_build(job, d.site(did, job.site_id), error, log_url)
        except (NotFound, ConditionFailed) as missing:
            if missing.entity != d.Site.__name__:
                raise
            self.db.one(
                d.deleted_site(did, job.site_id), consistent=True
            )  # raises NotFound if it is not the user's site
            self._end_build(job, None, error or "the site was deleted during the build", log_url)

    def _end_build(self, job: d.BuildJob, site: Get[d.Site] | None, error: str | None, log_url: str | None) -> None:
        now = self.now()
        with self.db.transaction() as transaction:
            ended = transaction.change(d.build(job.site_id, job.started_at), when=F.status == d.BuildStatus.RUNNING)
            ended.status = d.BuildStatus.COMPLETED if error is None else d.BuildStatus.FAILED
            ended.completed_at = now
            ended.error = error
            ended.log_url = log_url
            if site is not None and error is None:
                built = transaction.change(site)
                built.status = d.SiteStatus.PUBLISHED
                built.built_at = now
            elif site is not None:
                transaction.check(site, F.site_id == job.site_id)
