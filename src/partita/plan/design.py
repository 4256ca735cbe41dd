"""A loaded design: tables, entities and patterns that were proven together, with their cross-references resolved."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from partita.design.markers import CountOf, SumOf
from partita.design.models import Attribute, Model, model_of
from partita.design.patterns import Pattern
from partita.design.tables import Table
from partita.design.validate_model import check_field, condition_fields
from partita.errors import DesignError, InvalidValue
from partita.plan.proof.ownership import Ownership, ownerships


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

    def holding(self, entity: type[Any]) -> Model:
        """The model of one of its entities."""
        model = model_of(entity)
        if model not in self.models:
            raise InvalidValue(model.name, f"design {self.name!r} does not hold it; load its table too")
        return model

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
            _check_share(counter, child)
            design.counters[child] = (*design.counters.get(child, ()), counter)
    for model in design.models:
        design.references[model] = tuple(_references(design, model))
        owned = ((_known(design, model, child), owns) for owns in model.owns for child in owns.entities)
        design.ownerships[model] = tuple(each for child, owns in owned for each in ownerships(model, child, owns))
    return design


def _check_share(counter: Counter, child: Model) -> None:
    """A child's share follows from what it holds, and is reckoned again whenever that is written."""
    where = f"{counter.parent.name}.{counter.attribute.field}"
    marker = counter.marker
    for each in condition_fields(marker.when):
        check_field(where, child, each)
    if isinstance(marker, SumOf):
        _check_amount(where, counter.attribute, child, marker.amount)
    counted = [attribute.field for attribute, _ in child.counters if attribute.field in counter.fields]
    if counted:
        wrong = f"{counted[0]!r} of {child.name} is kept by counting, so what is counted by it would go stale"
        raise DesignError(where, wrong, "count in a service")


_ADDS_UP: dict[Any, tuple[type, ...]] = {int: (int,), Decimal: (int, Decimal), float: (int, Decimal, float)}


def _check_amount(where: str, summed: Attribute, child: Model, name: str) -> None:
    amount = child.attributes.get(name)
    if amount is None:
        attributes = ", ".join(child.attributes)
        raise DesignError(where, f"{child.name} has no attribute {name!r}", f"the attributes are {attributes}")
    if amount.kind not in _ADDS_UP[summed.kind]:
        kind = getattr(amount.kind, "__name__", amount.kind)
        wrong = f"it is {summed.kind.__name__}, and {child.name}.{name}, which it sums, is {kind}"
        raise DesignError(where, wrong, "sum int into int, and Decimal into Decimal")


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
