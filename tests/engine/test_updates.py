"""UpdateItem: the effect of each action, the returned values, and the errors."""

from typing import Any

import pytest

from tests.engine.shorthand import Json
from tests.engine.tables import Bench, plain

ENVELOPE = "ValidationException: 1 validation error detected: "


@pytest.fixture
def table(bench: Bench) -> str:
    return bench.table("ttt", "pk:S")


def update(bench: Bench, expression: str, item: Json | None = None, returned: str = "ALL_NEW", **values: Any) -> Json:
    """Returns an item after an update, without its keys."""
    if item is not None:
        bench.ok("PutItem", TableName="ttt", Item=plain({"pk": "a", **item}))
    body: Json = {
        "TableName": "ttt",
        "Key": plain({"pk": "a"}),
        "UpdateExpression": expression,
        "ReturnValues": returned,
    }
    if values:
        body["ExpressionAttributeValues"] = plain({f":{name}": value for name, value in values.items()})
    attributes: Json = bench.ok("UpdateItem", **body).get("Attributes", {})
    attributes.pop("pk", None)
    return attributes


def error_message(bench: Bench, expression: str, item: Json | None = None, **values: Any) -> str:
    if item is not None:
        bench.ok("PutItem", TableName="ttt", Item=plain({"pk": "a", **item}))
    body: Json = {"TableName": "ttt", "Key": plain({"pk": "a"}), "UpdateExpression": expression}
    if values:
        body["ExpressionAttributeValues"] = plain({f":{name}": value for name, value in values.items()})
    return bench.error("UpdateItem", **body)


LIST = [1, 2, 3]
SET_A = {"SS": ["a"]}


