"""Triggered watches are delivered by e-mail and phone, as the watch says, beside the notification."""

from partita import Change, Consumer, Created, HandlerTransaction
from partita_systems import delivery
from partita_systems.eecar import design as d

deliveries = Consumer("eecar-deliveries")


@deliveries.on(d.Notification)
def deliver(change: Change[d.Notification], t: HandlerTransaction) -> None:
    """At least once to each address; a message has the same id whenever it is delivered again."""
    if not isinstance(change, Created) or change.after.type != d.NotificationType.PART_AVAILABLE:
        return
    told = change.after
    found = t.find(d.watch_with_triggers(told.data["watchId"]))
    watch = next((each for each in found if isinstance(each, d.Watch)), None)
    if watch is None:
        return
    for number, address in enumerate(filter(None, (watch.email, watch.phone))):
        message = delivery.Message(
            id=f"{told.notification_id}-{number}", to=address, subject=told.title, text=told.message, data=told.data
        )
        delivery.delivery().deliver(message)
