"""The nbhd.city service: users, neighborhoods and memberships."""

from calendar import monthrange
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import msgspec

from partita import (
    AlreadyExists,
    Condition,
    ConditionFailed,
    F,
    InvalidValue,
    NotFound,
    Page,
    ReferenceMissing,
    Transaction,
)
from partita_systems.nbhd import design as d
from partita_systems.nbhd.errors import LastAdmin, checked_enum, condition_errors
from partita_systems.nbhd.purging import Purging
from partita_systems.nbhd.sites import NOT_CLOSING, NOT_DELETED, Sites, no_check
from partita_systems.nbhd.validation import canonical_handle, checked_did, checked_handle, checked_slug, slug_of

MAX_ADMINISTERED = 30  # neighborhoods whose admin can delete the account: one transaction changes all memberships
_DELETED = F.deleted_at.exists()
_PUBLIC = ~F.privacy.is_in(d.Privacy.PRIVATE)
# Neighborhoods of other code have no `admin_count` before their adoption.
_HAS_ANOTHER_ADMIN = F.admin_count.is_absent() | (F.admin_count >= 2) | F.closed_by.exists()


class Nbhd(Sites, Purging):
    """Users, neighborhoods and memberships; sites and builds are in `Sites`, purges in `Purging`.

    A neighborhood always has an active admin: each transaction that ends an admin's role checks that there is another.
    """

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
        """Create a user. Handles are unique, compared without case.

        A DID whose account has expired begins from nothing: what is left of it is purged first.
        """
        user = d.User(
            did=checked_did(did, "did"),
            bluesky_handle=checked_handle(handle),
            bluesky_did=checked_did(bluesky_did, "bluesky_did") if bluesky_did is not None else None,
            display_name=display_name,
            avatar_url=avatar_url,
            bio=bio,
        )
        for _ in self.db.retrying(d.User.__name__):
            if self.db(d.user(did), consistent=True) is None and self.has_leftovers(did):
                self.purge(did)
            try:
                with self.db.transaction() as transaction:
                    transaction.check(d.purge(did), F.due_at.is_absent())
                    created = transaction.create(user)
            except ConditionFailed:  # another call is purging it
                if self.db(d.user(did), consistent=True) is not None:
                    raise AlreadyExists(d.User.__name__, {"did": did}) from None
                continue
            break
        return created

    def change_handle(self, did: str, handle: str) -> d.User:
        errors = {"User": InvalidValue("User", "the account is deleted", "did")}
        with condition_errors(errors), self.db.change(d.user(did), when=NOT_DELETED) as draft:
            draft.bluesky_handle = checked_handle(handle)
        return self.db.one(d.user(did), consistent=True)

    def find_by_handle(self, handle: str) -> d.User | None:
        """A user by handle, with two GetItems (guard, user); deleted accounts are not found."""
        user = self.db.find_by_unique(d.User, "bluesky_handle", canonical_handle(handle))
        return user if user is not None and user.deleted_at is None else None

    def delete_account(self, did: str, check: Callable[[d.User], None] = no_check) -> None:
        """Delete an account: it leaves the list of users at once, and is purged after 30 days.

        The only admin of a neighborhood has to make another member admin first, or close it: else LastAdmin. `check`
        gets the account first and may raise. An interrupted deletion can be repeated.
        """
        for _ in self.db.retrying(d.User.__name__):
            user = self.db.one(d.user(did), consistent=True)
            check(user)
            if user.deleted_at is not None or self._mark_deleted(user):
                break
        self._set_membership_status(did, d.MembershipStatus.INACTIVE, _DELETED)

    def _mark_deleted(self, user: d.User) -> bool:
        """Mark the account and end its admin roles, all or nothing; returns False if something changed meanwhile."""
        did, now = user.did, self.now()
        administered = [
            each.neighborhood_id
            for each in self.db(d.memberships_of_user(did))
            if (each.role, each.status) == (d.Role.ADMIN, d.MembershipStatus.ACTIVE)
        ]
        if len(administered) > MAX_ADMINISTERED:
            reason = f"the admin of more than {MAX_ADMINISTERED} neighborhoods has to hand over some of them first"
            raise InvalidValue("User", reason, "did")
        same = F.administered_count.is_absent() | (F.administered_count == len(administered))
        try:
            with self.db.transaction() as transaction:
                transaction.change(d.user(did), when=NOT_DELETED & same).deleted_at = now
                transaction.put(d.Purge(did=did, due_at=now + d.GRACE))
                for home in administered:
                    transaction.check(d.neighborhood(home), _HAS_ANOTHER_ADMIN)
                    transaction.change(d.member(home, did), when=d.ACTIVE_ADMIN).status = d.MembershipStatus.INACTIVE
        except ConditionFailed as failed:
            if failed.entity == d.Neighborhood.__name__:
                raise LastAdmin(did, self._only_admin_of(administered)) from None
            return False
        return True

    def _only_admin_of(self, neighborhood_ids: Sequence[str]) -> list[str]:
        found = self.existing([d.neighborhood(each) for each in neighborhood_ids], consistent=True)
        return [each.neighborhood_id for each in found if each.admin_count < 2 and each.closed_by is None]

    def restore_account(self, did: str) -> d.User:
        """Restore a deleted account within 30 days, with its memberships."""
        with suppress(ConditionFailed), self.db.transaction() as transaction:
            transaction.change(d.user(did), when=_DELETED).deleted_at = None
            transaction.delete(d.purge(did))
        self._set_membership_status(did, d.MembershipStatus.ACTIVE, NOT_DELETED)
        return self.db.one(d.user(did), consistent=True)

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
            neighborhood_id=self.new_id("n"),
            name=name,
            slug=checked_slug(slug, name),
            description=description,
            creator_did=creator_did,
            privacy=checked_enum("Neighborhood", "privacy", privacy),
            settings=settings or d.Settings(),
        )
        first_member = d.Membership(
            neighborhood_id=neighborhood.neighborhood_id, did=creator_did, role=d.Role.ADMIN, joined_at=self.now()
        )
        errors = {"User": InvalidValue("Neighborhood", "the account is deleted", "creator_did")}
        with condition_errors(errors), self.db.transaction() as transaction:
            transaction.check(d.user(creator_did), NOT_DELETED)
            created = transaction.create(neighborhood)
            transaction.create(first_member)
        return msgspec.structs.replace(created, member_count=1, admin_count=1)

    def rename(self, neighborhood_id: str, name: str, slug: str | None = None) -> None:
        """Change the name and the slug; the old slug is released."""
        with self.db.change(d.neighborhood(neighborhood_id)) as draft:
            draft.name = name
            draft.slug = checked_slug(slug, name)

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
                self.leave(neighborhood_id, each.did)
                count += 1
        self.db.delete(d.neighborhood(neighborhood_id))
        return count

    # Memberships

    def invite(self, neighborhood_id: str, did: str, invited_by: str) -> d.Invitation:
        """Invite a user to a neighborhood; a repeated invitation changes nothing."""
        home = self.db.one(d.neighborhood(neighborhood_id), consistent=True)
        invitation = d.Invitation(
            did=did,
            neighborhood_id=neighborhood_id,
            neighborhood_name=home.name,
            invited_by=invited_by,
            invited_at=self.now(),
        )
        errors = {
            "User": InvalidValue("Invitation", "the account is deleted", "did"),
            "Neighborhood": InvalidValue("Invitation", f"{neighborhood_id} is being closed", "neighborhood_id"),
            "Membership": InvalidValue("Invitation", f"{did} is a member already", "did"),
        }
        try:
            with condition_errors(errors), self.db.transaction() as transaction:
                transaction.check(d.user(did), NOT_DELETED)
                transaction.check(d.neighborhood(neighborhood_id), NOT_CLOSING)
                transaction.check(d.member(neighborhood_id, did), F.joined_at.is_absent())
                return transaction.create(invitation)
        except AlreadyExists:
            return self.db.one(d.invitation(did, neighborhood_id), consistent=True)

    def join(self, neighborhood_id: str, did: str) -> d.Membership:
        """Create a membership, which only its member may ask for; the neighborhood counts it in the same transaction.

        A private neighborhood requires an invitation, which is used up.
        """
        try:
            return self._join(neighborhood_id, did, invited=False)
        except ConditionFailed:  # it is private, or being closed
            pass
        closing = InvalidValue("Membership", f"{neighborhood_id} is being closed", "neighborhood_id")
        try:
            with condition_errors({"Neighborhood": closing}):
                return self._join(neighborhood_id, did, invited=True)
        except ConditionFailed as failed:
            if failed.entity != d.Invitation.__name__:
                raise
            raise NotFound(d.Neighborhood.__name__, {"neighborhood_id": neighborhood_id}) from None

    def _join(self, neighborhood_id: str, did: str, *, invited: bool) -> d.Membership:
        membership = d.Membership(neighborhood_id=neighborhood_id, did=did, joined_at=self.now())
        errors = {"User": InvalidValue("Membership", "the account is deleted", "did")}
        with condition_errors(errors), self.db.transaction() as transaction:
            transaction.check(d.user(did), NOT_DELETED)
            transaction.check(d.neighborhood(neighborhood_id), NOT_CLOSING if invited else NOT_CLOSING & _PUBLIC)
            if invited:
                fresh = F.invited_at > self.now() - d.INVITATION  # an expired item may still be stored
                transaction.delete(d.invitation(did, neighborhood_id), when=fresh)
            return transaction.create(membership)

    def leave(self, neighborhood_id: str, did: str) -> d.PastMembership:
        """Turn a membership into history; the member count goes down in the same transaction.

        The only admin cannot leave (LastAdmin): another member has to be admin first, or the neighborhood is closed.
        """
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
                    transaction.create(_link_to(past))
                    self._check_another_admin(transaction, membership)
            except ConditionFailed as failed:
                if failed.entity == d.Neighborhood.__name__:
                    raise LastAdmin(did, [neighborhood_id]) from None
                continue  # deleted, or the role has changed
            break
        return past

    def _check_another_admin(self, transaction: Transaction, ending: d.Membership) -> None:
        """The role of an active admin ends: the neighborhood has another one, or is being closed or gone."""
        if (ending.role, ending.status) != (d.Role.ADMIN, d.MembershipStatus.ACTIVE):
            return
        if self.db(d.neighborhood(ending.neighborhood_id), consistent=True) is not None:
            transaction.check(d.neighborhood(ending.neighborhood_id), _HAS_ANOTHER_ADMIN)

    def set_role(self, neighborhood_id: str, did: str, role: d.Role) -> d.Membership:
        """Set the role of a member; the only admin stays one (LastAdmin)."""
        checked_enum("Membership", "role", role)
        here = d.member(neighborhood_id, did)
        for _ in self.db.retrying(d.Membership.__name__):
            membership = self.db.one(here, consistent=True)
            if membership.role == role:
                break
            try:
                with self.db.transaction() as transaction:
                    same = (F.role == membership.role) & (F.status == membership.status)
                    transaction.change(here, when=same).role = role
                    self._check_another_admin(transaction, membership)
            except ConditionFailed as failed:
                if failed.entity == d.Neighborhood.__name__:
                    raise LastAdmin(did, [neighborhood_id]) from None
                continue
            break
        return self.db.one(here, consistent=True)

    def neighborhoods_of(self, did: str, size: int = 100, cursor: str | None = None) -> Page[d.Neighborhood]:
        """The neighborhoods of a user, last joined first: one Query and one BatchGetItem per page of up to 100."""
        page = self.db(d.memberships_of_user(did)).page(min(size, 100), cursor)
        return Page(self.existing([d.neighborhood(each.neighborhood_id) for each in page.items]), page.cursor)


def _link_to(past: d.PastMembership) -> d.HistoryLink:
    return d.HistoryLink(did=past.did, neighborhood_id=past.neighborhood_id, left_at=past.left_at)


def _joined_at(at: datetime) -> Condition:
    """The member joined at this time, to the second: other code writes times in another form."""
    second = at.replace(microsecond=0)
    return F.joined_at.between(second - timedelta(microseconds=1), second + timedelta(seconds=1))


def month(year: int, number: int) -> tuple[datetime, datetime]:
    """The first and last microsecond of a month, for `users_between`."""
    first = datetime(year, number, 1, tzinfo=UTC)
    return first, first + timedelta(days=monthrange(year, number)[1]) - timedelta(microseconds=1)
