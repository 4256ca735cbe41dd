"""Notifications, in the recipient's language."""

from datetime import datetime

from msgspec.structs import replace

from partita_systems.eecar import design as d
from partita_systems.service_base import ServiceBase

MAX_TITLE = 200


class Notifications(ServiceBase):
    def send(self, notification: d.Notification) -> d.Notification:
        return self.db.create(replace(notification, notification_id=self.new_id("t")))

    def mark_read(self, notification_id: str) -> None:
        with self.db.change(d.notification(notification_id)) as draft:
            draft.read = True


def part_available(notification_id: str, watch: d.Watch, part: d.Part, now: datetime) -> d.Notification:
    return d.Notification(
        notification_id=notification_id,
        recipient_id=watch.buyer_id,
        type="part_available",
        title=f"관심 부품이 등록되었습니다: {part.name}"[:MAX_TITLE],
        message=f"{part.manufacturer} {part.model} ({part.year}), {part.condition}, {part.price:,}원",
        data={"watchId": watch.watch_id, "partId": part.part_id},
        sent_at=now,
    )


def proposal_received(notification_id: str, proposal: d.Proposal, now: datetime) -> d.Notification:
    action = {"buy": "구매", "sell": "판매"}[proposal.proposal_type]
    return d.Notification(
        notification_id=notification_id,
        recipient_id=proposal.to_company_id,
        type="proposal_received",
        title=f"{proposal.from_company_id}의 {action} 제안",
        message=f"{proposal.quantity:,}개, {proposal.price_offer:,}원",
        data={"proposalId": proposal.proposal_id, "partIds": proposal.part_ids},
        sent_at=now,
    )
