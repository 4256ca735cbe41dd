"""Proposals between companies, until they are accepted or rejected.

Every answer and every revised offer applies to one version of the proposal and increments it: of two concurrent
actions one wins, and nobody accepts a price that has changed.
"""

from typing import Any, Literal

from msgspec.structs import replace

from partita import ConditionFailed, F, InvalidTransition, InvalidValue, Page, get
from partita_systems.eecar import design as d
from partita_systems.eecar.lookup_items import create_entry_if_missing, sender_entry
from partita_systems.eecar.notifications import proposal_received
from partita_systems.service_base import ServiceBase

Answer = Literal["accepted", "rejected", "negotiating"]
SIDES = {"from_company_id": "fromCompanyId", "to_company_id": "toCompanyId"}
_OPEN = F.status.is_in(*d.OPEN)


class Proposals(ServiceBase):
    def create(self, proposal: d.Proposal) -> d.Proposal:
        """Create a proposal and notify the recipient."""
        if proposal.from_company_id == proposal.to_company_id:
            raise InvalidValue("Proposal", "a company cannot propose to itself", "toCompanyId")
        self._check_parts(proposal.part_ids)
        with self.db.transaction() as transaction:
            created = transaction.create(replace(proposal, proposal_id=self.new_id("o")))
            transaction.create(sender_entry(created))
            transaction.create(proposal_received(self.new_id("t"), created, self.now()))
        return created

    def answer(self, proposal_id: str, by: str, answer: Answer, *, version: int) -> None:
        """Answer the offer of this version, as its recipient."""
        self._update(proposal_id, "to_company_id", by, version, status=answer, responded_at=self.now())

    def revise(self, proposal_id: str, by: str, *, version: int, quantity: int, price_offer: int) -> None:
        """Revise the offer of this version, as its sender; the proposal is pending again."""
        self._update(
            proposal_id, "from_company_id", by, version, status="pending", quantity=quantity, price_offer=price_offer
        )

    def sent_by(
        self, company_id: str, status: d.ProposalStatus, size: int = 20, cursor: str | None = None
    ) -> Page[d.Proposal]:
        """Proposals that a company has sent, newest first: one Query and one BatchGetItem per page."""
        page = self.db(d.sent_proposals(company_id, status)).page(size, cursor)
        return Page(self.existing([d.proposal(each.proposal_id) for each in page.items]), page.cursor)

    def _update(self, proposal_id: str, side: str, by: str, version: int, **changes: Any) -> None:
        """Change an open proposal and its sender entry together, if `by` is the company on this side."""

        def write() -> None:
            with self.db.transaction() as transaction:
                draft = transaction.change(d.proposal(proposal_id), when=(F[side] == by) & _OPEN, version=version)
                for name, value in changes.items():
                    setattr(draft, name, value)
                transaction.change(get(d.SenderEntry, proposal_id)).status = changes["status"]

        try:
            create_entry_if_missing(
                self.db, d.proposal(proposal_id), sender_entry, lambda found: F.status == found.status, write
            )
        except ConditionFailed:
            raise self._error(proposal_id, side, by, changes["status"]) from None

    def _error(self, proposal_id: str, side: str, by: str, status: str) -> InvalidValue | InvalidTransition:
        found = self.db.one(d.proposal(proposal_id), consistent=True)
        if getattr(found, side) != by:
            return InvalidValue("Proposal", f"is not {by!r}", SIDES[side])
        return InvalidTransition("Proposal", "status", status, found.status)

    def _check_parts(self, part_ids: list[str]) -> None:
        found = self.db.get_many([d.part(part_id) for part_id in part_ids])
        for part_id, part in zip(part_ids, found, strict=True):
            if part is None:
                raise InvalidValue("Proposal", f"part {part_id!r} does not exist", "partIds")
