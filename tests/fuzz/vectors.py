"""Searches of a vector index: random ones, and their answers by brute force over all items."""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hypothesis import strategies as st

from partita import PartitaError
from tests.fuzz.designs import DesignSpec, EntitySpec
from tests.fuzz.forms import VECTOR
from tests.fuzz.generate import chance
from tests.fuzz.keys import VECTOR_INDEX, KeySpec, Slot
from tests.fuzz.runner import Run
from tests.fuzz.shown import error_text, shown, values_of
from tests.fuzz.source_text import Printed, literal
from tests.fuzz.stored import State, Values, is_alive, keys_in

_SAME = 1e-5  # the index has 32-bit floats


@dataclass(frozen=True, repr=False, eq=False)
class SearchSpec(Printed):
    """A pattern that returns the nearest items of some entities."""

    name: str
    sources: tuple[tuple[EntitySpec, KeySpec], ...]
    count: int
    filters: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.source()

    @property
    def slots(self) -> list[Slot]:
        return self.sources[0][1].slots

    def source(self) -> str:
        entity = self.sources[0][0]
        kinds = {"vec": "Vector"}
        kinds |= {each.field: each.form.query_type or entity.kind(each.field).type for each in self.slots}
        kinds |= {name: entity.kind(name).type for name in self.filters}
        parameters = ", ".join(f"{name}: {kind}" for name, kind in kinds.items())
        readables = [f"{each.name}.{keys.label}" for each, keys in self.sources]
        read = readables[0] if len(readables) == 1 else f"collection({', '.join(readables)})"
        result = " | ".join(each.name for each, _ in self.sources)
        return f"@pattern({read}.nearest({self.count}))\ndef {self.name}({parameters}) -> Nearest[{result}]: ...\n"


@st.composite
def searches(draw: st.DrawFn, design: DesignSpec, name: str) -> SearchSpec | None:
    """A search of the design's vector index that may or may not be accepted; None where no entity is in it."""
    every = [(each, keys) for each in design.entities for keys in each.keys(VECTOR_INDEX)]
    if design.vectors is None or not every:
        return None
    first = draw(st.sampled_from(every))
    sources = [first, *(each for each in every if each is not first and chance(draw, 3))]
    parts = first[1].fields  # a parameter of that name is the part of the key
    named = [each for each in design.vectors.filters if each not in parts and each in ("n", *first[0].fields)]
    filters = tuple(each for each in named if draw(st.booleans()))
    count = 100 if design.ttl else draw(st.sampled_from([1, 2, 100]))  # an expired item is found, and left out
    return SearchSpec(name, tuple(sources), count, filters)


@st.composite
def search_arguments(draw: st.DrawFn, state: State, search: SearchSpec) -> dict[str, Any]:
    """Arguments by name, mostly those of a stored item."""
    entity = search.sources[0][0]
    stored = state.stored(entity)
    like = draw(st.sampled_from(stored)) if stored and draw(st.integers(0, 5)) > 0 else {}

    def value(name: str) -> Any:
        held = like.get(name)
        choices = [0, 1, 2] if name == "n" else entity.kind(name).values
        return draw(st.sampled_from(choices)) if held is None else held

    found = {"vec": draw(st.sampled_from(VECTOR.values))} | {name: value(name) for name in search.filters}
    for slot in search.slots:
        held = value(slot.field)
        found[slot.field] = slot.form.part(held) if slot.form.query_type else held
    return found


def check_search(run: Run, search: SearchSpec, given: dict[str, Any]) -> None:
    """The nearest items in order, each with its score, from both drivers."""
    source = f"{search.name}({', '.join(f'{name}={literal(value)}' for name, value in given.items())})"
    call = run.loaded.names[search.name](**given)
    try:
        found, again = (driver.nearest(call) for driver in run.drivers)
    except PartitaError as error:
        raise run.difference(f"{source} raises {error_text(error)}") from error
    if again != found:
        raise run.difference(f"{source} differs when it is awaited")
    answers = [(each.score, shown(type(each.item).__name__, values_of(each.item))) for each in found]
    spec = run.loaded.spec.vectors
    assert spec is not None
    wanted = _scores(search, run.state, given, run.clock.now, spec.distance)
    best = sorted(wanted.values(), reverse=spec.distance == "DOT_PRODUCT")[: search.count]
    right = len(answers) == len(best) and all(
        abs(score - expected) < _SAME and abs(score - wanted.get(text, math.inf)) < _SAME
        for (score, text), expected in zip(answers, best, strict=True)
    )
    if not right or len({text for _, text in answers}) < len(answers):
        raise run.difference(f"{source} gives\n{answers}\nexpected the best {search.count} of\n{wanted}")


def _scores(search: SearchSpec, state: State, given: dict[str, Any], now: datetime, distance: str) -> dict[str, float]:
    """The score of every item that the search is among."""
    return {
        shown(entity.name, values): _score(values["vec"], given["vec"], distance)
        for each, values in state.items.values()
        for entity, keys in search.sources
        if each is entity and is_alive(each, values, now) and _is_among(search, entity, keys, values, given)
    }


def _is_among(search: SearchSpec, entity: EntitySpec, keys: KeySpec, values: Values, given: dict[str, Any]) -> bool:
    if values["vec"] is None or keys_in(entity, VECTOR_INDEX, values) is not keys or not keys.contains(values):
        return False
    if any(values.get(name) != given[name] for name in search.filters):
        return False
    for slot, first in zip(keys.slots, search.slots, strict=True):
        wanted = given[first.field] if slot.form.query_type else slot.form.part(given[first.field])
        if slot.form.part(values[slot.field]) != wanted:
            return False
    return True


def _score(one: list[float], other: list[float], distance: str) -> float:
    product = math.fsum(a * b for a, b in zip(one, other, strict=True))
    if distance == "DOT_PRODUCT":
        return product
    if distance == "EUCLIDEAN":
        return math.dist(one, other)
    lengths = math.hypot(*one) * math.hypot(*other)
    return 1 - product / lengths if lengths else 1.0
