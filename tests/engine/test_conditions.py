"""Conditions and filters: those that hold, those that do not, and DynamoDB's errors for invalid ones."""

from typing import Any

import pytest

from tests.engine.shorthand import Json
from tests.engine.tables import Bench, plain

ITEM = {
    "n": 5,
    "s": "hello",
    "e": "",
    "b": {"B": "AP94"},
    "t": True,
    "z": None,
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2.5"]},
    "bs": {"BS": ["AA==", "/w=="]},
    "l": [1, "two", [3]],
    "m": {"M": {"x": {"N": "1"}, "y": {"L": [{"S": "deep"}]}}},
    "u": "日本",
}
INVALID = "ValidationException: Invalid FilterExpression: "


@pytest.fixture
def notes(bench: Bench) -> str:
    bench.table("notes", "pk:S")
    bench.put("notes", pk="a", **ITEM)
    return "notes"


def holds(bench: Bench, expression: str, **values: Any) -> bool:
    return bool(bench.ok("Scan", **_scan(expression, values))["Count"])


def error_message(bench: Bench, expression: str, **values: Any) -> str:
    return bench.error("Scan", **_scan(expression, values))


def _scan(expression: str, values: Json) -> Json:
    body: Json = {"TableName": "notes", "FilterExpression": expression}
    if values:
        body["ExpressionAttributeValues"] = plain({f":{name}": value for name, value in values.items()})
    return body


TRUE: list[tuple[str, Json]] = [
    ("n = :v", {"v": {"N": "5.0"}}),
    ("n <> :v", {"v": 6}),
    ("n <> :v", {"v": "5"}),
    ("n < :v", {"v": 10}),
    ("n >= :v", {"v": -10}),
    ("s > :v", {"v": "Hello"}),
    ("s < :v", {"v": "hello!"}),
    ("u > s", {}),
    ("b < :v", {"v": {"B": "AP95"}}),
    ("absent <> :v", {"v": 1}),
    ("absent <> missing2", {}),
    ("s <> absent", {}),
    ("NOT absent = :v", {"v": 1}),
    ("NOT absent < :v", {"v": 1}),
    ("n BETWEEN :a AND :b", {"a": 5, "b": 5}),
    ("s BETWEEN :a AND :b", {"a": "h", "b": "i"}),
    (":v BETWEEN n AND m.x OR :v BETWEEN m.x AND n", {"v": 3}),
    ("n IN (:a, :b)", {"a": 1, "b": 5}),
    ("s in (:a)", {"a": "hello"}),
    ("attribute_exists(z)", {}),
    ("attribute_exists(m.y[0])", {}),
    ("attribute_not_exists(m.y[1])", {}),
    ("attribute_not_exists(absent.deeper)", {}),
    ("attribute_type(z, :v)", {"v": "NULL"}),
    ("attribute_type(l[2], :v)", {"v": "L"}),
    ("begins_with(s, :v)", {"v": "he"}),
    ("begins_with(s, :v)", {"v": ""}),
    ("begins_with(b, :v)", {"v": {"B": "AP8="}}),
    ("begins_with(:v, s)", {"v": "hello world"}),
    ("contains(s, :v)", {"v": "ell"}),
    ("contains(ss, :v)", {"v": "b"}),
    ("contains(ns, :v)", {"v": {"N": "2.50"}}),
    ("contains(bs, :v)", {"v": {"B": "/w=="}}),
    ("contains(l, :v)", {"v": "two"}),
    ("contains(l, :v)", {"v": [3]}),
    ("contains(b, :v)", {"v": {"B": "/w=="}}),
    ("NOT contains(absent, :v)", {"v": "x"}),
    ("size(s) = :v", {"v": 5}),
    ("size(u) = :v", {"v": 6}),
    ("size(b) = :v", {"v": 3}),
    ("size(e) = :v", {"v": 0}),
    ("size(ss) = :v", {"v": 2}),
    ("size(l) = :v", {"v": 3}),
    ("size(m) = :v", {"v": 2}),
    ("size(l) < n", {}),
    ("NOT size(n) >= :v", {"v": 0}),
    ("size(m.y[0]) = :v", {"v": 4}),
    ("ss = :v", {"v": {"SS": ["b", "a"]}}),
    ("l = :v", {"v": [1, "two", [3]]}),
    ("m = :v", {"v": {"M": {"y": {"L": [{"S": "deep"}]}, "x": {"N": "1.0"}}}}),
    ("t = :v AND z = :n", {"v": True, "n": None}),
    ("n = :v OR n = :w AND s = :v", {"v": 5, "w": 6}),
    ("NOT n = :v OR n = :v", {"v": 5}),
    ("(n = :v) AND (s = :w OR s = :x)", {"v": 5, "w": "no", "x": "hello"}),
    ("(n) = (:v)", {"v": 5}),
    ("n=:v AND(s<>:v)", {"v": 5}),
]


