"""Adoption of items that other code stored: canonical categories, and lookup items.

Correct items stay unchanged, and every step is independent, so adoption can be interrupted and run again. Lookup items
of owners that other code has deleted or ended are deleted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec.structs import asdict

from partita import Adoption, Condition, Entity, F, Get, Store, get
from partita_systems.adopting import IdFields, entity_label
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import category_of
from partita_systems.eecar.conditions import condition_of
from partita_systems.eecar.lookup_items import seller_entry, sender_entry, watch_entry
from partita_systems.eecar.needs import canonical as canonical_specs
from partita_systems.eecar.service import Eecar
from partita_systems.eecar.watches import canonical as canonical_criteria

ENTITIES: IdFields = {
    d.Part: ("part_id",),
    d.Need: ("company_id", "need_id"),
    d.Match: ("query_hash",),
    d.Watch: ("watch_id",),
    d.Proposal: ("proposal_id",),
    d.SellerEntry: ("part_id",),
    d.Watching: ("watch_id",),
    d.SenderEntry: ("proposal_id",),
}
_ACTIVE = F.status == "active"
_ENDED = F.status.is_absent() | F.status.is_in("triggered", "cancelled")


def adopt(db: Store, progress: Callable[[Adoption], None] = lambda done: None) -> Adoption:
    """Adopt all items. `refused` lists what cannot be adopted and stays unchanged; a second run has nothing to do."""
    done = db.adopt(progress)
    work = _Work(db, done)
    for found in db.scan(*ENTITIES):
        with done.collecting_errors(entity_label(found, ENTITIES)):
            work.adopt_item(found)
        progress(done)
    if not done.refused and db(d.adopted()) is None:
        db.put(d.Adopted(at=db.now()))
    return done


def _canonical(stored: dict[str, Any], *where: str) -> dict[str, Any]:
    """The map with its canonical category and all other members."""
    return stored | {"category": category_of(stored["category"], *where).value} if stored.get("category") else stored


@dataclass(frozen=True)
class _Work:
    db: Store
    done: Adoption

    def adopt_item(self, found: Entity) -> None:
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
                at = get(d.SenderEntry, found.proposal_id)
                self._ensure_entry(d.proposal(found.proposal_id), F.status == found.status, at, sender_entry(found))
            case d.SellerEntry():
                self._delete_orphan(d.part(found.part_id), F.name.is_absent(), get(d.SellerEntry, found.part_id))
            case d.Watching():
                self._delete_orphan(d.watch(found.watch_id), _ENDED, get(d.Watching, found.watch_id))
            case d.SenderEntry():
                self._delete_orphan(
                    d.proposal(found.proposal_id), F.status.is_absent(), get(d.SenderEntry, found.proposal_id)
                )

    def _part(self, part: d.Part) -> None:
        here = d.part(part.part_id)
        self._ensure_entry(here, F.seller_id == part.seller_id, get(d.SellerEntry, part.part_id), seller_entry(part))
        category, condition = category_of(part.category), condition_of(part.condition)
        if (category, condition) != (part.category, part.condition):
            unchanged = (F.category == part.category) & (F.condition == part.condition)
            with self.db.change(here, when=unchanged, system_change=True) as draft:
                draft.category = category
                draft.condition = condition
            self.done.rewritten += 1

    def _need(self, need: d.Need) -> None:
        where = ("Need", "requiredSpecs", "category")

        def edit(stored: d.StoredNeed) -> None:
            stored.required_specs = _canonical(stored.required_specs, *where)

        if canonical_specs(need.required_specs, *where) != need.required_specs:
            self.db.update(d.stored_need(need.company_id, need.need_id), edit)
            self.done.rewritten += 1

    def _match(self, match: d.Match) -> None:
        """Its catalogue versions are unknown: it gets the current version of `ANY`."""
        if not match.catalogue:
            versions = Eecar(self.db).matches.catalogue_versions()

            def edit(stored: d.Match) -> None:
                stored.catalogue = stored.catalogue or versions

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
            self._ensure_watch_entry(watch.watch_id)

    def _ensure_watch_entry(self, watch_id: str) -> None:
        here = d.stored_watch(watch_id)
        stored = self.db.one(here, consistent=True)
        watch = self.db.one(d.watch(watch_id), consistent=True)
        unchanged = _ACTIVE & (F.criteria == stored.criteria)
        self._ensure_entry(here, unchanged, get(d.Watching, watch_id), watch_entry(watch))

    def _ensure_entry(self, owner: Get[Any], unchanged: Condition, at: Get[Any], wanted: Entity) -> None:
        """Create or correct a lookup item, on the condition that its owner is unchanged."""
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

    def _delete_orphan(self, owner: Get[Any], ended: Condition, at: Get[Any]) -> None:
        """Delete a lookup item whose owner does not exist or has ended."""
        found = self.db(owner, consistent=True)
        if found is None or (isinstance(found, d.Watch) and found.status != "active"):
            with self.db.transaction() as transaction:
                transaction.check(owner, ended)
                transaction.delete(at)
            self.done.rewritten += 1
