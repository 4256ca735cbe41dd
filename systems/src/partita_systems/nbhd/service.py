"""The nbhd.city service: users, neighborhoods and memberships."""

from calendar import monthrange
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import msgspec

from partita import Condition, ConditionFailed, F, InvalidValue, NotFound, Page, ReferenceMissing
from partita_systems.nbhd import design as d
from partita_systems.nbhd.errors import checked_enum, condition_errors
from partita_systems.nbhd.sites import NOT_CLOSING, NOT_DELETED, Sites, no_check
from partita_systems.nbhd.validation import checked_did, checked_handle, slug_of

_DELETED = F.deleted_at.exists()


class Nbhd(Sites):
    """Users, neighborhoods and memberships; sites and builds are in `Sites`."""

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
        """Create a user. Handles are unique, compared without case."""
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
        errors = {"User": InvalidValue("User", "the account is deleted", "did")}
        with condition_errors(errors), self.db.change(d.user(did), when=NOT_DELETED) as draft:
            draft.bluesky_handle = checked_handle(handle)

    def find_by_handle(self, handle: str) -> d.User | None:
        """A user by handle, with two GetItems (guard, user); deleted accounts are not found."""
        user = self.db.find_by_unique(d.User, "bluesky_handle", checked_handle(handle))
        return user if user is not None and user.deleted_at is None else None

    def delete_account(self, did: str, check: Callable[[d.User], None] = no_check) -> None:
        """Delete an account: it leaves the list of users at once and expires after 30 days.

        `check` gets the account first and may raise. An interrupted deletion can be repeated.
        """

        def mark(user: d.User) -> None:
            check(user)
            user.deleted_at = user.deleted_at or self.now()

        self.db.update(d.user(did), mark)
        self._set_membership_status(did, d.MembershipStatus.INACTIVE, _DELETED)

    def restore_account(self, did: str) -> None:
        """Restore a deleted account within 30 days, with its memberships."""
        with suppress(ConditionFailed), self.db.change(d.user(did), when=_DELETED) as draft:
            draft.deleted_at = None
        self._set_membership_status(did, d.MembershipStatus.ACTIVE, NOT_DELETED)

    def _set_membership_status(self, did: str, status: d.MembershipStatus, account: Condition) -> None:
        """Set the status of every membership of a user while the account meets the condition."""
        for each in self.db(d.memberships_of_user(did)):
            if each.status != status:
                ignored = suppress(NotFound, ConditionFailed, ReferenceMissing)
                with ignored, self.db.transaction() as transaction:
                    transaction.check(d.user(did), account)
                    transaction.change(d.member(each.neighborhood_id, did)).status = status

    # Neighborhoods

    def create_neighborhood(
        self,
        creator_did: str,
        name: str,
        slug: str | None = None,
        *,
        description: str = "",
        privacy: d.Privacy = d.Privacy.PUBLIC,
        settings: d.Settings | None = None,
    ) -> d.Neighborhood:
        """Create a neighborhood with its creator as the first member and admin."""
        neighborhood = d.Neighborhood(
            id=self.new_id("n"),
            name=name,
            slug=slug_of(slug or name),
            description=description,
            creator_did=creator_did,
            privacy=checked_enum("Neighborhood", "privacy", privacy),
            settings=settings or d.Settings(),
        )
        first_member = d.Membership(
            neighborhood_id=neighborhood.id, user_did=creator_did, role=d.Role.ADMIN, joined_at=self.now()
        )
        errors = {"User": InvalidValue("Neighborhood", "the account is deleted", "creator_did")}
        with condition_errors(errors), self.db.transaction() as transaction:
            transaction.check(d.user(creator_did), NOT_DELETED)
            created = transaction.create(neighborhood)
            transaction.create(first_member)
        return msgspec.structs.replace(created, member_count=1)

    def rename(self, neighborhood_id: str, name: str, slug: str | None = None) -> None:
        """Change the name and the slug; the old slug is released."""
        with self.db.change(d.neighborhood(neighborhood_id)) as draft:
            draft.name = name
            draft.slug = slug_of(slug or name)

    def set_privacy(self, neighborhood_id: str, privacy: d.Privacy) -> None:
        """Change the privacy; a private neighborhood is not listed, but keeps its members and slug."""
        with self.db.change(d.neighborhood(neighborhood_id)) as draft:
            draft.privacy = checked_enum("Neighborhood", "privacy", privacy)

    def find_by_slug(self, slug: str) -> d.Neighborhood | None:
        """A neighborhood by slug, with two GetItems (guard, neighborhood)."""
        return self.db.find_by_unique(d.Neighborhood, "slug", slug_of(slug))

    def close(self, neighborhood_id: str, by: str, check: Callable[[d.Neighborhood], None] = no_check) -> int:
        """Close a neighborhood: nobody can join, its memberships become history, then it is deleted.

        Returns the number of memberships. `check` gets the neighborhood first and may raise. An interrupted call can be
        repeated.
        """

        def mark(found: d.Neighborhood) -> None:
            check(found)
            found.closed_by = by

        self.db.update(d.neighborhood(neighborhood_id), mark)
        count = 0
        for each in self.db(d.memberships(neighborhood_id), consistent=True):
            with suppress(NotFound):  # the member has left in the meantime
                self.leave(neighborhood_id, each.user_did)
                count += 1
        self.db.delete(d.neighborhood(neighborhood_id))
        return count

    # Memberships

    def join(self, neighborhood_id: str, did: str) -> d.Membership:
        """Create a membership; the neighborhood counts it in the same transaction."""
        membership = d.Membership(neighborhood_id=neighborhood_id, user_did=did, joined_at=self.now())
        errors = {
            "User": InvalidValue("Membership", "the account is deleted", "user_did"),
            "Neighborhood": InvalidValue("Membership", f"{neighborhood_id} is being closed", "neighborhood_id"),
        }
        with condition_errors(errors), self.db.transaction() as transaction:
            transaction.check(d.user(did), NOT_DELETED)
            transaction.check(d.neighborhood(neighborhood_id), NOT_CLOSING)
            return transaction.create(membership)

    def leave(self, neighborhood_id: str, did: str) -> d.PastMembership:
        """Turn a membership into history; the member count goes down in the same transaction."""
        for _ in self.db.retrying(d.Membership.__name__):
            membership = self.db.one(d.member(neighborhood_id, did), consistent=True)
            past = d.PastMembership(
                neighborhood_id=neighborhood_id,
                left_at=self.now(),
                did=did,
                role=membership.role,
                member_since=membership.joined_at,
            )
            try:
                with self.db.transaction() as transaction:
                    unchanged = (F.role == membership.role) & _joined_at(membership.joined_at)
                    transaction.check(d.member(neighborhood_id, did), unchanged)
                    transaction.delete(d.member(neighborhood_id, did))
                    transaction.create(past)
            except ConditionFailed:  # deleted, or the role has changed
                continue
            break
        return past

    def set_role(self, neighborhood_id: str, did: str, role: d.Role) -> None:
        with self.db.change(d.member(neighborhood_id, did)) as draft:
            draft.role = checked_enum("Membership", "role", role)

    def neighborhoods_of(self, did: str, size: int = 100, cursor: str | None = None) -> Page[d.Neighborhood]:
        """The neighborhoods of a user, last joined first: one Query and one BatchGetItem per page of up to 100."""
        page = self.db(d.memberships_of_user(did)).page(min(size, 100), cursor)
        return Page(self.existing([d.neighborhood(each.neighborhood_id) for each in page.items]), page.cursor)


def _joined_at(at: datetime) -> Condition:
    """The member joined at this time, to the second: other code writes times in another form."""
    second = at.replace(microsecond=0)
    return F.joined_at.between(second - timedelta(microseconds=1), second + timedelta(seconds=1))


def month(year: int, number: int) -> tuple[datetime, datetime]:
    """The first and last microsecond of a month, for `users_between`."""
    first = datetime(year, number, 1, tzinfo=UTC)
    return first, first + timedelta(days=monthrange(year, number)[1]) - timedelta(microseconds=1)
