"""Applying a design to data while programs read and write it, in an order in which their answers stay right.

    building      Tables and indexes are created. Programs of the earlier and of the new design work side by side; the
                  new ones write all that the new design wants, and do not read yet what is not there.
    backfilling   No program of the earlier design is left. Every item gets what it lacks, until a pass over all of them
                  finds nothing; then the counters are set, and counted once more.
    cleaning      The new design is public. Marks of the counting are removed, and indexes that it does not have.
    public        Done.

The state is recorded with the data: an interrupted run goes on where it was, and a finished one has nothing to do.
Until the design is public, `roll_back` makes the earlier one the design of the data again.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any

import msgspec

from partita.design.conditions import Condition, F
from partita.design.tables import Table
from partita.errors import AlreadyExists, ConditionFailed, ConfigurationError, MigrationBlocked, NotFound, PartitaError
from partita.evolution.counter_results import CounterTotals, set_counters
from partita.evolution.evolution_store import evolution_store
from partita.evolution.guards import OrphanedGuards, unique_values
from partita.evolution.leftover_items import remove_leftovers
from partita.evolution.page_writes import PageResult, do_page
from partita.evolution.pages import Removed, ScannedPage, fetch_page, page_limit, scan_request
from partita.evolution.programs import ObservedPrograms
from partita.evolution.table_changes import TableWait, change_tables, drop_indexes
from partita.evolution.targets import Target, attributes_without, design_facts, target_of
from partita.evolution.unreachable_items import UnreachableItems
from partita.plan.design import CounterBuild
from partita.process_identity import is_dead, this_process
from partita.store.design_records import (
    DataDesign,
    create_record_table,
    data_design,
    earlier_digests,
    fetch_designs,
    record_design,
)
from partita.store.design_watch import CHECK_EVERY
from partita.store.store import Store

LEASE = timedelta(seconds=30)
PASSES = 20
RECOUNTS = 3


class Progress(msgspec.Struct, frozen=True):
    """How far an application is: the phase in words, the items read in it, and the work done so far."""

    phase: str
    items: int
    written: int


class ApplyResult(msgspec.Struct):
    """What an application has done: items by (entity, kind, name), and what was found that no design explains."""

    done: dict[tuple[str, str, str], int] = msgspec.field(default_factory=dict)
    tables: list[str] = msgspec.field(default_factory=list)
    counters_set: int = 0
    passes: int = 0
    unexplained: list[str] = msgspec.field(default_factory=list)
    unreadable: list[str] = msgspec.field(default_factory=list)

    @property
    def changed(self) -> int:
        """How many changes were made to items."""
        return sum(self.done.values()) + self.counters_set


def apply_design(
    db: Store,
    *,
    progress: Callable[[Progress], None] = lambda _: None,
    items_per_second: float | None = None,
    patience: float | None = None,
    table_patience: float | None = None,
    counting: list[str] | None = None,
) -> ApplyResult:
    """Brings the data of a store to its design; MigrationBlocked where people or programs stand in the way.

    `patience` is how many seconds to wait for programs of the earlier design, and `table_patience` for each table and
    index until it can be used; None waits for ever. `counting` names counters, as Entity.attribute, that are counted
    again though the design has them already.
    """
    return _Application(db, progress, items_per_second, patience, table_patience, counting or []).run()


def count_again(db: Store, counters: list[str], items_per_second: float | None = None) -> ApplyResult:
    """Counts counters again that data of the design has, while programs write; conflicts of other kinds stay."""
    application = _Application(db, lambda _: None, items_per_second, None, None, counters)
    application.leaves_conflicts = True
    return application.run()


def roll_back(db: Store) -> bool:
    """Makes the design before an unfinished application the design of the data again; what was added stays unused.

    Where no design was recorded before, none is afterwards. False if no design is being applied.
    """
    application = _Application(db, lambda _: None, None, 0, 0, [])
    records = application.read().records
    for name, record in records.items():
        if record.state == "cleaning":
            raise ConfigurationError(f"table {name}: the new design is public already; apply the earlier one instead")
    unfinished = {name: each for name, each in records.items() if each.state != "public" or each.target is not None}
    try:
        with application.records.transaction() as transaction:
            for name, record in unfinished.items():
                as_read = F.number == record.number
                if record.is_first:  # the design of the data was not known before, and is not known now
                    transaction.delete(data_design(name), when=as_read)
                    continue
                draft = transaction.change(data_design(name), when=as_read)
                draft.abandoned = _abandoned(record)
                draft.state, draft.target, draft.runner, draft.runner_until = "public", None, "", None
                draft.number = record.number + 1
                draft.counting = []
    except (ConditionFailed, NotFound):
        raise MigrationBlocked(
            application.db.design.name, ["the application goes on meanwhile: stop it, then roll it back"]
        ) from None
    return bool(unfinished)


def _abandoned(record: DataDesign) -> dict[str, set[str]]:
    """What programs of designs that were rolled back may have written, with those of the one that is now."""
    found = {entity: set(names) for entity, names in record.abandoned.items()}
    for entity, names in attributes_without(record.wanted, record.facts).items():
        found.setdefault(entity, set()).update(names)
    return found


class _Application:
    """One run of an application."""

    def __init__(
        self,
        db: Store,
        progress: Callable[[Progress], None],
        items_per_second: float | None,
        patience: float | None,
        table_patience: float | None,
        counting: list[str],
    ) -> None:
        self.db = evolution_store(db)
        self.records = evolution_store(db, record_design())
        self._progress = progress
        self._rate = items_per_second
        self._page_limit = page_limit(items_per_second)
        self._patience = patience
        self._table_patience = table_patience
        self._counting = counting
        self._runner = f"{this_process()} {secrets.token_hex(4)}"
        self._number = 0
        self._has_begun = False
        self._ended: set[tuple[str, datetime]] = set()  # runs whose clocks are ahead, and that do not go on
        self._renewed_at: datetime | None = None
        self._items = 0
        self._programs = ObservedPrograms(self.db, design_facts(self.db))  # all waits of a run know what it has seen
        self.leaves_conflicts = False
        self.result = ApplyResult()

    def read(self) -> Target:
        """The design beside what is recorded now."""
        names = [self.db.table_name(table) for table in self.db.design.tables]
        return target_of(self.db, self.db.run_flow(fetch_designs(self.db.context, names)))

    def run(self) -> ApplyResult:
        _RUNNING.add(self._runner)
        try:
            return self._run()
        except BaseException:
            self._give_up()
            raise
        finally:
            _RUNNING.discard(self._runner)
            self.db.end_threads()

    def _give_up(self) -> None:
        """Lets the next run begin at once, if this one has begun; its lease would end by itself."""
        if self._has_begun:
            with suppress(PartitaError, OSError):
                self._set(self.read(), runner_until=None)

    def _run(self) -> ApplyResult:
        self.db.run_flow(create_record_table(self.db.context))
        target = self.read()
        if target.blocked:
            raise MigrationBlocked(self.db.design.name, target.blocked)
        for each in target.records.values():
            self._check_free(each, target)
        self.result.tables += change_tables(self.db, TableWait(self._report, self._table_patience))
        self._check_items(target)
        target = self._begin(target)
        self._has_begun = True
        if next(iter(target.records.values())).state != "cleaning":
            self._backfill(target)
        self._clean()
        return self.result

    def _check_items(self, target: Target) -> None:
        """MigrationBlocked where the design would lose items, before programs of the earlier one are locked out."""
        if all(each.state == "public" for each in target.records.values()) and UnreachableItems(target).are_possible:
            unreachable = UnreachableItems(target)
            for page in self._pages(None, target.removed, "checking"):
                unreachable.add(page.items)
            self._check_reachable(unreachable)

    def _check_reachable(self, unreachable: UnreachableItems) -> None:
        if sentences := unreachable.sentences():
            raise MigrationBlocked(self.db.design.name, sentences)

    # the states

    def _begin(self, target: Target) -> Target:
        """Records that the design is being applied, or takes over from a run that was interrupted."""
        for each in target.records.values():
            self._check_free(each, target)
        under_way = [each for each in target.records.values() if each.state != "public"]
        if under_way and len(under_way) == len(target.facts):
            return self._taken_over(target)
        counting = self._counting or [f"{each.parent.name}.{each.attribute.name}" for each in target.new_counters]
        self._number = max((each.number for each in target.records.values()), default=0) + 1
        build = secrets.token_hex(4)
        with self._transaction() as transaction:
            for name, facts in target.facts.items():
                record = target.records.get(name)
                fields: dict[str, Any] = {
                    "state": "building",
                    "number": self._number,
                    "target": dict(facts),
                    "build": build,
                    "counting": counting,
                    "runner": self._runner,
                    "runner_until": self.db.now() + LEASE,
                }
                if record is None:
                    is_new = f"table {name} created" in self.result.tables
                    transaction.create(DataDesign(table=name, facts=dict(facts), is_first=not is_new, **fields))
                else:
                    draft = transaction.change(data_design(name), when=F.number == record.number)
                    for field, value in fields.items():
                        setattr(draft, field, value)
        return self.read()

    def _taken_over(self, target: Target) -> Target:
        self._number = max(each.number for each in target.records.values())
        with self._transaction() as transaction:
            for name, record in target.records.items():
                as_read = (F.number == record.number) & (F.runner == record.runner)
                draft = transaction.change(data_design(name), when=as_read)
                draft.runner, draft.runner_until = self._runner, self.db.now() + LEASE
        return self.read()

    def _check_free(self, record: DataDesign, target: Target) -> None:
        if self._is_running(record):
            raise MigrationBlocked(
                self.db.design.name, [f"{_words_of_runner(record.runner)} is applying a design to {record.table}"]
            )
        if record.target is not None and dict(record.target) != dict(target.facts[record.table]):
            raise MigrationBlocked(
                self.db.design.name,
                [f"another design was being applied to {record.table}; finish it, or roll it back with --rollback"],
            )

    def _is_running(self, record: DataDesign) -> bool:
        """Whether a recorded run still has its place; where its clock is ahead, by whether it renews that."""
        until, now = record.runner_until, self.db.now()
        if until is None or until <= now or not _may_run(record.runner) or (record.runner, until) in self._ended:
            return False
        if until <= now + LEASE:
            return True
        self._report("waiting: whether the run of another machine, whose clock is ahead, goes on")
        self.db.sleep(LEASE.total_seconds())
        again = self.read().records.get(record.table)
        if again is None or (again.runner, again.runner_until) != (record.runner, until):
            return True
        self._ended.add((record.runner, until))
        return False

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """Writes of the records together; MigrationBlocked where they have changed."""
        try:
            with self.records.transaction() as transaction:
                yield transaction
        except (ConditionFailed, AlreadyExists, NotFound):
            raise MigrationBlocked(
                self.db.design.name, ["another process has taken over, or rolled it back meanwhile"]
            ) from None

    @property
    def _is_ours(self) -> Condition:
        return (F.number == self._number) & (F.runner == self._runner)

    def _set(self, target: Target, **fields: Any) -> None:
        """Changes the records of all tables together, if this run still has them."""
        with self._transaction() as transaction:
            for name in target.facts:
                draft = transaction.change(data_design(name), when=self._is_ours)
                for field, value in fields.items():
                    setattr(draft, field, value)
        self._number = fields.get("number", self._number)

    def _renew(self, target: Target) -> None:
        """Keeps the place of this run, from time to time."""
        now = self.db.now()
        if self._renewed_at is not None and self._renewed_at <= now < self._renewed_at + LEASE / 3:
            return
        self._renewed_at = now
        self._set(target, runner_until=now + LEASE)

    def _wait(self, target: Target, what: str) -> None:
        """Waits for the programs; MigrationBlocked where some are still in the way."""

        def report(left: list[str]) -> None:
            self._renew(target)
            self._report(f"waiting: {left[0]}" + (f", and {len(left) - 1} more" if len(left) > 1 else ""))

        left = self._programs.wait(self._number, report, self._patience)
        if left:
            raise MigrationBlocked(self.db.design.name, [f"{what}: {each}" for each in left])

    def _wait_for_unrecorded_programs(self) -> None:
        """Programs that began before anything was recorded are recorded when they read the state the next time."""
        self._report("waiting: programs have not noticed yet")
        seconds = CHECK_EVERY.total_seconds() * 1.2
        self.db.sleep(seconds if self._patience is None else min(seconds, self._patience))

    def _backfill(self, target: Target) -> None:
        if next(iter(target.records.values())).state == "building":
            if any(each.is_first for each in target.records.values()):
                self._wait_for_unrecorded_programs()
            self._wait(target, "programs with the earlier design still work")
            self._set(target, state="backfilling", number=self._number + 1)
            target = self.read()
            self._wait(target, "programs have not noticed")
        wrong: list[str] = []
        for _ in range(RECOUNTS):
            build = _build(target)
            self.db.design.data.build = build
            self._pass_until_clean(target)
            if build is None:
                break
            self.result.counters_set += set_counters(self.db, build, self._pages(target, {}, "setting counters"))
            wrong = self._wrong_counters(target, build)
            if not wrong:
                break
            self._set(target, number=self._number + 1, build=secrets.token_hex(4))  # they are counted again
            target = self.read()
            self._wait(target, "programs have not noticed")
        if wrong:
            raise MigrationBlocked(self.db.design.name, [*wrong, "do other programs write the data?"])
        self._publish(target)

    def _pass_until_clean(self, target: Target) -> None:
        """Passes over all items until one finds nothing to do, which is the verification of the data.

        Where programs move items from old keys, one may get behind a pass unseen: then two have to find nothing.
        """
        removed = target.removed
        clean, needed = 0, 2 if any(model.old_keys for model in self.db.design.models) else 1
        orphans = OrphanedGuards(self.db, unique_values(self.db.design))
        for number in range(PASSES):
            result = PageResult()
            self.result.passes += 1
            self.result.unexplained, self.result.unreadable = [], []
            unreachable = UnreachableItems(target)
            for page in self._pages(target, removed, "verifying" if number else "backfilling", result):
                self._note(page)
                unreachable.add(page.items)
                do_page(self.db, removed, page.items, result)
                result.written += sum(orphans.settle(each) for each in page.items if each.is_guard)
            for place, count in result.done.items():
                self.result.done[place] = self.result.done.get(place, 0) + count
            self._check_reachable(unreachable)
            if result.conflicts and not self.leaves_conflicts:
                raise MigrationBlocked(self.db.design.name, result.conflicts)
            clean = 0 if result.written else clean + 1
            if clean == needed:
                return
        raise MigrationBlocked(
            self.db.design.name, [f"items still differ after {PASSES} passes: do others write them?"]
        )

    def _note(self, page: ScannedPage) -> None:
        for each in page.items:
            if each.error:
                self.result.unreadable.append(f"{each.name}: {each.error}")
            elif each.model is None and not each.is_guard:
                self.result.unexplained.append(each.name)

    def _wrong_counters(self, target: Target, build: CounterBuild) -> list[str]:
        """The counters that do not agree with their children, in two passes over all items."""
        wrong: set[str] = set()
        for at in range(2):
            totals = CounterTotals(self.db.design, build)
            for page in self._pages(target, {}, "verifying counters"):
                totals.add(page)
            found = {str(each) for each in totals.wrong(self.db) if each.is_still}
            wrong = wrong & found if at else found
            if not wrong:
                break
        return sorted(wrong)

    def _publish(self, target: Target) -> None:
        with self._transaction() as transaction:
            for name, record in target.records.items():
                draft = transaction.change(data_design(name), when=self._is_ours)
                draft.state, draft.number = "cleaning", self._number + 1
                draft.facts, draft.target = dict(target.facts[name]), None
                draft.counting, draft.is_first = [], False
                if dict(record.facts) != dict(target.facts[name]):
                    draft.earlier = earlier_digests(record)
        self._number += 1

    def _clean(self) -> None:
        target = self.read()
        self._number = max(each.number for each in target.records.values())
        self.db.design.data.build = None
        self._wait(target, "programs have not noticed")
        remove_leftovers(self.db, self._pages(target, {}, "cleaning up"))

        def report(phase: str) -> None:
            self._renew(target)
            self._report(phase)

        self._items = 0
        self.result.tables += drop_indexes(self.db, TableWait(report, self._table_patience))
        self._set(target, state="public", number=self._number + 1, build="", runner="", runner_until=None, abandoned={})

    # pages

    def _pages(
        self, target: Target | None, removed: Removed, phase: str, result: PageResult | None = None
    ) -> Iterator[ScannedPage]:
        """The pages of all tables, at the rate that is asked for; a run that has begun keeps its place meanwhile."""
        self._items = 0
        for table in self.db.design.tables:
            yield from self._table_pages(target, removed, table, phase, result)

    def _table_pages(
        self, target: Target | None, removed: Removed, table: Table, phase: str, result: PageResult | None
    ) -> Iterator[ScannedPage]:
        start = None
        while True:
            if target is not None:
                self._renew(target)
            begun = self.db.now()
            request = scan_request(table, start, limit=self._page_limit)
            page = self.db.run_flow(fetch_page(self.db.context, self.db.design, removed, request, table))
            yield page
            self._items += len(page.items)
            self._report(phase, 0 if result is None else result.written)
            if self._rate:
                spent = (self.db.now() - begun).total_seconds()
                self.db.sleep(max(0.0, len(page.items) / self._rate - spent))
            start = page.next_key
            if start is None:
                return

    def _report(self, phase: str, written: int = 0) -> None:
        self._progress(Progress(phase, self._items, written))


_RUNNING: set[str] = set()
"""The runs of this process."""


def _may_run(runner: str) -> bool:
    """Whether a recorded run may still go on: one of this process has ended with its call, another with its process."""
    process = runner.partition(" ")[0]
    is_here = bool(process) and process == this_process()
    return runner in _RUNNING if is_here else not is_dead(process)


def _words_of_runner(runner: str) -> str:
    process = runner.partition(" ")[0].split("/")
    return f"process {process[-2]}" if len(process) > 1 else "another process"


def _build(target: Target) -> CounterBuild | None:
    """The counters that are being counted, as recorded."""
    record = next(iter(target.records.values()))
    pairs = frozenset(_pair(name) for each in target.records.values() for name in each.counting)
    return CounterBuild(record.build, pairs) if pairs else None


def _pair(name: str) -> tuple[str, str]:
    entity, _, attribute = name.partition(".")
    return entity, attribute