@pytest.mark.parametrize(("expression", "values"), TRUE)
def test_condition_holds(bench: Bench, notes: str, expression: str, values: Json) -> None:
    assert holds(bench, expression, **values)


FALSE: list[tuple[str, Json]] = [
    ("n = :v", {"v": "5"}),
    ("absent = missing2", {}),
    ("n < :v", {"v": "9"}),
    ("n > :v", {"v": "1"}),
    ("absent < :v", {"v": 1}),
    ("ss < s", {}),
    ("t <> :v", {"v": True}),
    ("absent BETWEEN :a AND :b", {"a": 1, "b": 9}),
    ("n BETWEEN :a AND :b", {"a": "1", "b": "9"}),
    ("absent IN (:a)", {"a": 1}),
    ("n IN (:a)", {"a": "5"}),
    ("attribute_type(absent, :v)", {"v": "S"}),
    ("begins_with(n, :v)", {"v": "5"}),
    ("begins_with(absent, :v)", {"v": ""}),
    ("begins_with(s, :v)", {"v": {"B": "aGU="}}),
    ("contains(n, :v)", {"v": 5}),
    ("contains(ss, :v)", {"v": 1}),
    ("contains(ss, :v)", {"v": {"SS": ["a"]}}),
    ("contains(s, :v)", {"v": 1}),
    ("contains(m, :v)", {"v": "x"}),
    ("size(absent) = :v", {"v": 0}),
    ("size(t) = :v OR size(z) = :v OR size(n) = :v", {"v": 1}),
    ("NOT n = :v AND n = :v", {"v": 5}),
]


@pytest.mark.parametrize(("expression", "values"), FALSE)
def test_condition_does_not_hold(bench: Bench, notes: str, expression: str, values: Json) -> None:
    assert not holds(bench, expression, **values)


