"""Proposals: one company offers, another answers, until it is accepted or rejected.

Every answer and every revised offer moves the proposal's version, and is made to one version: of two who act on the
same offer, one wins, and nobody accepts a price that changed meanwhile.
"""

from typing import Any, Literal

from msgspec.structs import replace

from partita import ConditionFailed, F, InvalidTransition, InvalidValue, Page, get
from partita_systems.eecar import design as d
from partita_systems.eecar.lookup_items import beside, sent
from partita_systems.eecar.notifications import proposal_received
from partita_systems.service_base import ServiceBase

Answer = Literal["accepted", "rejected", "negotiating"]
SIDES = {"from_company_id": "fromCompanyId", "to_company_id": "toCompanyId"}
_OPEN = F.status.is_in(*d.OPEN)


class Proposals(ServiceBase):
    def make(self, proposal: d.Proposal) -> d.Proposal:
        """An offer to another company, which is told of it."""
        if proposal.from_company_id == proposal.to_company_id:
            raise InvalidValue("Proposal", "a company cannot propose to itself", "toCompanyId")
        self._check_parts(proposal.part_ids)
        with self.db.transaction() as transaction:
            made = transaction.create(replace(proposal, proposal_id=self.new_id("o")))
            transaction.create(sent(made))
            transaction.create(proposal_received(self.new_id("t"), made, self.now()))
        return made

    def answer(self, proposal_id: str, by: str, answer: Answer, *, version: int) -> None:
        """The recipient's answer to the offer of this version."""
        self._settle(proposal_id, "to_company_id", by, version, status=answer, responded_at=self.now())

    def revise(self, proposal_id: str, by: str, *, version: int, quantity: int, price_offer: int) -> None:
        """The sender offers otherwise, and waits for an answer again."""
        self._settle(
            proposal_id, "from_company_id", by, version, status="pending", quantity=quantity, price_offer=price_offer
        )

    def sent(
        self, company_id: str, status: d.ProposalStatus, size: int = 20, cursor: str | None = None
    ) -> Page[d.Proposal]:
        """Newest first: one Query and one BatchGetItem a page."""
        page = self.db(d.sent_proposals(company_id, status)).page(size, cursor)
        return Page(self.existing([d.proposal(each.proposal_id) for each in page.items]), page.cursor)

    def _settle(self, proposal_id: str, side: str, by: str, version: int, **changes: Any) -> None:
        """The proposal and its sender's entry change together, by whose turn it is, while it is open."""

        def write() -> None:
            with self.db.transaction() as transaction:
                draft = transaction.change(d.proposal(proposal_id), when=(F[side] == by) & _OPEN, version=version)
                for name, value in changes.items():
                    setattr(draft, name, value)
                transaction.change(get(d.Sent, proposal_id)).status = changes["status"]

        try:
            beside(self.db, d.proposal(proposal_id), sent, lambda found: F.status == found.status, write)
        except ConditionFailed:
            raise self._refusal(proposal_id, side, by, changes["status"]) from None

    def _refusal(self, proposal_id: str, side: str, by: str, status: str) -> InvalidValue | InvalidTransition:
        found = self.db.one(d.proposal(proposal_id), consistent=True)
        if getattr(found, side) != by:
            return InvalidValue("Proposal", f"it is not {by!r} who may do this", SIDES[side])
        return InvalidTransition("Proposal", "status", status, found.status)

    def _check_parts(self, part_ids: list[str]) -> None:
        found = self.db.get_many([d.part(part_id) for part_id in part_ids])
        for part_id, part in zip(part_ids, found, strict=True):
            if part is None:
                raise InvalidValue("Proposal", f"there is no part {part_id!r}", "partIds")
