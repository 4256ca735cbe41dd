"""INSERT, UPDATE and DELETE: one item each, by its whole key."""

from typing import Any

import pytest

from tests.engine.partiql.conftest import Run
from tests.engine.shorthand import Embedded


def item(run: Run, key: str = "a") -> dict[str, Any] | None:
    items = run("SELECT * FROM hash WHERE pk = ?", {"S": key}).body["Items"]
    return items[0] if items else None


def test_insert_stores_every_type(run: Run) -> None:
    run(
        """INSERT INTO hash VALUE {'pk': 'b', 'text': 'it''s', 'whole': -5, 'part': 1.50, 'big': 1e3, 'yes': true,
           'no': false, 'nil': null, 'list': [1, 'x', []], 'map': {'k': {'n': 1}}, 'ss': <<'b', 'a'>>,
           'ns': <<2, 1>>}"""
    )
    assert item(run, "b") == {
        "pk": {"S": "b"},
        "text": {"S": "it's"},
        "whole": {"N": "-5"},
        "part": {"N": "1.5"},
        "big": {"N": "1000"},
        "yes": {"BOOL": True},
        "no": {"BOOL": False},
        "nil": {"NULL": True},
        "list": {"L": [{"N": "1"}, {"S": "x"}, {"L": []}]},
        "map": {"M": {"k": {"M": {"n": {"N": "1"}}}}},
        "ss": {"SS": ["a", "b"]},
        "ns": {"NS": ["1", "2"]},
    }


def test_parameters_are_whole_values(run: Run) -> None:
    run("INSERT INTO hash VALUE {'pk': ?, 'l': ?}", {"S": "b"}, {"L": [{"B": "AAEC"}]})
    assert item(run, "b") == {"pk": {"S": "b"}, "l": {"L": [{"B": "AAEC"}]}}


def test_insert_does_not_replace_an_item(run: Run) -> None:
    answer = run("INSERT INTO hash VALUE {'pk': 'a', 'v': 2}")
    assert answer.error == "DuplicateItemException: Duplicate primary key exists in table"
    assert item(run) == {"pk": {"S": "a"}, "v": {"N": "1"}}


UPDATES = {
    "SET n = 10": {"n": {"N": "10"}},
    "SET n = n + 1, q = 6": {"n": {"N": "2"}, "q": {"N": "6"}},
    "SET n = n + 1 SET q = 6": {"n": {"N": "2"}, "q": {"N": "6"}},
    "SET n = n - (-1) + 1": {"n": {"N": "3"}},
    "SET n = -1.5e3": {"n": {"N": "-1500"}},
    "SET m.b = 'u'": {"m": {"M": {"b": {"S": "u"}}}},
    "SET m.a = list_append(m.a, [7])": {"m": {"M": {"a": {"L": [{"N": "1"}, {"N": "2"}, {"N": "1"}, {"N": "7"}]}}}},
    "SET s = set_add(s, <<'new'>>)": {"s": {"SS": ["new", "q", "w"]}},
    "SET s = set_delete(s, <<'q'>>)": {"s": {"SS": ["w"]}},
    "SET fresh = set_add(fresh, <<9>>)": {"fresh": {"NS": ["9"]}},
    "SET k = if_not_exists(k, 1)": {"k": {"N": "1"}},
    'SET "a b" = 1': {"a b": {"N": "1"}},
    "REMOVE n": None,
}


@pytest.mark.parametrize(("changes", "returned"), UPDATES.items())
def test_update_returns_the_changed_attributes(run: Run, changes: str, returned: dict[str, Any] | None) -> None:
    answer = run(f"UPDATE comp {changes} WHERE pk = 'p' AND sk = 1 RETURNING MODIFIED NEW *")
    assert answer.body == {"Items": [] if returned is None else [returned]}


def test_returning_clause_returns_the_old_or_new_item(run: Run) -> None:
    assert run("UPDATE hash SET v = 2 WHERE pk = 'a' RETURNING ALL OLD *").body["Items"][0]["v"] == {"N": "1"}
    assert run("UPDATE hash SET v = 3 WHERE pk = 'a' RETURNING MODIFIED OLD *").body["Items"] == [{"v": {"N": "2"}}]
    assert run("UPDATE hash SET v = 4 WHERE pk = 'a' RETURNING ALL NEW *").body["Items"][0]["v"] == {"N": "4"}
    assert run("UPDATE hash SET v = 5 WHERE pk = 'a'").body == {"Items": []}
    assert run("DELETE FROM hash WHERE pk = 'a' RETURNING ALL OLD *").body["Items"][0]["v"] == {"N": "5"}
    assert run("DELETE FROM hash WHERE pk = 'a' RETURNING ALL OLD *").body == {"Items": []}


def test_update_does_not_create_an_item(run: Run) -> None:
    assert run("UPDATE hash SET v = 2 WHERE pk = 'absent'").code == "ConditionalCheckFailedException"
    assert item(run, "absent") is None