@pytest.mark.parametrize(
    ("expression", "item", "values", "expected"),
    [
        ("SET a = :v", {}, {"v": 1}, {"a": 1}),
        ("SET a = b, b = a", {"a": 1, "b": 2}, {}, {"a": 2, "b": 1}),
        ("SET n = n + :v", {"n": 1}, {"v": 2}, {"n": 3}),
        ("SET n = :v - n", {"n": {"N": "0.1"}}, {"v": 1}, {"n": {"N": "0.9"}}),
        ("SET n = n - n", {"n": 5}, {}, {"n": 0}),
        ("SET n = (n + :v)", {"n": 1}, {"v": 2}, {"n": 3}),
        ("SET n = if_not_exists(n, :z) + :o", {}, {"z": 0, "o": 1}, {"n": 1}),
        ("SET n = if_not_exists(n, :z) + :o", {"n": 7}, {"z": 0, "o": 1}, {"n": 8}),
        ("SET l = list_append(l, :v)", {"l": LIST}, {"v": [4]}, {"l": [1, 2, 3, 4]}),
        ("SET l = list_append(:v, l)", {"l": LIST}, {"v": [0]}, {"l": [0, 1, 2, 3]}),
        ("SET l = list_append(l, l)", {"l": [1]}, {}, {"l": [1, 1]}),
        ("SET l = list_append(if_not_exists(l, :e), :v)", {}, {"e": [], "v": [1]}, {"l": [1]}),
        ("SET l[0] = :v", {"l": LIST}, {"v": "x"}, {"l": ["x", 2, 3]}),
        ("SET l[9] = :v", {"l": LIST}, {"v": "x"}, {"l": [1, 2, 3, "x"]}),
        ("SET l[9] = :b, l[5] = :a", {"l": LIST}, {"a": "five", "b": "nine"}, {"l": [1, 2, 3, "five", "nine"]}),
        ("SET l[1] = :a, l[7] = :b", {"l": LIST}, {"a": "x", "b": "y"}, {"l": [1, "x", 3, "y"]}),
        ("REMOVE l[0]", {"l": LIST}, {}, {"l": [2, 3]}),
        ("REMOVE l[0], l[2]", {"l": LIST}, {}, {"l": [2]}),
        ("REMOVE l[2], l[0], l[1]", {"l": LIST}, {}, {"l": []}),
        ("REMOVE l[7]", {"l": LIST}, {}, {"l": LIST}),
        ("REMOVE l[0] SET l[1] = :v", {"l": LIST}, {"v": "x"}, {"l": ["x", 3]}),
        ("SET l[3] = :v REMOVE l[0]", {"l": LIST}, {"v": "x"}, {"l": [2, 3, "x"]}),
        ("REMOVE a, b", {"a": 1, "c": 3}, {}, {"c": 3}),
        ("ADD n :v", {}, {"v": 5}, {"n": 5}),
        ("ADD n :v", {"n": 1}, {"v": -5}, {"n": -4}),
        ("ADD s :v", {}, {"v": {"SS": ["b", "a"]}}, {"s": {"SS": ["a", "b"]}}),
        ("ADD s :v", {"s": {"SS": ["a"]}}, {"v": {"SS": ["b", "a"]}}, {"s": {"SS": ["a", "b"]}}),
        ("ADD s :v", {"s": {"NS": ["1"]}}, {"v": {"NS": ["1.0", "2"]}}, {"s": {"NS": ["1", "2"]}}),
        ("DELETE s :v", {"s": {"SS": ["a", "b"]}}, {"v": {"SS": ["b", "c"]}}, {"s": {"SS": ["a"]}}),
        ("DELETE s :v", {"s": {"SS": ["a"]}, "x": 1}, {"v": {"SS": ["a"]}}, {"x": 1}),
        ("DELETE s :v", {"x": 1}, {"v": {"SS": ["a"]}}, {"x": 1}),
        ("SET m.a.b = :v", {"m": {"M": {"a": {"M": {}}}}}, {"v": 1}, {"m": {"M": {"a": {"M": {"b": {"N": "1"}}}}}}),
        ("ADD m.n :v", {"m": {"M": {}}}, {"v": 1}, {"m": {"M": {"n": {"N": "1"}}}}),
        (
            "SET m.l[1].x = :v",
            {"m": {"M": {"l": {"L": [{"N": "0"}, {"M": {}}]}}}},
            {"v": 1},
            {"m": {"M": {"l": {"L": [{"N": "0"}, {"M": {"x": {"N": "1"}}}]}}}},
        ),
        ("set a = :v remove b", {"b": 1}, {"v": 1}, {"a": 1}),
        ("DELETE l[0] :a, l[2] :a", {"l": [SET_A, 1, SET_A]}, {"a": SET_A}, {"l": [1]}),
        ("DELETE l[0] :a SET l[1] = :v", {"l": [SET_A, 1, 2]}, {"a": SET_A, "v": "x"}, {"l": ["x", 2]}),
        ("DELETE l[0] :a REMOVE l[1]", {"l": [SET_A, 1, 2]}, {"a": SET_A}, {"l": [2]}),
        ("ADD l[1] :v, l[9] :v", {"l": LIST}, {"v": 5}, {"l": [1, 7, 3, 5]}),
    ],
)
def test_update_changes_an_item(
    bench: Bench, table: str, expression: str, item: Json, values: Json, expected: Json
) -> None:
    assert update(bench, expression, item, **values) == plain(expected)


@pytest.mark.parametrize(
    ("expression", "returned", "expected"),
    [
        ("SET a.b = :v", "UPDATED_OLD", {"a": {"M": {"b": {"S": "dog"}}}}),
        ("SET a.b = :v", "UPDATED_NEW", {"a": {"M": {"b": {"N": "7"}}}}),
        ("SET a.c[1] = :v", "UPDATED_OLD", {"a": {"M": {"c": {"L": [{"N": "2"}]}}}}),
        ("SET a.c[1] = :v", "UPDATED_NEW", {"a": {"M": {"c": {"L": [{"N": "7"}]}}}}),
        ("SET a.c[1] = :v, a.b = :v", "UPDATED_OLD", {"a": {"M": {"c": {"L": [{"N": "2"}]}, "b": {"S": "dog"}}}}),
        ("SET a.x = :v", "UPDATED_OLD", {}),
        ("SET a.x = :v", "UPDATED_NEW", {"a": {"M": {"x": {"N": "7"}}}}),
        ("SET a.c[100] = :v", "UPDATED_NEW", {}),
        ("SET d = :v, e = :v", "UPDATED_OLD", {"d": {"S": "cat"}}),
        ("SET d = :v, e = :v", "UPDATED_NEW", {"d": {"N": "7"}, "e": {"N": "7"}}),
    ],
)
def test_update_returns_only_the_changed_parts(
    bench: Bench, table: str, expression: str, returned: str, expected: Json
) -> None:
    """As the service does according to scylladb's test_returnvalues.py, which is run on it."""
    item = {"a": {"M": {"b": {"S": "dog"}, "c": {"L": [{"N": "1"}, {"N": "2"}, {"N": "3"}]}}}, "d": "cat"}
    assert update(bench, expression, item, returned, v=7) == expected


