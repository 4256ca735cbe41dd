"""SELECT: which items, in which order, with which attributes. The expected results are those of DynamoDB Local."""

from typing import Any

import pytest

from tests.engine.partiql.conftest import Run, table
from tests.engine.shorthand import Embedded


def sort_keys(run: Run, statement: str) -> list[str]:
    answer = run(statement)
    assert answer.error == ""
    return [item["sk"]["N"] for item in answer.body["Items"]]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("pk = 'p'", "01234"),
        ("pk = 'p' AND sk = 1", "1"),
        ("1 = sk AND 'p' = pk", "1"),
        ("pk = 'p' AND sk >= 3", "34"),
        ("pk = 'p' AND sk > 1 AND sk < 3", "2"),
        ("pk = 'p' AND sk BETWEEN 1 AND 3", "123"),
        ("pk = 'p' AND sk = 1 AND sk = 2", ""),
        ("pk = 'p' AND pk = 'q'", ""),
        ("pk IN ('p', 'other') AND sk IN (1, 2, 7)", "712"),
        ("pk = 'p' AND n > 2 AND contains(s, 'q')", "34"),
        ("pk = 'p' AND begins_with(m.b, 't') AND size(s) = 2 AND n < 2", "01"),
        ("pk = 'p' AND Begins_With(m.b, 't') AND n < 1", "0"),
        ("pk = 'p' AND attribute_type(n, 'S')", ""),
        ("pk = 'p' AND x IS MISSING AND n IS NOT MISSING", "01234"),
        ("pk = 'p' AND z IS NULL", "01234"),
        ("pk = 'other' AND z IS NULL", ""),
        ("pk = 'p' AND NOT n = 2", "0134"),
        ("pk = 'p' AND n <> 2", "0134"),
        ("pk = 'p' AND n != 2", "0134"),
        ("pk = 'p' AND n IN [1, 2]", "12"),
        ("pk = 'p' AND n NOT IN <<1, 2>>", "034"),
        ("pk = 'p' AND n NOT BETWEEN 1 AND 2", "034"),
        ("pk = 'p' AND (n = 1 OR n = 3)", "13"),
        ("pk = 'p' AND m = {'a': [1, 2, 1], 'b': 't'}", "1"),
        ("pk = 'p' AND m.a[2] = 1", "1"),
        ("pk = 'p' AND m['a'][2] = 1", "1"),
        ("pk = 'p' AND s = <<'w', 'q'>> AND sk = 0", "0"),
        ("pk = 'p' AND n = 1.0", "1"),
        ("pk = 'p' AND n > 'x'", ""),
        ("pk = 'p' AND sk = n", "01234"),
        ('pk = "n"', ""),
        ("pk = 'it''s'", ""),
        ("yes = true AND n = 4", "4"),
        ("n = 2 AND pk = 'p' -- a comment", "2"),
        ("pk = 'p' /* another */ AND sk = 1 ;", "1"),
    ],
)
def test_where_selects_items(run: Run, where: str, found: str) -> None:
    assert sort_keys(run, f"SELECT sk FROM comp WHERE {where}") == list(found)


def test_where_without_a_partition_key_scans_the_table(run: Run) -> None:
    assert sorted(sort_keys(run, "SELECT sk FROM comp WHERE n = 2")) == ["2", "7"]
    assert len(run("SELECT * FROM comp").body["Items"]) == 6
    assert sorted(sort_keys(run, "select sk from comp where pk = 'other' or n = 0")) == ["0", "7"]


@pytest.mark.parametrize(
    ("selected", "item"),
    [
        ("pk, sk", {"pk": {"S": "p"}, "sk": {"N": "1"}}),
        ("m.b", {"b": {"S": "t"}}),
        ('"m"."b", z', {"b": {"S": "t"}, "z": {"NULL": True}}),
        ("m.a[2], m.b", {"a[2]": {"N": "1"}, "b": {"S": "t"}}),
        ("absent, m.absent.deeper", {}),
    ],
)
def test_selected_paths_are_returned_under_their_last_name(run: Run, selected: str, item: dict[str, object]) -> None:
    assert run(f"SELECT {selected} FROM comp WHERE pk = 'p' AND sk = 1").body == {"Items": [item]}


@pytest.mark.parametrize(
    ("clause", "found"),
    [
        ("pk = 'p' ORDER BY sk", "01234"),
        ("pk = 'p' ORDER BY sk DESC", "43210"),
        ("pk = 'p' AND sk > 1 ORDER BY pk, sk ASC", "234"),
        ("pk IN ['p', 'other'] AND n = 2 ORDER BY pk", "72"),
        ("pk IN ['p', 'other'] AND n = 2 ORDER BY pk DESC", "27"),
    ],
)
def test_order_by_sorts_by_keys(run: Run, clause: str, found: str) -> None:
    assert sort_keys(run, f"SELECT sk FROM comp WHERE {clause}") == list(found)


