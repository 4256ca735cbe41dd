"""Proposals: offers between companies, and their answers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, get_args

import msgspec

from partita import (
    AUTO,
    CreatedAt,
    Entity,
    InKey,
    Item,
    Items,
    Keys,
    Owns,
    References,
    Transitions,
    Version,
    fan_out,
    pattern,
)
from partita_systems.eecar.design.table import table
from partita_systems.eecar.design.values import MAX_PARTS, NEW, Party, Quantity, Text, Won, whole

ProposalType = Literal["buy", "sell"]
ProposalStatus = Literal["pending", "accepted", "rejected", "negotiating"]
OPEN: tuple[ProposalStatus, ...] = ("pending", "negotiating")
ANSWERS = Transitions(dict.fromkeys(OPEN, get_args(ProposalStatus)), start=("pending",))


class Proposal(Entity, table=table, key=("PROPOSAL#{proposal_id}", "METADATA")):
    """`version` identifies the offer that an answer refers to."""

    proposal_id: Annotated[str, InKey()] = NEW
    from_company_id: Party
    to_company_id: Party
    part_ids: Annotated[list[str], msgspec.Meta(min_length=1, max_length=MAX_PARTS)]
    proposal_type: ProposalType
    message: Text = ""
    quantity: Quantity
    price_offer: Won
    terms: dict[str, Any] = msgspec.field(default_factory=dict)
    status: Annotated[ProposalStatus, ANSWERS] = "pending"
    version: Annotated[int, Version()] = 1
    created_at: Annotated[datetime, CreatedAt()] = AUTO
    responded_at: datetime | None = None

    def __post_init__(self) -> None:
        self.price_offer = whole(self.price_offer)

    @property
    def owner_id(self) -> str:
        """The company that sells the parts: the sender of an offer to sell, the recipient of an offer to buy."""
        return self.from_company_id if self.proposal_type == "sell" else self.to_company_id

    received = Keys("GSI1", "COMPANY#{to_company_id}", "STATUS#{status}#CREATED#{created_at}")
    sent = Owns(lambda: SenderEntry)


class SenderEntry(Entity, table=table, key=("PROPOSAL#{proposal_id}", "SENT")):
    """Finds the proposals that a company has sent; has the status of the proposal."""

    proposal_id: Annotated[str, InKey(), References(lambda: Proposal)]
    from_company_id: Party
    status: ProposalStatus
    created_at: datetime

    by_company = Keys("GSI1", "SENT_BY#{from_company_id}", "STATUS#{status}#CREATED#{created_at}")


@pattern(Proposal.received.newest_first())
def received_proposals(to_company_id: str, status: ProposalStatus) -> Items[Proposal]:
    """3. Proposals to a company with one status, newest first."""


@pattern
def received_proposals_in(to_company_id: str, statuses: Sequence[ProposalStatus]) -> Items[Proposal]:
    """Proposals to a company with any of these statuses, newest first."""
    return Proposal.received.query(to_company_id, fan_out(statuses, limit=4)).newest_first()


@pattern
def proposal(proposal_id: str) -> Item[Proposal]: ...


@pattern(SenderEntry.by_company.newest_first())
def sent_proposals(from_company_id: str, status: ProposalStatus) -> Items[SenderEntry]: ...


@pattern
def sent_proposals_in(from_company_id: str, statuses: Sequence[ProposalStatus]) -> Items[SenderEntry]:
    return SenderEntry.by_company.query(from_company_id, fan_out(statuses, limit=4)).newest_first()