@pytest.mark.parametrize(
    ("expression", "returned", "expected"),
    [
        ("REMOVE d", "UPDATED_OLD", {"d": {"S": "cat"}}),
        ("REMOVE d", "UPDATED_NEW", {}),
        ("REMOVE l[1], l[9]", "UPDATED_OLD", {"l": {"L": [{"N": "2"}]}}),
        ("REMOVE l[1]", "UPDATED_NEW", {"l": {"L": [{"N": "3"}]}}),
        ("REMOVE d", "ALL_OLD", {"d": {"S": "cat"}, "l": {"L": [{"N": "1"}, {"N": "2"}, {"N": "3"}]}}),
        ("REMOVE d", "NONE", {}),
    ],
)
def test_removal_returns_the_old_values(
    bench: Bench, table: str, expression: str, returned: str, expected: Json
) -> None:
    assert update(bench, expression, {"d": "cat", "l": LIST}, returned) == expected


@pytest.mark.parametrize("expression", ["REMOVE a", "DELETE s :v", "REMOVE a DELETE s :v", "REMOVE a.b", "REMOVE a[0]"])
def test_update_that_only_removes_creates_no_item(bench: Bench, table: str, expression: str) -> None:
    """scylladb/scylladb#5862 and its test/alternator/test_update_expression.py, tried on the service.

    DynamoDB Local rejects a path into a missing item.
    """
    values: Json = {"v": {"SS": ["x"]}} if ":v" in expression else {}
    assert update(bench, expression, **values) == {}
    assert bench.get("ttt", pk="a") is None


@pytest.mark.parametrize("body", [{}, {"AttributeUpdates": {}}])
def test_update_without_actions_creates_an_item_of_its_key(bench: Bench, table: str, body: Json) -> None:
    bench.ok("UpdateItem", TableName="ttt", Key=plain({"pk": "a"}), **body)
    assert bench.get("ttt", pk="a") == plain({"pk": "a"})


NO_PATH = "ValidationException: The document path provided in the update expression is invalid for update"
NO_ATTRIBUTE = "ValidationException: The provided expression refers to an attribute that does not exist in the item"
WRONG_TYPE = "ValidationException: An operand in the update expression has an incorrect data type"
UPDATE = f"{ENVELOPE}Invalid UpdateExpression: "
MISPLACED = "The function is not allowed in an update expression; function: "


