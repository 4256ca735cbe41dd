"""A design's conditions, evaluated here, give what DynamoDB answers for their expression."""

import operator
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from partita import Entity, F, Table
from partita.connect import connect
from partita.design.conditions import Condition, Field, Stored
from partita.design.models import model_of
from partita.design.untyped_values import plain
from partita.dynamodb import requests as wire
from partita.dynamodb.exceptions import ConditionalCheckFailedException
from partita.dynamodb.shapes import AttributeDefinition, KeySchemaElement
from partita.dynamodb.values import AttributeValue, Item
from partita.plan.condition_expressions import Expression, to_stored
from partita.plan.predicates import design_predicate, evaluate
from tests.dynamodb import strategies

pytestmark = pytest.mark.slow


table = Table("things", pk="PK")


class Thing(Entity, table=table, key="THING#{thing_id}"):
    """Attributes of any type."""

    thing_id: str
    a: Any = None
    b: Any = None
    m: Any = None


MODEL = model_of(Thing)
KEY: Item = {"PK": {"S": "THING#1"}}
PATHS = [("a",), ("b",), ("m",), ("a", "x"), ("m", "x"), ("m", "x", "y")]
ORDERS = [operator.lt, operator.le, operator.gt, operator.ge]
EQUALITIES = [operator.eq, operator.ne]

fields = st.sampled_from(PATHS).map(Field)
two_fields = st.permutations(PATHS).map(lambda paths: (Field(paths[0]), Field(paths[1])))


def operands(values: st.SearchStrategy[AttributeValue]) -> st.SearchStrategy[Any]:
    """A value as Python has it, or in DynamoDB JSON."""
    return st.one_of(values.map(Stored), values.map(plain))


anything = operands(strategies.values)
ordered = operands(strategies.scalars.filter(lambda value: value.keys() & {"S", "N", "B"}))
prefixes = st.one_of(strategies.texts, strategies.binaries)

simple: st.SearchStrategy[Condition] = st.one_of(
    st.builds(lambda compare, field, value: compare(field, value), st.sampled_from(EQUALITIES), fields, anything),
    st.builds(lambda compare, field, value: compare(field, value), st.sampled_from(ORDERS), fields, ordered),
    st.builds(lambda compare, pair: compare(*pair), st.sampled_from(EQUALITIES + ORDERS), two_fields),
    st.builds(lambda field, values: field.is_in(*values), fields, st.lists(anything, min_size=1, max_size=3)),
    st.builds(lambda field, low, high: field.between(low, high), fields, ordered, ordered),
    st.builds(lambda field, prefix: field.starts_with(prefix), fields, prefixes),
    st.builds(lambda field, value: field.contains(value), fields, anything),
    st.builds(lambda field: field.exists(), fields),
    st.builds(lambda field: field.is_absent(), fields),
)
conditions = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(lambda one, other: one & other, inner, inner),
        st.builds(lambda one, other: one | other, inner, inner),
        st.builds(lambda one: ~one, inner),
    ),
    max_leaves=4,
)


@pytest.fixture(scope="module", params=["memory", "dynamodb_local"])
def backend(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The embedded engine, and DynamoDB Local as a second opinion."""
    address = "memory:" if request.param == "memory" else request.getfixturevalue(request.param)
    with connect(address) as opened:
        opened.call(
            wire.CreateTable(
                table_name="things",
                attribute_definitions=[AttributeDefinition(attribute_name="PK", attribute_type="S")],
                key_schema=[KeySchemaElement(attribute_name="PK", key_type="HASH")],
                billing_mode="PAY_PER_REQUEST",
            )
        )
        yield opened
        opened.call(wire.DeleteTable(table_name="things"))


def answer_of(backend: Any, condition: Condition, item: Item | None) -> tuple[bool, Item]:
    """Whether a write under the rendered condition succeeds on the item, and the item as the backend returns it."""
    backend.call(wire.DeleteItem(table_name="things", key=KEY))
    if item is not None:
        backend.call(wire.PutItem(table_name="things", item=KEY | item))
    expression = Expression()
    request = wire.DeleteItem(
        table_name="things",
        key=KEY,
        condition_expression=expression.condition(condition),
        expression_attribute_names=expression.names,
        expression_attribute_values=expression.values or None,
        return_values="ALL_OLD",
        return_values_on_condition_check_failure="ALL_OLD",
    )
    try:
        reply = backend.call(request)
    except ConditionalCheckFailedException as failed:
        return False, failed.item or {}
    return True, {} if reply.attributes is None else msgspec.json.decode(msgspec.json.encode(reply.attributes))


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(item=st.none() | strategies.items, condition=conditions)
def test_evaluation_equals_the_backends_answer(backend: Any, item: Item | None, condition: Condition) -> None:
    note(f"{condition} on {item}")
    stored = to_stored(MODEL, condition)
    answer, returned = answer_of(backend, stored, item)
    assert evaluate(stored, item or {}) == answer  # values in the form in which they were written
    assert evaluate(stored, returned) == answer  # and in the form in which the backend returns them
    assert design_predicate(MODEL, condition)(item or {}) == answer


@pytest.mark.parametrize(
    ("condition", "item", "holds"),
    [
        (F.a.starts_with(b"a"), {"a": {"B": "YWI="}}, True),
        (F.a.starts_with(b"b"), {"a": {"B": "YWI="}}, False),
        (F.a.starts_with("a"), {"a": {"B": "YWI="}}, False),
        (F.a.contains(b"b"), {"a": {"B": "YWI="}}, True),
        (F.a.contains(b"ab"), {"a": {"BS": ["YWI=", "YQ=="]}}, True),
        (F.a.contains(1), {"a": {"NS": ["2", "1.0"]}}, True),
        (F.a.contains({"x": {2, 1}}), {"a": {"L": [{"M": {"x": {"NS": ["2", "1"]}}}]}}, True),
        (F.a == {"b", "a"}, {"a": {"SS": ["b", "a"]}}, True),
        (F.a > b"a", {"a": {"B": "YWI="}}, True),
        (F.a > "1", {"a": {"N": "2"}}, False),
        (F.a != F.b, {}, False),
        (F.a == F.b, {}, True),
    ],
)
def test_condition_on_an_item(backend: Any, condition: Condition, item: Item, holds: bool) -> None:
    stored = to_stored(MODEL, condition)
    assert evaluate(stored, item) == holds
    assert answer_of(backend, stored, item)[0] == holds
