"""Watches: who wants to be told of which parts, and telling them once for each.

A watch and its way from the category (`Watching`) are written together, so that no active watch is ever missed and no
ended one is found.
"""

import re
from collections.abc import Iterable

from msgspec.structs import replace

from partita import (
    AlreadyExists,
    ConditionFailed,
    F,
    InvalidTransition,
    InvalidValue,
    NotFound,
    ReferenceMissing,
    get,
)
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import ANY, category_of
from partita_systems.eecar.lookup_items import beside, watching
from partita_systems.eecar.notifications import part_available
from partita_systems.service_base import ServiceBase

_ACTIVE = F.status == "active"
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")


class Watches(ServiceBase):
    def begin(self, watch: d.Watch) -> d.Watch:
        """Tell the buyer of parts that meet the criteria: of every one, or of the first."""
        _check_address(watch.email, watch.phone)
        criteria = canonical(watch.criteria, "Watch", "criteria", "category")
        with self.db.transaction() as transaction:
            made = transaction.create(replace(watch, watch_id=self.new_id("w"), criteria=criteria))
            transaction.create(watching(made))
        return made

    def revise(self, watch_id: str, criteria: d.Criteria) -> None:
        """Watch for something else, while it is active."""
        criteria = canonical(criteria, "Criteria.category")

        def write() -> None:
            with self.db.transaction() as transaction:
                transaction.change(d.watch(watch_id), when=_ACTIVE).criteria = criteria
                draft = transaction.change(get(d.Watching, watch_id))
                draft.criteria = criteria
                draft.category = criteria.category or ANY

        try:
            beside(self.db, d.watch(watch_id), watching, lambda _: _ACTIVE, write)
        except (ConditionFailed, NotFound):
            self.db.one(d.watch(watch_id), consistent=True)
            raise InvalidTransition("Watch", "status", "active") from None

    def reach(self, watch_id: str, email: str | None, phone: str | None) -> None:
        """Where the buyer is told."""
        _check_address(email, phone)
        with self.db.change(d.watch(watch_id)) as draft:
            draft.email = email
            draft.phone = phone

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
                transaction.create(part_available(self.new_id("t"), watch, part, now))
        except (AlreadyExists, ConditionFailed, NotFound, ReferenceMissing):
            return False
        return True

    def tell(self, watch_id: str, part_id: str, match_score: float) -> d.Trigger:
        """The trigger of a part, of which the buyer is told now or was told before."""
        self.trigger(watch_id, self.db.one(d.part(part_id)), match_score)
        told = self.db(d.trigger(watch_id, part_id), consistent=True)
        if told is None:
            self.db.one(d.watch(watch_id), consistent=True)
            raise InvalidTransition("Watch", "status", "triggered")
        return told


def canonical(criteria: d.Criteria, *where: str) -> d.Criteria:
    """With the one word for their category."""
    if criteria.category is None:
        return criteria
    return replace(criteria, category=category_of(criteria.category, *where))


def _check_address(email: str | None, phone: str | None) -> None:
    if not email and not phone:
        raise InvalidValue("Watch", "neither an e-mail address nor a phone number is given", "email")
    if email and _EMAIL.fullmatch(email) is None:
        raise InvalidValue("Watch", f"{email!r} is no e-mail address", "email")
    if phone and not any(map(str.isdecimal, phone)):
        raise InvalidValue("Watch", f"{phone!r} is no phone number", "phone")
