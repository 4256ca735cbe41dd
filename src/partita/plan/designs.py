"""A loaded design: tables, entities and patterns that were proven together, with their cross-references resolved."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from partita.design.conditions import Comparison
from partita.design.errors import DesignError
from partita.design.markers import CountOf, SumOf
from partita.design.models import Attribute, Model, model_of
from partita.design.patterns import Pattern
from partita.design.tables import Table
from partita.plan.ownership import Ownership, ownership


@dataclass(frozen=True, eq=False)
class Counter:
    """A parent's attribute that counts or sums children; `parts` maps the parent's key to the child's attributes."""

    parent: Model
    attribute: Attribute
    marker: CountOf | SumOf
    parts: dict[str, str]

    @property
    def refers(self) -> str:
        """The child's attribute that names the parent; of several the last, which tells it from its neighbours."""
        return list(self.parts.values())[-1]

    @property
    def fields(self) -> frozenset[str]:
        """What of the child decides its share."""
        condition = self.marker.when.fields if self.marker.when is not None else ()
        amount = (self.marker.amount,) if isinstance(self.marker, SumOf) else ()
        return frozenset((*self.parts.values(), *condition, *amount))


@dataclass(frozen=True, eq=False)
class Reference:
    """An entity that must exist when this one is written, as the attribute `refers` says."""

    target: Model
    parts: dict[str, str]
    refers: str


@dataclass(frozen=True, eq=False)
class Design:
    """What `prove` returns."""

    name: str
    tables: tuple[Table, ...]
    counters: dict[Model, tuple[Counter, ...]] = field(default_factory=dict)
    references: dict[Model, tuple[Reference, ...]] = field(default_factory=dict)
    ownerships: dict[Model, tuple[Ownership, ...]] = field(default_factory=dict)

    @property
    def models(self) -> tuple[Model, ...]:
        return tuple(model for table in self.tables for model in table.models)

    @property
    def patterns(self) -> dict[str, Pattern[Any, Any]]:
        return {pattern.name: pattern for table in self.tables for pattern in table.patterns}


def resolved(name: str, tables: tuple[Table, ...]) -> Design:
    """The design with every `lambda: Other` looked up."""
    design = Design(name, tables)
    for parent in design.models:
        for attribute, marker in parent.counters:
            child = _known(design, parent, marker.child())
            parts = _mapped(f"{parent.name}.{attribute.field}", parent, child, dict(marker.via))
            counter = Counter(parent, attribute, marker, parts)
            _check_limits(parent, attribute)
            _check_keys(parent, attribute)
            design.counters[child] = (*design.counters.get(child, ()), counter)
    for model in design.models:
        design.references[model] = tuple(_references(design, model))
        design.ownerships[model] = tuple(
            ownership(model, _known(design, model, child), owns) for owns in model.owns for child in owns.entities
        )
    return design


def _check_limits(parent: Model, counted: Attribute) -> None:
    """A limit on a counter is kept by a condition on the count before it grows, which only `<=` can be turned into."""
    for limit in parent.limits:
        condition = limit.condition
        simple = isinstance(condition, Comparison) and condition.operator == "<="
        if counted.field in condition.fields and not simple:
            wrong = f"the limit on {counted.field!r} is not of the form count <= bound"
            raise DesignError(parent.name, wrong, f"write Limit(F.{counted.field} <= ...)")


def _check_keys(parent: Model, counted: Attribute) -> None:
    """A counter moves while its item is not read, so no key may be written from it; as an index key itself it may."""
    for keys in (parent.key, *(each for sets in parent.indexes.values() for each in sets)):
        written = [each.template.fields for each in keys.attributes if each.template is not None]
        decides = keys.when.fields if keys.when is not None else ()
        if counted.field in [field for fields in written for field in fields] or counted.field in decides:
            wrong = f"{counted.field!r} is kept by counting, so a key that is made from it would go stale"
            raise DesignError(keys.where, wrong, "use the attribute itself as the index's key, or count in a service")


def _references(design: Design, model: Model) -> Iterator[Reference]:
    for attribute, marker in model.references:
        target = _known(design, model, marker.entity())
        via = dict(marker.via)
        if not via and len(target.key.fields) == 1:
            via = {target.key.fields[0]: attribute.field}
        yield Reference(target, _mapped(f"{model.name}.{attribute.field}", target, model, via), attribute.field)


def _mapped(where: str, parent: Model, child: Model, via: dict[str, str]) -> dict[str, str]:
    parts = {part: via.get(part, part) for part in parent.key.fields}
    for part, source in parts.items():
        if source not in child.attributes:
            raise DesignError(
                where,
                f"{child.name} has no attribute {source!r} to find its {parent.name} by",
                f"write via={{{part!r}: <attribute of {child.name}>}}",
            )
    return parts


def _known(design: Design, model: Model, entity: type[Any]) -> Model:
    other = model_of(entity)
    if other not in design.models:
        raise DesignError(
            model.name,
            f"refers to {other.name}, whose table {other.table.name!r} is not loaded",
            "load its table with the design",
        )
    return other
