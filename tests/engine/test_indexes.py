"""Secondary indexes: their items and attributes after every kind of write."""

import pytest

from tests.engine.shorthand import Json
from tests.engine.tables import Bench, index, plain, problems_of

GROUPED = {"pk": "a", "sk": 1, "g": "x", "h": 5, "a": "kept", "b": "left out"}


@pytest.fixture
def notes(anywhere: Bench) -> str:
    return anywhere.table(
        "notes",
        "pk:S sk:N",
        index("all", "g:S h:N", "ALL"),
        index("keys", "g:S", "KEYS_ONLY"),
        index("some", "h:N", "INCLUDE", "a"),
        local=(index("local", "pk:S g:S", "KEYS_ONLY"), index("localAll", "pk:S h:N", "ALL")),
    )


def whole(bench: Bench) -> dict[str, list[Json]]:
    """Returns the rows of each index; the database must be consistent."""
    assert problems_of(bench.engine) == []
    return {name: bench.rows("notes", name) for name in ("all", "keys", "some", "local", "localAll")}


def test_index_rows_have_the_projected_attributes(anywhere: Bench, notes: str) -> None:
    anywhere.put("notes", **GROUPED)
    keys = {"pk": "a", "sk": 1}
    assert whole(anywhere) == {
        "all": [plain(GROUPED)],
        "keys": [plain(keys | {"g": "x"})],
        "some": [plain(keys | {"h": 5, "a": "kept"})],
        "local": [plain(keys | {"g": "x"})],
        "localAll": [plain(GROUPED)],
    }


def test_item_without_index_keys_is_not_in_the_index(anywhere: Bench, notes: str) -> None:
    anywhere.put("notes", pk="a", sk=1, g="x")
    found = whole(anywhere)
    assert [name for name, rows in found.items() if rows] == ["keys", "local"]


def test_deleted_item_leaves_every_index(anywhere: Bench, notes: str) -> None:
    anywhere.put("notes", **GROUPED)
    anywhere.ok("DeleteItem", TableName="notes", Key=plain({"pk": "a", "sk": 1}))
    assert not any(whole(anywhere).values())


@pytest.mark.parametrize(
    ("update", "values", "there"),
    [
        ("SET g = :v", {":v": "y"}, {"all", "keys", "some", "local", "localAll"}),
        ("REMOVE g", {}, {"some", "localAll"}),
        ("REMOVE h", {}, {"keys", "local"}),
        ("REMOVE g, h", {}, set()),
        ("SET h = h + :v", {":v": 1}, {"all", "keys", "some", "local", "localAll"}),
        ("ADD h :v", {":v": -100}, {"all", "keys", "some", "local", "localAll"}),
        ("SET b = :v", {":v": "other"}, {"all", "keys", "some", "local", "localAll"}),
    ],
)
def test_indexes_follow_an_update(anywhere: Bench, notes: str, update: str, values: Json, there: set[str]) -> None:
    anywhere.put("notes", **GROUPED)
    body: Json = {"ExpressionAttributeValues": plain(values)} if values else {}
    anywhere.ok("UpdateItem", TableName="notes", Key=plain({"pk": "a", "sk": 1}), UpdateExpression=update, **body)
    found = whole(anywhere)
    assert {name for name, rows in found.items() if rows} == there
    item = anywhere.get("notes", pk="a", sk=1)
    assert found["all"] in ([], [item])


def test_many_items_share_an_index_key(anywhere: Bench, notes: str) -> None:
    for number in range(20):
        anywhere.put("notes", pk=f"p{number % 4}", sk=number, g="same", h=7)
    query: Json = {
        "TableName": "notes",
        "IndexName": "all",
        "KeyConditionExpression": "g = :g AND h = :h",
        "ExpressionAttributeValues": plain({":g": "same", ":h": 7}),
        "Limit": 3,
    }
    for forward in (True, False):
        found: list[str] = []
        start: Json = {}
        while True:
            page = anywhere.ok("Query", **query, **start, ScanIndexForward=forward)
            found += [item["sk"]["N"] for item in page["Items"]]
            if "LastEvaluatedKey" not in page:
                break
            assert set(page["LastEvaluatedKey"]) == {"pk", "sk", "g", "h"}
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
        assert sorted(map(int, found)) == list(range(20))
    assert len(whole(anywhere)["all"]) == 20


