"""The purge of an account whose grace period is over: everything that was the user's goes.

A Purge item in the user's partition is written when the account is deleted, and is the last to go. While it exists,
the DID cannot register; every write of a purge checks that it exists. So a purge can be interrupted at any point and
repeated, and never touches what the DID creates after it has registered again.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cached_property

import msgspec

from partita import ConditionFailed, F, Get, InvalidValue, NotFound, Transaction
from partita_systems.nbhd import design as d
from partita_systems.nbhd.exports import Exports
from partita_systems.nbhd.purge_ledger import PurgeLedger

PSEUDONYM = "did:purged:"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXISTS = F.due_at.exists()


class PurgeResult(msgspec.Struct):
    """How many items a purge has deleted, and how many entries of history it has pseudonymised."""

    sites: int = 0
    builds: int = 0
    memberships: int = 0
    invitations: int = 0
    history: int = 0
    exports: int = 0


class Purging(Exports):
    """Purges of accounts, one transaction for each item; safe to repeat."""

    @cached_property
    def purge_ledger(self) -> PurgeLedger:
        """The purges that a restored table has to repeat."""
        return PurgeLedger(self.files.objects)

    def purge_due(self) -> int:
        """Purge every account whose grace period is over; returns how many there were."""
        due = list(self.db(d.purges_due(_EPOCH, self.now())))
        for each in due:
            with suppress(InvalidValue):  # restored, and the index lags
                self.purge(each.did)
        return len(due)

    def purge(self, did: str) -> PurgeResult:
        """Delete the sites, builds, memberships and invitations of an account that has expired or does not exist.

        Its history stays under pseudonyms, one for each entry. The names that it had are free.
        """
        return self._purge(did, lambda: self.purge_ledger.record(did, self.now()))

    def _purge(self, did: str, begun: Callable[[], object]) -> PurgeResult:
        """`begun` is called once the purge has begun, before anything is deleted."""
        account = self.db(d.user(did), consistent=True)
        if account is not None:
            until = account.deleted_at and account.deleted_at + d.GRACE
            reason = f"the account can be restored until {until:%Y-%m-%d}" if until else "the account is not deleted"
            raise InvalidValue("User", reason, "did")
        if not self.has_leftovers(did):
            return PurgeResult()
        done = PurgeResult()
        with suppress(_PurgeEnded):  # by another call; the DID may have registered again
            self._begin(did)
            begun()
            self._purge_sites(did, done)
            self._purge_exports(did, done)
            self._purge_memberships(did, done)
            self._purge_history(did, done)
            self._purge_invitations(did, done)
            self.db.delete(d.purge(did))
        return done

    def replay_purges(self, ledger: PurgeLedger) -> list[str]:
        """Purge the accounts of a restored table that were purged after its moment; returns their DIDs.

        An account that registered after its purge stays. The ledger keeps the times of the first purges.
        """
        replayed = []
        for user in self.db.scan(d.User):
            purged_at = ledger.purged_at(user.did)
            if purged_at is not None and user.created_at < purged_at:
                with suppress(NotFound), self.db.change(d.user(user.did), system_change=True) as draft:
                    draft.deleted_at = purged_at - d.GRACE
                self._purge(user.did, lambda: None)
                replayed.append(user.did)
        return replayed

    def has_leftovers(self, did: str) -> bool:
        """Whether there is anything of a user without a profile: one Query of the table and one of an index."""
        items = self.db(d.account(did), consistent=True)
        return items.one() is not None or self.db(d.memberships_of_user(did)).one() is not None

    def _begin(self, did: str) -> None:
        """Write the Purge item, if the account has expired or does not exist."""
        gone = F.did.is_absent() | (F.deleted_at <= self.now() - d.GRACE)  # an expired profile may still be stored
        try:
            with self.db.transaction() as transaction:
                transaction.check(d.user(did), gone)
                transaction.put(d.Purge(did=did, due_at=self.now()))
        except ConditionFailed:
            raise _PurgeEnded from None

    def _purge_sites(self, did: str, done: PurgeResult) -> None:
        shelves: tuple[tuple[d.Shelf, Callable[[str, str], Get[d.Site]]], ...] = (
            (d.Shelf.SITE, d.site),
            (d.Shelf.DELETED, d.deleted_site),
        )
        for site in [each for each in self.db(d.account(did), consistent=True) if isinstance(each, d.Site)]:
            for job in self.db(d.builds_of_site(site.site_id), consistent=True):
                with self._fenced(did) as transaction:
                    transaction.delete(d.build(site.site_id, job.started_at), when=F.job_id == job.job_id)
                done.builds += 1
            with self._fenced(did) as transaction:
                transaction.delete(dict(shelves)[site.shelf](did, site.site_id))
            done.sites += 1

    def _purge_exports(self, did: str, done: PurgeResult) -> None:
        for each in [each for each in self.db(d.account(did), consistent=True) if isinstance(each, d.SiteExport)]:
            with self._fenced(did) as transaction:
                transaction.delete(d.export(did, each.site_id, each.export_id))
            done.exports += 1

    def _purge_memberships(self, did: str, done: PurgeResult) -> None:
        """Turn memberships into history under a pseudonym."""
        for each in self.db(d.memberships_of_user(did)):
            self._forget_creator(did, each.neighborhood_id)
            past = d.PastMembership(
                neighborhood_id=each.neighborhood_id,
                left_at=self.now(),
                did=self._pseudonym(),
                role=each.role,
                member_since=each.joined_at,
            )
            with self._fenced(did) as transaction:
                transaction.delete(d.member(each.neighborhood_id, did), when=F.joined_at.exists())
                transaction.create(past)
            done.memberships += 1

    def _purge_history(self, did: str, done: PurgeResult) -> None:
        for link in self.db(d.history_links(did), consistent=True):
            self._forget_creator(did, link.neighborhood_id)
            here = d.past_member(link.neighborhood_id, link.left_at, did)
            past = self.db(here, consistent=True)
            with self._fenced(did) as transaction:
                if past is not None:
                    transaction.delete(here)
                    transaction.create(msgspec.structs.replace(past, did=self._pseudonym()))
                transaction.delete(d.history_link(did, link.neighborhood_id, link.left_at))
            done.history += past is not None

    def _purge_invitations(self, did: str, done: PurgeResult) -> None:
        for each in self.db(d.invitations_of_user(did), consistent=True):
            with self._fenced(did) as transaction:
                transaction.delete(d.invitation(did, each.neighborhood_id))
            done.invitations += 1

    def _forget_creator(self, did: str, neighborhood_id: str) -> None:
        with suppress(NotFound, ConditionFailed), self._fenced(did) as transaction:
            home = transaction.change(d.neighborhood(neighborhood_id), when=F.creator_did == did, system_change=True)
            home.creator_did = None

    def _pseudonym(self) -> str:
        return f"{PSEUDONYM}{self.new_id('x')}"

    @contextmanager
    def _fenced(self, did: str) -> Iterator[Transaction]:
        """A transaction that fails with `_PurgeEnded` if the purge has ended, and does nothing if its item is gone."""
        try:
            with self.db.transaction() as transaction:
                transaction.check(d.purge(did), _EXISTS)
                yield transaction
        except ConditionFailed as failed:
            if failed.entity == d.Purge.__name__:
                raise _PurgeEnded from None
            if failed.entity == d.Neighborhood.__name__:
                raise
        except NotFound:
            pass  # another call was faster


class _PurgeEnded(Exception):
    """The item of the purge is gone."""
