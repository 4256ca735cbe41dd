"""Watches: who wants to be told of which parts, and telling them once for each.

A watch and its way from the category (`Watching`) are written together, so that no active watch is ever missed and no
ended one is found.
"""

from collections.abc import Iterable
from contextlib import suppress

from msgspec.structs import replace

from partita import AlreadyExists, ConditionFailed, F, NotFound, ReferenceMissing, ValueRefused, get
from partita.systems.eecar import design as d
from partita.systems.eecar.categories import ANY, category_of
from partita.systems.eecar.notifications import part_available
from partita.systems.eecar.subject import Subject

_ACTIVE = F.status == "active"


class Watches(Subject):
    def begin(self, watch: d.Watch) -> d.Watch:
        """Tell the buyer of parts that meet the criteria: of every one, or of the first."""
        _check_address(watch)
        with self.db.transaction() as transaction:
            made = transaction.create(replace(watch, watch_id=self._id("w"), criteria=_canonical(watch.criteria)))
            transaction.create(_watching(made))
        return made

    def adopt(self, watch_id: str) -> None:
        """What an active watch lacks that other code began: the one word for its category, and the way to it."""
        watch = self.db.one(d.watch(watch_id), consistent=True)
        watch = replace(watch, criteria=_canonical(watch.criteria))
        with suppress(AlreadyExists, ConditionFailed), self.db.transaction() as transaction:
            transaction.change(d.watch(watch_id), when=_ACTIVE).criteria = watch.criteria
            transaction.create(_watching(watch))

    def revise(self, watch_id: str, criteria: d.Criteria) -> None:
        """Watch for something else, while it is active."""
        criteria = _canonical(criteria)
        with self.db.transaction() as transaction:
            transaction.change(d.watch(watch_id), when=_ACTIVE).criteria = criteria
            draft = transaction.change(get(d.Watching, watch_id))
            draft.criteria = criteria
            draft.category = criteria.category or ANY

    def cancel(self, watch_id: str) -> None:
        with self.db.transaction() as transaction:
            transaction.change(d.watch(watch_id)).status = "cancelled"
            transaction.delete(get(d.Watching, watch_id))

    def who_watches(self, category: str) -> Iterable[d.Watching]:
        """Those who watch the category and those who watch them all: two Queries a page, the longest watching first."""
        return self.db(d.watching_categories([category_of(category), ANY]))

    def trigger(self, watch_id: str, part: d.Part, match_score: float) -> bool:
        """Tell the buyer of a part; false, and nothing written, where the watch has ended or has told of it before."""
        watch = self.db(d.watch(watch_id), consistent=True)
        if watch is None or watch.status != "active":
            return False
        now = self.now()
        try:
            with self.db.transaction() as transaction:
                draft = transaction.change(d.watch(watch_id), when=_ACTIVE)
                draft.triggered_at = now
                if watch.once:
                    draft.status = "triggered"
                    transaction.delete(get(d.Watching, watch_id))
                told = d.Trigger(watch_id=watch_id, part_id=part.part_id, match_score=match_score, notified_at=now)
                transaction.create(told)
                transaction.create(part_available(self._id("t"), watch, part, now))
        except (AlreadyExists, ConditionFailed, NotFound, ReferenceMissing):
            return False
        return True


def _watching(watch: d.Watch) -> d.Watching:
    return d.Watching(
        watch_id=watch.watch_id,
        buyer_id=watch.buyer_id,
        category=watch.criteria.category or ANY,
        criteria=watch.criteria,
        created_at=watch.created_at,
    )


def _canonical(criteria: d.Criteria) -> d.Criteria:
    if criteria.category is None:
        return criteria
    return replace(criteria, category=category_of(criteria.category, "Watch.criteria.category"))


def _check_address(watch: d.Watch) -> None:
    if watch.email is None and watch.phone is None:
        raise ValueRefused("Watch.email", "neither an e-mail address nor a phone number is given")
    if watch.email is not None and not all(watch.email.partition("@")):
        raise ValueRefused("Watch.email", f"{watch.email!r} is no e-mail address")
