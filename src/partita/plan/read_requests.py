"""Requests of proven reads: a `Plan` is computed once for each read, a request for each call."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, NamedTuple

import msgspec

from partita.design.condition_checks import is_comparable
from partita.design.condition_types import type_name
from partita.design.conditions import (
    All,
    AnyOf,
    Comparison,
    Condition,
    Field,
    FunctionCondition,
    Not,
    OneOf,
    SizeComparison,
    Stored,
)
from partita.design.key_parts import ShardPart, descends
from partita.design.key_slots import Slot, SlotRole, slots_of
from partita.design.models import Attribute, EntityKeys, KeyAttribute, Model
from partita.design.patterns import Pattern
from partita.design.reads import Argument, FanOut, Get, Query, Read, SortRange, VectorSearch
from partita.design.timestamps import WIDTH, time_of, time_text
from partita.design.untyped_values import any_value
from partita.dynamodb import limits
from partita.dynamodb import requests as wire
from partita.dynamodb.values import AttributeValue, Item, sort_value
from partita.errors import ConfigurationError, DesignError, Fault, InvalidValue, PartitaError, ReservedKey
from partita.plan import key_ranges, range_conditions
from partita.plan.adjacent_values import EmptyRange, adjacent_value
from partita.plan.condition_expressions import Expression, check_length, to_stored
from partita.plan.items import check_key, encode_attributes, key_of, settled
from partita.plan.key_compiler import KeyWriter, QueryWriter, key_writer, query_writer
from partita.plan.key_source import SHORT
from partita.plan.old_ranges import old_reads, varied_arguments
from partita.plan.proof.patterns import Proof, prove_read
from partita.plan.range_conditions import AttributeCondition, EmptyPrefix
from partita.validation import FaultyValue, invalid_value

FanOutValues = tuple[Any, ...]  # one value of each fan-out of a read
VALUE_ERRORS = (InvalidValue, DesignError, ValueError, TypeError, ArithmeticError, AttributeError)


class Plan(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A proven read, ready to be called."""

    read: Read
    proof: Proof
    model: Model
    table: str
    index: str | None
    sort_names: tuple[str, ...]  # the attributes by which the ranges of a fan-out are merged
    write_key: KeyWriter | None = None  # for a get
    write_query: QueryWriter | None = None  # for a query without a filter
    fan_outs: tuple[FanOut, ...] = ()  # what the read is repeated over
    given_segments: int = 0  # how many segments of the first of them are not compared, since each range has its own
    old_plans: tuple["Plan", ...] = ()  # for what is stored under old keys

    @cached_property
    def key_sources(self) -> tuple[tuple[str, Any], ...]:
        """Each part of a get's key with its argument or constant."""
        return tuple((slot.field, value) for slot, value in slots_of(self.read.name, self.read))

    @cached_property
    def settling(self) -> tuple[Attribute, ...]:
        """The parts of a get's key that the key gives back, and that may be read back in another form."""
        attributes = [self.model.attributes[field] for field, _ in self.key_sources if field in self.model.known_fields]
        return tuple(each for each in attributes if each.member.settles)

    @cached_property
    def can_be_consistent(self) -> bool:
        """Whether strongly consistent reads are possible: of the table and of local indexes."""
        return self.index is None or self.model.table.index(self.read.name, self.index).local

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """The entities that are read."""
        return tuple(source.model for source in self.read.sources)

    @cached_property
    def has_old_keys(self) -> bool:
        """Whether some of the entities may be stored under old keys."""
        return any(model.old_keys for model in self.models)

    @cached_property
    def varied_arguments(self) -> frozenset[int]:
        """Of the plan of an old key: the arguments that it has as other code wrote them."""
        return varied_arguments(self.read)

    @cached_property
    def time_bounds(self) -> range_conditions.TimeBounds | None:
        return range_conditions.time_bounds(self.proof.range)

    @property
    def reads_whole_items(self) -> bool:
        """Whether the table or index that is read holds all attributes."""
        return self.index is None or self.model.table.index(self.read.name, self.index).project == "ALL"

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """The attributes of a start key: the table's key and the index's."""
        index = self.read.sources[0].keys.attributes
        return tuple(dict.fromkeys((*self.model.table.key_names, *(each.name for each in index))))


