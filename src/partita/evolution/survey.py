"""A survey of stored data: how many items need which work, and what it costs, from a sample or from all items."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import apsw
import msgspec

from partita.design.tables import Table
from partita.dynamodb.canonical import ItemIdentity, item_size
from partita.dynamodb.limits import ITEM_BYTES
from partita.dynamodb.shapes import TableDescription
from partita.dynamodb.values import Item
from partita.evolution.costs import BilledTable, billed_table, change_units, read_units_of_scan
from partita.evolution.counter_costs import CounterCosts
from partita.evolution.evolution_store import EvolutionStore
from partita.evolution.guards import unique_value_of, unique_values
from partita.evolution.item_work import ItemWork, WorkKind
from partita.evolution.page_writes import transactions_of
from partita.evolution.pages import (
    ITEMS_PER_SECOND,
    PageItem,
    Removed,
    ScannedPage,
    fetch_page,
    page_limit,
    scan_request,
)
from partita.evolution.targets import Target
from partita.evolution.unreachable_items import UnreachableItems
from partita.plan.actions import ItemAction, RemoveAttribute, SetAttribute
from partita.plan.design import Design
from partita.plan.effects import COUNTED
from partita.plan.items import key_in_item, key_text

SAMPLE = 2_000
_SEGMENTS = 20
EXAMPLES = 10

Place = tuple[str, str, str]
"""An entity, a kind of work, and the index, counter or attributes of it."""


class WorkTotal(msgspec.Struct):
    """A number of items, the write units of their work, and how many examples are known."""

    items: float = 0.0
    units: float = 0.0


class Survey(msgspec.Struct):
    """The result; numbers of a sample are scaled to the whole table.

    `scan` and `later_scan` are the read units of a pass over the data, as it is and after the work has been done;
    `met_again` those of the items that a pass moves to a place that it has not reached yet.
    """

    items: float = 0.0
    read: int = 0
    scan: float = 0.0
    later_scan: float = 0.0
    met_again: float = 0.0
    is_exact: bool = True
    work: dict[Place, WorkTotal] = msgspec.field(default_factory=dict)
    units: float = 0.0
    written: float = 0.0
    moved: float = 0.0
    guards: float = 0.0
    guarded: float = 0.0
    unexplained: float = 0.0
    unreadable: float = 0.0
    expired: float = 0.0
    examples: dict[str, list[str]] = msgspec.field(default_factory=dict)
    conflicts: list[str] = msgspec.field(default_factory=list)

    def scan_units(self, passes: int) -> float:
        """The units of some passes over the data, of which the first does the work."""
        return self.scan + self.met_again + self.later_scan * (passes - 1)

    def add_work(self, place: Place, items: float, units: float) -> None:
        found = self.work.setdefault(place, WorkTotal())
        found.items += items
        found.units += units

    def example(self, kind: str, text: str) -> None:
        several = self.examples.setdefault(kind, [])
        if len(several) < EXAMPLES:
            several.append(text)


def survey(
    db: EvolutionStore,
    target: Target,
    descriptions: dict[str, TableDescription],
    *,
    exact: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> Survey:
    """Surveys the tables that exist, by the design's names; `exact` reads every item."""
    result = Survey()
    holders, counters = UniqueValues(), CounterCosts(db.design)
    try:
        factors = _survey_tables(db, target, descriptions, result, holders, counters, exact=exact, progress=progress)
        for each in counters.costs(factors, is_exact=result.is_exact):
            result.add_work((each.entity, "counter values", each.attribute), each.owners, each.units)
            result.units += each.units
    finally:
        holders.close()
        counters.close()
    result.conflicts += holders.conflicts
    return result


def _survey_tables(
    db: EvolutionStore,
    target: Target,
    descriptions: dict[str, TableDescription],
    result: Survey,
    holders: "UniqueValues",
    counters: CounterCosts,
    *,
    exact: bool,
    progress: Callable[[int], None],
) -> dict[str, float]:
    """By table, how many items one that was read stands for."""
    removed, factors = target.removed, {}
    for table in db.design.tables:
        description = descriptions.get(table.name)
        if description is None:
            continue
        count = int(description.item_count or 0)
        whole = exact or count <= SAMPLE
        before = result.read
        found = Survey()
        unreachable = UnreachableItems(target)
        billed = billed_table(table, description)
        for page in _pages(db, removed, table, whole=whole):
            _add_page(found, db.design, billed, page, holders, counters)
            unreachable.add(page.items)
            progress(before + found.read)
        factor = 1.0 if whole or not found.read else max(1.0, count / found.read)
        factors[table.name] = factor
        result.conflicts += unreachable.sentences(factor)
        _merge(result, found, factor)
        result.is_exact = result.is_exact and whole
    return factors