def test_index_is_named_after_its_table(run: Run) -> None:
    answer = run('SELECT * FROM "comp"."by_group" WHERE g = \'x\'')
    assert len(answer.body["Items"]) == 5
    assert set(answer.body["Items"][0]) == {"pk", "sk", "g"}


def test_local_index_fetches_attributes_that_it_does_not_project(talk: Embedded) -> None:
    local = {
        "IndexName": "by_rank",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "rank", "KeyType": "RANGE"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    talk.ask("CreateTable", table("ranked", {"pk": "S", "sk": "N", "rank": "N"}, LocalSecondaryIndexes=[local]))
    for number in range(3):
        item = f"{{'pk': 'p', 'sk': {number}, 'rank': {9 - number}, 'n': {number}}}"
        talk.ask("ExecuteStatement", {"Statement": f"INSERT INTO ranked VALUE {item}"})

    def selected(statement: str) -> Any:
        return talk.ask("ExecuteStatement", {"Statement": statement}).body["Items"]

    assert selected("SELECT n FROM ranked.by_rank WHERE pk = 'p' AND rank > 7") == [
        {"n": {"N": "1"}},
        {"n": {"N": "0"}},
    ]
    assert selected("SELECT * FROM ranked.by_rank WHERE pk = 'p' AND n = 2") == [
        {"pk": {"S": "p"}, "sk": {"N": "2"}, "rank": {"N": "7"}}
    ]


@pytest.mark.parametrize("order", ["", " ORDER BY sk DESC"])
@pytest.mark.parametrize("where", ["pk = 'p'", "pk IN ['p', 'other']"])
def test_next_page_continues_after_the_last_one(run: Run, where: str, order: str) -> None:
    statement = f"SELECT pk, sk FROM comp WHERE {where}{order}"
    whole = run(statement).body["Items"]
    seen: list[object] = []
    page = run(statement, Limit=2).body
    while True:
        seen += page["Items"]
        if "NextToken" not in page:
            break
        page = run(statement, Limit=2, NextToken=page["NextToken"]).body
    assert seen == whole


def test_limit_counts_items_read_before_the_filter(run: Run) -> None:
    page = run("SELECT sk FROM comp WHERE pk = 'p' AND n = 4", Limit=3).body
    assert page["Items"] == []
    assert run("SELECT sk FROM comp WHERE pk = 'p' AND n = 4", NextToken=page["NextToken"]).body["Items"]


def test_token_is_rejected_for_another_statement(run: Run) -> None:
    token = run("SELECT sk FROM comp WHERE pk = ?", {"S": "p"}, Limit=1).body["NextToken"]
    assert "does not match" in run("SELECT sk FROM comp WHERE pk = ?", {"S": "q"}, NextToken=token).message
    assert run("SELECT sk FROM comp WHERE pk = 'p'", NextToken="abc").message == "Invalid NextToken"


def test_select_reports_consumed_capacity(run: Run) -> None:
    statement = "SELECT sk FROM comp WHERE pk = 'p'"
    eventual = run(statement, ReturnConsumedCapacity="TOTAL").body["ConsumedCapacity"]
    strong = run(statement, ReturnConsumedCapacity="TOTAL", ConsistentRead=True).body["ConsumedCapacity"]
    assert (eventual["CapacityUnits"], strong["CapacityUnits"]) == (0.5, 1.0)


SELECT_FAULTS = {
    "SELECT n FROM comp.by_group WHERE g = 'x'": "Global secondary index by_group does not project [n]",
    "SELECT pk FROM comp.by_group WHERE g = 'x' AND n = 1": "does not project one or more filter attributes: [n]",
    "SELECT * FROM comp.nope WHERE g = 'x'": "The table does not have the specified index: nope",
    "SELECT * FROM nope": "Requested resource not found",
    "SELECT * FROM comp WHERE pk = ?": "Number of parameters in request and statement don't match.",
    "SELECT sk FROM comp WHERE pk = ''": (
        "The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"
    ),
    "SELECT sk FROM comp WHERE pk IN ['a', '']": (
        "The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"
    ),
    "SELECT sk FROM comp WHERE pk = 1": (
        "Key attribute's data type should match its data type in table's schema: Key pk"
    ),
    "SELECT sk FROM comp WHERE pk = 'p' AND sk > 'x'": "Key sk",
    "SELECT sk FROM comp WHERE pk = 'p' ORDER BY n": (
        "Variable reference n in ORDER BY clause must be part of the primary key"
    ),
    "SELECT sk FROM comp ORDER BY sk": "Must have WHERE clause in the statement when using ORDER BY clause.",
    "SELECT sk FROM comp WHERE n = 1 ORDER BY sk": (
        "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."
    ),
    "SELECT sk FROM comp WHERE n = 2 LIMIT 1": "Unsupported clause: LIMIT at 1:39:1",
    "SELECT sk FROM comp WHERE pk = 'p' GROUP BY sk": "Unsupported clause: GROUP BY",
    "SELECT COUNT(*) FROM comp": "Unexpected path component at 1:8:5",
    "SELECT sk + 1 FROM comp": "Unexpected path component at 1:11:1",
    "SELECT 'a' FROM comp": "Unexpected path component at 1:8:3",
    "SELECT * FROM comp c": "Aliasing is not supported",
    "SELECT sk AS k FROM comp": "Aliasing is not supported",
    "SELECT VALUE sk FROM comp": "Select projection doesn't support value or pivot keywords",
    "SELECT DISTINCT sk FROM comp": "Unsupported token in expression: DISTINCT",
    "SELECT * FROM comp, hash": "Only select from a single table or index is supported.",
    "SELECT pk, pk FROM comp": "Duplicate identifiers in select clause: pk",
    "SELECT m.a, m FROM comp": "Two document paths overlap",
    "SELECT pk.x FROM comp": "Key attributes must be scalars",
    "SELECT sk FROM comp WHERE g.x = 1": "IndexKey: g",
    "SELECT sk FROM comp WHERE n + 1 = 2": "Unsupported operator in Condition Expression. Operator: +",
    "SELECT sk FROM comp WHERE n LIKE 't%'": "Unsupported operator in Condition Expression. Operator: like",
    "SELECT sk FROM comp WHERE foo(n)": "Unrecognized function: foo",
    "SELECT sk FROM comp WHERE n": "WHERE clause must contain an expression that resolves to a boolean",
    "SELECT sk FROM comp WHERE n = n": "The first operand must be distinct",
    "SELECT sk FROM comp WHERE n BETWEEN 3 AND 1": "upper bound to be greater than or equal to lower bound",
    "SELECT sk FROM comp WHERE n IN []": "IN operator must have a left hand argument",
    "SELECT sk FROM comp WHERE 'q' IN s": "IN operator must have a left hand argument",
    "SELECT sk FROM comp WHERE contains(n)": "Incorrect number of operands for operator or function",
    "SELECT sk FROM comp WHERE begins_with(n, 1)": "operator or function: begins_with, operand type: N",
    "SELECT sk FROM comp WHERE MISSING = n": "MISSING must be compared using IS operator",
    "SELECT sk FROM comp WHERE EXISTS(SELECT * FROM comp)": "Unsupported token in expression: SELECT",
    "EXISTS(SELECT * FROM comp WHERE pk = 'p')": "EXISTS can only be used in ExecuteTransaction write requests.",
    "DROP TABLE comp": "Unsupported operation: DropTable",
}


@pytest.mark.parametrize(("statement", "words"), SELECT_FAULTS.items())
def test_invalid_select_is_rejected(run: Run, statement: str, words: str) -> None:
    answer = run(statement)
    assert answer.code in ("ValidationException", "ResourceNotFoundException")
    assert words in answer.message


@pytest.mark.parametrize(
    "statement",
    [
        "SELECTT * FROM comp",
        "SELECT * FROMM comp",
        "SELECT FROM comp",
        "SELECT * FROM",
        "SELECT * FROM comp WHERE",
        "SELECT * FROM comp WHERE pk = 'p' AND",
        "SELECT * FROM comp WHERE (pk = 'p'",
        "SELECT size FROM comp",
        "SELECT * FROM hash WHERE pk = 'a'; SELECT * FROM hash",
        "SELECT * FROM hash WHERE pk = 'unfinished",
        "SELECT * FROM hash WHERE pk @ 1",
        "   ",
    ],
)
def test_invalid_statement_is_rejected(run: Run, statement: str) -> None:
    assert run(statement).message.startswith("Statement wasn't well formed, can't be processed: ")


@pytest.mark.parametrize("nested", ["(" * 900, "NOT " * 900, "n = " + "[" * 900, "size(" * 900])
def test_nesting_is_limited(run: Run, nested: str) -> None:
    assert run(f"SELECT * FROM comp WHERE {nested}").code == "ValidationException"
