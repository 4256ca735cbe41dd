"""Query and Scan: order, pages, limits, segments, projections, and the end of a page."""

import pytest

from tests.engine.shorthand import Json
from tests.engine.tables import Bench, index, plain

MB = 1024 * 1024


@pytest.fixture
def table(anywhere: Bench) -> str:
    return anywhere.table("rows", "pk:S sk:N")


def query(bench: Bench, **more: object) -> Json:
    return bench.ok(
        "Query",
        TableName="rows",
        KeyConditionExpression="pk = :a",
        ExpressionAttributeValues=plain({":a": "a"}),
        **more,
    )


def sorts(answer: Json) -> list[str]:
    return [item["sk"]["N"] for item in answer["Items"]]


def fill(bench: Bench, count: int, pad: int = 0) -> None:
    for number in range(count):
        bench.put("rows", pk="a", sk=number, p="x" * pad)


def pages(bench: Bench, operation: str, body: Json) -> list[Json]:
    found = [bench.ok(operation, **body)]
    while "LastEvaluatedKey" in found[-1]:
        found.append(bench.ok(operation, **body, ExclusiveStartKey=found[-1]["LastEvaluatedKey"]))
        assert len(found) < 5000, "pages without end"
    return found


def test_query_sorts_numbers_in_both_directions(anywhere: Bench, table: str) -> None:
    for number in ("10", "-1", "9.5", "0", "-20", "1e2"):
        anywhere.put("rows", pk="a", sk={"N": number})
    anywhere.put("rows", pk="b", sk=1)
    assert sorts(query(anywhere)) == ["-20", "-1", "0", "9.5", "10", "100"]
    assert sorts(query(anywhere, ScanIndexForward=False)) == ["100", "10", "9.5", "0", "-1", "-20"]


@pytest.mark.parametrize(
    ("condition", "values", "expected"),
    [
        ("sk = :x", {":x": 2}, [2]),
        ("sk < :x", {":x": 2}, [0, 1]),
        ("sk <= :x", {":x": 2}, [0, 1, 2]),
        ("sk > :x", {":x": 2}, [3, 4]),
        ("sk >= :x", {":x": 2}, [2, 3, 4]),
        ("sk BETWEEN :x AND :y", {":x": 1, ":y": 3}, [1, 2, 3]),
        ("sk BETWEEN :x AND :y", {":x": 1, ":y": 1}, [1]),
        (":x < sk", {":x": 2}, [3, 4]),
    ],
)
@pytest.mark.parametrize("forward", [True, False])
def test_sort_key_conditions_select_a_range(
    bench: Bench, condition: str, values: Json, expected: list[int], forward: bool
) -> None:
    bench.table("rows", "pk:S sk:N")
    fill(bench, 5)
    answer = bench.ok(
        "Query",
        TableName="rows",
        KeyConditionExpression=f"pk = :a AND {condition}",
        ExpressionAttributeValues=plain({":a": "a", **values}),
        ScanIndexForward=forward,
    )
    assert sorts(answer) == [str(each) for each in (expected if forward else expected[::-1])]


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [("ab", ["ab", "ab\0", "abc"]), ("a", ["a", "ab", "ab\0", "abc"]), ("é", ["é"]), ("ab\0", ["ab\0"]), ("z", [])],
)
def test_begins_with_selects_keys_with_the_prefix(bench: Bench, prefix: str, expected: list[str]) -> None:
    bench.table("texts", "pk:S sk:S")
    for text in ("a", "ab", "abc", "ab\0", "b", "é", "A"):
        bench.put("texts", pk="a", sk=text)
    answer = bench.ok(
        "Query",
        TableName="texts",
        KeyConditionExpression="pk = :a AND begins_with(sk, :p)",
        ExpressionAttributeValues=plain({":a": "a", ":p": prefix}),
    )
    assert [item["sk"]["S"] for item in answer["Items"]] == expected


