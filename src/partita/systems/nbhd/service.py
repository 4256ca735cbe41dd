"""What the design of nbhd.city cannot say: who may join, build and come back, and what belongs into one transaction."""

import secrets
from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import msgspec

from partita import Condition, ConditionFailed, F, NotFound, OpenEnum, Page, Store, ValueRefused, new_id
from partita.systems.nbhd import design as d
from partita.systems.nbhd.names import (
    checked_config,
    checked_did,
    checked_handle,
    checked_subdomain,
    public_url,
    slug_of,
)

M = TypeVar("M", bound=OpenEnum)

_LIVING = F.deleted_at.is_absent()
_DELETED = F.deleted_at.exists()


class Nbhd:
    """The service on a store; `clock` is the store's own, `chance` makes ids."""

    def __init__(self, db: Store, chance: Callable[[int], int] = secrets.randbits) -> None:
        self.db = db
        self.now = db.context.clock
        self.chance = chance

    # Users

    def register(
        self,
        did: str,
        handle: str,
        display_name: str,
        *,
        bluesky_did: str | None = None,
        avatar_url: str | None = None,
        bio: str | None = None,
    ) -> d.User:
        """A new user; a handle is compared without case, and taken once."""
        user = d.User(
            did=checked_did("User.did", did),
            bluesky_handle=checked_handle(handle),
            bluesky_did=checked_did("User.bluesky_did", bluesky_did) if bluesky_did is not None else None,
            display_name=display_name,
            avatar_url=avatar_url,
            bio=bio,
        )
        return self.db.create(user)

    def change_handle(self, did: str, handle: str) -> None:
        refusals = {"User": ("User.did", "the account is deleted")}
        with refusing(refusals), self.db.change(d.user(did), when=_LIVING) as draft:
            draft.bluesky_handle = checked_handle(handle)

    def find_by_handle(self, handle: str) -> d.User | None:
        """The guard, then the user: two GetItems. A deleted account is not found."""
        user = self.db.holder(d.User, "bluesky_handle", checked_handle(handle))
        return user if user is not None and user.deleted_at is None else None

    def delete_account(self, did: str) -> None:
        """Out of the list of users at once, hidden in 30 days; called again, it goes on where it was interrupted."""
        with suppress(ConditionFailed), self.db.change(d.user(did), when=_LIVING) as draft:
            draft.deleted_at = self.now()
        self._stand(did, d.Standing.INACTIVE, _DELETED)

    def restore_account(self, did: str) -> None:
        """As it was, while the grace period lasts."""
        with suppress(ConditionFailed), self.db.change(d.user(did), when=_DELETED) as draft:
            draft.deleted_at = None
        self._stand(did, d.Standing.ACTIVE, _LIVING)

    def _stand(self, did: str, standing: d.Standing, account: Condition) -> None:
        """Give every membership of the user this standing, as long as the account is still so."""
        for each in self.db(d.memberships_of_user(did)):
            if each.status != standing:
                with suppress(NotFound, ConditionFailed), self.db.transaction() as transaction:
                    transaction.check(d.user(did), account)
                    transaction.change(d.member(each.neighborhood_id, did)).status = standing

    # Neighborhoods

    def found(
        self,
        creator_did: str,
        name: str,
        slug: str | None = None,
        *,
        description: str = "",
        privacy: d.Privacy = d.Privacy.PUBLIC,
        settings: d.Settings | None = None,
    ) -> d.Neighborhood:
        """A new neighborhood, with its founder as its first member and admin."""
        neighborhood = d.Neighborhood(
            id=new_id("n", self.now(), self.chance),
            name=name,
            slug=slug_of(slug or name),
            description=description,
            creator_did=creator_did,
            privacy=known("Neighborhood.privacy", privacy),
            settings=settings or d.Settings(),
        )
        founder = d.Membership(
            neighborhood_id=neighborhood.id, user_did=creator_did, role=d.Role.ADMIN, joined_at=self.now()
        )
        refusals = {"User": ("Neighborhood.creator_did", "the account is deleted")}
        with refusing(refusals), self.db.transaction() as transaction:
            transaction.check(d.user(creator_did), _LIVING)
            made = transaction.create(neighborhood)
            transaction.create(founder)
        return msgspec.structs.replace(made, member_count=1)

    def rename(self, neighborhood_id: str, name: str, slug: str | None = None) -> None:
        """The old slug is free for others once the new one is taken."""
        with self.db.change(d.neighborhood(neighborhood_id)) as draft:
            draft.name = name
            draft.slug = slug_of(slug or name)

    def set_privacy(self, neighborhood_id: str, privacy: d.Privacy) -> None:
        """A private neighborhood is in no list; its members and its slug stay."""
        with self.db.change(d.neighborhood(neighborhood_id)) as draft:
            draft.privacy = known("Neighborhood.privacy", privacy)

    def find_by_slug(self, slug: str) -> d.Neighborhood | None:
        """The guard, then the neighborhood: two GetItems."""
        return self.db.holder(d.Neighborhood, "slug", slug_of(slug))

    # Memberships

    def join(self, neighborhood_id: str, did: str) -> d.Membership:
        """Once at a time; the neighborhood counts it in the same transaction."""
        membership = d.Membership(neighborhood_id=neighborhood_id, user_did=did, joined_at=self.now())
        refusals = {"User": ("Membership.user_did", "the account is deleted")}
        with refusing(refusals), self.db.transaction() as transaction:
            transaction.check(d.user(did), _LIVING)
            return transaction.create(membership)

    def leave(self, neighborhood_id: str, did: str) -> d.PastMembership:
        """The membership becomes history, and the neighborhood counts one less, in one transaction."""
        held = self.db.one(d.member(neighborhood_id, did), consistent=True)
        as_read = (F.joined_at == held.joined_at) & (F.role == held.role)
        past = d.PastMembership(
            neighborhood_id=neighborhood_id, left_at=self.now(), did=did, role=held.role, member_since=held.joined_at
        )
        try:
            with self.db.transaction() as transaction:
                transaction.check(d.member(neighborhood_id, did), as_read)
                transaction.delete(d.member(neighborhood_id, did))
                return transaction.create(past)
        except ConditionFailed:  # gone, or of another role by now
            return self.leave(neighborhood_id, did)

    def set_role(self, neighborhood_id: str, did: str, role: d.Role) -> None:
        with self.db.change(d.member(neighborhood_id, did)) as draft:
            draft.role = known("Membership.role", role)

    def neighborhoods_of(self, did: str, size: int = 100, cursor: str | None = None) -> Page[d.Neighborhood]:
        """Those that a user is in, the last joined first: one Query and one BatchGetItem a page of up to 100."""
        page = self.db(d.memberships_of_user(did)).page(min(size, 100), cursor)
        found = self.db.many([d.neighborhood(each.neighborhood_id) for each in page.items])
        return Page([each for each in found if each is not None], page.cursor)

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
            site_id=new_id("s", self.now(), self.chance),
            title=title,
            template=template,
            subdomain=label,
            neighborhood_id=neighborhood_id,
            config=checked_config(config or {}),
            public_url=public_url(label),
        )
        refusals = {
            "User": ("Site.did", "the account is deleted"),
            "Neighborhood": (
                "Site.neighborhood_id",
                f"{neighborhood_id} allows no new sites, or only with a verified e-mail address",
            ),
            "Membership": ("Site.neighborhood_id", f"{did} is no active member of {neighborhood_id}"),
        }
        with refusing(refusals), self.db.transaction() as transaction:
            transaction.check(d.user(did), _LIVING)
            if neighborhood_id is not None:
                allowed = F.settings.allow_site_creation.is_in(True)
                if not email_verified:
                    allowed &= F.settings.require_email_verification.is_in(False)
                transaction.check(d.neighborhood(neighborhood_id), allowed)
                transaction.check(d.member(neighborhood_id, did), F.status == d.Standing.ACTIVE)
            return transaction.create(site)

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
        site = self.db.holder(d.Site, "subdomain", checked_subdomain(subdomain))
        return site if site is not None and site.shelf == d.Shelf.SITE else None

    def delete_site(self, did: str, site_id: str) -> None:
        """Out of the owner's list, to be put back within 7 days; until then nobody else gets its subdomain."""
        with self.db.change(d.site(did, site_id), quietly=True) as draft:
            draft.shelf = d.Shelf.DELETED
            draft.deleted_at = self.now()

    def restore_site(self, did: str, site_id: str) -> None:
        with self.db.change(d.deleted_site(did, site_id), quietly=True) as draft:
            draft.shelf = d.Shelf.SITE
            draft.deleted_at = None

    # Builds

    def start_build(self, did: str, site_id: str) -> d.BuildJob:
        """A new build of a site that is there, unless one is running."""
        job = d.BuildJob(job_id=new_id("j", self.now(), self.chance), site_id=site_id, started_at=self.now())
        refusals = {"Site": ("BuildJob.site_id", f"{did} has no site {site_id}")}
        with refusing(refusals), self.db.transaction() as transaction:
            transaction.check(d.site(did, site_id), F.site_id == site_id)
            return transaction.create(job)

    def running_build(self, site_id: str) -> d.BuildJob | None:
        """The guard, then the job: two GetItems."""
        return self.db.holder(d.BuildJob, "one_at_a_time", site_id)

    def finish_build(self, did: str, job: d.BuildJob, *, error: str | None = None, log_url: str | None = None) -> None:
        """The build ends, once; a good one publishes the site in the same transaction, a failed one leaves it alone."""
        now = self.now()
        try:
            with self.db.transaction() as transaction:
                ended = transaction.change(d.build(job.site_id, job.started_at), when=F.status == d.BuildStatus.RUNNING)
                ended.status = d.BuildStatus.COMPLETED if error is None else d.BuildStatus.FAILED
                ended.completed_at = now
                ended.error = error
                ended.log_url = log_url
                if error is None:
                    site = transaction.change(d.site(did, job.site_id), quietly=True)
                    site.status = d.SiteStatus.PUBLISHED
                    site.built_at = now
        except NotFound as gone:
            if gone.entity != d.Site.__name__:
                raise
            self.finish_build(did, job, error="the site was deleted while it was built", log_url=log_url)


def month(year: int, number: int) -> tuple[datetime, datetime]:
    """The first and the last moment of a month, for `users_between`."""
    first = datetime(year, number, 1, tzinfo=UTC)
    return first, first + timedelta(days=monthrange(year, number)[1]) - timedelta(microseconds=1)


def known(where: str, value: M) -> M:
    """A value that the system itself has a name for; only other code may write others."""
    named = list(type(value))
    if value not in named:
        raise ValueRefused(where, f"{value.value!r} is none of {', '.join(each.value for each in named)}")
    return value


@contextmanager
def refusing(refusals: Mapping[str, tuple[str, str]]) -> Iterator[None]:
    """A condition on another entity that fails inside is told as the field of the caller's that it is about."""
    try:
        yield
    except ConditionFailed as failed:
        if failed.entity not in refusals:
            raise
        raise ValueRefused(*refusals[failed.entity]) from None
