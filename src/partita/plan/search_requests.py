"""Requests of proven searches of vector indexes."""

from functools import lru_cache
from typing import Any

import msgspec

from partita.design.key_slots import Slot, SlotRole
from partita.design.models import Model
from partita.design.reads import Argument, Read, VectorSearch
from partita.design.search_terms import attribute_on_disk, search_values, vector_index
from partita.design.tables import VectorIndex
from partita.design.vector_values import VectorCodec
from partita.dynamodb import requests as wire
from partita.dynamodb.values import AttributeValue, Item
from partita.errors import InvalidValue
from partita.plan.condition_expressions import Expression
from partita.plan.items import encode_attributes
from partita.plan.proof.searches import SearchProof, prove_search
from partita.plan.range_conditions import key_conditions
from partita.plan.read_requests import VALUE_ERRORS, attribute_value, fault_of
from partita.validation import invalid_value


class SearchPlan(msgspec.Struct, frozen=True, eq=False):
    """A proven search, ready to be called."""

    read: Read
    proof: SearchProof
    model: Model
    index: VectorIndex
    codec: VectorCodec

    @property
    def count(self) -> int:
        return 0 if self.read.search is None else self.read.search.count


@lru_cache(maxsize=4096)
def search_plan_of(read: Read) -> SearchPlan:
    """The plan of a search, which is proven first."""
    model, index = read.sources[0].model, vector_index(read)
    vector = attribute_on_disk(model, index.vector)
    assert vector is not None
    assert isinstance(vector.codec, VectorCodec)
    return SearchPlan(read, prove_search(read), model, index, vector.codec)


def search_plan(call: VectorSearch[Any]) -> SearchPlan:
    """The plan of a call."""
    return search_plan_of(call.read)


class SearchArguments(msgspec.Struct, frozen=True):
    """The values of one search as DynamoDB gets them: the vector, and the values that attributes must equal."""

    vector: list[AttributeValue]
    equal: Item


def search_arguments(plan: SearchPlan, arguments: tuple[Any, ...]) -> SearchArguments:
    """The values of a call; an InvalidValue that names the argument where one does not fit."""
    vector: list[AttributeValue] = []
    equal: Item = {}
    for slot, value in search_values(plan.read):
        given = arguments[value.at] if isinstance(value, Argument) else value
        if slot.role is SlotRole.VECTOR:
            try:
                vector = (plan.codec.encode(given) or {})["L"]
            except ValueError as error:
                raise InvalidValue(plan.read.name, str(error), argument=slot.field) from None
        elif slot.role is SlotRole.SEARCH_FILTER:
            equal |= _equal(plan, slot, given)
    try:
        for condition in key_conditions(plan.proof.range, lambda value: _value_of(value, arguments)):
            equal[condition.attribute.name] = attribute_value(plan.model, condition.attribute, condition.values[0])
    except VALUE_ERRORS as error:
        raise _with_argument(plan, arguments, error) from None
    if plan.proof.by_type:
        equal[plan.model.table.type_attribute or ""] = {"S": plan.model.type_name}
    return SearchArguments(vector, equal)


def search_vectors(plan: SearchPlan, arguments: tuple[Any, ...]) -> wire.SearchVectors:
    """The request of a call."""
    given = search_arguments(plan, arguments)
    expression = Expression()
    condition = " AND ".join(
        f"{expression.name(name)} = {expression.value(value)}" for name, value in given.equal.items()
    )
    projection = None
    if plan.index.vector in plan.proof.returned_names:  # which a search leaves out unless it is asked for
        projection = ", ".join(expression.name(name) for name in plan.proof.returned_names)
    return wire.SearchVectors(
        table_name=plan.model.table.name,
        index_name=plan.index.name,
        search_vector=given.vector,
        top_k=plan.count,
        search_condition_expression=condition or None,
        projection_expression=projection,
        expression_attribute_names=expression.names or None,
        expression_attribute_values=expression.values or None,
    )


def _equal(plan: SearchPlan, slot: Slot, given: Any) -> Item:
    """The value of a filter, under its name on disk."""
    fault = fault_of(plan.model, slot, given)
    if fault is not None:
        found = fault if isinstance(fault, InvalidValue) else invalid_value(fault, plan.read.name)
        raise InvalidValue(plan.read.name, found.reason, argument=slot.field, value=given, fault=found.fault)
    return encode_attributes(plan.model, {slot.field: given})


def _with_argument(plan: SearchPlan, arguments: tuple[Any, ...], error: Exception) -> InvalidValue:
    """The error with the argument that caused it: the first part of the key that cannot be encoded."""
    for slot, value in search_values(plan.read):
        if slot.role is SlotRole.PARTITION and isinstance(value, Argument):
            given = arguments[value.at]
            fault = fault_of(plan.model, slot, given)
            if fault is not None:
                found = fault if isinstance(fault, InvalidValue) else invalid_value(fault, plan.read.name)
                return InvalidValue(plan.read.name, found.reason, argument=value.name, value=given, fault=found.fault)
    return error if isinstance(error, InvalidValue) else invalid_value(error, plan.read.name)


def _value_of(value: Any, arguments: tuple[Any, ...]) -> Any:
    return arguments[value.at] if isinstance(value, Argument) else value
