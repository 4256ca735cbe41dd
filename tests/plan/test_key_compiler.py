"""The compiled keys of reads are those that the steps make, for every pattern of every system."""

import enum
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal, get_args, get_origin

import pytest
from msgspec.structs import replace

from partita import InvalidValue
from partita.design.codec_factory import unwrapped_type
from partita.plan.read_requests import Plan, get_item, plan_of, query
from partita_systems import SYSTEMS
from tests.store import kitchen_sink_design

SAMPLES: dict[Any, Any] = {
    str: "a#b $ é",
    int: 7,
    bool: True,
    Decimal: Decimal("1.5"),
    datetime: datetime(2025, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
    date: date(2025, 1, 2),
}
PLANS = {
    f"{design.name} {name}": plan_of(pattern.read)
    for design in (kitchen_sink_design.design, *(SYSTEMS[system].design for system in SYSTEMS))
    for name, pattern in design.patterns.items()
    if pattern.read.search is None
}
COMPILED = {name: plan for name, plan in PLANS.items() if plan.write_query or plan.write_key}


def _arguments(plan: Plan) -> tuple[Any, ...]:
    name = plan.read.name
    pattern = next(each for each in plan.model.table.patterns if each.name == name)
    return tuple(_sample(unwrapped_type(each.type)[0]) for each in pattern.arguments)


def _sample(kind: Any) -> Any:
    return next(iter(kind)) if isinstance(kind, type) and issubclass(kind, enum.Enum) else _plain_sample(kind)


def _plain_sample(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Literal else SAMPLES.get(kind, "x")


@pytest.mark.parametrize("plan", COMPILED.values(), ids=COMPILED)
def test_compiled_request_is_the_one_that_the_steps_make(plan: Plan) -> None:
    arguments, steps = _arguments(plan), replace(plan, write_key=None, write_query=None)
    if plan.read.single:
        assert get_item(plan, arguments) == get_item(steps, arguments)
    else:
        assert query(plan, arguments, limit=3) == query(steps, arguments, limit=3)


def test_most_reads_are_compiled() -> None:
    assert len(COMPILED) > 0.7 * len(PLANS)


def test_invalid_argument_raises_the_same_error() -> None:
    plan = next(each for each in COMPILED.values() if each.write_query and _arguments(each) == (SAMPLES[str],))
    with pytest.raises(InvalidValue, match="empty text cannot be part of a key"):
        query(plan, ("",))
    with pytest.raises(InvalidValue, match="empty text cannot be part of a key"):
        query(replace(plan, write_query=None), ("",))
