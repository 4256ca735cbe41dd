"""Reactions to changes of checks: alerts when a check fails and recovers, and their delivery.

An alert is created once, in one transaction with the position of its consumer. Its delivery is a consumer of its own: a
message that cannot be delivered is tried again, and becomes a dead letter, while others go on.
"""

from partita import Change, Consumer, Created, F, HandlerTransaction, Updated
from partita_systems import delivery as port
from partita_systems.checks import design as d

alerts = Consumer("checks-alerts")
delivery = Consumer("checks-delivery")

_FAILED = F.status == d.CheckStatus.FAILED


@alerts.on(d.Check)
def alert(change: Change[d.Check], t: HandlerTransaction) -> None:
    """The owner of a check learns that it fails, after three failures in a row, and that it has recovered."""
    if failed := change.became(_FAILED):
        _create(t, failed, d.AlertKind.FAILED)
    elif isinstance(change, Updated) and (recovered := change.stopped(_FAILED)):
        outcome = recovered.last_result
        ran = recovered.last_executed_at != change.before.last_executed_at
        if ran and outcome is not None and outcome.status == "UP":  # not one that was paused or changed
            _create(t, recovered, d.AlertKind.RECOVERED)


def _create(t: HandlerTransaction, check: d.Check, kind: d.AlertKind) -> None:
    user = t.get(d.user(check.user_id))
    at = check.last_executed_at
    if user is None or at is None:
        return  # the user was deleted, or other code wrote the status
    if t.get(d.alert(check.check_id, at)) is not None:
        return  # the change is handled again
    reason = None if check.last_result is None else check.last_result.reason
    t.create(d.Alert(check_id=check.check_id, at=at, kind=kind, url=check.url, reason=reason, recipient=user.email))


@delivery.on(d.Alert)
def deliver(change: Change[d.Alert], t: HandlerTransaction) -> None:
    """Send an alert to the owner of the check, at least once; the message has the alert's id."""
    if isinstance(change, Created):
        port.delivery().deliver(message_of(change.after))


def message_of(alert: d.Alert) -> port.Message:
    if alert.kind == d.AlertKind.RECOVERED:
        subject, text = f"{alert.url} is up again", f"{alert.url} is up again since {alert.at:%Y-%m-%d %H:%M} UTC."
    else:
        subject = f"{alert.url} is down"
        text = f"{alert.url} has failed {d.FAILURES_IN_A_ROW} times in a row: {alert.reason or 'no reason is known'}."
    data = {"checkId": alert.check_id, "kind": alert.kind.value, "url": alert.url, "at": alert.at.isoformat()}
    return port.Message(f"{alert.check_id}-{alert.at.timestamp():.6f}", alert.recipient, subject, text, data)
