"""A loaded design: tables, entities and patterns that were proven together, with their references resolved."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from partita.design.assignable import assigned
from partita.design.entities import Entity
from partita.design.key_parts import ShardPart
from partita.design.key_slots import Slot, key_slots
from partita.design.markers import CountOf, SumOf
from partita.design.models import Attribute, EntityKeys, Model, model_of
from partita.design.patterns import Pattern
from partita.design.tables import Table
from partita.errors import ConfigurationError, InvalidValue
from partita.plan.normal_forms import has_text_as_written, value_forms
from partita.quantities import quantity


class Counter(msgspec.Struct, frozen=True, eq=False):
    """A parent's attribute that counts or sums children; `parts` maps the parent's key to the child's attributes."""

    parent: Model
    attribute: Attribute
    marker: CountOf | SumOf
    parts: dict[str, str]

    @property
    def refers(self) -> str:
        """The child's attribute that names the parent: of several the last, as the others name its own parents."""
        return list(self.parts.values())[-1] if self.parts else ""

    @property
    def fields(self) -> frozenset[str]:
        """The child's attributes that decide how much it adds."""
        condition = self.marker.when.fields if self.marker.when is not None else ()
        amount = (self.marker.amount,) if isinstance(self.marker, SumOf) else ()
        return frozenset((*self.parts.values(), *condition, *amount))


class Reference(msgspec.Struct, frozen=True, eq=False):
    """An entity that must exist when this one is written; `refers` is the attribute that names it."""

    target: Model
    parts: dict[str, str]
    refers: str


class Ownership(msgspec.Struct, frozen=True, eq=False):
    """Children that are deleted with their parent, under their key or an old one.

    `parts` maps the leading parts of `keys` to the parent's attributes.
    """

    child: Model
    keys: EntityKeys
    parts: dict[str, str]

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The leading parts of the child's key whose values the parent has."""
        slots = key_slots(self.child, self.keys, whole=False)
        known = next((at for at, slot in enumerate(slots) if slot.field not in self.parts), len(slots))
        return slots[:known]

    def query_values(self, parent: Any) -> list[tuple[Any, ...]]:
        """The values of these parts for each query of the parent's children: an old key may have a text in any form."""
        values = tuple(self._query_value(slot, getattr(parent, self.parts[slot.field])) for slot in self.slots)
        return value_forms(values, [at for at, slot in enumerate(self.slots) if has_text_as_written(slot.form)])

    def _query_value(self, slot: Slot, value: Any) -> Any:
        """What a query gives for a part: the value, or what a form that keeps less than it keeps of it."""
        value = assigned(value, self.child.attributes[slot.field].kind)
        if slot.form is None or slot.form.query_type is None:
            return value
        text = slot.form.write(value)
        return int(text) if isinstance(slot.form, ShardPart) else slot.form.read(text)


class CounterBuild(msgspec.Struct, frozen=True):
    """Counters that are being counted while programs write, as pairs of an entity and an attribute on disk.

    Each is counted in an attribute of its own, its tally. A child that its tallies include is marked with the build's
    `id`: the program that marks it adds it to them in the same transaction, so that it is counted once.
    """

    id: str
    counters: frozenset[tuple[str, str]]

    def tally(self, counter: Counter) -> str | None:
        """The attribute in which a counter is being counted, or None."""
        name = counter.attribute.name
        return f"partita-tally-{self.id}-{name}" if (counter.parent.name, name) in self.counters else None


class DataState(msgspec.Struct):
    """What a program knows about the data that it works on: the counters in the making, and what cannot be read yet.

    `unready` has the reason of each: an entity, an index as (table, index), a counter as (entity, attribute on disk);
    (entity, "writes") where only writing has to wait.
    `unwritten` are, by entity, the attributes that are only stored as they were before their migration.
    """

    build: CounterBuild | None = None
    unready: dict[Any, str] = msgspec.field(default_factory=dict)
    unwritten: dict[str, frozenset[str]] = msgspec.field(default_factory=dict)


class Design(msgspec.Struct, frozen=True, eq=False):
    """A proven design, as `prove` returns it; counters are by child, references and ownerships by their entity.

    `data` is the state of the data that a store works on; a store that follows it has a design of its own.
    """

    name: str
    tables: tuple[Table, ...]
    counters: dict[Model, tuple[Counter, ...]] = msgspec.field(default_factory=dict)
    references: dict[Model, tuple[Reference, ...]] = msgspec.field(default_factory=dict)
    ownerships: dict[Model, tuple[Ownership, ...]] = msgspec.field(default_factory=dict)
    markable: set[Model] = msgspec.field(default_factory=set)  # entities whose items are marked as being deleted
    data: DataState = msgspec.field(default_factory=DataState)

    def __repr__(self) -> str:
        tables, entities = quantity(self.tables, "table"), quantity(self.models, "entity", "entities")
        return f"Design({self.name!r}: {tables}, {entities}, {quantity(self.patterns, 'pattern')})"

    @property
    def models(self) -> tuple[Model, ...]:
        return tuple(model for table in self.tables for model in table.models)

    def holding(self, entity: type[Any]) -> Model:
        """The model of one of the design's entity classes."""
        if not isinstance(entity, type):
            raise ConfigurationError(f"{entity!r} is not an entity class; pass the class, such as {self._example}")
        model = model_of(entity)
        if model.table not in self.tables:
            wrong = f"it is not in design {self.name!r}; pass its table {model.table.name!r} to prove() too"
            raise InvalidValue(model.name, wrong)
        return model

    def model_of(self, entity: Any) -> Model:
        """The model of an entity, which is an object of one of the design's classes."""
        if not isinstance(entity, Entity):
            raise ConfigurationError(f"{entity!r} is not an entity; pass an object, such as {self._example}(...)")
        return self.holding(type(entity))

    @property
    def _example(self) -> str:
        return self.models[0].name if self.models else "Order"

    @property
    def patterns(self) -> dict[str, Pattern[Any, Any]]:
        return {pattern.name: pattern for table in self.tables for pattern in table.patterns}


def counters_of(design: Design, model: Model) -> Iterator[tuple[Model, Counter]]:
    """The counters of an entity, each with the child that it counts."""
    for child, counters in design.counters.items():
        yield from ((child, counter) for counter in counters if counter.parent is model)


@lru_cache(maxsize=256)
def models_with_old_keys(design: Design) -> dict[tuple[str, str], Model]:
    """The entities that declare old keys, by table and name."""
    return {(model.table.name, model.name): model for model in design.models if model.old_keys}
