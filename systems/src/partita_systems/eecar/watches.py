"""Watches: buyers are notified of parts that meet their criteria, once for each part.

A watch and its lookup item (`Watching`) are written in one transaction, so that exactly the active watches are found.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from partita import (
    AlreadyExists,
    ConditionFailed,
    F,
    InvalidTransition,
    InvalidValue,
    NotFound,
    Page,
    ReferenceMissing,
    get,
)
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import ANY, category_of
from partita_systems.eecar.lookup_items import create_entry_if_missing, watch_entry
from partita_systems.eecar.measures import check_measures
from partita_systems.eecar.notifications import language_of, part_available
from partita_systems.service_base import ServiceBase

_ACTIVE = F.status == "active"


class Watches(ServiceBase):
    def add(self, watch: d.Watch) -> d.Watch:
        """Create a watch: the buyer is notified of every part that meets the criteria, or of the first."""
        _check_contact(watch.email, watch.phone)
        criteria = checked(watch.criteria, "criteria")
        with self.db.transaction() as transaction:
            created = transaction.create(replace(watch, watch_id=self.new_id("w"), criteria=criteria))
            transaction.create(watch_entry(created))
        return created

    def set_criteria(self, watch_id: str, criteria: d.Criteria) -> d.Watch:
        """Change the criteria of an active watch."""
        criteria = checked(criteria)

        def write() -> None:
            with self.db.transaction() as transaction:
                transaction.change(d.watch(watch_id), when=_ACTIVE).criteria = criteria
                draft = transaction.change(get(d.Watching, watch_id))
                draft.criteria = criteria
                draft.category = criteria.category or ANY

        try:
            create_entry_if_missing(self.db, d.watch(watch_id), watch_entry, lambda _: _ACTIVE, write)
        except (ConditionFailed, NotFound):
            self.db.one(d.watch(watch_id), consistent=True)
            raise InvalidTransition("Watch", "status", "active") from None
        return self._current(watch_id)

    def set_contact(self, watch_id: str, email: str | None, phone: str | None) -> d.Watch:
        """Set where the buyer is notified."""
        _check_contact(email, phone)
        return self.assign(d.watch(watch_id), email=email, phone=phone)

    def cancel(self, watch_id: str) -> d.Watch:
        with self.db.transaction() as transaction:
            transaction.change(d.watch(watch_id)).status = "cancelled"
            transaction.delete(get(d.Watching, watch_id))
        return self._current(watch_id)

    def of_buyer(
        self, buyer_id: str, *statuses: d.WatchStatus, size: int = 20, cursor: str | None = None
    ) -> Page[d.Watch]:
        """A buyer's watches, newest first: one Query for each status."""
        return self.db(d.watches_of_buyer_in(buyer_id, statuses)).page(size, cursor)

    def _current(self, watch_id: str) -> d.Watch:
        return self.db.one(d.watch(watch_id), consistent=True)

    def of_category(self, category: str) -> Iterable[d.Watching]:
        """Active watches of a category and of all categories, oldest first: two Queries per page."""
        return self.db(d.watching_categories([category_of(category), ANY]))

    def trigger(self, watch_id: str, part: d.Part, match_score: float) -> bool:
        """Notify the buyer of a part; returns False if the watch has ended or the part has triggered it before."""
        watch = self.db(d.watch(watch_id), consistent=True)
        if watch is None or watch.status != "active":
            return False
        now, language = self.now(), language_of(self.db, watch.buyer_id)
        try:
            with self.db.transaction() as transaction:
                draft = transaction.change(d.watch(watch_id), when=_ACTIVE)
                draft.triggered_at = now
                if watch.once:
                    draft.status = "triggered"
                    transaction.delete(get(d.Watching, watch_id))
                trigger = d.Trigger(watch_id=watch_id, part_id=part.part_id, match_score=match_score, notified_at=now)
                transaction.create(trigger)
                transaction.create(part_available(self.new_id("t"), watch, part, now, language))
        except (AlreadyExists, ConditionFailed, NotFound, ReferenceMissing):
            return False
        return True

    def ensure_trigger(self, watch_id: str, part_id: str, match_score: float) -> d.Trigger:
        """The trigger of a watch by a part, created if it does not exist."""
        self.trigger(watch_id, self.db.one(d.part(part_id)), match_score)
        trigger = self.db(d.trigger(watch_id, part_id), consistent=True)
        if trigger is None:
            self.db.one(d.watch(watch_id), consistent=True)
            raise InvalidTransition("Watch", "status", "triggered")
        return trigger


def checked(criteria: d.Criteria, *path: str) -> d.Criteria:
    """The criteria with their canonical category; `minSpecs` are measures."""
    check_measures(criteria.min_specs, "Watch", *path, "minSpecs")
    return canonical(criteria, "Watch", *path, "category")


def canonical(criteria: d.Criteria, *where: str) -> d.Criteria:
    """The criteria with their canonical category."""
    if criteria.category is None:
        return criteria
    return replace(criteria, category=category_of(criteria.category, *where))


def _check_contact(email: str | None, phone: str | None) -> None:
    if not email and not phone:
        raise InvalidValue("Watch", "required, or a phone number", "email")
    if phone and not any(map(str.isdecimal, phone)):
        raise InvalidValue("Watch", f"{phone!r} is not a valid phone number", "phone")
