"""Slots: which value of a read fills which part of which key.

Values come in the order of the key: the parts of the partition key, then those of the sort key. A part that occurs
twice takes one value, and so does a part that follows from an earlier one, such as the day of a time. Where several
entities are read together, their keys must agree as far as there are values.
"""

import enum
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from partita.design.condition_checks import Operand, check_constant, operands
from partita.design.conditions import Field, Stored
from partita.design.key_parts import KeyPart, ShardPart, TextPart
from partita.design.models import EntityKeys, KeyAttribute, Model
from partita.design.reads import ALL_SHARDS, Argument, FanOut, Read
from partita.errors import DesignError


class SlotRole(enum.Enum):
    """Where the value of a slot goes."""

    PARTITION = "partition"
    SORT = "sort"
    FILTER = "filter"
    VECTOR = "vector"
    SEARCH_FILTER = "search filter"


class Slot(msgspec.Struct, frozen=True):
    """A place for a value: an attribute, the form in which a key holds it, and the type of the value."""

    where: str
    field: str
    type: Any
    form: KeyPart | None
    role: SlotRole
    nullable: bool = False

    @property
    def shards(self) -> int | None:
        return self.form.count if isinstance(self.form, ShardPart) else None


def key_slots(model: Model, keys: EntityKeys, *, whole: bool) -> tuple[Slot, ...]:
    """The slots of a key in order; `whole` for a get, where a field takes one value whatever its forms are."""
    slots: dict[Any, Slot] = {}
    for role, attributes in ((SlotRole.PARTITION, keys.partition), (SlotRole.SORT, keys.sort)):
        for attribute in attributes:
            for field, form, nullable in _parts(attribute):
                kind = model.attributes[field].kind
                if not whole and form is not None and form.query_type is not None:
                    kind = form.query_type
                identity = field if whole or field in slots else part_identity(field, form)
                slots.setdefault(identity, Slot(f"{model.name}.{field}", field, kind, form, role, nullable))
    return tuple(slots.values())


def part_identity(field: str, form: KeyPart | None) -> Any:
    """What a query gives a value for: an attribute, or a part of it; parts that only differ in escaping are one."""
    if form is None or form.lossless:
        return field
    return field, msgspec.structs.replace(form, full=False) if isinstance(form, TextPart) else form


def _parts(attribute: KeyAttribute) -> Iterator[tuple[str, KeyPart | None, bool]]:
    """The parts of a key attribute: field, form, and whether it may be None."""
    if attribute.template is None:
        assert attribute.field is not None
        yield attribute.field, None, False
    else:
        for segment in attribute.template.parts:
            assert segment.field is not None
            yield segment.field, segment.form, segment.optional


def check_constant_in_slot(where: str, slot: Slot, value: Any) -> None:
    """A DesignError for a value that a read itself gives, and that does not have the type of its slot."""
    if isinstance(value, FanOut):
        if isinstance(value.values, Argument):
            return
        if isinstance(value.values, str | bytes) or not isinstance(value.values, Iterable):
            raise DesignError(where, f"fan_out takes a list, not {value.values!r}", "write fan_out([...], limit)")
        values = list(value.values)
        if len(values) > value.limit:
            wrong = f"{len(values)} values, but its fan_out allows at most {value.limit}"
            raise DesignError(where, wrong, "raise the limit, or remove values")
        for each in values:
            check_constant_in_slot(where, slot, each)
    elif value is None and slot.nullable:
        return
    elif not (value is ALL_SHARDS or isinstance(value, Argument | Field | Stored)):
        check_constant(where, slot.where, slot.type, value, compared=slot.role is SlotRole.FILTER)


def slots_of(where: str, read: Read) -> Iterator[tuple[Slot, Any]]:
    """Every value of a read with the slot that it fills: key parts, then bounds, then the filter."""
    source = read.sources[0]
    slots = key_slots(source.model, source.keys, whole=read.single)
    if len(read.given) > len(slots):
        raise DesignError(
            where,
            f"{len(read.given)} values for the {len(slots)} parts of {source.keys.where}",
            f"the parts are {', '.join(slot.field for slot in slots)}",
        )
    for slot, value in zip(slots, read.given, strict=False):
        if value is ALL_SHARDS and slot.shards is None:
            raise DesignError(where, f"{slot.where} is not sharded", f"write {{{slot.field}:shard(8)}} in the key")
        yield slot, value
    if read.bounds is not None:
        if len(slots) == len(read.given):
            wrong = f"every part of {source.keys.where} has a value, so there is none for a range"
            raise DesignError(where, wrong, "pass fewer values")
        for value in (read.bounds.low, read.bounds.high, read.bounds.prefix):
            if value is not None:
                yield slots[len(read.given)], value
    if read.where is not None:
        for each in read.sources:
            for operand in operands(where, each.model, read.where):
                yield _filter_slot(each.model, operand), operand.value


def _filter_slot(model: Model, operand: Operand) -> Slot:
    field = operand.field.path[0]
    return Slot(operand.place(model), field, operand.type, None, SlotRole.FILTER, operand.nullable)