def test_begins_with_compares_the_bytes_of_binary(bench: Bench) -> None:
    bench.table("bytes", "pk:S sk:B")
    for text in ("AA==", "AP8=", "AP//", "/w==", "////"):  # 00, 00ff, 00ffff, ff, ffffff
        bench.put("bytes", pk="a", sk={"B": text})
    for prefix, expected in (("AP8=", ["AP8=", "AP//"]), ("/w==", ["/w==", "////"]), ("//8=", ["////"])):
        answer = bench.ok(
            "Query",
            TableName="bytes",
            KeyConditionExpression="pk = :a AND begins_with(sk, :p)",
            ExpressionAttributeValues={":a": {"S": "a"}, ":p": {"B": prefix}},
        )
        assert [item["sk"]["B"] for item in answer["Items"]] == expected


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
@pytest.mark.parametrize("forward", [True, False])
def test_pages_have_every_item_once_in_order(anywhere: Bench, table: str, limit: int, forward: bool) -> None:
    fill(anywhere, 6)
    body: Json = {
        "TableName": "rows",
        "KeyConditionExpression": "pk = :a",
        "ExpressionAttributeValues": plain({":a": "a"}),
        "Limit": limit,
        "ScanIndexForward": forward,
    }
    found = pages(anywhere, "Query", body)
    numbers = [sort for page in found for sort in sorts(page)]
    assert numbers == [str(each) for each in (range(6) if forward else reversed(range(6)))]
    assert len(found) == 6 // limit + 1, "a page that ends at its limit has a last key, even at the end"


def test_limit_counts_items_before_the_filter(anywhere: Bench, table: str) -> None:
    fill(anywhere, 6)
    answer = anywhere.ok(
        "Query",
        TableName="rows",
        KeyConditionExpression="pk = :a",
        FilterExpression="p = :none",
        ExpressionAttributeValues=plain({":a": "a", ":none": "none"}),
        Limit=4,
    )
    assert (answer["Count"], answer["ScannedCount"], answer["Items"]) == (0, 4, [])
    assert answer["LastEvaluatedKey"] == plain({"pk": "a", "sk": 3})


@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_page_ends_when_a_megabyte_is_read(anywhere: Bench, table: str, operation: str) -> None:
    """The item that exceeds the megabyte is the last one of its page."""
    pad = MB // 8 - len("pk" + "a" + "sk" + "p") - 2
    for number in range(10, 30):
        anywhere.put("rows", pk="a", sk=number, p="x" * pad)
    body: Json = {"TableName": "rows"}
    if operation == "Query":
        body |= {"KeyConditionExpression": "pk = :a", "ExpressionAttributeValues": plain({":a": "a"})}
    counts = [page["Count"] for page in pages(anywhere, operation, body)]
    assert counts == [8, 8, 4]
    body["FilterExpression"] = "attribute_not_exists(pk2)"
    assert [page["Count"] for page in pages(anywhere, operation, body)] == counts, "measured before the filter"


def test_start_key_may_be_of_a_deleted_item(anywhere: Bench, table: str) -> None:
    fill(anywhere, 6)
    first = query(anywhere, Limit=3)
    anywhere.ok("DeleteItem", TableName="rows", Key=first["LastEvaluatedKey"])
    assert sorts(query(anywhere, ExclusiveStartKey=first["LastEvaluatedKey"])) == ["3", "4", "5"]


@pytest.mark.parametrize(
    ("start", "error"),
    [
        ({"pk": {"S": "a"}}, "The provided starting key is invalid"),
        ({"pk": {"S": "a"}, "sk": {"N": "1"}, "x": {"S": "1"}}, "The provided starting key is invalid"),
        (
            {"pk": {"S": "a"}, "sk": {"S": "1"}},
            "The provided starting key is invalid: The provided key element does not match the schema",
        ),
        (
            {"pk": {"S": "b"}, "sk": {"N": "1"}},
            "The provided starting key is outside query boundaries based on provided conditions",
        ),
    ],
)
def test_invalid_start_key_is_rejected(bench: Bench, start: Json, error: str) -> None:
    bench.table("rows", "pk:S sk:N")
    answer = bench.error(
        "Query",
        TableName="rows",
        KeyConditionExpression="pk = :a",
        ExpressionAttributeValues=plain({":a": "a"}),
        ExclusiveStartKey=start,
    )
    assert answer == f"ValidationException: {error}"


def test_scan_returns_every_item_once(anywhere: Bench, table: str) -> None:
    keys = {(f"p{number % 40}", str(number)) for number in range(300)}
    for partition, sort in keys:
        anywhere.put("rows", pk=partition, sk={"N": sort})
    found = [
        (item["pk"]["S"], item["sk"]["N"])
        for page in pages(anywhere, "Scan", {"TableName": "rows", "Limit": 7})
        for item in page["Items"]
    ]
    assert len(found) == len(keys)
    assert set(found) == keys


