"""The functions of conditions on values of every type; engine and plan test them in whole conditions."""

import pytest

from partita.dynamodb import conditions
from partita.dynamodb.conditions import attribute, begins_with, comparison, constant, contains, has_type, size
from partita.dynamodb.values import AttributeValue, Item


@pytest.mark.parametrize(
    ("value", "prefix", "answer"),
    [
        ({"S": "abc"}, {"S": "ab"}, True),
        ({"S": "abc"}, {"S": ""}, True),
        ({"S": "abc"}, {"S": "bc"}, False),
        ({"B": "YWJj"}, {"B": "YWI="}, True),  # the text of the base64 is no prefix
        ({"B": "YWJj"}, {"B": "YmM="}, False),
        ({"B": "YWJj"}, {"S": "YWJj"}, False),
        ({"N": "12"}, {"S": "1"}, False),
        (None, {"S": "a"}, False),
        ({"S": "a"}, None, False),
    ],
)
def test_begins_with(value: AttributeValue | None, prefix: AttributeValue | None, answer: bool) -> None:
    assert begins_with(value, prefix) is answer


@pytest.mark.parametrize(
    ("value", "wanted", "answer"),
    [
        ({"S": "abc"}, {"S": "b"}, True),
        ({"B": "YWJj"}, {"B": "Yg=="}, True),
        ({"SS": ["a", "b"]}, {"S": "a"}, True),
        ({"SS": ["ab"]}, {"S": "a"}, False),
        ({"NS": ["1", "2"]}, {"N": "2"}, True),
        ({"NS": ["1"]}, {"S": "1"}, False),
        ({"BS": ["AA=="]}, {"B": "AA=="}, True),
        ({"L": [{"M": {"x": {"N": "1"}}}]}, {"M": {"x": {"N": "1"}}}, True),
        ({"L": [{"SS": ["a"]}]}, {"S": "a"}, False),
        ({"M": {"a": {"S": "b"}}}, {"S": "a"}, False),
        ({"N": "12"}, {"N": "1"}, False),
        (None, {"S": "a"}, False),
    ],
)
def test_contains(value: AttributeValue | None, wanted: AttributeValue, answer: bool) -> None:
    assert contains(value, wanted) is answer


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ({"S": "é"}, "2"),
        ({"B": "AAA="}, "2"),
        ({"SS": ["a", "bc"]}, "2"),
        ({"L": [{"S": "abc"}]}, "1"),
        ({"M": {}}, "0"),
        ({"N": "12"}, None),
        ({"BOOL": True}, None),
        ({"NULL": True}, None),
        (None, None),
    ],
)
def test_size(value: AttributeValue | None, answer: str | None) -> None:
    assert size(value) == (None if answer is None else {"N": answer})


def test_type_of_an_absent_attribute_is_no_type() -> None:
    assert has_type({"N": "1"}, {"S": "N"})
    assert not has_type({"N": "1"}, {"S": "S"})
    assert not has_type(None, {"S": "NULL"})


def test_conditions_compose() -> None:
    cheap = comparison("<", attribute(("price",)), constant({"N": "10"}))
    rated = conditions.function("attribute_exists", [attribute(("ratings", "mean"))])
    rated_item: Item = {"price": {"N": "12"}, "ratings": {"M": {"mean": {"N": "4"}}}}
    assert conditions.some([cheap, rated])(rated_item, {})
    assert not conditions.every([cheap, rated])(rated_item, {})
    assert conditions.every([conditions.negation(cheap), rated])(rated_item, {})
    assert not conditions.some([cheap, rated])({}, {})
    assert conditions.every([])({}, {})


def test_one_test_serves_requests_with_other_values() -> None:
    test = conditions.between(attribute(("n",)), conditions.placeholder(":low"), conditions.placeholder(":high"))
    assert test({"n": {"N": "10"}}, {":low": {"N": "9"}, ":high": {"N": "10"}})
    assert not test({"n": {"N": "10"}}, {":low": {"N": "1"}, ":high": {"N": "2"}})
