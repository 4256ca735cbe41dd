"""What the design of nbhd.city cannot say of sites: who may make them, how they go, come back and are built."""

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
from partita_systems.nbhd.errors import refusing
from partita_systems.nbhd.validation import checked_config, checked_subdomain, public_url
from partita_systems.service_base import ServiceBase

LIVING = F.deleted_at.is_absent()
OPEN = F.closed_by.is_absent()


def let_pass(_: Any) -> None:
    """A check that has nothing against anything."""


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
        """A new site, perhaps of a neighborhood: its settings decide, and `email_verified` is the token's claim."""
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
        refusals = {
            "User": InvalidValue("Site", "the account is deleted", "did"),
            "Neighborhood": InvalidValue(
                "Site",
                f"{neighborhood_id} allows no new sites, or only with a verified e-mail address",
                "neighborhood_id",
            ),
            "Membership": InvalidValue("Site", f"{did} is no active member of {neighborhood_id}", "neighborhood_id"),
        }
        with self._of_a_neighborhood(neighborhood_id), refusing(refusals), self.db.transaction() as transaction:
            transaction.check(d.user(did), LIVING)
            if neighborhood_id is not None:
                allowed = F.slug.exists() & OPEN & ~F.settings.allow_site_creation.is_in(False)
                if not email_verified:
                    allowed &= ~F.settings.require_email_verification.is_in(True)
                transaction.check(d.neighborhood(neighborhood_id), allowed)
                transaction.check(d.member(neighborhood_id, did), F.status == d.Standing.ACTIVE)
            return transaction.create(site)

    @contextmanager
    def _of_a_neighborhood(self, neighborhood_id: str | None) -> Iterator[None]:
        """One that is not there refuses nothing: it is the reference that is wrong."""
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
        """The old subdomain is free for others once the new one is taken."""
        label = checked_subdomain(subdomain)
        with self.db.change(d.site(did, site_id)) as draft:
            draft.subdomain = label
            draft.public_url = public_url(label)

    def find_by_subdomain(self, subdomain: str) -> d.Site | None:
        """The guard, then the site: two GetItems. A deleted site is not found, though its subdomain stays taken."""
        site = self.db.find_by_unique(d.Site, "subdomain", checked_subdomain(subdomain))
        return site if site is not None and site.shelf == d.Shelf.SITE else None

    def delete_site(self, did: str, site_id: str, check: Callable[[d.Site], None] = let_pass) -> None:
        """Out of the owner's list, to be put back within 7 days; until then nobody else gets its subdomain.

        `check` as for accounts.
        """

        def deleting(site: d.Site) -> None:
            check(site)
            site.shelf = d.Shelf.DELETED
            site.deleted_at = self.now()

        self.db.update(d.site(did, site_id), deleting)

    def restore_site(self, did: str, site_id: str) -> None:
        with self.db.change(d.deleted_site(did, site_id)) as draft:
            draft.shelf = d.Shelf.SITE
            draft.deleted_at = None

    # Builds

    def start_build(self, did: str, site_id: str) -> d.BuildJob:
        """A new build of a site that is there, unless one is running."""
        job_id = self.new_id("j")
        started_at = time_in_id(job_id)
        assert started_at is not None
        job = d.BuildJob(job_id=job_id, site_id=site_id, started_at=started_at)
        refusals = {
            "User": InvalidValue("BuildJob", "the account of its owner is deleted", "site_id"),
            "Site": InvalidValue("BuildJob", f"{did} has no site {site_id}", "site_id"),
        }
        with refusing(refusals), self.db.transaction() as transaction:
            transaction.check(d.user(did), LIVING)
            transaction.check(d.site(did, site_id), F.site_id == site_id)
            return transaction.create(job)

    def running_build(self, site_id: str) -> d.BuildJob | None:
        """The guard, then the job: two GetItems."""
        return self.db.find_by_unique(d.BuildJob, "one_at_a_time", site_id)

    def find_build(self, site_id: str, job_id: str) -> d.BuildJob | None:
        """One GetItem: the id says when. An id of other code does not, so the site's builds are looked through."""
        at = time_in_id(job_id)
        found = self.db(d.build(site_id, at), consistent=True) if at is not None else None
        if found is not None and found.job_id == job_id:
            return found
        return next((each for each in self.db(d.builds_of_site(site_id)) if each.job_id == job_id), None)

    def delete_build(self, job: d.BuildJob, when: Condition | None = None) -> bool:
        """Whether it is gone; one that other code stored under a key of its own stays, and so does its namesake."""
        try:
            return self.db.delete(job, when=F.job_id == job.job_id if when is None else when) is not None
        except ConditionFailed:
            if when is not None:
                raise
            return False

    def finish_build(self, did: str, job: d.BuildJob, *, error: str | None = None, log_url: str | None = None) -> None:
        """The build ends, once; a good one publishes the site in the same transaction, a failed one leaves it alone."""
        try:
            self._end_build(job, d.site(did, job.site_id), error, log_url)
        except (NotFound, ConditionFailed) as gone:
            if gone.entity != d.Site.__name__:
                raise
            self.db.one(d.deleted_site(did, job.site_id), consistent=True)  # or it never was theirs
            self._end_build(job, None, error or "the site was deleted while it was built", log_url)

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
