"""Adopting rows of the team's own code: the one word for a category, and the items by which things are found.

What is right already is left alone, and every step stands for itself, so it may be interrupted and run again. The
companion of something that other code has deleted or ended meanwhile goes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec.structs import asdict

from partita import Adoption, Condition, Entity, F, Get, Store, get
from partita_systems.adopting import IdFields, entity_label
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import category_of
from partita_systems.eecar.lookup_items import offered, sent, watching
from partita_systems.eecar.needs import canonical as canonical_specs
from partita_systems.eecar.service import Eecar
from partita_systems.eecar.watches import canonical as canonical_criteria

ENTITIES: IdFields = {
    d.Part: ("part_id",),
    d.Need: ("company_id", "need_id"),
    d.Match: ("query_hash",),
    d.Watch: ("watch_id",),
    d.Proposal: ("proposal_id",),
    d.Offered: ("part_id",),
    d.Watching: ("watch_id",),
    d.Sent: ("proposal_id",),
}
_ACTIVE = F.status == "active"
_ENDED = F.status.is_absent() | F.status.is_in("triggered", "cancelled")


def adopt(db: Store, progress: Callable[[Adoption], None] = lambda done: None) -> Adoption:
    """Bring what other code stored to what the design and the service say."""
    done = db.adopt(progress)
    work = _Work(db, done)
    for found in db.scan(*ENTITIES):
        with done.collecting_errors(entity_label(found, ENTITIES)):
            work.mend(found)
        progress(done)
    return done


def _canonical(stored: dict[str, Any], *where: str) -> dict[str, Any]:
    """With the one word for its category, and all else that is in it."""
    return stored | {"category": category_of(stored["category"], *where).value} if stored.get("category") else stored


@dataclass(frozen=True)
class _Work:
    db: Store
    done: Adoption

    def mend(self, found: Entity) -> None:
        match found:
            case d.Part():
                self._part(found)
            case d.Need():
                self._need(found)
            case d.Match():
                self._match(found)
            case d.Watch():
                self._watch(found)
            case d.Proposal():
                at = get(d.Sent, found.proposal_id)
                self._beside(d.proposal(found.proposal_id), F.status == found.status, at, sent(found))
            case d.Offered():
                self._only_with(d.part(found.part_id), F.name.is_absent(), get(d.Offered, found.part_id))
            case d.Watching():
                self._only_with(d.watch(found.watch_id), _ENDED, get(d.Watching, found.watch_id))
            case d.Sent():
                self._only_with(d.proposal(found.proposal_id), F.status.is_absent(), get(d.Sent, found.proposal_id))

    def _part(self, part: d.Part) -> None:
        here = d.part(part.part_id)
        self._beside(here, F.seller_id == part.seller_id, get(d.Offered, part.part_id), offered(part))
        category = category_of(part.category)
        if category != part.category:
            with self.db.change(here, when=F.category == part.category, system_change=True) as draft:
                draft.category = category
            self.done.rewritten += 1

    def _need(self, need: d.Need) -> None:
        where = ("Need", "requiredSpecs", "category")

        def edit(stored: d.StoredNeed) -> None:
            stored.required_specs = _canonical(stored.required_specs, *where)

        if canonical_specs(need.required_specs, *where) != need.required_specs:
            self.db.update(d.stored_need(need.company_id, need.need_id), edit)
            self.done.rewritten += 1

    def _match(self, match: d.Match) -> None:
        """What it was found in is not known: from now on it is stale once anything changes."""
        if not match.catalogue:
            seen = Eecar(self.db).matches.catalogue()

            def edit(stored: d.Match) -> None:
                stored.catalogue = stored.catalogue or seen

            self.db.update(d.match(match.query_hash), edit)
            self.done.rewritten += 1

    def _watch(self, watch: d.Watch) -> None:
        where = ("Watch", "criteria", "category")

        def edit(stored: d.StoredWatch) -> None:
            stored.criteria = _canonical(stored.criteria, *where)

        if canonical_criteria(watch.criteria, *where) != watch.criteria:
            self.db.update(d.stored_watch(watch.watch_id), edit)
            self.done.rewritten += 1
        if watch.status == "active":
            self._found_by_category(watch.watch_id)

    def _found_by_category(self, watch_id: str) -> None:
        here = d.stored_watch(watch_id)
        stored = self.db.one(here, consistent=True)
        watch = self.db.one(d.watch(watch_id), consistent=True)
        unchanged = _ACTIVE & (F.criteria == stored.criteria)
        self._beside(here, unchanged, get(d.Watching, watch_id), watching(watch))

    def _beside(self, owner: Get[Any], unchanged: Condition, at: Get[Any], wanted: Entity) -> None:
        """The companion is there and says what it should, of an owner that is still what it is made from."""
        stored = self.db(at, consistent=True)
        if stored == wanted:
            return
        with self.db.transaction() as transaction:
            transaction.check(owner, unchanged)
            if stored is None:
                transaction.create(wanted)
            else:
                draft = transaction.change(at)
                for name, value in asdict(wanted).items():
                    if getattr(stored, name) != value:
                        setattr(draft, name, value)
        self.done.created += stored is None
        self.done.rewritten += stored is not None

    def _only_with(self, owner: Get[Any], ended: Condition, at: Get[Any]) -> None:
        """A companion goes whose owner is gone, or has ended."""
        kept = self.db(owner, consistent=True)
        if kept is None or (isinstance(kept, d.Watch) and kept.status != "active"):
            with self.db.transaction() as transaction:
                transaction.check(owner, ended)
                transaction.delete(at)
            self.done.rewritten += 1