@pytest.mark.parametrize("total", [1, 2, 3, 7, 100, 1_000_000])
def test_parallel_scan_returns_every_item_once(anywhere: Bench, total: int) -> None:
    anywhere.table("rows", "pk:S sk:N", index("byGroup", "g:S"))
    keys = {(f"p{number % 60}", str(number)) for number in range(120)}
    for partition, sort in keys:
        anywhere.put("rows", pk=partition, sk={"N": sort}, g=partition)
    segments = range(total) if total <= 100 else [0, 1, total // 2, total - 1]
    for name in (None, "byGroup"):
        found: list[tuple[str, str]] = []
        for segment in segments:
            body: Json = {"TableName": "rows", "Segment": segment, "TotalSegments": total, "Limit": 5}
            body |= {"IndexName": name} if name else {}
            found += [
                (item["pk"]["S"], item["sk"]["N"]) for page in pages(anywhere, "Scan", body) for item in page["Items"]
            ]
        assert len(found) == len(set(found))
        assert set(found) <= keys
        assert total > 100 or set(found) == keys


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            {"Segment": 0},
            (
                "The TotalSegments parameter is required but was not present in the request when Segment "
                "parameter is present"
            ),
        ),
        (
            {"TotalSegments": 2},
            (
                "The Segment parameter is required but was not present in the request when parameter "
                "TotalSegments is present"
            ),
        ),
        (
            {"Segment": 2, "TotalSegments": 2},
            (
                "The Segment parameter is zero-based and must be less than parameter "
                "TotalSegments: Segment: 2 is not less than TotalSegments: 2"
            ),
        ),
        (
            {"Segment": 0, "TotalSegments": 0},
            (
                "1 validation error detected: Value '0' at 'totalSegments' failed to "
                "satisfy constraint: Member must have value greater than or equal to 1"
            ),
        ),
        (
            {"Segment": 0, "TotalSegments": 1_000_001},
            (
                "1 validation error detected: Value '1000001' at 'totalSegments' "
                "failed to satisfy constraint: Member must have value less than or equal to 1000000"
            ),
        ),
        (
            {"Limit": 0},
            (
                "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: Member must "
                "have value greater than or equal to 1"
            ),
        ),
    ],
)
def test_invalid_scan_is_rejected(bench: Bench, body: Json, error: str) -> None:
    bench.table("rows", "pk:S sk:N")
    assert bench.error("Scan", TableName="rows", **body) == f"ValidationException: {error}"


@pytest.mark.parametrize(
    ("condition", "values", "error"),
    [
        ("sk = :a", {":a": 1}, "Query condition missed key schema element: pk"),
        ("pk = :a AND x = :b", {":a": "a", ":b": 1}, "Query condition missed key schema element: sk"),
        ("pk = :a AND sk = :b AND x = :b", {":a": "a", ":b": 1}, "Query key condition not supported"),
        ("pk > :a", {":a": "a"}, "Query key condition not supported"),
        ("begins_with(pk, :a)", {":a": "a"}, "Query key condition not supported"),
        ("pk = :a OR sk = :b", {":a": "a", ":b": 1}, "Invalid operator used in KeyConditionExpression: OR"),
        ("pk = :a AND NOT sk = :b", {":a": "a", ":b": 1}, "Invalid operator used in KeyConditionExpression: NOT"),
        ("pk = :a AND sk <> :b", {":a": "a", ":b": 1}, "Invalid operator used in KeyConditionExpression: <>"),
        ("pk = :a AND sk IN (:b)", {":a": "a", ":b": 1}, "Invalid operator used in KeyConditionExpression: IN"),
        (
            "pk = :a AND attribute_exists(sk)",
            {":a": "a"},
            "Invalid operator used in KeyConditionExpression: attribute_exists",
        ),
        ("pk = :a AND size(sk) = :b", {":a": "a", ":b": 1}, "KeyConditionExpressions cannot contain nested operations"),
        ("pk = :a AND pk = :a", {":a": "a"}, "KeyConditionExpressions must only contain one condition per key"),
        ("pk = sk", {}, "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"),
        ("pk.x = :a", {":a": "a"}, "KeyConditionExpressions cannot have conditions on nested attributes"),
        (
            "pk = :a",
            {":a": 1},
            "One or more parameter values were invalid: Condition parameter type does not match schema type",
        ),
        (
            "pk = :a",
            {":a": ""},
            (
                "One or more parameter values are not valid. The AttributeValue for a key attribute "
                "cannot contain an empty string value. Key: pk"
            ),
        ),
        (
            "pk = :a AND sk BETWEEN :b AND :c",
            {":a": "a", ":b": 2, ":c": 1},
            (
                "Invalid KeyConditionExpression: The "
                "BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
                "lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}"
            ),
        ),
    ],
)
def test_invalid_key_condition_is_rejected(bench: Bench, condition: str, values: Json, error: str) -> None:
    bench.table("rows", "pk:S sk:N")
    body: Json = {"ExpressionAttributeValues": plain(values)} if values else {}
    assert bench.error("Query", TableName="rows", KeyConditionExpression=condition, **body) == (
        f"ValidationException: {error}"
    )


