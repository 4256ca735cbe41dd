"""Access patterns as data, and the loading of a design with those of its patterns that are accepted."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from partita import Design, DesignError
from tests.fuzz.conditions import Condition
from tests.fuzz.designs import DesignSpec, EntitySpec
from tests.fuzz.keys import KeySpec, Slot
from tests.fuzz.source_text import Printed

HEADER = """\
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from partita import *
from tests.fuzz.forms import Mood, Size

"""


@dataclass(frozen=True, repr=False, eq=False)
class PatternSpec(Printed):
    """A read: which entities, by which key, how many leading parts are given, what bounds the next, which order."""

    name: str
    sources: tuple[tuple[EntitySpec, KeySpec], ...]
    given: int
    bound: tuple[str, ...] = ()  # since, until, after, before, above, below, between, starts_with
    promise: str = ""  # smallest_first, largest_first
    single: bool = False
    fan: int | None = None  # the position of a part that takes several values
    where: Condition | None = None
    by_type: bool = False

    def __repr__(self) -> str:
        return self.source()

    @property
    def entity(self) -> EntitySpec:
        return self.sources[0][0]

    @property
    def keys(self) -> KeySpec:
        return self.sources[0][1]

    @property
    def slots(self) -> list[Slot]:
        return self.keys.slots

    @property
    def free(self) -> Slot | None:
        """The part that the bounds and the promise are about."""
        return self.slots[self.given] if self.given < len(self.slots) else None

    @property
    def bounds(self) -> int:
        return sum(2 if each == "between" else 1 for each in self.bound)

    def all_shards(self, at: int) -> bool:
        return self.fan == at and bool(self.slots[at].form.shards)

    def parameter(self, slot: Slot) -> str:
        return slot.form.query_type or self.entity.kind(slot.field).type

    def source(self) -> str:
        entity = self.entity
        if self.single:
            fields = self.keys.fields
            signature = ", ".join(f"{name}: {entity.parameter(name)}" for name in fields)
            read = f"get({entity.name}, {', '.join(fields)})"
            return f"@pattern\ndef {self.name}({signature}) -> Item[{entity.name}]:\n    return {read}\n"
        parameters: list[str] = []
        parts: list[str] = []
        for at, slot in enumerate(self.slots[: self.given]):
            if self.all_shards(at):
                parts.append("ALL_SHARDS")
                continue
            fan = self.fan == at
            parts.append(f"fan_out(a{at}, 3)" if fan else f"a{at}")
            kind = self.parameter(slot)
            parameters.append(f"a{at}: Sequence[{kind}]" if fan else f"a{at}: {kind}")
        if self.free is not None:
            parameters += [f"b{at}: {self.parameter(self.free)}" for at in range(self.bounds)]
        call = ", ".join(parts)
        readables = [self._readable(*each) for each in self.sources]
        if len(readables) > 1:
            read = f"collection({', '.join(readables)})({call})"
        else:
            read = f"query({readables[0]}{', ' if call else ''}{call})"
        left = [f"b{at}" for at in range(self.bounds)]
        for each in self.bound:
            size = 2 if each == "between" else 1
            read += f".{each}({', '.join(left[:size])})"
            del left[:size]
        if self.promise and self.free is not None:
            read += f".{self.promise}({self.free.field!r})"
        if self.where is not None:
            read += f".where({self.where})"
        if self.by_type:
            read += ".filtered_by_type()"
        result = " | ".join(self.result(*each) for each in self.sources)
        return f"@pattern\ndef {self.name}({', '.join(parameters)}) -> Items[{result}]:\n    return {read}\n"

    def result(self, entity: EntitySpec, keys: KeySpec) -> str:
        """The class of the answers: a view, where one entity is read by the keys that the view declares."""
        return keys.view if keys.view and len(self.sources) == 1 else entity.name

    def _readable(self, entity: EntitySpec, keys: KeySpec) -> str:
        return entity.name if keys.index is None else f"{self.result(entity, keys)}.{keys.label}"


@dataclass
class Loaded:
    """A design that was accepted, with the patterns that were."""

    spec: DesignSpec
    source: str
    names: dict[str, Any]
    design: Design
    accepted: set[str]  # the names of the patterns

    def cls(self, entity: EntitySpec) -> Any:
        return self.names[entity.name]


class Declared(Protocol):
    """A pattern of any kind."""

    @property
    def name(self) -> str: ...
    def source(self) -> str: ...


def load(spec: DesignSpec, wanted: Iterable[Declared]) -> Loaded | None:
    """The design and those of the patterns that are accepted; None where the design itself is rejected."""
    names: dict[str, Any] = {"__name__": "fuzzed"}
    source = spec.source()
    try:
        exec(HEADER + source, names)
        design: Design = _proven(names)
    except DesignError:
        return None
    accepted: set[str] = set()
    for each in wanted:
        patterns = names["tab"].patterns
        before = len(patterns)
        try:
            exec(each.source(), names)
            design = _proven(names)
        except DesignError:
            del patterns[before:]
        else:
            source += each.source()
            accepted.add(each.name)
    return Loaded(spec, HEADER + source + 'design = prove("fuzzed", tab)\n', names, design, accepted)


def _proven(names: dict[str, Any]) -> Design:
    design: Design = names["prove"]("fuzzed", names["tab"])
    return design
