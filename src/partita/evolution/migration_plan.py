"""The plan of an application: what a design means for stored data, before anything is done."""

from collections.abc import Callable, Iterator

import msgspec

from partita.evolution.costs import prices
from partita.evolution.evolution_store import EvolutionStore, evolution_store
from partita.evolution.pages import ITEMS_PER_SECOND
from partita.evolution.programs import ObservedPrograms
from partita.evolution.survey import Survey, survey
from partita.evolution.table_changes import (
    actual_tables,
    describe,
    missing_settings,
    superfluous_indexes,
    unfinished_parts,
)
from partita.evolution.targets import Target, target_of
from partita.evolution.unreachable_items import UnreachableItems
from partita.plan.design import CounterBuild
from partita.plan.table_definitions import differences, has_other_key
from partita.quantities import quantity
from partita.store.design_records import fetch_designs
from partita.store.readiness import written_otherwise
from partita.store.store import Store


class PlanStep(msgspec.Struct, frozen=True):
    """One kind of work: the items that need it, and the write units."""

    action: str
    items: int
    write_units: float


class MigrationPlan(msgspec.Struct, frozen=True):
    """What `partita apply` would do.

    design_changes  The differences between the recorded design and this one, in words.
    tables          Tables and indexes to create, and the indexes to drop at the end.
    blocked         What DynamoDB does not allow to change, and conflicts that people have to decide.
    steps           The work on items.
    unexplained     Items that no entity explains; they stay as they are.
    unreadable      Items that their entity cannot read; they stay as they are.
    """

    design: str
    is_recorded: bool
    is_exact: bool
    items: int
    design_changes: list[str]
    tables: list[str]
    steps: list[PlanStep]
    blocked: list[str]
    unexplained: int
    unreadable: int
    examples: dict[str, list[str]]
    programs: list[str]
    write_units: float
    read_units: float
    dollars: float
    prices_of: str
    seconds: float
    affects: str

    @property
    def has_work(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.tables or self.steps or self.blocked or self.design_changes)


def plan_migration(
    db: Store, *, exact: bool = False, progress: Callable[[int], None] = lambda _: None
) -> MigrationPlan:
    """The plan for the data of a store; without `exact`, numbers of large tables are estimated from a sample."""
    private = evolution_store(db)
    names = {table.name: db.table_name(table) for table in db.design.tables}
    records = private.run_flow(fetch_designs(private.context, list(names.values())))
    target = target_of(private, records)
    counting = frozenset((each.parent.name, each.attribute.name) for each in target.new_counters)
    if counting:
        private.design.data.build = CounterBuild("plan", counting)
    found = {table.name: describe(private, table) for table in actual_tables(private)}
    described = {declared: found[actual] for declared, actual in names.items()}
    existing = {
        table.name: each
        for table in private.design.tables
        if (each := described[table.name]) is not None and not has_other_key(table, each)
    }
    tables, blocked = _table_changes(private)
    surveyed = survey(private, target, existing, exact=exact, progress=progress)
    number = max((each.number for each in records.values()), default=0)
    programs = ObservedPrograms(private, target.facts).recently_in_the_way(number)
    return _plan(target, surveyed, tables, blocked, programs, {names[each] for each in existing})


def _table_changes(db: EvolutionStore) -> tuple[list[str], list[str]]:
    tables, blocked = [], []
    for table in actual_tables(db):
        description = describe(db, table)
        if description is None:
            tables.append(f"create table {table.name}")
            continue
        superfluous = set(superfluous_indexes(table, description))
        for each in differences(table, description):
            if each.request is not None:
                tables.append(each.to_do)
            elif not any(name in each.sentence.split() for name in superfluous):
                blocked.append(each.sentence)
        tables += [f"wait: {each}" for each in unfinished_parts(description)]
        tables += missing_settings(db, table)
        tables += [f"drop index {name}, at the end" for name in sorted(superfluous)]
    return tables, blocked


def _plan(
    target: Target, surveyed: Survey, tables: list[str], blocked: list[str], programs: list[str], existing: set[str]
) -> MigrationPlan:
    clean = 2 if any(model.old_keys for model in target.design.models) else 1
    verifying = clean + (1 if surveyed.written else 0)
    passes = verifying + (1 if target.design.data.build is None else 3)
    passes += 1 if UnreachableItems(target).are_possible else 0
    steps = list(_steps(surveyed))
    reads = _read_units(surveyed, passes, verifying) if steps else 0.0
    changes = [str(each) for each in target.differences]
    return MigrationPlan(
        design=target.design.name,
        is_recorded=target.is_recorded(existing),
        is_exact=surveyed.is_exact,
        items=round(surveyed.items),
        design_changes=changes,
        tables=tables,
        steps=steps,
        blocked=[*blocked, *target.blocked, *surveyed.conflicts],
        unexplained=round(surveyed.unexplained),
        unreadable=round(surveyed.unreadable),
        examples=surveyed.examples,
        programs=programs,
        write_units=round(surveyed.units, 1),
        read_units=reads,
        dollars=prices().dollars(surveyed.units, reads),
        prices_of=f"{prices().region}, {prices().date}",
        seconds=round(surveyed.items * passes / ITEMS_PER_SECOND, 1) if steps else 0.0,
        affects=_effect(target, changes),
    )


