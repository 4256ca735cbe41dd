"""Notifications, in the recipient's language."""

from contextlib import suppress
from datetime import datetime

from msgspec.structs import replace

from partita import NotFound
from partita_systems.eecar import design as d
from partita_systems.service_base import ServiceBase
from partita_systems.unread import Unread, count_unread

MAX_TITLE = 200
_ACTIONS = {"buy": "구매", "sell": "판매"}
_ANSWERS = {"accepted": "수락", "rejected": "거절", "negotiating": "협의 요청"}


class Notifications(ServiceBase):
    def send(self, notification: d.Notification) -> d.Notification:
        return self.db.create(replace(notification, notification_id=self.new_id("t")))

    def mark_read(self, notification_id: str) -> d.Notification:
        return self.assign(d.notification(notification_id), read=True)

    def unread(self, recipient_id: str) -> Unread:
        return count_unread(self.db, d.unread_notifications(recipient_id))

    def mark_all_read(self, recipient_id: str) -> None:
        """Mark all notifications of a recipient as read."""
        for each in self.db(d.unread_notifications(recipient_id)):
            with suppress(NotFound):  # expired or deleted in the meantime
                self.mark_read(each.notification_id)


def part_available(notification_id: str, watch: d.Watch, part: d.Part, now: datetime) -> d.Notification:
    return d.Notification(
        notification_id=notification_id,
        recipient_id=watch.buyer_id,
        type=d.NotificationType.PART_AVAILABLE,
        title=f"관심 부품이 등록되었습니다: {part.name}"[:MAX_TITLE],
        message=f"{part.manufacturer} {part.model} ({part.year}), {part.condition}, {part.price:,}원",
        data={"watchId": watch.watch_id, "partId": part.part_id},
        sent_at=now,
    )


def proposal_received(notification_id: str, proposal: d.Proposal, now: datetime) -> d.Notification:
    title = f"{proposal.from_company_id}의 {_ACTIONS[proposal.proposal_type]} 제안"
    kind = d.NotificationType.PROPOSAL_RECEIVED
    return _about(proposal, kind, notification_id, proposal.to_company_id, title, now)


def proposal_revised(notification_id: str, proposal: d.Proposal, now: datetime) -> d.Notification:
    title = f"{proposal.from_company_id}의 {_ACTIONS[proposal.proposal_type]} 제안 변경"
    kind = d.NotificationType.PROPOSAL_REVISED
    return _about(proposal, kind, notification_id, proposal.to_company_id, title, now)


def proposal_answered(notification_id: str, proposal: d.Proposal, now: datetime) -> d.Notification:
    title = f"{proposal.to_company_id}의 제안 {_ANSWERS[proposal.status]}"
    kind = d.NotificationType.PROPOSAL_ANSWERED
    return _about(proposal, kind, notification_id, proposal.from_company_id, title, now)


def _about(
    proposal: d.Proposal, kind: d.NotificationType, notification_id: str, recipient_id: str, title: str, now: datetime
) -> d.Notification:
    return d.Notification(
        notification_id=notification_id,
        recipient_id=recipient_id,
        type=kind,
        title=title[:MAX_TITLE],
        message=f"{proposal.quantity:,}개, {proposal.price_offer:,}원",
        data={"proposalId": proposal.proposal_id, "partIds": proposal.part_ids, "status": proposal.status},
        sent_at=now,
    )