def _pages(db: EvolutionStore, removed: Removed, table: Table, *, whole: bool) -> Iterator[ScannedPage]:
    """All pages of a table, or some from random places of it."""
    if whole:
        start: Item | None = None
        while True:
            yield (page := _page(db, removed, table, scan_request(table, start)))
            start = page.next_key
            if start is None:
                return
    total = 1_000_000
    for segment in sorted(random.Random(0).sample(range(total // 10), _SEGMENTS)):  # noqa: S311 - a sample
        yield from _segment(db, removed, table, segment * 10, total)


def _segment(db: EvolutionStore, removed: Removed, table: Table, segment: int, total: int) -> Iterator[ScannedPage]:
    """A page of items from a place on: a segment is widened until it has some."""
    while total >= 1:
        request = scan_request(table, None, segment=segment, total_segments=total, limit=SAMPLE // _SEGMENTS)
        page = _page(db, removed, table, request)
        if len(page.items) >= SAMPLE // _SEGMENTS or total == 1:
            yield page
            return
        segment, total = segment // 10, total // 10


def _page(db: EvolutionStore, removed: Removed, table: Table, request: Any) -> ScannedPage:
    return db.run_flow(fetch_page(db.context, db.design, removed, request, table))


def _merge(into: Survey, found: Survey, factor: float) -> None:
    into.read += found.read
    for name in (
        "items",
        "scan",
        "later_scan",
        "met_again",
        "units",
        "written",
        "moved",
        "guards",
        "guarded",
        "unexplained",
        "unreadable",
        "expired",
    ):
        setattr(into, name, getattr(into, name) + getattr(found, name) * factor)
    into.conflicts += found.conflicts
    for place, each in found.work.items():
        into.add_work(place, each.items * factor, each.units * factor)
    for kind, several in found.examples.items():
        for text in several:
            into.example(kind, text)


def _add_page(
    result: Survey,
    design: Design,
    table: BilledTable,
    page: ScannedPage,
    holders: "UniqueValues",
    counters: CounterCosts,
) -> None:
    uniques = unique_values(design)
    for each in page.items:
        result.read += 1
        result.items += 1
        if each.error:
            result.unreadable += 1
            result.example("unreadable", f"{each.name}: {each.error}")
        elif each.model is None and not each.is_guard:
            result.unexplained += 1
            result.example("unexplained", each.name)
        elif each.is_expired:
            result.expired += 1
        elif each.is_guard and unique_value_of(each, uniques) is None:
            _add_guard(result, table, each)
        elif each.is_guard:
            result.guards += 1
        result.guarded += 0 if each.effects is None else len(each.effects.guards)
        result.moved += each.work is not None and WorkKind.REKEY in each.work.kinds
        holders.add(each)
        counters.add(table, each)
        if _is_too_large(each):
            result.conflicts.append(f"{each.name}: it would be larger than the 400 KB of DynamoDB")
    size = page_limit(ITEMS_PER_SECOND)  # an application reads so many at a time, and writes them together
    for at in range(0, len(page.items), size):
        together = page.items[at : at + size]
        _add_scan(result, together, size)
        for group in transactions_of([each for each in together if each.work is not None]):
            _add_group(result, table, group)
    if page.next_key is None and len(page.items) % size == 0:
        result.scan += 1  # a page that is full has a next one, though that is empty
        result.later_scan += 1


def _is_too_large(each: PageItem) -> bool:
    """Whether DynamoDB rejects what the work of an item would make it."""
    if each.work is None or each.size < ITEM_BYTES // 2:  # most are far from it
        return False
    return item_size(_item_after_work(each, each.work)) > ITEM_BYTES


def _add_scan(result: Survey, page: list[PageItem], size: int) -> None:
    """Adds the reads of a page, before and after its work has been done."""
    after = (each.item if each.work is None else _item_after_work(each, each.work) for each in page)
    later = read_units_of_scan(sum(map(item_size, after)))
    result.scan += read_units_of_scan(sum(item_size(each.item) for each in page))
    result.later_scan += later
    result.met_again += later / size * sum(_chance_to_be_met_again(each) for each in page)


def _chance_to_be_met_again(each: PageItem) -> float:
    """Whether a pass that moves an item meets it again: nobody knows it of one that gets into another partition."""
    if each.work is None or WorkKind.REKEY not in each.work.kinds:
        return 0.0
    table, stored = each.table, each.work.stored
    new = key_in_item(stored.model, stored.wanted)
    if table.sk is None or new[table.pk] != each.key[table.pk] or "S" not in new[table.sk]:
        return 0.5
    return float(new[table.sk]["S"].encode() > each.key[table.sk].get("S", "").encode())


def _add_guard(result: Survey, table: BilledTable, each: PageItem) -> None:
    """Adds the deletion of a guard of a value that is not unique any more."""
    _, entity, name, *_ = [*key_text(each.key).split("#"), "", ""]
    units = change_units(table, each.item, None, in_transaction=False)
    result.add_work((entity, "dropped guards", name), 1, units)
    result.units += units


def _add_group(result: Survey, table: BilledTable, group: list[PageItem]) -> None:
    """Adds the work of items that are written together; a parent is written once for all of them."""
    in_transaction = len(group) > 1 or not _work(group[0]).is_alone
    parents: set[ItemIdentity] = set()
    for each in group:
        work = _work(each)
        own, others = _units(table, each, work, parents, in_transaction=in_transaction)
        result.written += 1
        result.units += own + others
        kinds = [(kind, name) for kind, names in work.kinds.items() for name in names or ("",)]
        for kind, name in kinds:
            result.add_work((work.stored.model.name, str(kind), name), 1, (own + others) / len(kinds))


def _units(
    table: BilledTable, each: PageItem, work: ItemWork, parents: set[ItemIdentity], *, in_transaction: bool
) -> tuple[float, float]:
    """The units of an item's own write, with that of removing its mark, and those of other items."""
    after = dict(work.stored.wanted)
    marked = _item_after_work(each, work)
    if WorkKind.REKEY in work.kinds:
        own = change_units(table, each.item, None, in_transaction=True)
        own += change_units(table, None, marked, in_transaction=True)
    else:
        own = change_units(table, each.item, marked, in_transaction=in_transaction)
    if COUNTED in marked:
        own += change_units(table, marked, after, in_transaction=False)
    others = 0.0
    for action in work.actions:
        if not action.own and action.identity not in parents:
            parents.add(action.identity)
            others += 2.0
    return own, others


def _item_after_work(each: PageItem, work: ItemWork) -> Item:
    """An item after its work has been done, with the mark of one that was counted."""
    if WorkKind.REKEY in work.kinds:
        return next(action.item or {} for action in work.actions if action.kind == "put" and action.own)
    return _after(each.item, work.actions[0])


def _after(item: Item, action: ItemAction) -> Item:
    """An item after the steps of an update."""
    found = dict(item)
    for name, step in action.steps.items():
        if isinstance(step, SetAttribute):
            found[name] = step.value
        elif isinstance(step, RemoveAttribute):
            found.pop(name, None)
    return found


def _work(each: PageItem) -> ItemWork:
    assert each.work is not None
    return each.work


class UniqueValues:
    """The unique values that items want, in a temporary file, to find two that want the same."""

    def __init__(self) -> None:
        self._owners: apsw.Connection | None = None
        self.conflicts: list[str] = []

    def add(self, each: PageItem) -> None:
        """Adds the values of an item."""
        if each.effects is None or each.model is None:
            return
        for identity, guard in each.effects.guards.items():
            if guard.unique.is_former:
                continue  # the same value, under its name before
            mine = f"{each.model.name} {key_text(guard.owner)}"
            other = self._owner(str(identity), mine)
            if other != mine and len(self.conflicts) < 1000:
                value = ", ".join(map(str, guard.values.values()))
                self.conflicts.append(f"{guard.unique.name} {value!r} is wanted by {other} and {mine}")

    def _owner(self, value: str, mine: str) -> str:
        """The first item that wants a value."""
        self._file.execute("INSERT INTO owners VALUES (?, ?) ON CONFLICT DO NOTHING", (value, mine))
        ((owner,),) = self._file.execute("SELECT owner FROM owners WHERE value = ?", (value,))
        return str(owner)

    @property
    def _file(self) -> apsw.Connection:
        """A file that nobody else sees, deleted when it is closed; created when it is needed."""
        if self._owners is None:
            self._owners = apsw.Connection("")
            self._owners.execute("CREATE TABLE owners (value TEXT PRIMARY KEY, owner TEXT) WITHOUT ROWID")
            self._owners.execute("BEGIN")
        return self._owners

    def close(self) -> None:
        if self._owners is not None:
            self._owners.close()
