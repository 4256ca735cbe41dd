"""Reads beside the reference: patterns in all page sizes, scans, several gets, and searches by a unique value."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from partita import InvalidValue, PartitaError
from tests.fuzz.answers import answer, has_reversed_bounds
from tests.fuzz.conditions import Condition
from tests.fuzz.designs import EntitySpec
from tests.fuzz.drivers import Driver
from tests.fuzz.patterns import PatternSpec
from tests.fuzz.runner import Run
from tests.fuzz.shown import error_text, shown, values_of
from tests.fuzz.source_text import literal
from tests.fuzz.stored import Values, identity, is_alive, unique_value


def check_read(run: Run, pattern: PatternSpec, given: list[Any], bounds: list[Any]) -> None:
    """One call of a pattern: the whole answer, every page size, both drivers."""
    passed = [each for at, each in enumerate(given) if pattern.single or not pattern.all_shards(at)]
    call = run.loaded.names[pattern.name](*passed, *bounds)
    source = f"{pattern.name}({', '.join(map(literal, [*passed, *bounds]))})"
    wanted = answer(pattern, run.state, given, bounds, run.clock.now)
    try:
        if pattern.single:
            found = [driver.one(call) for driver in run.drivers]
            lists = [[] if each is None else [each] for each in found]
        else:
            lists = [driver.all(call) for driver in run.drivers]
    except PartitaError as error:
        if isinstance(error, InvalidValue) and has_reversed_bounds(pattern, bounds):
            return
        raise run.difference(f"{source} raises {error_text(error)}") from error
    answers = lists[0]
    _compare(run, source, answers, wanted)
    if lists[1] != answers:
        raise run.difference(f"{source} differs when it is awaited")
    if pattern.single:
        return
    _check_order(run, pattern, answers, source)
    for size in range(1, len(answers) + 2):
        if _paged(run, run.drivers[size % 2], call, size) != answers:
            raise run.difference(f"{source} differs in pages of {size}")


def _compare(run: Run, source: str, answers: Iterable[Any], wanted: Iterable[tuple[str, Values]]) -> None:
    """The same entities, in any order."""
    got = Counter(shown(type(each).__name__, values_of(each)) for each in answers)
    expected = Counter(shown(name, values) for name, values in wanted)
    if got != expected:
        raise run.difference(f"{source} gives\n{got}\nexpected\n{expected}")


def _paged(run: Run, driver: Driver, call: Any, size: int) -> list[Any]:
    found: list[Any] = []
    cursor = None
    for _ in range(1000):
        page = driver.page(call, size, cursor)
        found += page.items
        cursor = page.cursor
        if cursor is None:
            return found
        if len(page.items) > size:
            break
    raise run.difference(f"pages of {size} of {call} do not end")


def _check_order(run: Run, pattern: PatternSpec, answers: list[Any], source: str) -> None:
    if not pattern.promise:
        return
    ranks: list[tuple[Any, ...]] = []
    for each in answers:
        name = type(each).__name__
        keys = next(keys for entity, keys in pattern.sources if pattern.result(entity, keys) == name)
        slot = keys.slots[pattern.given]
        if not hasattr(each, slot.field):
            return  # a view without the part
        value = getattr(each, slot.field)
        rank = slot.form.order or (lambda value: value)
        absent = 1 if slot.form.falls else -1  # an item without the part is the first of the key
        ranks.append((absent,) if value is None else (0, rank(slot.form.part(value))))
    if ranks != sorted(ranks, reverse=pattern.promise == "largest_first"):
        raise run.difference(f"{source} promises {pattern.promise}, and gives {ranks}")


def check_scan(run: Run, entity: EntitySpec, where: Condition) -> None:
    """A scan of one entity with a filter."""
    scanned = run.quiet.store.scan(run.loaded.cls(entity), where=run.quiet.condition(where))
    wanted = [
        (entity.name, values)
        for each, values in run.state.items.values()
        if each is entity and is_alive(each, values, run.clock.now) and where.test(values)
    ]
    source = f"db.scan({entity.name}, where={where})"
    try:
        answers = list(scanned)
    except PartitaError as error:
        raise run.difference(f"{source} raises {error_text(error)}") from error
    _compare(run, source, answers, wanted)


def check_other_reads(run: Run) -> None:
    """Scans, several gets, and searches by a unique value."""
    now = run.clock.now
    alive = [each for each in run.state.items.values() if is_alive(*each, now)]
    store = run.quiet.store
    wanted = [(each.name, values) for each, values in alive]
    _compare(run, "a scan", store.scan(*(run.loaded.cls(each) for each in run.loaded.spec.entities)), wanted)
    gets = [run.quiet.get(each, values) for each, values in alive]
    _compare(run, "get_many", [each for each in store.get_many(gets) if each is not None], wanted)
    if gets:
        _compare(run, "transact_get", [each for each in store.transact_get(*gets) if each is not None], wanted)
    for each, values in alive:
        for unique in each.uniques:
            if unique_value(each, unique, values) is not None:
                given = [values[name] for name in unique.fields]
                found = store.find_by_unique(run.loaded.cls(each), unique.name, *given)
                if found is None or identity(each, values_of(found)) != identity(each, values):
                    raise run.difference(f"find_by_unique({each}, {unique.name!r}, {given}) gives {found}")
