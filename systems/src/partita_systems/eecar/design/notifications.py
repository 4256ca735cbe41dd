"""Notifications, and the language in which a party reads them."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from partita import Entity, Expires, F, InKey, Item, Items, Keys, OpenEnum, pattern
from partita_systems.eecar.design.table import table
from partita_systems.eecar.design.values import KEEP_NOTIFICATIONS, NEW, Line, Party, Text


class NotificationType(OpenEnum):
    PART_AVAILABLE = "part_available"
    PROPOSAL_RECEIVED = "proposal_received"
    PROPOSAL_REVISED = "proposal_revised"
    PROPOSAL_ANSWERED = "proposal_answered"
    COMPLIANCE_VIOLATION = "compliance_violation"


class Notification(Entity, table=table, key=("NOTIFICATION#{notification_id}", "METADATA")):
    notification_id: Annotated[str, InKey()] = NEW
    recipient_id: Party
    type: NotificationType
    title: Line
    message: Text
    data: dict[str, Any] = msgspec.field(default_factory=dict)
    read: bool = False
    sent_at: datetime

    of_recipient = Keys("GSI1", "RECIPIENT#{recipient_id}", "SENT#{sent_at}")
    expiry = Expires("sent_at", after=KEEP_NOTIFICATIONS)


Language = Literal["ko", "en"]
DEFAULT_LANGUAGE: Language = "ko"


class PartySettings(Entity, table=table, key=("PARTY#{party_id}", "SETTINGS")):
    """What a company, buyer or seller has chosen: the language of its notifications."""

    party_id: Annotated[Party, InKey()]
    language: Language = DEFAULT_LANGUAGE


@pattern
def notification(notification_id: str) -> Item[Notification]: ...


@pattern(Notification.of_recipient.newest_first())
def notifications(recipient_id: str) -> Items[Notification]: ...


@pattern(Notification.of_recipient.newest_first().where(F.read == False))  # noqa: E712 - a condition
def unread_notifications(recipient_id: str) -> Items[Notification]:
    """A recipient's unread notifications, newest first; reads all of them and filters."""


@pattern
def party_settings(party_id: str) -> Item[PartySettings]: ...
