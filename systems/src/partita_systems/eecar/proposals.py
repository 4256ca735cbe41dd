"""Proposals between companies, until they are accepted or rejected.

Every answer and every revised offer applies to one version of the proposal and increments it: of two concurrent
actions one wins, and nobody accepts a price that has changed.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any, Literal

from msgspec.structs import replace

from partita import (
    AlreadyExists,
    Condition,
    ConditionFailed,
    F,
    InvalidTransition,
    InvalidValue,
    Page,
    VersionConflict,
    get,
)
from partita_systems.eecar import design as d
from partita_systems.eecar.lookup_items import create_entry_if_missing, seller_entry, sender_entry
from partita_systems.eecar.notifications import (
    language_of,
    proposal_answered,
    proposal_received,
    proposal_revised,
)
from partita_systems.service_base import ServiceBase

Answer = Literal["accepted", "rejected", "negotiating"]
Notify = Callable[[str, d.Proposal, datetime, d.Language], d.Notification]
SIDES = {"from_company_id": "fromCompanyId", "to_company_id": "toCompanyId"}
_OPEN = F.status.is_in(*d.OPEN)
_NOT_ACCEPTED = F.status != "accepted"


class Proposals(ServiceBase):
    def create(self, proposal: d.Proposal) -> d.Proposal:
        """Create a proposal and notify the recipient. The parts belong to the company that would sell them."""
        if proposal.from_company_id == proposal.to_company_id:
            raise InvalidValue("Proposal", "a company cannot propose to itself", "toCompanyId")
        proposal = replace(proposal, part_ids=list(dict.fromkeys(proposal.part_ids)))
        self._check_parts(proposal)
        language = language_of(self.db, proposal.to_company_id)
        with self.db.transaction() as transaction:
            created = transaction.create(replace(proposal, proposal_id=self.new_id("o")))
            transaction.create(sender_entry(created))
            transaction.create(proposal_received(self.new_id("t"), created, self.now(), language))
        return created

    def answer(self, proposal_id: str, by: str, answer: Answer, *, version: int) -> d.Proposal:
        """Answer the offer of this version, as its recipient. Accepting it needs the parts to be the seller's still."""
        changes = {"status": answer, "responded_at": self.now()}
        return self._update(proposal_id, "to_company_id", by, version, changes, proposal_answered)

    def revise(self, proposal_id: str, by: str, *, version: int, quantity: int, price_offer: float) -> d.Proposal:
        """Revise the offer of this version, as its sender; the proposal is pending again."""
        changes = {"status": "pending", "quantity": quantity, "price_offer": price_offer}
        return self._update(proposal_id, "from_company_id", by, version, changes, proposal_revised)

    def delete(self, proposal_id: str, *, when: Condition | None = None) -> None:
        """Delete a proposal that is not accepted: an agreement stays for both sides."""
        try:
            self.db.delete(d.proposal(proposal_id), when=_NOT_ACCEPTED if when is None else _NOT_ACCEPTED & when)
        except ConditionFailed:
            found = self.db(d.proposal(proposal_id), consistent=True)
            if found is None or found.status != "accepted":
                raise
            raise InvalidTransition("Proposal", "status", "deleted", "accepted") from None

    def received_by(
        self, company_id: str, *statuses: d.ProposalStatus, size: int = 20, cursor: str | None = None
    ) -> Page[d.Proposal]:
        """Proposals to a company, newest first: one Query for each status."""
        return self.db(d.received_proposals_in(company_id, statuses)).page(size, cursor)

    def sent_by(
        self, company_id: str, *statuses: d.ProposalStatus, size: int = 20, cursor: str | None = None
    ) -> Page[d.Proposal]:
        """Proposals that a company has sent, newest first: one Query for each status, one BatchGetItem per page."""
        page = self.db(d.sent_proposals_in(company_id, statuses)).page(size, cursor)
        return Page(self.existing([d.proposal(each.proposal_id) for each in page.items]), page.cursor)

    def _update(
        self, proposal_id: str, side: str, by: str, version: int, changes: dict[str, Any], notify: Notify
    ) -> d.Proposal:
        """Change an open proposal and its sender entry, and notify the other side; `by` is the company on this side."""
        for _ in self.db.retrying("Proposal"):
            found = self.db.one(d.proposal(proposal_id), consistent=True)
            if getattr(found, side) != by:
                raise InvalidValue("Proposal", f"is not {by!r}", SIDES[side])
            if found.version != version:
                raise VersionConflict("Proposal", {"proposal_id": proposal_id}, version)
            if found.status not in d.OPEN:
                raise InvalidTransition("Proposal", "status", changes["status"], found.status)
            changed = replace(found, **changes, version=version + 1)
            try:
                self._write(found, changed, changes, version, notify)
            except ConditionFailed as failed:
                if failed.entity == d.SellerEntry.__name__:
                    self._check_sellers(found)
            else:
                return changed
        raise AssertionError("retrying ends with an error")

    def _write(
        self, found: d.Proposal, changed: d.Proposal, changes: dict[str, Any], version: int, notify: Notify
    ) -> None:
        here = d.proposal(found.proposal_id)
        other_side = found.to_company_id if notify is proposal_revised else found.from_company_id
        language = language_of(self.db, other_side)

        def write() -> None:
            with self.db.transaction() as transaction:
                draft = transaction.change(here, when=_OPEN, version=version, seen=found)
                for name, value in changes.items():
                    setattr(draft, name, value)
                transaction.change(get(d.SenderEntry, found.proposal_id)).status = changed.status
                transaction.create(notify(self.new_id("t"), changed, self.now(), language))
                if changed.status == "accepted":
                    for part_id in found.part_ids:
                        transaction.check(get(d.SellerEntry, part_id), F.seller_id == found.owner_id)

        create_entry_if_missing(self.db, here, sender_entry, lambda stored: F.status == stored.status, write)

    def _check_parts(self, proposal: d.Proposal) -> None:
        """All parts exist and belong to the company that would sell them."""
        found = self.db.get_many([d.part(part_id) for part_id in proposal.part_ids])
        for part_id, part in zip(proposal.part_ids, found, strict=True):
            if part is None:
                raise InvalidValue("Proposal", f"part {part_id!r} does not exist", "partIds")
            if part.seller_id != proposal.owner_id:
                raise InvalidValue("Proposal", f"part {part_id!r} does not belong to {proposal.owner_id!r}", "partIds")

    def _check_sellers(self, proposal: d.Proposal) -> None:
        """Raise an error if a part is not the seller's any more; create the seller entries that other code lacks."""
        for part_id in proposal.part_ids:
            part = self.db(d.part(part_id), consistent=True)
            if part is None or part.seller_id != proposal.owner_id:
                wrong = f"part {part_id!r} does not belong to {proposal.owner_id!r} any more"
                raise InvalidValue("Proposal", wrong, "answer")
            if self.db(get(d.SellerEntry, part_id), consistent=True) is None:
                with suppress(AlreadyExists, ConditionFailed), self.db.transaction() as transaction:
                    transaction.check(d.part(part_id), F.seller_id == part.seller_id)
                    transaction.create(seller_entry(part))