REFUSED: list[tuple[str, Json, str]] = [
    ("n = :v = :v", {"v": 1}, 'Syntax error; token: "=", near: ":v = :v"'),
    ("n = ", {}, 'Syntax error; token: "<EOF>", near: "="'),
    ("= :v", {"v": 1}, 'Syntax error; token: "=", near: "= :v"'),
    ("n == :v", {"v": 1}, 'Syntax error; token: "=", near: "== :v"'),
    ("n = :v AND", {"v": 1}, 'Syntax error; token: "<EOF>", near: "AND"'),
    ("n = 5", {}, 'Syntax error; token: "5", near: "= 5"'),
    ("n = 'x'", {}, 'Syntax error; token: "\'", near: "= \'x"'),
    ("n IN ()", {}, 'Syntax error; token: ")", near: "()"'),
    ("n BETWEEN :v", {"v": 1}, 'Syntax error; token: "<EOF>", near: ":v"'),
    ("((n = :v))", {"v": 1}, "The expression has redundant parentheses;"),
    ("foo(n)", {}, "Invalid function name; function: foo"),
    ("Size(n) = :v", {"v": 1}, "Invalid function name; function: Size"),
    ("list_append(l, l) = l", {}, "The function is not allowed in a condition expression; function: list_append"),
    ("size(n)", {}, "The function is not allowed to be used this way in an expression; function: size"),
    (
        "begins_with(s, :v) = :v",
        {"v": "h"},
        "The function is not allowed to be used this way in an expression; function: begins_with",
    ),
    (
        "attribute_exists(:v)",
        {"v": 1},
        "Operator or function requires a document path; operator or function: attribute_exists",
    ),
    (
        "attribute_exists(n, s)",
        {},
        (
            "Incorrect number of operands for operator or function; "
            "operator or function: attribute_exists, number of operands: 2"
        ),
    ),
    (
        "begins_with(n, :v)",
        {"v": 5},
        "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
    ),
    (
        "size(:v) = :v",
        {"v": 5},
        "Incorrect operand type for operator or function; operator or function: size, operand type: N",
    ),
    (
        "n < :v",
        {"v": True},
        "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL",
    ),
    (
        ":v >= n",
        {"v": [1]},
        "Incorrect operand type for operator or function; operator or function: >=, operand type: L",
    ),
    (
        "n BETWEEN :v AND :v",
        {"v": None},
        "Incorrect operand type for operator or function; operator or function: BETWEEN, operand type: NULL",
    ),
    (
        "n BETWEEN :v AND s",
        {"v": None},
        "Incorrect operand type for operator or function; operator or function: BETWEEN, operand type: NULL",
    ),
    (
        "n BETWEEN :a AND :b",
        {"a": 2, "b": 1},
        (
            "The BETWEEN operator requires upper bound to be greater than or equal "
            "to lower bound; lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}"
        ),
    ),
    (
        "n BETWEEN :a AND :b",
        {"a": 2, "b": "3"},
        (
            "The BETWEEN operator requires same data type for lower and upper "
            "bounds; lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {S:3}"
        ),
    ),
    (
        "attribute_type(n, :v)",
        {"v": "X"},
        "Invalid attribute type name found; type: X, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
    ),
    (
        "n = n",
        {},
        (
            "The first operand must be distinct from the remaining operands for this operator or function; "
            "operator: =, first operand: [n]"
        ),
    ),
    (
        "n IN (:v, n)",
        {"v": 1},
        (
            "The first operand must be distinct from the remaining operands for this operator or "
            "function; operator: IN, first operand: [n]"
        ),
    ),
    (
        "n BETWEEN n AND :v",
        {"v": 1},
        (
            "The first operand must be distinct from the remaining operands for this operator "
            "or function; operator: BETWEEN, first operand: [n]"
        ),
    ),
    ("status = :v", {"v": 1}, "Attribute name is a reserved keyword; reserved keyword: status"),
    ("m.name = :v", {"v": 1}, "Attribute name is a reserved keyword; reserved keyword: name"),
    ("#a = :v", {"v": 1}, "An expression attribute name used in the document path is not defined; attribute name: #a"),
    ("n = :w", {"v": 1}, "An expression attribute value used in expression is not defined; attribute value: :w"),
    (
        "n IN (" + ", ".join([":v"] * 101) + ")",
        {"v": 1},
        "Too many operands for operator or function; operator: IN, number of operands: 101, limit: 100",
    ),
    ("l[x] = :v", {"v": 1}, 'Syntax error; token: "x", near: "[x]"'),
    ("l[-1] = :v", {"v": 1}, 'Syntax error; token: "-", near: "[-1"'),
    ("", {}, "The expression can not be empty;"),
]


@pytest.mark.parametrize(("expression", "values", "message"), REFUSED)
def test_invalid_condition_is_rejected(bench: Bench, notes: str, expression: str, values: Json, message: str) -> None:
    assert error_message(bench, expression, **values) == INVALID + message


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 10_000 + "n = :v" + ")" * 10_000,
        "(" * 1_000 + "n = :v" + ")" * 1_000,
        "NOT " * 1_000 + "n = :v",
        "size(" * 800 + "n" + ")" * 800 + " = :v",
        " AND ".join(["n = :v"] * 400),
        "n" + "[0]" * 1_300 + " = :v",
        "n" + ".n" * 2_000 + " = :v",
        "(" * 4_000,
        "n IN (" * 600,
    ],
)
def test_expression_of_any_depth_is_answered(bench: Bench, notes: str, expression: str) -> None:
    answer = bench.ask("Scan", _scan(expression, {"v": 1}))
    assert answer.code in ("ValidationException", "")
    answer = bench.ask("Scan", _scan(expression, {"v": 1}))
    assert answer.code in ("ValidationException", ""), "the second time, from the cache"


