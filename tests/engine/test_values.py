"""Attribute values in requests: exact numbers, rejected values, keys and their limits."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita.dynamodb.numbers import canonical_number
from partita.engine.key_encoding import number_bytes, prefix_end, segment_bounds, sort_bytes
from tests.dynamodb.strategies import decimals
from tests.engine.shorthand import Json
from tests.engine.tables import Bench, plain, value

ENVELOPE = "1 validation error detected: "
INVALID = "One or more parameter values were invalid: "


@pytest.fixture
def notes(bench: Bench) -> str:
    return bench.table("notes", "pk:S")


@pytest.mark.parametrize(
    ("given_text", "stored"),
    [
        ("1", "1"),
        ("+1", "1"),
        ("-0", "0"),
        ("0.0", "0"),
        ("007", "7"),
        ("1.50", "1.5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1e3", "1000"),
        ("1.5E-3", "0.0015"),
        ("-12e+2", "-1200"),
        ("1E-130", "0." + "0" * 129 + "1"),
        ("9.9999999999999999999999999999999999999E125", "9" * 38 + "0" * 88),
        ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
        (
            "0.00000000000000000000000000000000000000000012345678901234567890123456789012345678",
            "0.00000000000000000000000000000000000000000012345678901234567890123456789012345678",
        ),
        ("100000000000000000000000000000000000000000000000", "1" + "0" * 47),
    ],
)
def test_number_is_stored_exactly_in_one_form(bench: Bench, notes: str, given_text: str, stored: str) -> None:
    bench.put("notes", pk="a", n={"N": given_text})
    assert bench.get("notes", pk="a") == {"pk": {"S": "a"}, "n": {"N": stored}}


OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
PRECISE = "Attempting to store more than 38 significant digits in a Number"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1E126", OVERFLOW),
        ("-1E126", OVERFLOW),
        ("1E999999999999999999999", OVERFLOW),
        ("1E-131", UNDERFLOW),
        ("1E-99999999999999999999", UNDERFLOW),
        ("1" * 39, PRECISE),
        ("1." + "1" * 38, PRECISE),
        ("", "The parameter cannot be converted to a numeric value"),
        ("abc", "The parameter cannot be converted to a numeric value: abc"),
        ("1,5", "The parameter cannot be converted to a numeric value: 1,5"),
        ("0x10", "The parameter cannot be converted to a numeric value: 0x10"),
        ("NaN", "The parameter cannot be converted to a numeric value: NaN"),
        ("Infinity", "The parameter cannot be converted to a numeric value: Infinity"),
        ("1_000", "The parameter cannot be converted to a numeric value: 1_000"),
        (" 1", "The parameter cannot be converted to a numeric value:  1"),
        ("1\n", "The parameter cannot be converted to a numeric value: 1\n"),
        (
            "\N{ARABIC-INDIC DIGIT ONE}",
            "The parameter cannot be converted to a numeric value: \N{ARABIC-INDIC DIGIT ONE}",
        ),
        ("--1", "The parameter cannot be converted to a numeric value: --1"),
        ("e5", "The parameter cannot be converted to a numeric value: e5"),
    ],
)
def test_invalid_number_is_rejected(bench: Bench, notes: str, text: str, message: str) -> None:
    error = bench.error("PutItem", TableName="notes", Item={"pk": {"S": "a"}, "n": {"N": text}})
    assert error == f"ValidationException: {message}"


@pytest.mark.parametrize(
    ("left", "operator", "right", "result"),
    [
        ("0.1", "+", "0.2", "0.3"),
        ("1", "-", "0.00000000000000000000000000000000000001", "0.99999999999999999999999999999999999999"),
        ("9" * 38, "-", "1", "9" * 37 + "8"),
        ("1E125", "-", "1E125", "0"),
        ("-5", "+", "5", "0"),
        ("1E-130", "+", "1E-130", "0." + "0" * 129 + "2"),
    ],
)
def test_arithmetic_is_exact(bench: Bench, notes: str, left: str, operator: str, right: str, result: str) -> None:
    bench.put("notes", pk="a", n={"N": left})
    bench.ok(
        "UpdateItem",
        TableName="notes",
        Key=plain({"pk": "a"}),
        UpdateExpression=f"SET n = n {operator} :v",
        ExpressionAttributeValues={":v": {"N": right}},
    )
    assert bench.get("notes", pk="a") == {"pk": {"S": "a"}, "n": {"N": result}}


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [("9E125", "9E125", OVERFLOW), ("1E125", "1E-130", PRECISE), ("1" * 38, "0.1", PRECISE)],
)
def test_sum_out_of_range_is_rejected(bench: Bench, notes: str, left: str, right: str, message: str) -> None:
    bench.put("notes", pk="a", n={"N": left})
    for expression in ("SET n = n + :v", "ADD n :v"):
        error = bench.error(
            "UpdateItem",
            TableName="notes",
            Key=plain({"pk": "a"}),
            UpdateExpression=expression,
            ExpressionAttributeValues={":v": {"N": right}},
        )
        assert error == f"ValidationException: {message}"


@settings(derandomize=True, max_examples=300)
@given(decimals, decimals)
def test_number_keys_sort_as_numbers(one: str, two: str) -> None:
    first, second = canonical_number(one), canonical_number(two)
    assert (number_bytes(first) < number_bytes(second)) == (Decimal(first) < Decimal(second))
    assert (number_bytes(first) == number_bytes(second)) == (Decimal(first) == Decimal(second))


@settings(derandomize=True, max_examples=300)
@given(st.text(max_size=6), st.text(max_size=6))
def test_text_keys_sort_by_their_bytes(one: str, two: str) -> None:
    first, second = sort_bytes({"S": one}), sort_bytes({"S": two})
    assert (first < second) == (one.encode() < two.encode())
    assert one == two or not second.startswith(first)


@settings(derandomize=True)
@given(st.binary(max_size=4), st.binary(max_size=4))
def test_prefix_end_is_just_above_all_keys_with_the_prefix(prefix: bytes, other: bytes) -> None:
    end = prefix_end(prefix)
    if end is None:
        assert not prefix.strip(b"\xff")
        return
    assert prefix + other < end
    assert not (prefix <= other < end) or other.startswith(prefix)


@settings(derandomize=True)
@given(st.integers(1, 1_000_000))
def test_segments_join_without_gap_or_overlap(total: int) -> None:
    bounds = [segment_bounds(segment, total) for segment in {0, total // 2, total - 1} if segment < total]
    assert segment_bounds(0, total)[0] == bytes(16)
    assert segment_bounds(total - 1, total)[1] is None
    for low, high in bounds:
        assert high is None or low < high
    for segment in range(min(total - 1, 50)):
        assert segment_bounds(segment, total)[1] == segment_bounds(segment + 1, total)[0]


BAD_VALUES: list[tuple[Json, str]] = [
    ({}, "ValidationException: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
    (
        {"S": "a", "N": "1"},
        (
            "ValidationException: Supplied AttributeValue has more than one datatypes set, must contain "
            "exactly one of the supported datatypes"
        ),
    ),
    (
        {"NULL": False},
        f"ValidationException: {ENVELOPE}{INVALID}Null attribute value types must have the value of true",
    ),
    ({"SS": []}, f"ValidationException: {ENVELOPE}{INVALID}An string set  may not be empty"),
    ({"NS": []}, f"ValidationException: {ENVELOPE}{INVALID}An number set  may not be empty"),
    ({"BS": []}, f"ValidationException: {ENVELOPE}{INVALID}Binary sets should not be empty"),
    ({"SS": ["a", "a"]}, f"ValidationException: {ENVELOPE}{INVALID}Input collection [a, a] contains duplicates."),
    ({"NS": ["1", "1.0"]}, f"ValidationException: {ENVELOPE}Input collection contains duplicates"),
    (
        {"BS": ["AA==", "AA=="]},
        f"ValidationException: {ENVELOPE}{INVALID}Input collection [AA==, AA==]of type BS contains duplicates.",
    ),
    ({"M": {"x": {"L": [{"SS": []}]}}}, f"ValidationException: {ENVELOPE}{INVALID}An string set  may not be empty"),
]


@pytest.mark.parametrize(("attribute", "error"), BAD_VALUES)
def test_invalid_value_is_rejected(bench: Bench, notes: str, attribute: Json, error: str) -> None:
    assert bench.error("PutItem", TableName="notes", Item={"pk": {"S": "a"}, "x": attribute}) == error


@pytest.mark.parametrize(
    "attribute",
    [
        {"S": 1},
        {"S": None},
        {"N": 1},
        {"B": "x"},
        {"B": "===="},
        {"BOOL": "maybe"},
        {"SS": "a"},
        {"L": {}},
        {"M": []},
        {"L": [1]},
        {"SS": [1]},
        {"X": "a"},
        {"S": ["a"]},
        {"B": "AAAA="},
        {"N": {}},
    ],
)
def test_value_of_a_wrong_type_is_a_serialization_error(bench: Bench, notes: str, attribute: Json) -> None:
    code = bench.failed("PutItem", TableName="notes", Item={"pk": {"S": "a"}, "x": attribute}).code
    assert code in ("SerializationException", "ValidationException")


def nested(levels: int) -> Json:
    inner: Json = {"S": "deep"}
    for _ in range(levels):
        inner = {"L": [inner]}
    return inner


def test_values_may_have_thirty_two_levels(bench: Bench, notes: str) -> None:
    bench.put("notes", pk="a", x=nested(31))
    message = (
        "ValidationException: Nesting Levels have exceeded supported limits: Attributes in the item have nested levels "
        "beyond supported limit"
    )
    for levels in (32, 33, 300):
        assert bench.error("PutItem", TableName="notes", Item={"pk": {"S": "a"}, "x": nested(levels)}) == message


def test_update_cannot_nest_values_deeper_than_a_put(bench: Bench, notes: str) -> None:
    bench.put("notes", pk="a", x=nested(31))
    answer = bench.ask(
        "UpdateItem",
        {
            "TableName": "notes",
            "Key": plain({"pk": "a"}),
            "UpdateExpression": "SET x[0][0] = x",
        },
    )
    assert answer.code == "ValidationException"
    assert "Nesting Levels" in answer.message


def test_sets_have_no_order_and_equal_numbers_are_equal(bench: Bench, notes: str) -> None:
    bench.put("notes", pk="a", s={"SS": ["b", "a"]}, n={"NS": ["10", "9.0", "-1"]}, b={"BS": ["/w==", "AA=="]})
    assert bench.get("notes", pk="a") == {
        "pk": {"S": "a"},
        "s": {"SS": ["a", "b"]},
        "n": {"NS": ["-1", "9", "10"]},
        "b": {"BS": ["AA==", "/w=="]},
    }


# Keys ----------------------------------------------------------------------------------------------------------

MISMATCH = "ValidationException: The provided key element does not match the schema"


@pytest.fixture
def paired(bench: Bench) -> str:
    return bench.table("paired", "pk:S sk:B")


def test_key_sizes_are_limited(bench: Bench, paired: str) -> None:
    def binary(size: int) -> Json:
        import base64

        return {"B": base64.b64encode(b"x" * size).decode()}

    bench.put("paired", pk="é" * 1024, sk=binary(1024))
    assert bench.get("paired", pk="é" * 1024, sk=binary(1024)) is not None
    assert bench.error("PutItem", TableName="paired", Item={"pk": value("x" * 2049), "sk": binary(1)}) == (
        f"ValidationException: {INVALID}Size of hashkey has exceeded the maximum size limit of2048 bytes"
    )
    assert bench.error("GetItem", TableName="paired", Key={"pk": value("x"), "sk": binary(1025)}) == (
        f"ValidationException: {INVALID}Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
    )


@pytest.mark.parametrize(
    ("key", "error"),
    [
        ({}, MISMATCH),
        ({"pk": {"S": "a"}}, MISMATCH),
        ({"pk": {"S": "a"}, "sk": {"B": "AA=="}, "x": {"S": "a"}}, MISMATCH),
        ({"pk": {"S": "a"}, "other": {"B": "AA=="}}, MISMATCH),
        ({"pk": {"N": "1"}, "sk": {"B": "AA=="}}, MISMATCH),
        ({"pk": {"S": "a"}, "sk": {"S": "AA=="}}, MISMATCH),
        (
            {"pk": {"S": ""}, "sk": {"B": "AA=="}},
            (
                "ValidationException: One or more parameter values are not valid. "
                "The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"
            ),
        ),
        (
            {"pk": {"S": "a"}, "sk": {"B": ""}},
            (
                "ValidationException: One or more parameter values are not valid. "
                "The AttributeValue for a key attribute cannot contain an empty binary value. Key: sk"
            ),
        ),
    ],
)
def test_invalid_key_is_rejected(bench: Bench, paired: str, key: Json, error: str) -> None:
    assert bench.error("GetItem", TableName="paired", Key=key) == error
    assert bench.error("DeleteItem", TableName="paired", Key=key) == error
    assert bench.error("UpdateItem", TableName="paired", Key=key) == error


@pytest.mark.parametrize(
    ("item", "error"),
    [
        ({"pk": {"S": "a"}}, f"ValidationException: {INVALID}Missing the key sk in the item"),
        (
            {"pk": {"S": "a"}, "sk": {"N": "1"}},
            f"ValidationException: {INVALID}Type mismatch for key sk expected: B actual: N",
        ),
        (
            {"pk": {"S": ""}, "sk": {"B": "AA=="}},
            (
                "ValidationException: One or more parameter values are not valid. "
                "The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"
            ),
        ),
    ],
)
def test_item_without_its_keys_is_rejected(bench: Bench, paired: str, item: Json, error: str) -> None:
    assert bench.error("PutItem", TableName="paired", Item=item) == error


def test_number_key_finds_its_item_in_any_notation(bench: Bench) -> None:
    bench.table("numbered", "pk:N sk:N")
    bench.put("numbered", pk={"N": "1e2"}, sk={"N": "-0"})
    assert bench.get("numbered", pk={"N": "100.0"}, sk={"N": "0.00"}) == {"pk": {"N": "100"}, "sk": {"N": "0"}}
    bench.put("numbered", pk={"N": "+100"}, sk={"N": "0"}, x=1)
    assert len(bench.rows("numbered")) == 1


def test_item_may_have_four_hundred_kilobytes(bench: Bench, notes: str) -> None:
    room = 400 * 1024 - len("pk") - len("a") - len("s")
    bench.put("notes", pk="a", s="x" * room)
    error = bench.error("PutItem", TableName="notes", Item=plain({"pk": "a", "s": "x" * (room + 1)}))
    assert error == "ValidationException: Item size has exceeded the maximum allowed size"