def test_index_is_in_the_order_of_its_own_sort_key(anywhere: Bench, notes: str) -> None:
    for sort, height in ((1, "10"), (2, "-3"), (3, "9.5"), (4, "1e2")):
        anywhere.put("notes", pk="a", sk=sort, g="x", h={"N": height})
    for name, condition in (("all", "g = :v"), ("localAll", "pk = :v")):
        answer = anywhere.ok(
            "Query",
            TableName="notes",
            IndexName=name,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=plain({":v": "x" if name == "all" else "a"}),
        )
        assert [item["h"]["N"] for item in answer["Items"]] == ["-3", "9.5", "10", "100"]


def query(index_name: str, condition: str, **more: object) -> Json:
    return {
        "TableName": "notes",
        "IndexName": index_name,
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": plain({":v": "x"}),
        **more,
    }


def test_local_index_fetches_attributes_that_it_does_not_project(anywhere: Bench, notes: str) -> None:
    anywhere.put("notes", **GROUPED)
    body = query("local", "pk = :v") | {"ExpressionAttributeValues": plain({":v": "a"})}
    assert anywhere.ok("Query", **body)["Items"] == [plain({"pk": "a", "sk": 1, "g": "x"})]
    assert anywhere.ok("Query", **body, Select="ALL_ATTRIBUTES")["Items"] == [plain(GROUPED)]
    assert anywhere.ok("Query", **body, ProjectionExpression="b")["Items"] == [plain({"b": "left out"})]
    assert anywhere.ok("Query", **body, ConsistentRead=True)["Count"] == 1
    scan = {"TableName": "notes", "IndexName": "local", "FilterExpression": "attribute_exists(b)"}
    assert anywhere.ok("Scan", **scan)["Items"] == [plain({"pk": "a", "sk": 1, "g": "x"})]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (query("all", "g = :v", ConsistentRead=True),
         "Consistent reads are not supported on global secondary indexes"),
        (query("keys", "g = :v", Select="ALL_ATTRIBUTES"), ("One or more parameter values were invalid: Select type "
         "ALL_ATTRIBUTES is not supported for global secondary index keys because its projection type is not ALL")),
        (query("keys", "g = :v", ProjectionExpression="b"),
         "One or more parameter values were invalid: Global secondary index keys does not project [b]"),
        (query("keys", "g = :v", FilterExpression="attribute_exists(b)"), ("One or more parameter values were invalid: "
         "Secondary index keys does not project one or more filter attributes: [b]")),
        (query("local", "pk = :v", FilterExpression="attribute_exists(b)"), ("One or more parameter values were "
         "invalid: Secondary index local does not project one or more filter attributes: [b]")),
        (query("all", "g = :v", FilterExpression="h > :v"), ("Filter Expression can only contain non-primary key "
         "attributes: Primary key attribute: h")),
        (query("none", "g = :v"), "The table does not have the specified index: none"),
        (query("all", "h = :v"), "Query condition missed key schema element: g"),
    ],
)  # fmt: skip
def test_invalid_query_of_an_index_is_rejected(bench: Bench, body: Json, error: str) -> None:
    bench.table(
        "notes",
        "pk:S sk:N",
        index("all", "g:S h:N", "ALL"),
        index("keys", "g:S", "KEYS_ONLY"),
        local=(index("local", "pk:S g:S", "KEYS_ONLY"),),
    )
    assert bench.error("Query", **body) == f"ValidationException: {error}"


@pytest.mark.parametrize(
    ("item", "error"),
    [
        ({"g": 1}, ("One or more parameter values were invalid: Type mismatch for Index Key g Expected: S Actual: N "
         "IndexName: all")),
        ({"h": "1"}, ("One or more parameter values were invalid: Type mismatch for Index Key h Expected: N Actual: S "
         "IndexName: all")),
        ({"g": ""}, ("One or more parameter values are not valid. A value specified for a secondary index key is not "
         "supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: all, "
         "IndexKey: g")),
        ({"g": "x" * 2049}, ("One or more parameter values were invalid: Size of hashkey has exceeded the maximum size "
         "limit of2048 bytes")),
    ],
)  # fmt: skip
def test_invalid_index_key_value_is_rejected(bench: Bench, item: Json, error: str) -> None:
    bench.table("notes", "pk:S", index("all", "g:S h:N", "ALL"))
    assert bench.error("PutItem", TableName="notes", Item=plain({"pk": "a", **item})) == f"ValidationException: {error}"
    batch = {"notes": [{"PutRequest": {"Item": plain({"pk": "a", **item})}}]}
    assert bench.error("BatchWriteItem", RequestItems=batch) == f"ValidationException: {error}"
    assert bench.rows("notes") == []


