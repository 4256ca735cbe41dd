"""Comparing live data with its design, item by item, and repairing what can be repaired without a decision.

An item is reported if it is wrong when it is read a second time, a counter if two passes over all items find the same.
Repairs are the conditional writes of `apply`: index keys, TTLs, forms of attributes, guards. Wrong counters are counted
again, while programs work; items that expired long ago are deleted, as DynamoDB does it. Items that no entity explains,
that cannot be read, or that refer to something that does not exist are for people to decide about.

Only data that has the design is repaired: the guards of another one would seem to be orphaned.
"""

import time
from collections.abc import Callable, Iterator
from datetime import timedelta

import msgspec

from partita.design.models import Model
from partita.dynamodb.canonical import ItemIdentity, item_identity
from partita.dynamodb.values import AttributeValue, Item
from partita.errors import DesignMismatch, InvalidValue, MigrationBlocked, StoredItemInvalid
from partita.evolution.apply import count_again
from partita.evolution.counter_results import CounterTotals
from partita.evolution.evolution_store import evolution_store
from partita.evolution.guards import OrphanedGuards, unique_value_of, unique_values
from partita.evolution.item_work import WorkKind, leftovers, stored_entity
from partita.evolution.leftover_items import delete_if_unchanged, remove_leftovers
from partita.evolution.page_writes import PageResult, do_page
from partita.evolution.pages import PageItem, ScannedPage, fetch_one_item, fetch_page, page_limit, scan_request
from partita.evolution.table_changes import actual_tables, describe, unfinished_parts
from partita.evolution.targets import design_facts
from partita.plan.design import CounterBuild, Design
from partita.plan.effects import OWNER
from partita.plan.items import key_text
from partita.plan.table_definitions import differences, has_other_key
from partita.store.design_records import fetch_designs, mismatches
from partita.store.item_reads import fetch_items
from partita.store.store import Store

KINDS = {
    WorkKind.INDEX: "stale index keys",
    WorkKind.TTL: "stale TTLs",
    WorkKind.ATTRIBUTES: "attributes in another form",
    WorkKind.REMOVE: "attributes that the design removes",
    WorkKind.REKEY: "items under other keys",
    WorkKind.GUARDS: "missing guards",
    WorkKind.COUNT: "uncounted items",
    WorkKind.LEFTOVERS: "leftovers of counting",
}
_UNDER_WAY = "a design is being applied to the data: finish it first"
EXPIRED_FOR = timedelta(days=2)
"""DynamoDB deletes an expired item within a few days, typically."""


class Diagnosis(msgspec.Struct):
    """What is wrong, by kind, as sentences; `repaired` counts the items that were repaired."""

    items: int = 0
    findings: dict[str, list[str]] = msgspec.field(default_factory=dict)
    repaired: int = 0

    def add(self, kind: str, sentence: str) -> None:
        self.findings.setdefault(kind, []).append(sentence)

    @property
    def is_healthy(self) -> bool:
        return not self.findings


def diagnose(
    db: Store,
    *,
    repair: bool = False,
    progress: Callable[[int], None] = lambda _: None,
    items_per_second: float | None = None,
) -> Diagnosis:
    """Compares all items of a store with its design; with `repair`, repairs what it can.

    DesignMismatch where data is to be repaired that has another design, MigrationBlocked where one is being applied.
    """
    doctor = _Doctor(db, repair, progress, items_per_second)
    try:
        return doctor.run()
    finally:
        doctor.db.end_threads()