def test_rest_of_where_is_a_condition(run: Run) -> None:
    assert run("UPDATE hash SET v = 2 WHERE pk = 'a' AND v = 9").error == (
        "ConditionalCheckFailedException: The conditional request failed"
    )
    shown = run("UPDATE hash SET v = 2 WHERE pk = 'a' AND v = 9", ReturnValuesOnConditionCheckFailure="ALL_OLD")
    assert shown.body == {"Item": {"pk": {"S": "a"}, "v": {"N": "1"}}}
    assert run("DELETE FROM hash WHERE pk = 'a' AND v = 9").code == "ConditionalCheckFailedException"
    assert run("DELETE FROM hash WHERE pk = 'absent' AND v = 9").body == {"Items": []}
    assert run("DELETE FROM hash WHERE pk = 'a' AND v = 1").body == {"Items": []}
    assert item(run) is None


def test_writes_update_indexes_and_report_capacity(run: Run, talk: Embedded) -> None:
    used = run("UPDATE comp SET g = 'y' WHERE pk = 'p' AND sk = 1", ReturnConsumedCapacity="INDEXES")
    assert used.body["ConsumedCapacity"]["GlobalSecondaryIndexes"] == {"by_group": {"CapacityUnits": 2.0}}
    assert len(run("SELECT * FROM comp.by_group WHERE g = 'y'").body["Items"]) == 1
    assert talk.ask("GetItem", {"TableName": "comp", "Key": {"pk": {"S": "p"}, "sk": {"N": "1"}}}).body["Item"][
        "g"
    ] == {"S": "y"}


_NO_KEY = "Where clause does not contain a mandatory equality on all key attributes"
FAULTS = {
    "UPDATE comp SET n = 1": _NO_KEY,
    "UPDATE comp SET n = 1 WHERE pk = 'p'": _NO_KEY,
    "UPDATE comp SET n = 1 WHERE pk = 'p' AND sk > 1": _NO_KEY,
    "UPDATE comp SET n = 1 WHERE pk = 'p' AND sk IN [1]": _NO_KEY,
    "UPDATE comp SET n = 1 WHERE pk = 'p' AND sk = 1 OR n = 2": _NO_KEY,
    "DELETE FROM comp": _NO_KEY,
    "UPDATE comp SET n = 1 WHERE pk = 'p' AND sk = 'x'": "schema: Key sk",
    "UPDATE comp SET pk = 'q' WHERE pk = 'p' AND sk = 1": "Cannot update attribute pk.",
    "UPDATE comp.by_group SET n = 1 WHERE pk = 'p'": "This operation is not supported on an index",
    "DELETE FROM comp.by_group WHERE g = 'x'": "This operation is not supported on an index",
    "UPDATE comp SET n = n * 2 WHERE pk = 'p' AND sk = 1": "Unsupported operator in Update Expression. Operator: *",
    "UPDATE comp SET n = 1 SET n = 2 WHERE pk = 'p' AND sk = 1": "Two document paths overlap",
    "UPDATE comp SET x.y = 1 WHERE pk = 'p' AND sk = 1": "The document path provided in the update",
    "UPDATE comp SET n = x + 1 WHERE pk = 'p' AND sk = 1": "refers to an attribute that does not exist in the item",
    "UPDATE comp SET s = set_add(n, <<1>>) WHERE pk = 'p' AND sk = 1": (
        "The first argument to SET_ADD must equal the assignment value"
    ),
    "UPDATE comp SET s = set_add(s, 9) WHERE pk = 'p' AND sk = 1": (
        "The second argument to SET_ADD must be a value with type SET"
    ),
    "UPDATE comp SET n = 1 WHERE pk = 'p' AND sk = 1 RETURNING ALL OLD n": (
        "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause"
    ),
    "UPDATE comp WHERE pk = 'p'": "Statement wasn't well formed",
    "DELETE FROM hash WHERE pk = 'a' RETURNING ALL NEW *": (
        "Invalid returning clause: RETURNING ALL NEW *. Only RETURNING ALL OLD * is allowed in DELETE statements."
    ),
    "DELETE FROM hash WHERE pk = 'a' RETURNING MODIFIED OLD *": "Invalid returning clause: RETURNING MODIFIED OLD *.",
    "INSERT INTO hash VALUE {'v': 1}": "Key attribute should be present in the item: Key pk",
    "INSERT INTO hash VALUE {'pk': 1}": "data type in table's schema: Key pk",
    "INSERT INTO hash VALUE {'pk': ''}": "cannot contain an empty string value. Key: pk",
    "INSERT INTO hash VALUE {\"pk\": 'f'}": (
        "Tuple keys must be of type String. Actual type: VariableReference under root at 1:25:4"
    ),
    "INSERT INTO hash VALUE {'pk': 'a', 'pk': 'b'}": "Duplicate keys in tuple. Key: pk under root at 1:36:4",
    "INSERT INTO hash.i VALUE {'pk': 'f'}": "FROM clause may only contain a single table name",
    "INSERT INTO hash VALUE {'pk': 'f'} RETURNING ALL OLD *": "RETURNING is not supported in INSERT",
    "INSERT INTO hash VALUE {'pk': 'f', 's': <<>>}": "Empty bags are not supported at 1:41:2",
    "INSERT INTO hash VALUE {'pk': 'f', 's': <<1, 'a'>>}": "Unsupported data type in Bag.",
    "INSERT INTO hash VALUE {'pk': 'f', 's': <<1, 1>>}": "Input collection contains duplicates",
    "INSERT INTO hash VALUE {'pk': 'f', 'n': 1e400}": "Number overflow.",
    "INSERT INTO hash VALUE {'pk': 'f', 'l': [?]}": "Unsupported data type: Parameter under key root.0",
    "INSERT INTO hash VALUE {'pk': 'f', 'x': missing}": "Unsupported data type: MISSING under key root",
    "INSERT INTO hash VALUE [1]": "Unsupported format in item expression.",
    "INSERT INTO hash {'pk': 'f'}": "Unsupported operation: InsertOp",
}


