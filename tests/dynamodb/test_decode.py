"""Decoding requests: what DynamoDB's decoder accepts, and its messages for what it rejects."""

import contextlib
import gc
import json
import tracemalloc
from typing import Any

import pytest

from partita.dynamodb.decode import decode_request, round_trip
from partita.dynamodb.exceptions import SerializationException, ValidationException
from partita.dynamodb.json_structure import MAX_TOKENS
from partita.dynamodb.limits import ITEM_BYTES
from partita.dynamodb.requests import GetItem, PutItem, Scan


def decoded(operation: str, body: Any) -> Any:
    return decode_request(operation, body if isinstance(body, bytes) else json.dumps(body).encode())


def test_members_are_named_in_snake_case() -> None:
    request = decoded("GetItem", {"TableName": "notes", "Key": {"pk": {"S": "a"}}, "ConsistentRead": True})
    assert request == GetItem(table_name="notes", key={"pk": {"S": "a"}}, consistent_read=True)


@pytest.mark.parametrize(
    "body",
    [
        {"TableName": "notes", "Unknown": [1, {"x": None}]},
        {"TableName": "notes", "Limit": None},
        {"TableName": "notes", "ScanFilter": None, "IndexName": None},
    ],
)
def test_unknown_members_are_skipped_and_nulls_are_absent(body: Any) -> None:
    assert decoded("Scan", body) == Scan(table_name="notes")


NULL_VALUE = "The supplied Item contains a null AttributeValue"
NULL_MEMBER = "1 validation error detected: Value null at '{}' failed to satisfy constraint: Member must not be null"
NULLS = {
    "an item": ("PutItem", {"Item": {"a": None}}, f"{NULL_VALUE}: a is null"),
    "a list": ("PutItem", {"Item": {"a": {"L": [{"S": "x"}, None]}}}, NULL_VALUE),
    "a map": ("PutItem", {"Item": {"a": {"L": [{"M": {"b": None}}]}}}, f"{NULL_VALUE}: b is null"),
    "a set of text": (
        "PutItem",
        {"Item": {"a": {"SS": ["x", None]}}},
        "One or more parameter values were invalid: An string set may not have a null string as a member",
    ),
    "a set of numbers": (
        "PutItem",
        {"Item": {"a": {"NS": ["1", None]}}},
        "The parameter cannot be converted to a numeric value",
    ),
    "the values of an expression": (
        "UpdateItem",
        {"ExpressionAttributeValues": {":a": {"L": [None]}}},
        f"ExpressionAttributeValues contains invalid value: {NULL_VALUE} for key :a",
    ),
    "the conditions of a filter": (
        "Scan",
        {"ScanFilter": {"a": None}},
        NULL_MEMBER.format("scanFilter.a"),
    ),
    "the actions of a transaction": (
        "TransactWriteItems",
        {"TransactItems": [{"Put": {}}, None]},
        NULL_MEMBER.format("transactItems.2"),
    ),
}


@pytest.mark.parametrize("where", NULLS)
def test_null_in_a_list_or_a_map_is_rejected(where: str) -> None:
    """Without it the request would be another one: a filter less, an action less, an attribute less."""
    operation, body, message = NULLS[where]
    with pytest.raises(ValidationException) as raised:
        decoded(operation, body)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("given", "read"), [("true", True), ("TRUE", True), ("1", True), ("false", False), ("0", False)]
)
def test_boolean_may_be_text(given: str, read: bool) -> None:
    assert decoded("Scan", {"ConsistentRead": given}) == Scan(consistent_read=read)


def test_fraction_is_truncated_to_an_integer() -> None:
    assert decoded("Scan", {"Limit": 5.9}) == Scan(limit=5)


JAVA_MAP = "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>"


