"""The proof is sound: an item that it excludes from a range never lies in it, whatever the values are."""

import enum
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from partita import Entity, Table
from partita.design.key_slots import SlotRole, key_slots
from partita.design.models import Model, model_of
from partita.design.reads import EntityKey, Read, SortRange
from partita.plan.items import key_of
from partita.plan.key_ranges import key_range
from partita.plan.range_conditions import key_conditions
from partita.plan.stored_keys import meeting, table_keys

pytestmark = pytest.mark.slow


class Size(str, enum.Enum):
    BIG = "big"
    SMALL = "A"


PIECES = [
    "A",
    "B",
    "big",
    "1",
    "{a}",
    "{b}",
    "{n:2}",
    "{n:+2}",
    "{at}",
    "{size}",
    "{size:ranked}",
    "v{a}",
    "A{b}",
    "{at:day}",
]
templates = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map("#".join)
keys = st.tuples(templates, templates)
texts = st.text("AB#$ v1big", min_size=1, max_size=3)
entity_values = st.fixed_dictionaries(
    {
        "a": texts | st.sampled_from(["A", "B", "big", "1", "11", "p11"]),
        "b": texts,
        "n": st.integers(0, 12),
        "at": st.integers(0, 3).map(lambda days: datetime(2025, 1, 1, tzinfo=UTC) + timedelta(days=days)),
        "size": st.sampled_from(Size),
    }
)
# Two keys, and values for each; half of the time alike, since keys that differ everywhere prove nothing.
two_keys = st.tuples(keys, keys) | st.builds(lambda one, sort: (one, (one[0], sort)), keys, templates)
two_values = st.tuples(entity_values, entity_values) | entity_values.map(lambda each: (each, each))


def declared(key: tuple[str, str]) -> Model:
    class Thing(Entity, table=Table("things", pk="PK", sk="SK"), key=key):
        a: str
        b: str
        n: int
        at: datetime
        size: Size

    return model_of(Thing)


def asked(model: Model, values: dict[str, Any], given_parts: int) -> tuple[Any, ...]:
    """The first parts of the key, as a query gives them."""
    slots = key_slots(model, model.key, whole=False)
    hashed = sum(slot.role is SlotRole.PARTITION for slot in slots)
    count = min(len(slots), hashed + given_parts)
    return tuple(values[slot.field] for slot in slots[:count])


def lies_inside(read: Read, key: dict[str, Any]) -> bool:
    for condition in key_conditions(key_range(read), lambda value: value):
        held = key[condition.attribute.name]["S"].encode()
        low = condition.values[0].encode()
        if condition.operator == "=" and held != low:
            return False
        if condition.operator == "begins_with" and not held.startswith(low):
            return False
        if condition.operator == "between" and not low <= held <= condition.values[1].encode():
            return False
        if condition.operator == "<=" and not held <= low:
            return False
        if condition.operator == ">=" and not held >= low:
            return False
    return True


def can_contain(read: Read, other: Model) -> bool:
    """Whether the proof says that an item of the entity could lie in the range."""
    domains = key_range(read).domains(read.sources[0].model)
    return meeting(domains, table_keys(other)[0].domains) is not None


@given(two_keys, two_values)
def test_keys_that_are_equal_were_said_to_meet(two: Any, values: Any) -> None:
    a, b = map(declared, two)
    mine, theirs = values
    if key_of(a, mine) == key_of(b, theirs):
        assert meeting(table_keys(a)[0].domains, table_keys(b)[0].domains) is not None


@given(two_keys, two_values, st.integers(0, 2))
def test_a_key_inside_a_range_was_said_to_fall_inside(two: Any, values: Any, given_parts: int) -> None:
    a, b = map(declared, two)
    mine, theirs = values
    read = Read((EntityKey(a, a.key),), asked(a, mine, given_parts))
    if lies_inside(read, key_of(b, theirs)):
        assert can_contain(read, b)


@given(keys, entity_values, st.integers(0, 2))
def test_an_entity_s_own_items_lie_in_its_range(key: Any, values: Any, given_parts: int) -> None:
    model = declared(key)
    read = Read((EntityKey(model, model.key),), asked(model, values, given_parts))
    assert lies_inside(read, key_of(model, values))


@given(
    st.sampled_from(
        ["{at}", "{n:+2}", "{at:desc}", "X#{n:+2,desc}#{a}", "X#{at}#{b}", "{b}", "X#{b}#{n:2}", "{n:2}#{a}"]
    ),
    st.lists(entity_values, min_size=1, max_size=6),
    entity_values,
    entity_values,
)
def test_a_range_holds_exactly_the_values_between_its_ends(sort_key: str, rows: Any, low: Any, high: Any) -> None:
    model = declared(("P#X", sort_key))
    field = model.key.sort[0].fields[0]
    assume(low[field] <= high[field])
    for bottom, top in ((low[field], high[field]), (low[field], None), (None, high[field])):
        read = Read((EntityKey(model, model.key),), (), bounds=SortRange(low=bottom, high=top))
        for row in rows:
            value = row[field]
            expected = (bottom is None or bottom <= value) and (top is None or value <= top)
            assert lies_inside(read, key_of(model, row)) == expected


@given(keys, keys)
@example(one=("{n:2}", "B#{a}#{at}"), other=("{n:2}", "B#A#{n:2}"))
def test_a_range_may_hold_whatever_begins_alike(one: Any, other: Any) -> None:
    """Found by chance once: a free part of another form still begins with the same text."""
    a, b = declared(one), declared(other)
    values = {"a": "A", "b": "B", "n": 1, "at": datetime(2025, 1, 1, tzinfo=UTC), "size": Size.SMALL}
    for given_parts in range(3):
        read = Read((EntityKey(a, a.key),), asked(a, values, given_parts))
        assert can_contain(read, b) or not lies_inside(read, key_of(b, values))