def test_query_without_a_key_condition_is_rejected(bench: Bench) -> None:
    bench.table("rows", "pk:S sk:N")
    assert bench.error("Query", TableName="rows") == (
        "ValidationException: Either the KeyConditions or KeyConditionExpression parameter must be specified in the "
        "request."
    )


def test_filter_on_the_keys_of_a_query_is_rejected(bench: Bench) -> None:
    bench.table("rows", "pk:S sk:N")
    error = bench.error(
        "Query",
        TableName="rows",
        KeyConditionExpression="pk = :a",
        FilterExpression="sk = :b",
        ExpressionAttributeValues=plain({":a": "a", ":b": 1}),
    )
    assert error == (
        "ValidationException: Filter Expression can only contain non-primary key attributes: Primary key attribute: sk"
    )


@pytest.mark.parametrize(
    ("projection", "expected"),
    [
        ("a", {"a": 1}),
        ("a, pk", {"a": 1, "pk": "k"}),
        ("absent", {}),
        ("m.x", {"m": {"M": {"x": {"N": "1"}}}}),
        ("m.x, m.y[1]", {"m": {"M": {"x": {"N": "1"}, "y": {"L": [{"S": "b"}]}}}}),
        ("m.y[0], m.y[1], m.y[7]", {"m": {"M": {"y": {"L": [{"S": "a"}, {"S": "b"}]}}}}),
        ("m.y[1], m.y[0]", {"m": {"M": {"y": {"L": [{"S": "a"}, {"S": "b"}]}}}}),
        ("l[1].z", {"l": [{"M": {"z": {"N": "2"}}}]}),
        ("a.x, m[0]", {}),
        ("#n", {"name": "n"}),
    ],
)
def test_projection_returns_the_named_parts(bench: Bench, projection: str, expected: Json) -> None:
    bench.table("rows", "pk:S")
    item = {
        "pk": "k",
        "a": 1,
        "m": {"M": {"x": {"N": "1"}, "y": {"L": [{"S": "a"}, {"S": "b"}]}}},
        "l": [0, {"M": {"z": {"N": "2"}}}],
        "name": "n",
    }
    bench.put("rows", **item)
    body: Json = {"TableName": "rows", "ProjectionExpression": projection}
    if "#" in projection:
        body["ExpressionAttributeNames"] = {"#n": "name"}
    assert bench.ok("GetItem", Key=plain({"pk": "k"}), **body)["Item"] == plain(expected)
    assert bench.ok("Scan", **body)["Items"] == [plain(expected)]


def test_transactional_get_omits_an_item_with_an_empty_projection(bench: Bench) -> None:
    """GetItem answers `{}` here: nubo-db/dynoxide#53."""
    bench.table("rows", "pk:S")
    bench.put("rows", pk="a")
    get = {"TableName": "rows", "Key": plain({"pk": "a"}), "ProjectionExpression": "absent"}
    assert bench.ok("TransactGetItems", TransactItems=[{"Get": get}]) == {"Responses": [{}]}
    assert bench.ok("GetItem", **get) == {"Item": {}}
    batch = {"Keys": [get["Key"]], "ProjectionExpression": "absent"}
    assert bench.ok("BatchGetItem", RequestItems={"rows": batch})["Responses"] == {"rows": [{}]}


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            {"Select": "SPECIFIC_ATTRIBUTES"},
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
        ),
        (
            {"Select": "COUNT", "ProjectionExpression": "a"},
            "Cannot specify the ProjectionExpression when choosing to get only the Count",
        ),
        (
            {"Select": "ALL_ATTRIBUTES", "ProjectionExpression": "a"},
            "Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES",
        ),
        (
            {"Select": "ALL_PROJECTED_ATTRIBUTES"},
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        ),
        (
            {"ProjectionExpression": "a, a"},
            (
                "Invalid ProjectionExpression: Two document paths overlap with each other; "
                "must remove or rewrite one of these paths; path one: [a], path two: [a]"
            ),
        ),
        ({"IndexName": "none"}, "The table does not have the specified index: none"),
    ],
)
def test_invalid_selection_is_rejected(bench: Bench, body: Json, error: str) -> None:
    bench.table("rows", "pk:S")
    assert bench.error("Scan", TableName="rows", **body) == f"ValidationException: {error}"


def test_count_returns_no_items(bench: Bench) -> None:
    bench.table("rows", "pk:S sk:N")
    fill(bench, 3)
    assert query(bench, Select="COUNT") == {"Count": 3, "ScannedCount": 3}
    assert bench.ok("Scan", TableName="rows", Select="COUNT") == {"Count": 3, "ScannedCount": 3}