@pytest.mark.parametrize(
    ("operation", "body", "message"),
    [
        ("Scan", b"", "The request body is not JSON in UTF-8"),
        ("Scan", b"{", "The request body is not JSON in UTF-8"),
        ("Scan", b'{"TableName": "\xff"}', "The request body is not JSON in UTF-8"),
        ("Scan", b"[" * 100_000, "The request is nested too deeply"),
        ("Scan", b"[]", "Start of structure or map expected"),
        ("Scan", b'"text"', "Start of structure or map expected"),
        ("Scan", {"TableName": 1}, "NUMBER_VALUE cannot be converted to String"),
        ("Scan", {"TableName": 1.5}, "DECIMAL_VALUE cannot be converted to String"),
        ("Scan", {"TableName": True}, "TRUE_VALUE cannot be converted to String"),
        ("Scan", {"TableName": []}, "Unrecognized collection type class java.lang.String"),
        ("Scan", {"TableName": {}}, "Start of structure or map found where not expected"),
        ("Scan", {"Limit": "5"}, "STRING_VALUE cannot be converted to Integer"),
        ("Scan", {"Limit": True}, "TRUE_VALUE cannot be converted to Integer"),
        ("Scan", {"ConsistentRead": 1}, "NUMBER_VALUE cannot be converted to Boolean"),
        ("Scan", {"ConsistentRead": "maybe"}, "Unexpected token received from parser"),
        ("Scan", {"AttributesToGet": "a"}, "Unexpected field type"),
        ("Scan", {"AttributesToGet": {}}, "Start of structure or map found where not expected"),
        ("GetItem", {"Key": "a"}, "Unexpected field type"),
        ("GetItem", {"Key": []}, f"Unrecognized collection type {JAVA_MAP}"),
        ("GetItem", {"Key": {"pk": "a"}}, "Unexpected value type in payload"),
        (
            "GetItem",
            {"Key": {"pk": []}},
            "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue",
        ),
        ("PutItem", {"Item": {"pk": {"S": 1}}}, "NUMBER_VALUE cannot be converted to String"),
        ("PutItem", {"Item": {"pk": {"N": 1}}}, "NUMBER_VALUE cannot be converted to String"),
        ("PutItem", {"Item": {"pk": {"SS": "a"}}}, "Unexpected field type"),
        ("PutItem", {"Item": {"pk": {"L": [1]}}}, "Unexpected value type in payload"),
    ],
)
def test_malformed_request_is_rejected_with_dynamodbs_message(operation: str, body: Any, message: str) -> None:
    with pytest.raises(SerializationException) as caught:
        decoded(operation, body)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["\\ud800", "\\udfff", "\\ud800\\ud800", "a\\udc00b"])
def test_lone_surrogate_is_rejected(text: str) -> None:
    with pytest.raises(SerializationException):
        decoded("Scan", b'{"TableName": "%s"}' % text.encode())


def test_surrogate_pair_is_one_character() -> None:
    assert decoded("Scan", b'{"TableName": "\\ud83d\\ude00"}') == Scan(table_name="\N{GRINNING FACE}")


def test_valid_request_survives_a_round_trip() -> None:
    request = PutItem(table_name="notes", item={"pk": {"S": "a"}})
    assert round_trip(request) == request


@pytest.mark.parametrize("item", [[1], {"pk": {"S": 1}}, {"pk": {"S": object()}}, {"pk": {"S": "\ud800"}}])
def test_request_with_a_wrong_type_is_rejected(item: Any) -> None:
    with pytest.raises(SerializationException):
        round_trip(PutItem(table_name="notes", item=item))


LIST = b'{"TableName": "t", "Item": {"a": {"L": [%s]}}}'


@pytest.mark.parametrize(
    "member", [b"{}", b"[]", b"[1]", b'{"L":[]}', b'{"NULL":true}', b'""', b"1", b'{"":{}}', b"null"]
)
def test_body_with_too_many_values_is_rejected_before_it_is_decoded(member: bytes) -> None:
    """The decoder would take up to half a gigabyte for 16 MB, and several seconds."""
    body = LIST % b",".join([member] * MAX_TOKENS)
    tracemalloc.start()
    with pytest.raises(SerializationException, match="more than 1,000,000 texts, brackets and commas"):
        decoded("PutItem", body)
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    "members",
    [
        b",".join([b'{"NULL":true}'] * (ITEM_BYTES // 2)),  # each takes two bytes of the item
        b",".join([b'{"N":"1"}'] * (ITEM_BYTES // 3)),
        b",".join([b'{"L":[]}'] * (ITEM_BYTES // 4)),
        b'{"M":{' + b",".join([b'"%x":{"S":""}' % number for number in range(ITEM_BYTES // 5)]) + b"}}",
        b'{"SS":[' + b",".join([b'"%x"' % number for number in range(ITEM_BYTES // 4)]) + b"]}",
        b'{"S":"' + b'{[,\\"' * 1_000_000 + b'"}',  # none of them outside of the text
    ],
)
def test_values_of_the_largest_item_are_decoded(members: bytes) -> None:
    assert decoded("PutItem", LIST % members).item["a"]["L"] == json.loads(b"[%s]" % members)


def test_garbage_collector_is_on_after_a_large_body() -> None:
    for body in (LIST % b",".join([b"{}"] * 100_000), b"[" * 100_000):
        with contextlib.suppress(SerializationException):
            decoded("PutItem", body)
        assert gc.isenabled()
