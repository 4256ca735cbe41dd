"""Watches trigger by themselves: a part that is listed or changed notifies the buyers whose criteria it meets, once.

A transaction has room for some watches only. Where more fit, an item `TRIGGERING#{partId}` says where to go on; its
change is delivered to the same consumer, which triggers the next ones.
"""

from datetime import datetime

from partita import Change, Consumer, Deleted, HandlerTransaction, get
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import ANY
from partita_systems.eecar.notifications import part_available
from partita_systems.eecar.spec_conditions import meets
from partita_systems.service_base import derived_id

watches = Consumer("eecar-watches")

AT_ONCE = 15  # watches of a transaction: five items each
SCORE = 1.0  # a watch has hard criteria only


@watches.on(d.Part, d.Spec)
def part_changed(change: Change[d.Part] | Change[d.Spec], t: HandlerTransaction) -> None:
    """A part, or its specification, may now meet criteria."""
    if not isinstance(change, Deleted):
        _trigger(t, change.after.part_id, "", change.at)


@watches.on(d.Triggering)
def go_on(change: Change[d.Triggering], t: HandlerTransaction) -> None:
    """The next watches of a part."""
    if not isinstance(change, Deleted):
        _trigger(t, change.after.part_id, change.after.position, change.at)


def _trigger(t: HandlerTransaction, part_id: str, position: str, now: datetime) -> None:
    """Trigger the watches behind a position, as many as fit in the transaction."""
    found = t.find(d.whole_part(part_id))
    part = next((each for each in found if isinstance(each, d.Part)), None)
    if part is None:
        return
    spec = next((each for each in found if isinstance(each, d.Spec)), None)
    fitting = [
        each
        for each in t.find(d.watching_categories([part.category, ANY]), fenced=False)
        if _position(each) > position
        and meets(part, spec, max_price=each.criteria.max_price, min_specs=each.criteria.min_specs)
    ]
    fitting.sort(key=_position)
    for each in fitting[:AT_ONCE]:
        _trigger_one(t, each.watch_id, part, now)
    if len(fitting) > AT_ONCE:
        t.put(d.Triggering(part_id=part_id, position=_position(fitting[AT_ONCE - 1]), created_at=now))


def _position(watching: d.Watching) -> str:
    return f"{watching.created_at.isoformat()} {watching.watch_id}"


def _trigger_one(t: HandlerTransaction, watch_id: str, part: d.Part, now: datetime) -> None:
    watch = t.get(d.watch(watch_id))
    if watch is None or watch.status != "active" or t.get(d.trigger(watch_id, part.part_id)) is not None:
        return
    draft = t.change(d.watch(watch_id))
    draft.triggered_at = now
    if watch.once:
        draft.status = "triggered"
        t.delete(get(d.Watching, watch_id))
    t.create(d.Trigger(watch_id=watch_id, part_id=part.part_id, match_score=SCORE, notified_at=now))
    settings = t.get(d.party_settings(watch.buyer_id))
    language = d.DEFAULT_LANGUAGE if settings is None else settings.language
    notification_id = derived_id("t", now, "watch", watch_id, part.part_id)
    t.create(part_available(notification_id, watch, part, now, language))
