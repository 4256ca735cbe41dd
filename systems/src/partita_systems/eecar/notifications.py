"""Notifications, in the recipient's language."""

from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from partita import NotFound, Store
from partita_systems.eecar import design as d
from partita_systems.service_base import ServiceBase
from partita_systems.unread import Unread, count_unread

MAX_TITLE = 200


class _Texts(NamedTuple):
    """The words of notifications in one language."""

    available: str
    part: str
    received: str
    revised: str
    answered: str
    offer: str
    violation: str
    words: dict[str, str]


_KOREAN = _Texts(
    available="관심 부품이 등록되었습니다: {name}",
    part="{manufacturer} {model} ({year}), {condition}, {price:,}원",
    received="{sender}의 {action} 제안",
    revised="{sender}의 {action} 제안 변경",
    answered="{recipient}의 제안 {answer}",
    offer="{quantity:,}개, {price:,}원",
    violation="규정 위반: {name}",
    words={"buy": "구매", "sell": "판매", "accepted": "수락", "rejected": "거절", "negotiating": "협의 요청"},
)
_ENGLISH = _Texts(
    available="A part that you watch for: {name}",
    part="{manufacturer} {model} ({year}), {condition}, {price:,} won",
    received="{sender} proposes to {action}",
    revised="{sender} has revised a proposal to {action}",
    answered="{recipient} has {answer} your proposal",
    offer="{quantity:,} at {price:,} won",
    violation="Compliance violation: {name}",
    words={"accepted": "accepted", "rejected": "rejected", "negotiating": "asked to negotiate"},
)
_TEXTS: dict[str, _Texts] = {"ko": _KOREAN, "en": _ENGLISH}
_CONDITIONS = {"신품": "new", "중고": "used", "재생": "reconditioned"}


def language_of(db: Store, party_id: str) -> d.Language:
    """The language that a party has chosen."""
    settings = db(d.party_settings(party_id))
    return d.DEFAULT_LANGUAGE if settings is None else settings.language


class Notifications(ServiceBase):
    def send(self, notification: d.Notification) -> d.Notification:
        return self.db.create(replace(notification, notification_id=self.new_id("t")))

    def mark_read(self, notification_id: str) -> d.Notification:
        return self.assign(d.notification(notification_id), read=True)

    def unread(self, recipient_id: str) -> Unread:
        return count_unread(self.db, d.unread_notifications(recipient_id))

    def settings(self, party_id: str) -> d.PartySettings:
        """The settings of a party, or the defaults."""
        return self.db(d.party_settings(party_id), consistent=True) or d.PartySettings(party_id=party_id)

    def choose(self, settings: d.PartySettings) -> d.PartySettings:
        """Set the settings of a party; notifications from now on are in its language."""
        return self.db.put(settings)

    def mark_all_read(self, recipient_id: str) -> None:
        """Mark all notifications of a recipient as read."""
        for each in self.db(d.unread_notifications(recipient_id)):
            with suppress(NotFound):  # expired or deleted in the meantime
                self.mark_read(each.notification_id)


def part_available(
    notification_id: str, watch: d.Watch, part: d.Part, now: datetime, language: d.Language = d.DEFAULT_LANGUAGE
) -> d.Notification:
    texts = _TEXTS[language]
    condition = (
        part.condition.value if language == "ko" else _CONDITIONS.get(part.condition.value, part.condition.value)
    )
    return d.Notification(
        notification_id=notification_id,
        recipient_id=watch.buyer_id,
        type=d.NotificationType.PART_AVAILABLE,
        title=texts.available.format(name=part.name)[:MAX_TITLE],
        message=texts.part.format(
            manufacturer=part.manufacturer, model=part.model, year=part.year, condition=condition, price=part.price
        ),
        data={"watchId": watch.watch_id, "partId": part.part_id},
        sent_at=now,
    )


def compliance_violation(
    notification_id: str, part: d.Part, rule: str, text: str, now: datetime, language: d.Language
) -> d.Notification:
    return d.Notification(
        notification_id=notification_id,
        recipient_id=part.seller_id,
        type=d.NotificationType.COMPLIANCE_VIOLATION,
        title=_TEXTS[language].violation.format(name=part.name)[:MAX_TITLE],
        message=text,
        data={"partId": part.part_id, "rule": rule},
        sent_at=now,
    )


def proposal_received(
    notification_id: str, proposal: d.Proposal, now: datetime, language: d.Language
) -> d.Notification:
    kind = d.NotificationType.PROPOSAL_RECEIVED
    title = _TEXTS[language].received
    return _about(proposal, kind, notification_id, proposal.to_company_id, title, now, language)


def proposal_revised(notification_id: str, proposal: d.Proposal, now: datetime, language: d.Language) -> d.Notification:
    kind = d.NotificationType.PROPOSAL_REVISED
    title = _TEXTS[language].revised
    return _about(proposal, kind, notification_id, proposal.to_company_id, title, now, language)


def proposal_answered(
    notification_id: str, proposal: d.Proposal, now: datetime, language: d.Language
) -> d.Notification:
    kind = d.NotificationType.PROPOSAL_ANSWERED
    title = _TEXTS[language].answered
    return _about(proposal, kind, notification_id, proposal.from_company_id, title, now, language)


def _about(
    proposal: d.Proposal,
    kind: d.NotificationType,
    notification_id: str,
    recipient_id: str,
    title: str,
    now: datetime,
    language: d.Language,
) -> d.Notification:
    texts = _TEXTS[language]
    full_title = title.format(
        sender=proposal.from_company_id,
        recipient=proposal.to_company_id,
        action=texts.words.get(proposal.proposal_type, proposal.proposal_type),
        answer=texts.words.get(proposal.status, proposal.status),
    )
    return d.Notification(
        notification_id=notification_id,
        recipient_id=recipient_id,
        type=kind,
        title=full_title[:MAX_TITLE],
        message=texts.offer.format(quantity=proposal.quantity, price=proposal.price_offer),
        data={"proposalId": proposal.proposal_id, "partIds": proposal.part_ids, "status": proposal.status},
        sent_at=now,
    )