def test_expression_above_four_kilobytes_is_rejected(bench: Bench, notes: str) -> None:
    expression = "n = :v" + " " * (4096 - 6)
    assert holds(bench, expression, v=5)
    message = "Expression size has exceeded the maximum allowed size; expression size: 4097"
    assert error_message(bench, expression + " ", v=5) == INVALID + message


def test_expression_may_have_three_hundred_operators(bench: Bench, notes: str) -> None:
    names = [f"a{number}" for number in range(151)]
    assert holds(bench, " AND ".join(f"{name}<>:v" for name in names[:150]), v=1)
    message = "The expression contains too many operators; operator limit: 300"
    assert error_message(bench, " AND ".join(f"{name}<>:v" for name in names), v=1) == INVALID + message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            {"ExpressionAttributeNames": {"#a": "n"}},
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        (
            {"ExpressionAttributeValues": {":v": {"N": "1"}}},
            ("ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null"),
        ),
        (
            {"FilterExpression": "n = :v", "ExpressionAttributeValues": {}},
            "ExpressionAttributeValues must not be empty",
        ),
        ({"FilterExpression": "n = s", "ExpressionAttributeNames": {}}, "ExpressionAttributeNames must not be empty"),
        (
            {"FilterExpression": "n = :v", "ExpressionAttributeValues": {"v": {"N": "1"}}},
            'ExpressionAttributeValues contains invalid key: Syntax error; key: "v"',
        ),
        (
            {"FilterExpression": "#a = s", "ExpressionAttributeNames": {"#a b": "n"}},
            'ExpressionAttributeNames contains invalid key: Syntax error; key: "#a b"',
        ),
        (
            {"FilterExpression": "n = :v", "ExpressionAttributeValues": {":v": {"N": "1"}, ":w": {"N": "1"}}},
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}",
        ),
        (
            {"FilterExpression": "n = s", "ExpressionAttributeNames": {"#w": "n"}},
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#w}",
        ),
        (
            {"FilterExpression": "n = :v", "ExpressionAttributeValues": {":v": {"N": "x"}}},
            (
                "ExpressionAttributeValues contains invalid value: "
                "The parameter cannot be converted to a numeric value: x for key :v"
            ),
        ),
        (
            {"FilterExpression": "n = s", "ScanFilter": {"n": {"ComparisonOperator": "NULL"}}},
            (
                "Can not use both expression and non-expression parameters in the same request: "
                "Non-expression parameters: {ScanFilter} Expression parameters: {FilterExpression}"
            ),
        ),
    ],
)
def test_placeholders_are_checked(bench: Bench, notes: str, body: Json, message: str) -> None:
    assert bench.error("Scan", TableName="notes", **body) == f"ValidationException: {message}"


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "DeleteItem"])
def test_failed_condition_leaves_the_item_unchanged(bench: Bench, notes: str, operation: str) -> None:
    body: Json = {"Item": plain({"pk": "a"})} if operation == "PutItem" else {"Key": plain({"pk": "a"})}
    asked = {"TableName": "notes", "ConditionExpression": "attribute_not_exists(pk)", **body}
    answer = bench.failed(operation, **asked)
    assert answer.error == "ConditionalCheckFailedException: The conditional request failed"
    assert answer.body == {}
    answer = bench.failed(operation, ReturnValuesOnConditionCheckFailure="ALL_OLD", **asked)
    assert answer.body == {"Item": plain({"pk": "a", **ITEM})}
    assert bench.get("notes", pk="a") == plain({"pk": "a", **ITEM})


def test_condition_on_a_path_into_a_key_is_rejected(bench: Bench, notes: str) -> None:
    message = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: pk"
    for operation, body in (("PutItem", {"Item": plain({"pk": "a"})}), ("DeleteItem", {"Key": plain({"pk": "a"})})):
        error = bench.error(operation, TableName="notes", ConditionExpression="attribute_exists(pk.x)", **body)
        assert error == f"ValidationException: {message}"
    assert bench.error("Scan", TableName="notes", FilterExpression="attribute_exists(pk[0])") == (
        f"ValidationException: {message}"
    )