def _read_units(surveyed: Survey, passes: int, verifying: int) -> float:
    """The units of all passes: the items, the guards that they want, the owners of guards, and keys to move to."""
    guards = surveyed.guarded * passes + max(surveyed.guards, surveyed.guarded) * verifying
    return round(surveyed.scan_units(passes) + guards + surveyed.moved, 1)


def _steps(surveyed: Survey) -> Iterator[PlanStep]:
    words = {
        "index keys": "write the keys of {entity} in index {name}",
        "counters": "count {entity} for {name}",
        "counter values": "set {entity}.{name}",
        "guards": "create the guards of {entity}.{name}",
        "dropped guards": "delete the guards of {entity}.{name}, which is not unique any more",
        "TTL": "set the TTL of {entity}",
        "re-key": "move {entity} to its new key",
        "attributes": "convert or fill in {entity}.{name}",
        "removed attributes": "remove {entity}.{name}",
    }
    for (entity, kind, name), found in sorted(surveyed.work.items()):
        sentence = words[kind] if name or kind != "counters" else "mark {entity} that no counter counts"
        yield PlanStep(sentence.format(entity=entity, name=name), round(found.items), round(found.units, 1))


def _effect(target: Target, changes: list[str]) -> str:
    """Whether programs are affected while the design is applied."""
    return "; ".join(_effects(target)) or (
        "none: programs of both designs may work until the backfill begins, which waits for the earlier ones"
        if changes
        else "none"
    )


def _effects(target: Target) -> Iterator[str]:
    differences = target.differences
    if any(each.fact.endswith(" key") and each.old and each.new for each in differences):
        yield "programs of the earlier design do not find items under new keys: stop them before you apply"
    for moved in target.moved_entities:
        yield f"programs of the earlier design miss what is written to table {moved.table}: {moved.entity}"
    held = sorted({name for each in differences for name in written_otherwise(target.design, each)})
    if held:
        yield (
            f"programs of this design do not write {', '.join(held)} until those of the earlier one have ended, which "
            "would misread it; a change under another name avoids that"
        )
    kinds = (" in ", " counts ", "index ")
    gone = [each.fact for each in differences if each.new is None and any(kind in each.fact for kind in kinds)]
    if gone:
        yield f"programs of the earlier design miss there what new ones write: {', '.join(gone)}"


def plan_text(plan: MigrationPlan) -> str:
    """The plan for people."""
    return "\n".join(_lines(plan))


def _lines(plan: MigrationPlan) -> Iterator[str]:
    about = "" if plan.is_exact else "about "
    if not plan.is_recorded:
        yield f"{plan.design}: it is not recorded which design the data has; its items were compared with this one."
    if not plan.has_work:
        as_designed = plan.items - plan.unexplained - plan.unreadable
        unchanged = quantity(as_designed, "item is as the design stores it", "items are as the design stores them")
        yield f"{plan.design}: nothing to do; {about}{unchanged}."
    else:
        yield f"{plan.design}: {about}{quantity(plan.items, 'item')}"
    for title, listed in (("the design has changed", plan.design_changes), ("tables", plan.tables)):
        if listed:
            yield f"\n{title}:"
            yield from (f"  {each}" for each in listed)
    if plan.steps:
        yield "\nitems:"
        width = max(len(each.action) for each in plan.steps)
        for each in plan.steps:
            noun = "item " if each.items == 1 else "items"
            yield f"  {each.action:<{width}}  {about}{each.items:>9,} {noun}  {each.write_units:>10,.0f} write units"
        yield (
            f"\n{about}{plan.write_units:,.0f} write units and {plan.read_units:,.0f} read units, "
            f"{plan.dollars:.4f} USD ({plan.prices_of}), {max(plan.seconds, 1):,.0f} seconds; "
            f"effect on reads and writes: {plan.affects}"
        )
    for title, count, kind in (
        ("that no entity explains", plan.unexplained, "unexplained"),
        ("that cannot be read", plan.unreadable, "unreadable"),
    ):
        if count:
            words = quantity(count, f"item {title}; it stays as it is", f"items {title}; they stay as they are")
            yield f"\n{about}{words}:"
            yield from (f"  {each}" for each in plan.examples.get(kind, ()))
    if plan.programs:
        yield "\nprograms that work on the data now:"
        yield from (f"  {each}" for each in plan.programs)
    if plan.blocked:
        yield "\nto be decided by people before it can be applied:"
        yield from (f"  {each}" for each in plan.blocked)