@pytest.mark.parametrize(("statement", "words"), FAULTS.items())
def test_invalid_write_is_rejected(run: Run, statement: str, words: str) -> None:
    answer = run(statement)
    assert answer.code == "ValidationException"
    assert words in answer.message


FUNCTIONS = [
    *("size", "if_not_exists", "list_append", "set_add", "set_delete", "begins_with", "contains", "attribute_type"),
    *("attribute_exists", "attribute_not_exists", "exists", "none"),
]
ARGUMENTS = ["", "n", "s", "l", "1", "?", "n, 1", "l, [1]", "s, <<1>>", "s, <<'a'>>", "[1], l", "n, 'N'", "n, 1, 2"]
PLACES = [
    *("UPDATE comp SET {} = 1 WHERE pk = 'p' AND sk = 1", "UPDATE comp SET n = {} WHERE pk = 'p' AND sk = 1"),
    *("UPDATE comp SET s = {} WHERE pk = 'p' AND sk = 1", "UPDATE comp SET l = {} WHERE pk = 'p' AND sk = 1"),
    *("UPDATE comp SET n = n + {} WHERE pk = 'p' AND sk = 1", "UPDATE comp SET n = {} - n WHERE pk = 'p' AND sk = 1"),
    *("UPDATE comp SET n = if_not_exists(n, {}) WHERE pk = 'p' AND sk = 1", "UPDATE comp REMOVE {} WHERE pk = 'p'"),
    *("UPDATE comp SET l = list_append(l, {}) WHERE pk = 'p' AND sk = 1", "DELETE FROM comp WHERE pk = {} AND sk = 1"),
    *("DELETE FROM comp WHERE pk = 'p' AND sk = 1 AND {}", "DELETE FROM comp WHERE pk = 'p' AND sk = 1 AND {} = 1"),
    *("SELECT * FROM comp WHERE {}", "SELECT * FROM comp WHERE NOT {} AND n BETWEEN 1 AND {}", "SELECT {} FROM comp"),
    *("SELECT * FROM comp WHERE pk IN ['p', {}]", "SELECT * FROM comp WHERE {} IS MISSING", "SELECT * FROM {}"),
    *("SELECT * FROM comp WHERE size({}) > 1", "SELECT * FROM comp ORDER BY {}", "INSERT INTO comp VALUE {}"),
    "INSERT INTO comp VALUE {{'pk': 'p', 'sk': {}}}",
]


@pytest.mark.parametrize("place", PLACES)
def test_any_function_at_any_place_is_executed_or_rejected(run: Run, place: str) -> None:
    for function in FUNCTIONS:
        for arguments in ARGUMENTS:
            statement = place.replace("{{", "{").replace("}}", "}").replace("{}", f"{function}({arguments})")
            answer = run(statement, *[{"N": "1"}] * statement.count("?"))
            assert answer.code in ("", "ValidationException", "ConditionalCheckFailedException"), statement


@pytest.mark.parametrize("place", ["{}", "n + {}", "list_append({}, [1])"])
def test_function_that_an_assignment_cannot_have_is_rejected_in_the_words_of_dynamodb(run: Run, place: str) -> None:
    update = f"UPDATE comp SET n = {place} WHERE pk = 'p' AND sk = 1"
    answer = run(update.format("size(n)"))
    assert answer.message == "The function is not allowed in an update expression; function: size"


@pytest.mark.parametrize("operator", "+-")
@pytest.mark.parametrize("function", ["set_add", "set_delete"])
def test_function_of_sets_is_the_whole_of_an_assignment(run: Run, function: str, operator: str) -> None:
    answer = run(f"UPDATE comp SET s = {function}(s, <<'a'>>) {operator} 1 WHERE pk = 'p' AND sk = 1")
    assert answer.message == f"Unrecognized function: {function}"