@pytest.mark.parametrize(
    ("expression", "item", "values", "message"),
    [
        ("SET a.b = :v", {}, {"v": 1}, NO_PATH),
        ("SET a[0] = :v", {"a": "text"}, {"v": 1}, NO_PATH),
        ("SET m[0] = :v", {"m": {"M": {}}}, {"v": 1}, NO_PATH),
        ("REMOVE l.x", {"l": LIST}, {}, NO_PATH),
        ("SET a = b", {"c": 1}, {}, NO_ATTRIBUTE),
        ("SET n = n + :v", {}, {"v": 1}, NO_ATTRIBUTE),
        ("SET b = if_not_exists(a, c)", {"a": 1}, {}, NO_ATTRIBUTE),
        ("SET b = if_not_exists(a, if_not_exists(d, c))", {"a": 1, "d": 1}, {}, NO_ATTRIBUTE),
        ("SET n = a + :v", {"a": "text"}, {"v": 1}, WRONG_TYPE),
        ("ADD a :v", {"a": "text"}, {"v": 1}, WRONG_TYPE),
        ("ADD a :v", {"a": {"SS": ["x"]}}, {"v": {"NS": ["1"]}}, WRONG_TYPE),
        ("DELETE a :v", {"a": 1}, {"v": {"SS": ["x"]}}, WRONG_TYPE),
        ("SET l = list_append(a, :v)", {"a": 1}, {"v": [1]}, WRONG_TYPE),
        (
            "SET pk = :v",
            {},
            {"v": "b"},
            (
                "ValidationException: One or more parameter values were invalid: "
                "Cannot update attribute pk. This attribute is part of the key"
            ),
        ),
        (
            "SET a = :v, a.b = :v",
            {},
            {"v": 1},
            (
                f"{UPDATE}Two document paths overlap with each other; "
                "must remove or rewrite one of these paths; path one: [a], path two: [a, b]"
            ),
        ),
        (
            "SET a.b = :v REMOVE a[0]",
            {},
            {"v": 1},
            (
                f"{UPDATE}Two document paths conflict with each other; "
                "must remove or rewrite one of these paths; path one: [a, b], path two: [a, [0]]"
            ),
        ),
        (
            "SET a = :v SET b = :v",
            {},
            {"v": 1},
            f'{UPDATE}The "SET" section can only be used once in an update expression;',
        ),
        ("SET a = ", {}, {}, f'{UPDATE}Syntax error; token: "<EOF>", near: "="'),
        ("a = :v", {}, {"v": 1}, f'{UPDATE}Syntax error; token: "a", near: "a ="'),
        ("SET a = :v + :v + :v", {}, {"v": 1}, f'{UPDATE}Syntax error; token: "+", near: ":v + :v"'),
        ("SET a = size(b)", {}, {}, f"{UPDATE}{MISPLACED}size"),
        ("SET a = attribute_exists(b)", {}, {}, f"{UPDATE}{MISPLACED}attribute_exists"),
        (
            "SET a = list_append(list_append(l, l), l)",
            {},
            {},
            (f"{UPDATE}The function is not allowed to be used this way in an expression; function: list_append"),
        ),
        (
            "SET a = if_not_exists(l, list_append(l, l))",
            {},
            {},
            (f"{UPDATE}The function is not allowed to be used this way in an expression; function: list_append"),
        ),
        (
            "SET a = if_not_exists(l, l)",
            {},
            {},
            (
                f"{UPDATE}The first operand must be distinct from the remaining "
                "operands for this operator or function; operator: if_not_exists, first operand: [l]"
            ),
        ),
        (
            "SET a = if_not_exists(:v, :v)",
            {},
            {"v": 1},
            f"{UPDATE}Operator or function requires a document path; operator or function: if_not_exists",
        ),
        (
            "SET a = list_append(:v)",
            {},
            {"v": [1]},
            (
                f"{UPDATE}Incorrect number of operands for operator or function; "
                "operator or function: list_append, number of operands: 1"
            ),
        ),
        (
            "SET a = list_append(:v, l)",
            {},
            {"v": 1},
            (
                f"{UPDATE}Incorrect operand type for operator or function; "
                "operator or function: list_append, operand type: N"
            ),
        ),
        (
            "SET a = b + :v",
            {},
            {"v": "x"},
            (f"{UPDATE}Incorrect operand type for operator or function; operator or function: +, operand type: S"),
        ),
        (
            "ADD a :v",
            {},
            {"v": "x"},
            (
                f"{UPDATE}Incorrect operand type for operator or function; "
                "operator: ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND"
            ),
        ),
        (
            "DELETE a :v",
            {},
            {"v": 1},
            (
                f"{UPDATE}Incorrect operand type for operator or function; "
                "operator: DELETE, operand type: NUMBER, typeSet: ALLOWED_FOR_DELETE_OPERAND"
            ),
        ),
        ("SET name = :v", {}, {"v": 1}, f"{UPDATE}Attribute name is a reserved keyword; reserved keyword: name"),
        (
            "SET #a = :v",
            {},
            {"v": 1},
            (f"{UPDATE}An expression attribute name used in the document path is not defined; attribute name: #a"),
        ),
        (
            "SET a = :w",
            {},
            {"v": 1},
            (f"{UPDATE}An expression attribute value used in expression is not defined; attribute value: :w"),
        ),
        (
            "SET a = :v",
            {},
            {"v": 1, "w": 2},
            ("ValidationException: Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}"),
        ),
        (
            "SET a[99999999999] = :v",
            {},
            {"v": 1},
            f"{UPDATE}List index is not within the allowable range; index: [99999999999]",
        ),
        ("", {}, {}, "ValidationException: Invalid UpdateExpression: The expression can not be empty;"),
    ],
)
def test_invalid_update_is_rejected(
    bench: Bench, table: str, expression: str, item: Json, values: Json, message: str
) -> None:
    assert error_message(bench, expression, item, **values) == message