class _Doctor:
    def __init__(
        self, db: Store, repair: bool, progress: Callable[[int], None], items_per_second: float | None
    ) -> None:
        self.db = evolution_store(db)
        self._repair = repair
        self._progress = progress
        self._rate = items_per_second
        self._uniques = unique_values(db.design)
        self._orphans = OrphanedGuards(self.db, self._uniques)
        self.found = Diagnosis()

    def run(self) -> Diagnosis:
        is_settled = self._examine_design()
        is_readable = True
        for table in actual_tables(self.db):
            description = describe(self.db, table)
            if description is None:
                self.found.add("tables", f"{table.name} does not exist")
                return self.found
            for unfinished in unfinished_parts(description):
                self.found.add("tables", unfinished)
            for difference in differences(table, description):
                self.found.add("tables", f"{table.name}: {difference.sentence}")
            is_readable = is_readable and not has_other_key(table, description)
        if not is_readable:
            return self.found
        totals = CounterTotals(self.db.design, _all_counters(self.db.design))
        result = PageResult()
        for page in self._pages():
            totals.add(page)
            self._examine(page, result, counting=not is_settled)
        self.found.repaired += result.written
        if is_settled:
            self._examine_counters(totals)
        for conflict in result.conflicts:
            self.found.add("conflicts", conflict)
        return self.found

    def _examine_design(self) -> bool:
        """Whether no design is being applied; the differences between the recorded design and this one are reported."""
        names = [self.db.table_name(table) for table in self.db.design.tables]
        records = self.db.run_flow(fetch_designs(self.db.context, names))
        is_settled = all(each.state == "public" for each in records.values())
        facts = design_facts(self.db)
        found = [mismatch for name, each in records.items() for mismatch in mismatches(each.facts, facts[name])]
        for each in found:
            self.found.add("design", f"the data has another design: {each}")
        if not is_settled:
            self.found.add("design", _UNDER_WAY)
        if self._repair and not is_settled:
            raise MigrationBlocked(self.db.design.name, [_UNDER_WAY])
        if self._repair and found:
            raise DesignMismatch(self.db.design.name, found)
        return is_settled

    def _examine_counters(self, totals: CounterTotals) -> None:
        """The counters that differ from their children; those are counted again.

        One that programs leave alone has to be wrong in two passes, another one by the same amount in three.
        """
        suspects = totals.wrong(self.db)
        passes = 1
        while suspects and passes < 3 and not (passes == 2 and all(each.is_still for each in suspects)):
            before = {each.same_difference: each.is_still for each in suspects}
            again = CounterTotals(self.db.design, _all_counters(self.db.design))
            for page in self._pages():
                again.add(page)
            passes += 1
            suspects = [
                msgspec.structs.replace(each, is_still=each.is_still and before[each.same_difference])
                for each in again.wrong(self.db)
                if each.same_difference in before
            ]
        for each in sorted(map(str, suspects)):
            self.found.add("wrong counters", each)
        if self._repair and suspects:
            self._count_again({each.name for each in suspects}, totals.uncertain)

    def _count_again(self, counters: set[str], uncertain: set[str]) -> None:
        for each in sorted(counters & uncertain):
            self.found.add("not repaired", f"{each}: some of the items that it counts cannot be read")
        if counters <= uncertain:
            return
        try:
            done = count_again(self.db, sorted(counters - uncertain), self._rate)
        except MigrationBlocked as blocked:
            for reason in blocked.reasons:
                self.found.add("not repaired", reason)
        else:
            self.found.repaired += done.counters_set

    def _pages(self) -> Iterator[ScannedPage]:
        self.found.items = 0
        limit = page_limit(self._rate)
        for table in self.db.design.tables:
            start: Item | None = None
            while True:
                begun = time.monotonic()
                request = scan_request(table, start, limit=limit)
                page = self.db.run_flow(fetch_page(self.db.context, self.db.design, {}, request, table))
                self.found.items += len(page.items)
                self._progress(self.found.items)
                yield page
                if self._rate is not None:
                    self.db.sleep(max(0.0, len(page.items) / self._rate - (time.monotonic() - begun)))
                start = page.next_key
                if start is None:
                    break

    def _examine(self, page: ScannedPage, result: PageResult, *, counting: bool) -> None:
        wrong = [again for each in page.items if each.work is not None and (again := self._again(each)) is not None]
        for each in wrong:
            for kind, names in each.work.kinds.items() if each.work is not None else ():
                self.found.add(KINDS[kind], f"{each.name}: {', '.join(names)}")
        if self._repair and wrong:
            do_page(self.db, {}, wrong, result)
        for each in page.items:
            self._examine_item(each)
            if not counting and leftovers(each.item, None):
                self.found.add(KINDS[WorkKind.LEFTOVERS], each.name)
        self._examine_parents(page)
        if self._repair and not counting:
            self.found.repaired += remove_leftovers(self.db, [page])

    def _again(self, each: PageItem) -> PageItem | None:
        """The item as it is now, if it still needs work."""
        now = self.db.run_flow(fetch_one_item(self.db.context, self.db.design, {}, each.table, each.key))
        return now if now is not None and now.work is not None else None

    def _examine_item(self, each: PageItem) -> None:
        if each.error:
            self.found.add("unreadable items", f"{each.name}: {each.error}")
        elif each.is_guard:
            self._examine_guard(each)
        elif each.model is None:
            self.found.add("unexplained items", each.name)
        elif each.is_expired and each.table.ttl is not None:
            self._examine_expired(each, each.model, each.table.ttl)

    def _examine_expired(self, each: PageItem, model: Model, ttl: str) -> None:
        """An item that expired long ago; one whose own attributes say otherwise is for people to decide about."""
        if not self._is_long_ago(each.item.get(ttl)):
            return
        try:
            is_so = self._is_long_ago(stored_entity(model, each.item).wanted.get(ttl))
        except (StoredItemInvalid, InvalidValue):
            is_so = True  # DynamoDB deletes it whatever it is
        if not is_so:
            self.found.add("items that expired by a wrong TTL", each.name)
            return
        self.found.add("expired items not deleted", each.name)
        self.found.repaired += self._repair and delete_if_unchanged(self.db, each, ttl)

    def _is_long_ago(self, second: AttributeValue | None) -> bool:
        passed = self.db.now().timestamp() - float((second or {}).get("N", "inf"))
        return passed > EXPIRED_FOR.total_seconds()

    def _examine_guard(self, each: PageItem) -> None:
        """A guard whose owner does not exist, or does not hold the value (any more), keeps it from everybody."""
        is_known = unique_value_of(each, self._uniques) is not None
        if is_known and not self._orphans.is_orphaned(each):
            return
        self.found.add("orphaned guards", key_text(each.key))
        if self._repair and (self._orphans.delete(each) if is_known else delete_if_unchanged(self.db, each, OWNER)):
            self.found.repaired += 1

    def _examine_parents(self, page: ScannedPage) -> None:
        """Children whose parent does not exist."""
        parents: dict[ItemIdentity, tuple[str, Item]] = {}
        children: dict[tuple[str, ItemIdentity], str] = {}
        for each in page.items:
            if each.effects is None:
                continue
            for counter, parent, _ in each.effects.counts.values():
                identity = item_identity(counter.parent.table.name, parent.key)
                parents[identity] = (counter.parent.table.name, parent.key)
                children[each.name, identity] = counter.parent.name
            for identity, (reference, target) in each.effects.needs.items():
                parents[identity] = (reference.target.table.name, target.key)
                children[each.name, identity] = reference.target.name
        existing = self.db.run_flow(fetch_items(self.db.context, parents.values(), consistent=True))
        for (child, identity), name in children.items():
            if identity not in existing:
                self.found.add("orphaned children", f"{child}: its {name} does not exist")


def _all_counters(design: Design) -> CounterBuild:
    pairs = {(each.parent.name, each.attribute.name) for several in design.counters.values() for each in several}
    return CounterBuild("doctor", frozenset(pairs))
