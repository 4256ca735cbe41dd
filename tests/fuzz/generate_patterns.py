"""Strategies for random access patterns of a design."""

from hypothesis import strategies as st

from tests.fuzz.conditions import FIRST_STATE, Condition, conditions
from tests.fuzz.designs import DesignSpec, EntitySpec
from tests.fuzz.generate import chance
from tests.fuzz.keys import VECTOR_INDEX, KeySpec, Slot
from tests.fuzz.patterns import PatternSpec

_BOUNDS = [(), (), (), ("since",), ("until",), ("after",), ("before",), ("between",), ("starts_with",)]
_BOUNDS += [("since", "before"), ("after", "until"), ("after", "before"), ("before", "since")]
_NUMBERS = {"after": "above", "before": "below"}


@st.composite
def patterns(draw: st.DrawFn, design: DesignSpec, name: str) -> PatternSpec:
    """A pattern of the design that may or may not be accepted."""
    entity = draw(st.sampled_from(design.entities))
    keys = draw(st.sampled_from([entity.key, *(each for each in entity.indexes if each.index != VECTOR_INDEX)]))
    if keys.index is None and chance(draw, 4):
        return PatternSpec(name, ((entity, keys),), len(keys.fields), single=True)
    slots = keys.slots
    given = draw(st.integers(sum(each.partition for each in slots), len(slots)))
    others = [each for each in design.entities if each is not entity and each.keys(keys.index)]
    more = draw(st.lists(st.sampled_from(others), unique=True, max_size=2)) if others else []
    sources = ((entity, keys), *((each, draw(st.sampled_from(each.keys(keys.index)))) for each in more))
    bound, promise = _range(draw, entity, slots[given]) if given < len(slots) else ((), "")
    fan = draw(st.integers(0, given - 1)) if given and chance(draw, 5) else None
    sharded = [at for at, each in enumerate(slots[:given]) if each.form.shards]
    if sharded and chance(draw, 2):
        fan = sharded[0]
    by_type = design.typed and not more and chance(draw, 2)
    where = _filter(draw, entity, keys) if chance(draw, 4) else None
    if more and where is not None:  # other entities may have other types under the same names
        where = FIRST_STATE
    return PatternSpec(name, sources, given, bound, promise, fan=fan, where=where, by_type=by_type)


def _range(draw: st.DrawFn, entity: EntitySpec, slot: Slot) -> tuple[tuple[str, ...], str]:
    bound = draw(st.sampled_from(_BOUNDS))
    if bound == ("starts_with",) and not slot.form.prefix:
        bound = ("since",)
    if entity.kind(slot.field).sums:  # numbers
        bound = tuple(_NUMBERS.get(each, each) for each in bound)
    return bound, draw(st.sampled_from(["", "", "smallest_first", "largest_first"]))


def _filter(draw: st.DrawFn, entity: EntitySpec, keys: KeySpec) -> Condition:
    """A filter that names no attribute which is itself the key that is read."""
    plain = frozenset(each.field for each in keys.attributes if each.field is not None)
    return draw(conditions(entity, plain))