def test_rejected_update_leaves_the_item_unchanged(bench: Bench, table: str) -> None:
    assert error_message(bench, "SET l[0] = :v, m.x = :v", {"l": LIST, "m": "text"}, v=9) == NO_PATH
    assert bench.get("ttt", pk="a") == plain({"pk": "a", "l": LIST, "m": "text"})


def test_item_may_grow_to_four_hundred_kilobytes(bench: Bench, table: str) -> None:
    room = 400 * 1024 - len("pk") - len("a") - len("s")
    update(bench, "SET s = :v", {}, v="x" * room)
    message = "ValidationException: Item size to update has exceeded the maximum allowed size"
    assert error_message(bench, "SET s = :v", v="x" * (room + 1)) == message
    assert error_message(bench, "SET t = :v", v="") == message


def test_add_and_delete_on_large_sets_are_fast(bench: Bench, table: str) -> None:
    """Thirty thousand against thirty thousand: a comparison of all pairs would be a billion."""
    many = [f"{number:05}" for number in range(60_000)]
    update(bench, "ADD s :v", {"s": {"SS": many[::2]}}, "NONE", v={"SS": many[1::2]})
    assert update(bench, "DELETE s :v", v={"SS": many[::2]}) == {"s": {"SS": many[1::2]}}


def sent(bench: Bench, expression: str, names: Json | None, values: Json) -> Any:
    body: Json = {"TableName": "ttt", "Key": plain({"pk": "a"}), "UpdateExpression": expression}
    if names:
        body["ExpressionAttributeNames"] = names
    return bench.ok("UpdateItem", ReturnValues="ALL_NEW", ExpressionAttributeValues=plain(values), **body)["Attributes"]


def test_cached_update_takes_new_values_and_names(bench: Bench, table: str) -> None:
    bench.ok("PutItem", TableName="ttt", Item=plain({"pk": "a", "n": 1}))
    for step, name in ((2, "x"), (3, "y"), (4, "x")):
        made = sent(bench, "SET n = n + :step, #name = :step", {"#name": name}, {":step": step})
        assert made[name] == {"N": str(step)}
    assert made == plain({"pk": "a", "n": 10, "x": 4, "y": 3})


def test_cached_update_checks_the_types_of_new_values(bench: Bench, table: str) -> None:
    bench.ok("PutItem", TableName="ttt", Item=plain({"pk": "a", "n": 1}))
    sent(bench, "SET n = n + :step", None, {":step": 1})
    assert error_message(bench, "SET n = n + :step", step="one") == (
        f"{ENVELOPE}Invalid UpdateExpression: Incorrect operand type for operator or function; "
        "operator or function: +, operand type: S"
    )


def test_cached_update_rejects_unused_placeholders(bench: Bench, table: str) -> None:
    for _ in range(2):
        sent(bench, "SET n = :one", None, {":one": 1})
        assert error_message(bench, "SET n = :one", one=1, two=2) == (
            "ValidationException: Value provided in ExpressionAttributeValues unused in expressions: keys: {:two}"
        )
