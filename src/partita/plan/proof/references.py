"""The references between entities: counters, references and ownerships with every `lambda: Other` looked up."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from partita.design.markers import CountOf, SumOf
from partita.design.models import Attribute, Model
from partita.design.tables import Table
from partita.design.validate_model import check_stored_condition
from partita.errors import DesignError
from partita.plan.design import Counter, Design, Ownership, Reference
from partita.plan.owned_trees import markable_models
from partita.plan.proof.key_sources import key_sources, named_entities, named_entity
from partita.plan.proof.ownership import ownerships

_SUMMABLE: dict[Any, tuple[type, ...]] = {int: (int,), Decimal: (int, Decimal), float: (int, Decimal, float)}


def resolved(name: str, tables: tuple[Table, ...]) -> Design:
    """The design of these tables; an error where a reference does not fit the entity that it names."""
    design = Design(name, tables)
    for child, counter in _counters(design):
        design.counters[child] = (*design.counters.get(child, ()), counter)
    _check_deletable(design)
    for model in design.models:
        design.references[model] = tuple(_references(design, model))
        design.ownerships[model] = tuple(_ownerships(design, model))
    design.markable.update(markable_models(design))
    return design


def _counters(design: Design) -> Iterator[tuple[Model, Counter]]:
    """Every counter with the child that it counts."""
    for parent in design.models:
        for attribute, marker in parent.counters:
            where = f"{parent.name}.{attribute.field}"
            child = named_entity(design, where, marker.child)
            counter = Counter(parent, attribute, marker, key_sources(where, parent, child, marker.via))
            _check_counter(where, counter, child)
            yield child, counter


def _check_deletable(design: Design) -> None:
    """A parent with children is never deleted: they are counted, or their sum is zero only where they add nothing."""
    for child, counters in design.counters.items():
        for each in counters:
            if not isinstance(each.marker, SumOf) or _cannot_cancel_out(child.attributes[each.marker.amount]):
                continue
            if not any(_counts_all_of(other, each) for other in counters):
                parent, name = each.parent.name, each.marker.amount
                raise DesignError(
                    f"{parent}.{each.attribute.field}",
                    f"the {name!r} of several {child.name} items may sum to zero, and {parent} be deleted beside them",
                    f"count them too (Annotated[int, CountOf(lambda: {child.name})]), or give {child.name}.{name} "
                    "msgspec.Meta(ge=0)",
                )


def _cannot_cancel_out(amount: Attribute) -> bool:
    """Whether amounts have no negative values: then a sum of zero is that of nothing, or of nothing but zeros."""
    return any(bound is not None and bound >= 0 for meta in amount.metas for bound in (meta.ge, meta.gt))


def _counts_all_of(other: Counter, total: Counter) -> bool:
    """Whether a counter counts at least the children that a sum adds."""
    same_parent = other.parent is total.parent and other.parts == total.parts
    conditions = other.marker.when is None or repr(other.marker.when) == repr(total.marker.when)
    return isinstance(other.marker, CountOf) and same_parent and conditions


def _check_counter(where: str, counter: Counter, child: Model) -> None:
    """The amount that a child adds follows from its stored attributes, and changes only when they are written."""
    marker = counter.marker
    if child is counter.parent and all(part == source for part, source in counter.parts.items()):
        part = next(iter(counter.parts), "")
        wrong = f"every {child.name} would count itself: nothing says which attribute names its parent"
        raise DesignError(where, wrong, f"write via={{{part!r}: <attribute of {child.name}>}}")
    if marker.when is not None:
        check_stored_condition(where, child, marker.when)
    if isinstance(marker, SumOf):
        _check_amount(where, counter.attribute, child, marker.amount)
    counters = [attribute.field for attribute, _ in child.counters if attribute.field in counter.fields]
    if counters:
        wrong = f"{counters[0]!r} of {child.name} is itself a counter, so what it decides here would become stale"
        raise DesignError(where, wrong, "compute it in a service")


def _check_amount(where: str, total: Attribute, child: Model, name: str) -> None:
    amount = child.attributes.get(name)
    if amount is None:
        attributes = ", ".join(child.attributes)
        raise DesignError(where, f"{child.name} has no attribute {name!r}", f"the attributes are {attributes}")
    if amount.kind not in _SUMMABLE[total.kind]:
        kind = getattr(amount.kind, "__name__", amount.kind)
        wrong = f"it is {total.kind.__name__}, but {child.name}.{name}, which it sums, is {kind}"
        raise DesignError(where, wrong, "sum int into int, and Decimal into Decimal")


def _references(design: Design, model: Model) -> Iterator[Reference]:
    for attribute, marker in model.references:
        where = f"{model.name}.{attribute.field}"
        target = named_entity(design, where, marker.entity)
        via = marker.via
        if not via and len(target.key.fields) == 1:
            via = {target.key.fields[0]: attribute.field}
        parts = key_sources(where, target, model, via)
        _check_refers(where, attribute.field, target, parts)
        yield Reference(target, parts, attribute.field)


def _check_refers(where: str, field: str, target: Model, parts: dict[str, str]) -> None:
    """The attribute that is marked is one of those that name the target."""
    if field not in parts.values():
        named = ", ".join(f"{source!r} names {part!r}" for part, source in parts.items())
        wrong = f"it does not name {target.name}: {named}"
        raise DesignError(where, wrong, f"write via={{{next(iter(parts), '')!r}: {field!r}}}, or remove References")


def _ownerships(design: Design, parent: Model) -> Iterator[Ownership]:
    for owns in parent.owns:
        for child in named_entities(design, parent.name, owns.children):
            yield from ownerships(parent, child, owns)
