"""What the design of nbhd.city cannot say: who may join and come back, and what belongs into one transaction."""

from calendar import monthrange
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import msgspec

from partita import Condition, ConditionFailed, F, InvalidValue, NotFound, Page, ReferenceMissing
from partita_systems.nbhd import design as d
from partita_systems.nbhd.errors import known, refusing
from partita_systems.nbhd.sites import LIVING, OPEN, Sites, let_pass
from partita_systems.nbhd.validation import checked_did, checked_handle, slug_of

_DELETED = F.deleted_at.exists()


class Nbhd(Sites):
    """People, neighborhoods and who lives in them; what is written there is what `Sites` does."""

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
            did=checked_did(did, "did"),
            bluesky_handle=checked_handle(handle),
            bluesky_did=checked_did(bluesky_did, "bluesky_did") if bluesky_did is not None else None,
            display_name=display_name,
            avatar_url=avatar_url,
            bio=bio,
        )
        return self.db.create(user)

    def change_handle(self, did: str, handle: str) -> None:
        refusals = {"User": InvalidValue("User", "the account is deleted", "did")}
        with refusing(refusals), self.db.change(d.user(did), when=LIVING) as draft:
            draft.bluesky_handle = checked_handle(handle)

    def find_by_handle(self, handle: str) -> d.User | None:
        """The guard, then the user: two GetItems. A deleted account is not found."""
        user = self.db.find_by_unique(d.User, "bluesky_handle", checked_handle(handle))
        return user if user is not None and user.deleted_at is None else None

    def delete_account(self, did: str, check: Callable[[d.User], None] = let_pass) -> None:
        """Out of the list of users at once, hidden in 30 days; called again, it goes on where it was interrupted.

        `check` is given the account, and may raise: then nothing is done.
        """

        def deleting(user: d.User) -> None:
            check(user)
            user.deleted_at = user.deleted_at or self.now()

        self.db.update(d.user(did), deleting)
        self._stand(did, d.Standing.INACTIVE, _DELETED)

    def restore_account(self, did: str) -> None:
        """As it was, while the grace period lasts."""
        with suppress(ConditionFailed), self.db.change(d.user(did), when=_DELETED) as draft:
            draft.deleted_at = None
        self._stand(did, d.Standing.ACTIVE, LIVING)

    def _stand(self, did: str, standing: d.Standing, account: Condition) -> None:
        """Give every membership of the user this standing, as long as the account is still so."""
        for each in self.db(d.memberships_of_user(did)):
            if each.status != standing:
                gone = suppress(NotFound, ConditionFailed, ReferenceMissing)
                with gone, self.db.transaction() as transaction:
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
            id=self.new_id("n"),
            name=name,
            slug=slug_of(slug or name),
            description=description,
            creator_did=creator_did,
            privacy=known("Neighborhood", "privacy", privacy),
            settings=settings or d.Settings(),
        )
        founder = d.Membership(
            neighborhood_id=neighborhood.id, user_did=creator_did, role=d.Role.ADMIN, joined_at=self.now()
        )
        refusals = {"User": InvalidValue("Neighborhood", "the account is deleted", "creator_did")}
        with refusing(refusals), self.db.transaction() as transaction:
            transaction.check(d.user(creator_did), LIVING)
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
            draft.privacy = known("Neighborhood", "privacy", privacy)

    def find_by_slug(self, slug: str) -> d.Neighborhood | None:
        """The guard, then the neighborhood: two GetItems."""
        return self.db.find_by_unique(d.Neighborhood, "slug", slug_of(slug))

    def close(self, neighborhood_id: str, by: str, check: Callable[[d.Neighborhood], None] = let_pass) -> int:
        """Nobody joins from now on, every member leaves into history, and it goes; answers with how many they were.

        Called again, it goes on where it was interrupted. `check` as for accounts.
        """

        def closing(found: d.Neighborhood) -> None:
            check(found)
            found.closed_by = by

        self.db.update(d.neighborhood(neighborhood_id), closing)
        left = 0
        for each in self.db(d.memberships(neighborhood_id), consistent=True):
            with suppress(NotFound):  # left by themselves
                self.leave(neighborhood_id, each.user_did)
                left += 1
        self.db.delete(d.neighborhood(neighborhood_id))
        return left

    # Memberships

    def join(self, neighborhood_id: str, did: str) -> d.Membership:
        """Once at a time; the neighborhood counts it in the same transaction."""
        membership = d.Membership(neighborhood_id=neighborhood_id, user_did=did, joined_at=self.now())
        refusals = {
            "User": InvalidValue("Membership", "the account is deleted", "user_did"),
            "Neighborhood": InvalidValue("Membership", f"{neighborhood_id} is being closed", "neighborhood_id"),
        }
        with refusing(refusals), self.db.transaction() as transaction:
            transaction.check(d.user(did), LIVING)
            transaction.check(d.neighborhood(neighborhood_id), OPEN)
            return transaction.create(membership)

    def leave(self, neighborhood_id: str, did: str) -> d.PastMembership:
        """The membership becomes history, and the neighborhood counts one less, in one transaction."""
        for _ in self.db.retrying(d.Membership.__name__):
            held = self.db.one(d.member(neighborhood_id, did), consistent=True)
            past = d.PastMembership(
                neighborhood_id=neighborhood_id,
                left_at=self.now(),
                did=did,
                role=held.role,
                member_since=held.joined_at,
            )
            try:
                with self.db.transaction() as transaction:
                    transaction.check(d.member(neighborhood_id, did), (F.role == held.role) & _joined(held.joined_at))
                    transaction.delete(d.member(neighborhood_id, did))
                    transaction.create(past)
            except ConditionFailed:  # gone, or of another role by now
                continue
            break
        return past

    def set_role(self, neighborhood_id: str, did: str, role: d.Role) -> None:
        with self.db.change(d.member(neighborhood_id, did)) as draft:
            draft.role = known("Membership", "role", role)

    def neighborhoods_of(self, did: str, size: int = 100, cursor: str | None = None) -> Page[d.Neighborhood]:
        """Those that a user is in, the last joined first: one Query and one BatchGetItem a page of up to 100."""
        page = self.db(d.memberships_of_user(did)).page(min(size, 100), cursor)
        return Page(self.existing([d.neighborhood(each.neighborhood_id) for each in page.items]), page.cursor)


def _joined(at: datetime) -> Condition:
    """That somebody joined then; within the second, because other code writes times in another form."""
    second = at.replace(microsecond=0)
    return F.joined_at.between(second - timedelta(microseconds=1), second + timedelta(seconds=1))


def month(year: int, number: int) -> tuple[datetime, datetime]:
    """The first and the last moment of a month, for `users_between`."""
    first = datetime(year, number, 1, tzinfo=UTC)
    return first, first + timedelta(days=monthrange(year, number)[1]) - timedelta(microseconds=1)
