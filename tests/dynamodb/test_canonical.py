"""Canonical form of attribute values, their sizes, equality of items, identity of an item."""

import base64
from decimal import Decimal
from math import ceil

import pytest
from hypothesis import given, settings

from partita.dynamodb.canonical import (
    canonical_value,
    checked_item,
    checked_value,
    equal_items,
    item_identity,
    item_size,
)
from partita.dynamodb.numbers import canonical_number, number_size
from partita.dynamodb.values import AttributeValue, Item
from tests.dynamodb import strategies


@settings(derandomize=True, max_examples=300)
@given(strategies.decimals)
def test_canonical_number_is_the_same_number(text: str) -> None:
    canonical = canonical_number(text)
    assert Decimal(canonical) == Decimal(text)
    assert canonical_number(canonical) == canonical
    assert 2 <= number_size(canonical) <= 22


@pytest.mark.parametrize(
    ("attribute", "size"),
    [
        ({"S": "é"}, 2),
        ({"S": ""}, 0),
        ({"B": "AAAA"}, 3),
        ({"B": "AA=="}, 1),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"N": "0"}, 1),
        ({"N": "-1"}, 3),
        ({"N": "12345"}, 4),
        ({"N": "0.00012"}, 3),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"N": "1"}]}, 3 + 1 + 2 + 1 + 2),
        ({"M": {}}, 3),
        ({"M": {"ab": {"S": "c"}}}, 3 + 1 + 2 + 1),
        ({"SS": ["a", "bc"]}, 3),
        ({"NS": ["1", "-22"]}, 5),
        ({"BS": ["AA==", "AAAA"]}, 4),
    ],
)
def test_size_of_a_value(attribute: AttributeValue, size: int) -> None:
    assert checked_value(attribute)[1] == size
    assert checked_item({"name": attribute})[1] == 4 + size


def documented_size(value: AttributeValue) -> int:
    """The rules of the Developer Guide, "DynamoDB item sizes and formats", one after the other."""
    ((tag, content),) = value.items()
    if tag == "S":
        return len(content.encode())
    if tag == "N":
        return documented_number_size(Decimal(content))
    if tag == "B":
        return len(base64.b64decode(content))
    if tag in ("SS", "NS", "BS"):
        return sum(documented_size({tag[0]: each}) for each in content)
    if tag == "L":
        return 3 + sum(1 + documented_size(each) for each in content)
    if tag == "M":
        return 3 + sum(1 + len(name.encode()) + documented_size(each) for name, each in content.items())
    return 1


def documented_number_size(number: Decimal) -> int:
    """One byte, one for each pair of digits counted from the point, one for a sign; outer pairs of zeros are free."""
    if not number:
        return 1
    whole, _, fraction = f"{number.copy_abs():f}".partition(".")
    whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
    pairs = ceil(len(whole) / 2) + ceil(len(fraction) / 2)
    if not fraction:
        pairs -= (len(whole) - len(whole.rstrip("0"))) // 2
    if not whole:
        pairs -= (len(fraction) - len(fraction.lstrip("0"))) // 2
    return 1 + pairs + (number < 0)


@given(strategies.values | strategies.decimals.map(lambda text: {"N": text}))
def test_size_of_any_value_is_the_documented_one(value: AttributeValue) -> None:
    assert checked_value(value)[1] == documented_size(value)


def test_size_of_an_item_counts_names_and_values() -> None:
    assert item_size({"PK": {"S": "é"}, "b": {"B": "AP8="}, "n": {"N": str(Decimal("1.50"))}}) == 2 + 2 + 1 + 2 + 1 + 3


@given(strategies.values)
def test_canonical_form_is_its_own_canonical_form(value: AttributeValue) -> None:
    canonical = canonical_value(value)
    assert canonical_value(canonical) is canonical
    assert equal_items({"a": value}, {"a": canonical})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"n": {"N": "1.0"}}, {"n": {"N": "1"}}),
        ({"n": {"NS": ["10", "9.0"]}}, {"n": {"NS": ["9", "1E1"]}}),
        ({"b": {"BS": ["/w==", "AA=="]}}, {"b": {"BS": ["AA==", "/w=="]}}),
        ({"l": {"L": [{"M": {"n": {"N": "+1"}}}]}}, {"l": {"L": [{"M": {"n": {"N": "1"}}}]}}),
        ({"a": {"S": "1"}, "b": {"S": "2"}}, {"b": {"S": "2"}, "a": {"S": "1"}}),
    ],
)
def test_items_are_equal_whatever_the_form_of_their_values(one: Item, other: Item) -> None:
    assert equal_items(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": {"S": "1"}}, {"a": {"N": "1"}}),
        ({"a": {"L": [{"S": "x"}, {"S": "y"}]}}, {"a": {"L": [{"S": "y"}, {"S": "x"}]}}),
        ({"a": {"S": "1"}}, {}),
        ({"a": {"S": "1"}}, {"b": {"S": "1"}}),
        ({"a": {"BOOL": True}}, {"a": {"NULL": True}}),
    ],
)
def test_items_of_other_values_are_unequal(one: Item, other: Item) -> None:
    assert not equal_items(one, other)


@pytest.mark.parametrize("value", [{"N": "1" * 39}, {"N": "abc"}, {"SS": []}, {"S": "\ud800"}, {}])
def test_value_that_dynamodb_rejects_is_left_as_it_is(value: AttributeValue) -> None:
    assert canonical_value(value) is value


def test_identity_of_an_item_depends_on_table_and_key_alone() -> None:
    key = {"PK": {"S": "a"}, "SK": {"N": "1.0"}}
    assert item_identity("t", key) == item_identity("t", {"SK": {"N": "1"}, "PK": {"S": "a"}})
    assert item_identity("t", key) != item_identity("other", key)
    assert item_identity("t", key) != item_identity("t", {"PK": {"S": "a"}, "SK": {"N": "2"}})
