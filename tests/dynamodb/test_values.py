"""Paths into items, and the order and comparison of attribute values."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.dynamodb.values import COMPARISONS, AttributeValue, Item, ResolvedPath, sort_value, value_at
from tests.dynamodb import strategies

ITEM: Item = {"m": {"M": {"l": {"L": [{"S": "first"}, {"M": {"x": {"N": "1"}}}]}}}, "s": {"SS": ["a"]}}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("s",), {"SS": ["a"]}),
        (("m", "l", 0), {"S": "first"}),
        (("m", "l", 1, "x"), {"N": "1"}),
        (("m", "l", 2), None),
        (("m", "l", "x"), None),
        (("m", 0), None),
        (("s", 0), None),
        (("absent",), None),
        (("absent", "x", 0), None),
    ],
)
def test_value_at_a_path(path: ResolvedPath, value: AttributeValue | None) -> None:
    assert value_at(ITEM, path) == value


@given(st.text(), st.text())
def test_text_sorts_by_its_utf8_bytes(one: str, other: str) -> None:
    assert (sort_value({"S": one}) < sort_value({"S": other})) == (one.encode() < other.encode())


@given(strategies.decimals, strategies.decimals)
def test_numbers_sort_by_value(one: str, other: str) -> None:
    assert (sort_value({"N": one}) < sort_value({"N": other})) == (Decimal(one) < Decimal(other))


@given(st.binary(), st.binary())
def test_binary_sorts_by_its_bytes(one: bytes, other: bytes) -> None:
    low, high = sort_value({"B": strategies.encoded(one)}), sort_value({"B": strategies.encoded(other)})
    assert (low < high) == (one < other)


@pytest.mark.parametrize(
    ("left", "right", "true"),
    [
        ({"N": "9"}, {"N": "10"}, {"<>", "<", "<="}),
        ({"N": "10"}, {"N": "10"}, {"=", "<=", ">="}),
        ({"S": "9"}, {"S": "10"}, {"<>", ">", ">="}),
        ({"B": "/w=="}, {"B": "AAA="}, {"<>", ">", ">="}),
        ({"S": "1"}, {"N": "1"}, {"<>"}),
        ({"BOOL": True}, {"BOOL": True}, {"="}),
        ({"BOOL": False}, {"BOOL": True}, {"<>"}),
        ({"SS": ["a", "b"]}, {"SS": ["a", "b"]}, {"="}),
        ({"L": []}, {"M": {}}, {"<>"}),
        ({"S": "a"}, None, {"<>"}),
        (None, {"S": "a"}, {"<>"}),
        (None, None, {"<>"}),
    ],
)
def test_comparisons_that_are_true(left: AttributeValue | None, right: AttributeValue | None, true: set[str]) -> None:
    assert {operator for operator, compare in COMPARISONS.items() if compare(left, right)} == true