@lru_cache(maxsize=4096)
def plan_of(read: Read) -> Plan:
    """The plan of a read, which is proven first: no unproven read is ever sent."""
    source = read.sources[0]
    proof = prove_read(read)
    table = source.model.table.name
    return Plan(
        read,
        proof,
        source.model,
        table,
        source.keys.index,
        _sort_names(source.keys, proof.range),
        key_writer(proof.range) if read.single else None,
        query_writer(proof.range) if not read.is_filtered else None,
        key_ranges.fan_outs(proof.range),
        _given_segments(proof.range),
        tuple(_old_plan(each) for each in old_reads(read, proof.range)),
    )


def get_plan(call: Get[Any] | Query[Any]) -> Plan:
    """The plan of a get; an error that says what to pass where it is something else."""
    if not isinstance(call, Get):
        raise _wrong_call(call, "a get", "Item[...], or get(Entity, ...)", "several items, not one", "Item")
    return plan_of(call.read)


def query_plan(call: Query[Any]) -> Plan:
    """The plan of a query; an error that says what to pass where it is something else."""
    if not isinstance(call, Query):
        raise _wrong_call(call, "a query", "Items[...], or query(Entity, ...)", "one item, not several", "Items")
    return plan_of(call.read)


def call_plan(call: Get[Any] | Query[Any]) -> Plan:
    """The plan of a get or a query."""
    return query_plan(call) if isinstance(call, Query) else get_plan(call)


def _wrong_call(call: Any, wanted: str, instead: str, reads: str, returns: str) -> PartitaError:
    if isinstance(call, VectorSearch):
        return InvalidValue(call.read.name, "it searches a vector index; run it with db(...)")
    if isinstance(call, Get | Query):
        return InvalidValue(call.read.name, f"it reads {reads}; declare a pattern -> {returns}[...]")
    if isinstance(call, Pattern):
        parameters = ", ".join(each.name for each in call.arguments)
        return ConfigurationError(f"{call.name}: the pattern itself is not a read; call it, {call.name}({parameters})")
    return ConfigurationError(f"{call!r} is not {wanted}; pass the call of a pattern that returns {instead}")


def _old_plan(read: Read) -> Plan:
    """The plan of a read of old keys; others may be in its range, so every item is looked at."""
    source = read.sources[0]
    found = key_ranges.key_range(read)
    proof = Proof(found, 1, True, ())
    fan_outs = key_ranges.fan_outs(found)
    return Plan(read, proof, source.model, source.model.table.name, None, (), None, None, fan_outs)


def _sort_names(keys: EntityKeys, found: key_ranges.KeyRange) -> tuple[str, ...]:
    """The sort attributes that are open in the range, or all of them where none is."""
    fixed = {each.attribute.name for each in found.fixed}
    names = tuple(attribute.name for attribute in keys.sort)
    return tuple(name for name in names if name not in fixed) or names


def _given_segments(found: key_ranges.KeyRange) -> int:
    """The segments at the start of the sort key that differ between the ranges of a fan-out."""
    prefix = found.sort_prefix
    pieces = () if prefix is None else prefix.pieces
    return len(pieces) if any(isinstance(piece.value, FanOut) for piece in pieces) else 0


def get_key(plan: Plan, arguments: tuple[Any, ...]) -> Item:
    """The key of a get."""
    try:
        if plan.write_key is not None:
            return plan.write_key(arguments)
        _check_single(plan)
        return {
            condition.attribute.name: attribute_value(plan.model, condition.attribute, condition.values[0])
            for condition in _conditions(plan, arguments, ())
        }
    except VALUE_ERRORS as error:
        raise _with_argument(plan, arguments, error) from None


