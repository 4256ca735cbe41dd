"""One random design, from its declaration to the comparison of every answer; and many of them, by a seed."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import hypothesis
from hypothesis import HealthCheck, Phase, assume, event, given, settings
from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption
from hypothesis.internal.conjecture.engine import ConjectureRunner

from tests.fuzz.conditions import conditions
from tests.fuzz.forms import TIME_FORMATS
from tests.fuzz.generate import designs
from tests.fuzz.generate_patterns import patterns
from tests.fuzz.hosts import Host, opened
from tests.fuzz.patterns import load
from tests.fuzz.reads import check_other_reads, check_read, check_scan
from tests.fuzz.runner import Run
from tests.fuzz.vectors import check_search, search_arguments, searches
from tests.fuzz.write_spec import Write
from tests.fuzz.writes import arguments, entity_values, fault_plans, writes


def fuzz_one(data: st.DataObject, host: Host) -> None:
    """One design, from its declaration to the comparison of every answer."""
    spec = data.draw(designs())
    assume(host.expires or not spec.ttl)
    wanted = [data.draw(patterns(spec, f"q{at}")) for at in range(6)]
    nearest = [data.draw(searches(spec, f"s{at}")) for at in range(2)] if spec.vectors else []
    searched = [each for each in nearest if each is not None]
    loaded = load(spec, [*wanted, *searched])
    event("accepted" if loaded is not None else "refused")
    assume(loaded is not None)
    assert loaded is not None
    run = Run.start(loaded, *host.begin())
    for _ in range(data.draw(st.integers(1, 12))):
        one_write(data, run)
        run.check()
    for pattern in wanted:
        for _ in range(3 if pattern.name in loaded.accepted else 0):
            check_read(run, pattern, *data.draw(arguments(run.state, pattern)))
    for search in searched:
        event("searched" if search.name in loaded.accepted else "refused search")
        for _ in range(3 if search.name in loaded.accepted else 0):
            check_search(run, search, data.draw(search_arguments(run.state, search)))
    for each in spec.entities:
        check_scan(run, each, data.draw(conditions(each, in_key=True)))
    check_other_reads(run)


def one_write(data: st.DataObject, run: Run) -> None:
    """A write: alone, with faults, or with another one in its middle."""
    spec = run.loaded.spec
    old = [each for each in spec.entities if each.old is not None]
    how = data.draw(st.sampled_from(["alone", "alone", "alone", "faults", "faults", "every fault", "meanwhile"]))
    driver = data.draw(st.integers(0, 1))
    if spec.ttl and data.draw(st.integers(0, 3)) == 3:
        run.advance(data.draw(st.sampled_from([37, 300, 700])))
    under_old_key: int = data.draw(st.integers(0, 1))
    if old and under_old_key:
        entity = data.draw(st.sampled_from(old))
        made = Write("create", entity, data.draw(entity_values(entity, run)))
        time_format = data.draw(st.sampled_from(sorted(TIME_FORMATS)))
        run.put_under_old_key(made, time_format, data.draw(st.sets(st.sampled_from(entity.key.fields or [""]))))
        if data.draw(st.integers(0, 3)) == 3:
            run.write(Write("delete", entity, key={name: made.values[name] for name in entity.key.fields}), driver)
        return
    write = data.draw(writes(run))
    if how == "every fault":
        run.write_with_every_fault(write, driver)
    elif how == "meanwhile":
        other = data.draw(writes(run))
        run.write(write, driver, data.draw(fault_plans()), other, data.draw(st.integers(0, 3)))
    else:
        run.write(write, driver, data.draw(fault_plans()) if how == "faults" else [])


def first_difference(designs: int) -> str:
    """The first difference among so many designs, as it was found; nothing where all of them hold."""
    held, difference = _difference(designs, [Phase.generate], seed=0)
    return difference and f"after {held} designs: {difference}"


def smallest_difference(designs: int, on: str = "memory") -> str:
    """The smallest form of the first difference among so many designs."""
    return _difference(designs, [Phase.generate, Phase.shrink], 0, on)[1]


@contextmanager
def independent_examples() -> Iterator[None]:
    """Hypothesis copies draws of an example into others; designs would have the same few features again and again."""
    mutate = ConjectureRunner.generate_mutations_from
    ConjectureRunner.generate_mutations_from = lambda self, data: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        ConjectureRunner.generate_mutations_from = mutate  # type: ignore[method-assign]


def run_chunk(seed: int, chunk: int, designs: int, on: str = "memory") -> tuple[int, int, str]:
    """The number of the chunk, how many designs held, and the smallest difference, if any."""
    held, difference = _difference(designs, [Phase.generate, Phase.shrink], seed * 1_000_003 + chunk, on)
    return chunk, held, difference


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Faults are logged as warnings; here they are planned."""
    logger = logging.getLogger("partita.store")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _difference(designs: int, phases: list[Phase], seed: int, on: str = "memory") -> tuple[int, str]:
    with opened(on) as host, independent_examples(), _without_warnings():
        return _difference_on(host, designs, phases, seed)


def _difference_on(host: Host, designs: int, phases: list[Phase], seed: int) -> tuple[int, str]:
    held, failed = 0, False

    @settings(
        max_examples=designs,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        phases=phases,
    )
    @hypothesis.seed(seed)
    @given(st.data())
    def fuzzed(data: st.DataObject) -> None:
        nonlocal held, failed
        try:
            fuzz_one(data, host)
        except UnsatisfiedAssumption:
            raise
        except Exception:
            failed = True  # what follows only makes it smaller
            raise
        held += not failed

    try:
        fuzzed()
    except Exception as error:  # noqa: BLE001 - whatever a design raises is a difference
        return held, f"{type(error).__name__}: {error}"
    return held, ""