def test_update_to_an_invalid_index_key_value_is_rejected(bench: Bench) -> None:
    bench.table("notes", "pk:S", index("all", "g:S", "ALL"))
    body: Json = {"TableName": "notes", "Key": plain({"pk": "a"}), "UpdateExpression": "SET g = :v"}
    assert "Type mismatch for Index Key g Expected: S Actual: N IndexName: all" in bench.error(
        "UpdateItem", **body, ExpressionAttributeValues=plain({":v": 1})
    )
    assert "cannot contain an empty string value" in bench.error(
        "UpdateItem", **body, ExpressionAttributeValues=plain({":v": ""})
    )


# Keys of several attributes ------------------------------------------------------------------------------------


@pytest.fixture
def wide(anywhere: Bench) -> Bench:
    made = index("wide", "a:S+b:N c:N", "ALL")
    made["KeySchema"].append({"AttributeName": "d", "KeyType": "RANGE"})
    made["_types"]["d"] = "S"
    anywhere.table("notes", "pk:S", made)
    for number, (c, d) in enumerate([(1, "x"), (1, "y"), (2, "x"), (10, "a"), (-5, "z")]):
        anywhere.put("notes", pk=f"k{number}", a="A", b=7, c=c, d=d)
    anywhere.put("notes", pk="other", a="A", b=8, c=1, d="x")
    anywhere.put("notes", pk="without", a="A", b=7, c=1)
    return anywhere


def wide_query(bench: Bench, condition: str, **values: object) -> list[str]:
    answer = bench.ok(
        "Query",
        TableName="notes",
        IndexName="wide",
        KeyConditionExpression="a = :a AND b = :b" + condition,
        ExpressionAttributeValues=plain({":a": "A", ":b": 7} | {f":{name}": each for name, each in values.items()}),
    )
    return [item["pk"]["S"] for item in answer["Items"]]


@pytest.mark.parametrize(
    ("condition", "values", "expected"),
    [
        ("", {}, ["k4", "k0", "k1", "k2", "k3"]),
        (" AND c = :c", {"c": 1}, ["k0", "k1"]),
        (" AND c > :c", {"c": 1}, ["k2", "k3"]),
        (" AND c BETWEEN :c AND :e", {"c": -5, "e": 1}, ["k4", "k0", "k1"]),
        (" AND c = :c AND d = :d", {"c": 1, "d": "y"}, ["k1"]),
        (" AND c = :c AND begins_with(d, :d)", {"c": 1, "d": "x"}, ["k0"]),
        (" AND c = :c AND d >= :d", {"c": 1, "d": "x"}, ["k0", "k1"]),
    ],
)
def test_composite_index_is_ordered_attribute_by_attribute(
    wide: Bench, condition: str, values: Json, expected: list[str]
) -> None:
    assert wide_query(wide, condition, **values) == expected


def test_item_without_one_attribute_is_not_in_a_composite_index(wide: Bench) -> None:
    assert "without" not in {row["pk"]["S"] for row in wide.rows("notes", "wide")}
    assert problems_of(wide.engine) == []


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ("a = :a", {":a": "A"}),
        ("b = :b", {":b": 7}),
        ("a = :a AND b = :b AND d = :d", {":a": "A", ":b": 7, ":d": "x"}),
        ("a = :a AND b = :b AND c > :c AND d = :d", {":a": "A", ":b": 7, ":c": 1, ":d": "x"}),
        ("a = :a AND b > :b", {":a": "A", ":b": 7}),
    ],
)
def test_composite_index_requires_equality_from_the_left(wide: Bench, condition: str, values: Json) -> None:
    answer = wide.failed(
        "Query",
        TableName="notes",
        IndexName="wide",
        KeyConditionExpression=condition,
        ExpressionAttributeValues=plain(values),
    )
    assert answer.code == "ValidationException"
