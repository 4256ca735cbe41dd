"""A survey of stored data: how many items need which work, and what it costs, from a sample or from all items."""

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import apsw
import msgspec

from partita.design.tables import Table
from partita.dynamodb.canonical import ItemIdentity, item_size
from partita.dynamodb.shapes import TableDescription
from partita.dynamodb.values import Item
from partita.evolution.costs import BilledTable, billed_table, change_units, read_units_of_scan
from partita.evolution.counter_results import counters_of
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
from partita.plan.design import Counter, Design
from partita.plan.effects import COUNTED
from partita.plan.items import key_text

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
    """The result; numbers of a sample are scaled to the whole table."""

    items: float = 0.0
    read: int = 0
    bytes: float = 0.0
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
    tallies: dict[Place, float] = msgspec.field(default_factory=dict)  # units of owners, if all had children to count

    def scan_units(self, page: int, passes: int) -> float:
        """The units of some passes over the data, in pages of some items: each is rounded up.

        About half of the items that move are met again under their new keys.
        """
        if not self.items:
            return 0.0
        pages = math.ceil(self.items / page) * passes + math.ceil(self.moved / 2 / page)
        return pages * read_units_of_scan(int(page * self.bytes / self.items))

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
    holders = UniqueValues()
    try:
        _survey_tables(db, target, descriptions, result, holders, exact=exact, progress=progress)
        _add_tallies(result, holders)
    finally:
        holders.close()
    result.conflicts += holders.conflicts
    return result


def _add_tallies(result: Survey, holders: "UniqueValues") -> None:
    """Adds the writes of owners with children. Of a sample, the other items are taken to have other parents."""
    factor = result.items / result.read if result.read else 1.0
    for place, units_of_all in result.tallies.items():
        found = result.work[place]
        units = units_of_all * min(1.0, holders.parents(place[0]) * factor / found.items)
        found.units += units
        result.units += units


def _survey_tables(
    db: EvolutionStore,
    target: Target,
    descriptions: dict[str, TableDescription],
    result: Survey,
    holders: "UniqueValues",
    *,
    exact: bool,
    progress: Callable[[int], None],
) -> None:
    removed = target.removed
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
            _add_page(found, db.design, billed, page, holders)
            unreachable.add(page.items)
            progress(before + found.read)
        factor = 1.0 if whole or not found.read else max(1.0, count / found.read)
        result.conflicts += unreachable.sentences(factor)
        _merge(result, found, factor)
        result.is_exact = result.is_exact and whole


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
        "bytes",
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
    for place, each in found.work.items():
        known = into.work.setdefault(place, WorkTotal())
        known.items += each.items * factor
        known.units += each.units * factor
    for place, units in found.tallies.items():
        into.tallies[place] = into.tallies.get(place, 0.0) + units * factor
    for kind, several in found.examples.items():
        for text in several:
            into.example(kind, text)


def _add_page(result: Survey, design: Design, table: BilledTable, page: ScannedPage, holders: "UniqueValues") -> None:
    uniques = unique_values(design)
    for each in page.items:
        result.read += 1
        result.items += 1
        result.bytes += item_size(each.item)
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
        holders.add_parents(each)
        _add_counters(result, design, table, each)
    size = page_limit(ITEMS_PER_SECOND)  # an application reads so many at a time, and writes them together
    for at in range(0, len(page.items), size):
        for group in transactions_of([each for each in page.items[at : at + size] if each.work is not None]):
            _add_group(result, table, group)


def _add_guard(result: Survey, table: BilledTable, each: PageItem) -> None:
    """Adds the deletion of a guard of a value that is not unique any more."""
    _, entity, name, *_ = [*key_text(each.key).split("#"), "", ""]
    units = change_units(table, each.item, None, in_transaction=False)
    found = result.work.setdefault((entity, "dropped guards", name), WorkTotal())
    found.items += 1
    found.units += units
    result.units += units


def _add_counters(result: Survey, design: Design, table: BilledTable, each: PageItem) -> None:
    """Adds the writes that set the counters of an owner, and one that removes their tallies.

    Without children, it has no tallies, and a counter that is zero stays; a mark is removed together with the tallies.
    """
    build = design.data.build
    if build is None or each.model is None or each.is_guard:
        return
    counters = counters_of(design, build).get(each.model.name, [])
    before = each.item
    for counter in counters:
        after = {**before, counter.attribute.name: {"N": "1"}}
        units = change_units(table, before, after, in_transaction=False)
        place = _place_of(counter)
        found = result.work.setdefault(place, WorkTotal())
        found.items += 1
        if each.item.get(counter.attribute.name) == {"N": "0"}:
            result.tallies[place] = result.tallies.get(place, 0.0) + units
        else:
            found.units += units
            result.units += units
        before = after
    if counters and not (each.work is not None and WorkKind.COUNT in each.work.kinds):
        tallied = {**before, **{build.tally(counter) or "": {"N": "1"} for counter in counters}}
        units = change_units(table, tallied, before, in_transaction=False)
        place = _place_of(counters[0])
        result.tallies[place] = result.tallies.get(place, 0.0) + units


def _place_of(counter: Counter) -> Place:
    return counter.parent.name, "counter values", counter.attribute.name


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
            found = result.work.setdefault((work.stored.model.name, str(kind), name), WorkTotal())
            found.items += 1
            found.units += (own + others) / len(kinds)


def _units(
    table: BilledTable, each: PageItem, work: ItemWork, parents: set[ItemIdentity], *, in_transaction: bool
) -> tuple[float, float]:
    """The units of an item's own write, with that of removing its mark, and those of other items."""
    after = dict(work.stored.wanted)
    if WorkKind.REKEY in work.kinds:
        own = change_units(table, each.item, None, in_transaction=True)
        marked = next(action.item or {} for action in work.actions if action.kind == "put" and action.own)
        own += change_units(table, None, marked, in_transaction=True)
    else:
        marked = _after(each.item, work.actions[0])
        own = change_units(table, each.item, marked, in_transaction=in_transaction)
    if COUNTED in marked:
        own += change_units(table, marked, after, in_transaction=False)
    others = 0.0
    for action in work.actions:
        if not action.own and action.identity not in parents:
            parents.add(action.identity)
            others += 2.0
    return own, others


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
    """The unique values that items want, to find two that want the same, and the parents of what is to be counted.

    They are in a temporary file.
    """

    def __init__(self) -> None:
        self._owners: apsw.Connection | None = None
        self.conflicts: list[str] = []

    def add(self, each: PageItem) -> None:
        """Adds the values of an item."""
        if each.effects is None or each.model is None:
            return
        for identity, guard in each.effects.guards.items():
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
            self._owners.execute("CREATE TABLE parents (entity TEXT, parent TEXT, UNIQUE (entity, parent))")
            self._owners.execute("BEGIN")
        return self._owners

    def add_parents(self, each: PageItem) -> None:
        """Adds the parents in which an item is going to be counted."""
        if each.effects is None or each.work is None or WorkKind.COUNT not in each.work.kinds:
            return
        for (identity, _), (counter, _, _) in each.effects.counts.items():
            row = (counter.parent.name, str(identity))
            self._file.execute("INSERT INTO parents VALUES (?, ?) ON CONFLICT DO NOTHING", row)

    def parents(self, entity: str) -> int:
        """The number of different parents of an entity."""
        ((count,),) = self._file.execute("SELECT count(*) FROM parents WHERE entity = ?", (entity,))
        return int(count)

    def close(self) -> None:
        if self._owners is not None:
            self._owners.close()