def checked_key(plan: Plan, arguments: tuple[Any, ...]) -> Item:
    """The key of a get; an InvalidValue where it is longer than DynamoDB allows."""
    key = get_key(plan, arguments)
    if any(len(text) > SHORT for value in key.values() for text in value.values()):
        check_lengths(plan, arguments)
    return key


def get_item(plan: Plan, arguments: tuple[Any, ...], *, consistent: bool = False) -> wire.GetItem:
    return wire.GetItem(
        table_name=plan.table,
        key=get_key(plan, arguments),
        consistent_read=True if consistent else None,
    )


def key_values(plan: Plan, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """The values of a get's key parts, by attribute."""
    _check_single(plan)
    values = {field: _value_of(value, arguments) for field, value in plan.key_sources}
    for attribute in plan.settling:
        field = attribute.field
        values[field] = settled(plan.model, attribute, values[field], values[field])
    return values


def _check_single(plan: Plan) -> None:
    if not plan.read.single:
        raise InvalidValue(plan.read.name, "it reads several items, not one; declare a pattern -> Item[...]")


def check_lengths(plan: Plan, arguments: tuple[Any, ...]) -> None:
    """An InvalidValue that names the key of a read where it is too long; DynamoDB's own error does not name it."""
    if plan.read.single:
        key_of(plan.model, key_values(plan, arguments))
        return
    partition = plan.read.sources[0].keys.partition
    for repeat in fan_out_values(plan, arguments):
        for condition in conditions_of(plan, arguments, repeat):
            most = limits.PARTITION_KEY_BYTES if condition.attribute in partition else limits.SORT_KEY_BYTES
            for value in condition.values:
                check_key(plan.model, condition.attribute, value.get("S", ""), most)


def fan_out_values(plan: Plan, arguments: tuple[Any, ...], *, possible_only: bool = False) -> list[FanOutValues]:
    """The values of each request of the read: one value of each fan-out.

    With `possible_only`, values that the key cannot hold are left out.
    """
    if not plan.fan_outs:
        return [()]
    distinct: dict[str, FanOutValues] = {}  # two days of one month have the same month
    try:
        values = [_listed(_value_of(each.values, arguments)) for each in plan.fan_outs]
        for chosen in product(*values):
            try:
                distinct.setdefault(str(list(_texts(plan, arguments, chosen))), chosen)
            except VALUE_ERRORS:
                if not possible_only:
                    raise
    except VALUE_ERRORS as error:
        raise _with_argument(plan, arguments, error) from None
    for listed, each in zip(values, plan.fan_outs, strict=True):
        if len(listed) > each.limit:
            raise InvalidValue(plan.read.name, f"{len(listed)} values, but the pattern allows at most {each.limit}")
    return list(distinct.values())


def _texts(plan: Plan, arguments: tuple[Any, ...], repeat: FanOutValues) -> Iterator[AttributeValue]:
    """The values that a range is asked for by."""
    with suppress(EmptyRange):
        for condition in conditions_of(plan, arguments, repeat):
            yield from condition.values


def query(
    plan: Plan,
    arguments: tuple[Any, ...],
    *,
    fan_out_value: FanOutValues = (),
    limit: int | None = None,
    start: Item | None = None,
    consistent: bool = False,
    filter_arguments: tuple[Any, ...] | None = None,
) -> wire.Query:
    """One page of one range; `filter_arguments` are those of the filter, where the key has others."""
    condition, filtered, names, values = _query_text(plan, arguments, fan_out_value, filter_arguments or arguments)
    return wire.Query(
        table_name=plan.table,
        index_name=plan.index,
        key_condition_expression=condition,
        filter_expression=filtered,
        expression_attribute_names=names,
        expression_attribute_values=values,
        scan_index_forward=None if plan.proof.forward else False,
        limit=limit,
        exclusive_start_key=start,
        consistent_read=True if consistent and plan.can_be_consistent else None,
    )


def _query_text(
    plan: Plan, arguments: tuple[Any, ...], fan_out_value: Any, filter_arguments: tuple[Any, ...]
) -> tuple[str, str | None, dict[str, str], dict[str, AttributeValue]]:
    """The key condition and the filter, with the names and values that they use."""
    writer = plan.write_query
    expression = Expression()
    try:
        if writer is not None:
            return writer.text, None, dict(writer.names), writer.values(arguments)
        conditions = [_text(expression, each) for each in _ordered_conditions(plan, arguments, fan_out_value)]
    except VALUE_ERRORS as error:
        raise _with_argument(plan, arguments, error) from None
    try:
        filtered = _filter(plan, filter_arguments)
    except (InvalidValue, DesignError) as error:
        raise _with_argument(plan, filter_arguments, error) from None
    shown = None if filtered is None else expression.condition(filtered)
    if shown is not None:
        check_length(plan.read.name, shown)
    return " AND ".join(conditions), shown, expression.names, expression.values


def _filter(plan: Plan, arguments: tuple[Any, ...]) -> Condition | None:
    """The declared filter on stored attributes, and that by the type attribute."""
    where = plan.read.where
    declared = None if where is None else to_stored(plan.model, _with_arguments(where, arguments))
    if not plan.read.by_type:
        return declared
    by_type = type_condition(plan.read)
    return by_type if declared is None else All((by_type, declared))


def type_condition(read: Read) -> Condition:
    """That the type attribute names one of the entities that are read."""
    field = Field((read.sources[0].model.table.type_attribute or "",))
    names: list[AttributeValue] = [{"S": source.model.type_name} for source in read.sources]
    return Comparison("=", field, names[0]) if len(names) == 1 else OneOf(field, tuple(names))


def start_key(plan: Plan, item: Item) -> Item:
    """The start key that continues after this item."""
    return {name: item[name] for name in plan.key_names}


def conditions_of(plan: Plan, arguments: tuple[Any, ...], chosen: FanOutValues) -> list[AttributeCondition]:
    """The key conditions of one range of a query, with attribute values; EmptyRange where nothing can be in it."""
    found = []
    for each in _conditions(plan, arguments, chosen):
        values = tuple(attribute_value(plan.model, each.attribute, value) for value in each.values)
        if each.operator == "between" and sort_value(values[0]) > sort_value(values[1]):
            raise EmptyRange
        found.append(AttributeCondition(each.attribute, each.operator, values))
    return found


def _conditions(plan: Plan, arguments: tuple[Any, ...], chosen: FanOutValues) -> Iterable[AttributeCondition]:
    by_fan_out = {id(each): value for each, value in zip(plan.fan_outs, chosen, strict=True)}

    def bind(value: Any) -> Any:
        return by_fan_out[id(value)] if isinstance(value, FanOut) else _value_of(value, arguments)

    return range_conditions.key_conditions(plan.proof.range, bind)


def _ordered_conditions(plan: Plan, arguments: tuple[Any, ...], chosen: FanOutValues) -> list[AttributeCondition]:
    """The key conditions of one range, whose values are checked before their order."""
    try:
        found = conditions_of(plan, arguments, chosen)
    except EmptyRange:
        _check_order(plan, arguments)
        raise
    _check_order(plan, arguments)
    return found


def _check_order(plan: Plan, arguments: tuple[Any, ...]) -> None:
    """An InvalidValue for bounds in the wrong order; DynamoDB's own error would show the stored keys."""
    bounds = plan.read.bounds
    if bounds is None or bounds.low is None or bounds.high is None:
        return
    low, high = _sorted_bounds(plan, bounds, arguments)
    is_open = bounds.low_open or bounds.high_open
    if low > high or (low == high and is_open):
        first, last = (each.name if isinstance(each, Argument) else repr(each) for each in (bounds.low, bounds.high))
        if not isinstance(bounds.low, Argument):  # then the other bound is one
            wrong = f"it must be after {first}" if is_open else f"it must not be before {first}"
            raise InvalidValue(plan.read.name, wrong, last, argument=last)
        wrong = f"it must be before {last}" if is_open else f"it must not be after {last}"
        raise InvalidValue(plan.read.name, wrong, first, argument=first)


def _sorted_bounds(plan: Plan, bounds: SortRange, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    """The two bounds, as what sorts like the values that they stand for."""
    times, start = time_ends(plan, arguments), plan.proof.range.sort_prefix
    assert start is not None
    if times is not None:
        return times.low, times.high
    segment, given = start.open_segment, [_value_of(each, arguments) for each in (bounds.low, bounds.high)]
    if segment is None:
        low, high = (sort_value(attribute_value(plan.model, start.attribute, each)) for each in given)
        return low, high
    low, high = (segment.text(each) for each in given)
    return (high, low) if segment.form is not None and descends(segment.form) else (low, high)


class TimeEnds(NamedTuple):
    """The ends of a range of times, as texts of the full width; None where it has none."""

    low: str | None
    high: str | None
    low_open: bool
    high_open: bool

    def hold(self, text: str) -> bool:
        """Whether a time in the full width is within them."""
        above = self.low is None or (text > self.low if self.low_open else text >= self.low)
        return above and (self.high is None or (text < self.high if self.high_open else text <= self.high))


def time_ends(plan: Plan, arguments: tuple[Any, ...]) -> TimeEnds | None:
    """The ends of a range of times; None where a range is not of times."""
    bounds = plan.time_bounds and plan.time_bounds.bounds
    if bounds is None:
        return None
    low, high = _value_of(bounds.low, arguments), _value_of(bounds.high, arguments)
    if not isinstance(low, datetime) and not isinstance(high, datetime):
        return None
    try:
        low, high = (None if each is None else time_text(each) for each in (low, high))
    except VALUE_ERRORS as error:
        raise _with_argument(plan, arguments, error) from None
    return TimeEnds(low, high, bounds.low_open, bounds.high_open)


def time_filter(plan: Plan, arguments: tuple[Any, ...]) -> Callable[[str], bool] | None:
    """Whether an item belongs to a range of times, by the text of the attribute that has the time.

    The range is read by whole seconds: other code may have written times in another width, which sorts differently
    within a second.
    """
    ends, place = time_ends(plan, arguments), plan.time_bounds
    if ends is None or place is None:
        return None
    begin, template = len(place.constant), place.attribute.template

    def belongs(text: str) -> bool:
        part = text if template is None else text.split(template.separator.character)[place.position][begin:]
        if len(part) == WIDTH and part[-1] == "Z" and part[-8] == ".":
            return ends.hold(part)
        try:
            return ends.hold(time_text(time_of(part)))
        except ValueError:
            return True  # the decoder says what is wrong with it

    return belongs


def _with_argument(plan: Plan, arguments: tuple[Any, ...], error: Exception) -> InvalidValue:
    """The error with the argument that caused it: the first one that cannot be encoded."""
    invalid = error if isinstance(error, InvalidValue) else invalid_value(error, plan.read.name)
    if invalid.argument or isinstance(error, ReservedKey):
        return invalid
    name = plan.read.name
    prefix = plan.read.bounds.prefix if plan.read.bounds is not None and isinstance(error, EmptyPrefix) else None
    for slot, value in slots_of(name, plan.read):
        if value is prefix and isinstance(value, Argument):
            return InvalidValue(name, invalid.reason, argument=value.name, value=arguments[value.at])
        argument = value.values if isinstance(value, FanOut) else value
        if isinstance(argument, Argument):
            given = arguments[argument.at]
            fault = (
                _fault_of_list(plan, slot, given)
                if isinstance(value, FanOut)
                else fault_of(plan.model, slot, given, single=plan.read.single)
            )
            if fault is not None:
                found = fault if isinstance(fault, InvalidValue) else invalid_value(fault, name)
                return InvalidValue(name, found.reason, argument=argument.name, value=given, fault=found.fault)
    return invalid


def _listed(values: Any) -> list[Any]:
    """The values of a fan-out; text and bytes are one value, not a list of characters."""
    if isinstance(values, str | bytes | Mapping):
        raise FaultyValue(Fault("type", "list", type_name(type(values))))
    return list(values)


def _fault_of_list(plan: Plan, slot: Slot, given: Any) -> Exception | None:
    """The fault of the argument of a fan-out."""
    try:
        values = _listed(given)
    except (TypeError, FaultyValue, DesignError):
        return FaultyValue(Fault("type", "list", type_name(type(given))))
    return next(
        (fault for each in values if (fault := fault_of(plan.model, slot, each, single=plan.read.single)) is not None),
        None,
    )


def fault_of(model: Model, slot: Slot, given: Any, *, single: bool = False) -> Exception | None:
    """Why a value does not fit its slot: its type, or else what its encoder says."""
    if given is None and slot.nullable:
        return None
    fits = not isinstance(given, Field) and is_comparable(given, slot.type)
    wrong_type = FaultyValue(Fault("type", type_name(slot.type), type_name(type(given))))
    if slot.role is SlotRole.FILTER:
        return _fault_of_operand(given) if fits or isinstance(given, Stored) else wrong_type
    if slot.form is None and not fits:
        return wrong_type
    try:
        if isinstance(slot.form, ShardPart) and not single:
            slot.form.check_shard(given)
        _ = slot.form.write(given) if slot.form is not None else encode_attributes(model, {slot.field: given})
    except VALUE_ERRORS as error:
        return error if fits or isinstance(error, FaultyValue) else wrong_type
    return None


def _fault_of_operand(given: Any) -> Exception | None:
    """Why DynamoDB cannot compare an attribute with a value of the right type: NaN, or half of a surrogate pair."""
    try:
        _ = any_value(given) if isinstance(given, str | int | float | Decimal) else None
    except VALUE_ERRORS as error:
        return error
    return None


def _value_of(value: Any, arguments: tuple[Any, ...]) -> Any:
    return arguments[value.at] if isinstance(value, Argument) else value


def _text(expression: Expression, condition: AttributeCondition) -> str:
    name = expression.name(condition.attribute.name)
    values = [expression.value(value) for value in condition.values]
    if condition.operator == "between":
        return f"{name} BETWEEN {values[0]} AND {values[1]}"
    if condition.operator == "begins_with":
        return f"begins_with({name}, {values[0]})"
    return f"{name} {condition.operator} {values[0]}"


def attribute_value(model: Model, attribute: KeyAttribute, value: Any) -> AttributeValue:
    """A value of a key condition as DynamoDB gets it."""
    if attribute.template is not None:
        return {"S": value}
    if isinstance(value, range_conditions.Adjacent):
        return adjacent_value(attribute_value(model, attribute, value.value), above=value.above)
    assert attribute.field is not None
    kind = model.attributes[attribute.field].kind
    is_time = isinstance(value, range_conditions.Text)
    if (is_time and kind is not datetime) or not (is_time or is_comparable(value, kind)):
        given = datetime if is_time else type(value)
        raise FaultyValue(Fault("type", type_name(kind), type_name(given)))
    if is_time:
        return {"S": value.text}
    found = encode_attributes(model, {attribute.field: value}).get(attribute.name)
    if found is None:
        raise InvalidValue(model.name, "a part of the key is missing", attribute.field)
    return found


def _with_arguments(condition: Condition, arguments: tuple[Any, ...]) -> Condition:
    """The filter with the call's arguments in place."""
    if isinstance(condition, All):
        return All(tuple(_with_arguments(term, arguments) for term in condition.terms))
    if isinstance(condition, AnyOf):
        return AnyOf(tuple(_with_arguments(term, arguments) for term in condition.terms))
    if isinstance(condition, Not):
        return Not(_with_arguments(condition.term, arguments))
    if isinstance(condition, Comparison):
        return Comparison(condition.operator, condition.field, _value_of(condition.value, arguments))
    if isinstance(condition, SizeComparison):
        return SizeComparison(condition.operator, condition.field, _value_of(condition.value, arguments))
    if isinstance(condition, OneOf):
        return OneOf(condition.field, tuple(_value_of(value, arguments) for value in condition.values))
    if isinstance(condition, FunctionCondition):
        return FunctionCondition(condition.function, condition.field, _value_of(condition.value, arguments))
    return condition
