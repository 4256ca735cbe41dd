"""Vector indexes: their definitions, their life, the writes that keep them, and DynamoDB's messages."""

import sys
from typing import Any

import pytest

from partita.engine.backfill import BATCH
from partita.engine.operations import search_vectors
from tests.engine.shorthand import Json
from tests.engine.tables import Bench, problems_of
from tests.engine.vectors import search, table, vector, vectors

INVALID = "ValidationException: One or more parameter values were invalid: "
WRONG_VALUE = "ValidationException: One or more parameter values were invalid. "
NOT_VALID = "ValidationException: One or more parameter values are not valid. "
MEMBER = "ValidationException: 1 validation error detected: Value {} failed to satisfy constraint: Member must {}"
WRONG_SEARCH_VECTOR = (
    "ValidationException: Search vector contains invalid values. "
    "All values in the search vector must be a 32-bit floating-point number attribute"
)
ONE_AT_A_TIME = (
    "LimitExceededException: Subscriber limit exceeded: "
    "Only 1 online index can be created or deleted simultaneously per table"
)
SCHEMA = "tenant:HASH kind:INLINE_FILTER num:INLINE_FILTER"
TYPES = "tenant:S kind:S num:N"
FILTERS = 19


def included(*names: str, kind: str = "INCLUDE") -> Json:
    return {"ProjectionType": kind, "NonKeyAttributes": list(names)}


DEFINITIONS: dict[str, tuple[Json, str]] = {
    "no index": (table("t00"), INVALID + "List of VectorIndexes is empty"),
    "a short name": (
        table("t00", vectors("v")),
        MEMBER.format("'v' at 'vectorIndexes.1.member.indexName'", "have length greater than or equal to 3"),
    ),
    "no dimensions": (
        table("t00", vectors(Dimensions=None)),
        MEMBER.format("null at 'vectorIndexes.1.member.dimensions'", "not be null"),
    ),
    "zero dimensions": (
        table("t00", vectors(Dimensions=0)),
        MEMBER.format("'0' at 'vectorIndexes.1.member.dimensions'", "have value greater than or equal to 1"),
    ),
    "4,097 dimensions": (
        table("t00", vectors(Dimensions=4097)),
        INVALID + "Number of dimensions must be between 1 and 4096 inclusive.",
    ),
    "an unknown distance": (
        table("t00", vectors(DistanceFunction="MANHATTAN")),
        MEMBER.format(
            "'MANHATTAN' at 'vectorIndexes.1.member.distanceFunction'",
            "satisfy enum value set: [COSINE, DOT_PRODUCT, EUCLIDEAN]",
        ),
    ),
    "no vector attribute": (
        table("t00", vectors(VectorAttribute=None)),
        MEMBER.format("null at 'vectorIndexes.1.member.vectorAttribute'", "not be null"),
    ),
    "a vector attribute without name": (
        table("t00", vectors(VectorAttribute={})),
        MEMBER.format("null at 'vectorIndexes.1.member.vectorAttribute.attributeName'", "not be null"),
    ),
    "no projection": (
        table("t00", vectors(Projection=None)),
        MEMBER.format("null at 'vectorIndexes.1.member.projection'", "not be null"),
    ),
    "a projection without type": (
        table("t00", vectors(Projection={})),
        INVALID + "Unknown ProjectionType: null",
    ),
    "INCLUDE without names": (
        table("t00", vectors(Projection={"ProjectionType": "INCLUDE"})),
        INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
    ),
    "ALL with names": (
        table("t00", vectors(Projection=included("a", kind="ALL"))),
        INVALID + "ProjectionType is ALL, but NonKeyAttributes is specified",
    ),
    "21 included attributes": (
        table("t00", vectors(Projection=included(*map(str, range(21))))),
        INVALID + "Number of NonKeyAttributes of index vix exceeds the limit of 20 for a vector index",
    ),
    "an element without definition": (
        table("t00", vectors(schema="tenant:HASH")),
        INVALID + "One element in SearchSchema is not defined in attribute definitions",
    ),
    "an element of another kind": (
        table("t00", vectors(schema="tenant:RANGE"), types="tenant:S"),
        MEMBER.format(
            "'RANGE' at 'vectorIndexes.1.member.searchSchema.1.member.searchSchemaElementType'",
            "satisfy enum value set: [HASH, INLINE_FILTER]",
        ),
    ),
    "two HASH elements": (
        table("t00", vectors(schema="a:HASH b:HASH"), types="a:S b:S"),
        INVALID + "Value '2' at 'SearchSchema' failed to satisfy constraint: "
        "Member must have HASH count less than or equal to 1",
    ),
    "19 filters": (
        table(
            "t00",
            vectors(schema=" ".join(f"a{at}:INLINE_FILTER" for at in range(FILTERS))),
            types=" ".join(f"a{at}:S" for at in range(FILTERS)),
        ),
        INVALID + "Value '19' at 'SearchSchema' failed to satisfy constraint: "
        "Member must have INLINE_FILTER count less than or equal to 18",
    ),
    "an attribute twice": (
        table("t00", vectors(schema="a:HASH a:INLINE_FILTER"), types="a:S"),
        INVALID + "SearchSchema contains a duplicate AttributeName",
    ),
    "a defined vector attribute": (
        table("t00", vectors(), types="emb:S"),
        INVALID + "Conflicting attribute definition for 'emb'. "
        "An attribute cannot be defined in AttributeDefinitions when used as a VectorAttribute.",
    ),
    "a key as vector attribute": (
        table("t00", vectors(VectorAttribute={"AttributeName": "pk"})),
        INVALID + "Conflicting attribute definition for 'pk'. "
        "An attribute cannot be defined in AttributeDefinitions when used as a VectorAttribute.",
    ),
    "a definition that nothing uses": (
        table("t00", vectors(), types="x:S"),
        INVALID + "Number of attributes in KeySchema does not exactly match number of attributes defined in "
        "AttributeDefinitions",
    ),
    "a name twice": (table("t00", vectors(), vectors()), INVALID + "Duplicate index name: vix"),
    "the name of a global index": (
        table(
            "t00",
            vectors(),
            types="g:S",
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "vix",
                    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        ),
        INVALID + "Duplicate index name: vix",
    ),
    "other dimensions of one attribute": (
        table("t00", vectors(), vectors("vi2", Dimensions=4)),
        INVALID + "Conflicting attribute definition for 'emb'. "
        "All VectorIndexes on the same vector attribute must use the same dimensions.",
    ),
    "six indexes": (
        table("t00", *(vectors(f"vix{at}") for at in range(6))),
        INVALID + "VectorIndex count exceeds the per-table limit of 5",
    ),
    "a provisioned table": (
        table(
            "t00",
            vectors(),
            BillingMode="PROVISIONED",
            ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
        ),
        INVALID + "Vector indexes are only supported for PAY_PER_REQUEST tables",
    ),
}

ITEMS: dict[str, tuple[Json, str]] = {
    "a short vector": (
        {"emb": vector(1, 2)},
        WRONG_VALUE + "Invalid size for parameter emb, Expected: 3, Actual: 2 IndexName: vix",
    ),
    "text": (
        {"emb": {"S": "x"}},
        WRONG_VALUE + "Invalid type for parameter emb, Expected: 32-bit floating point number list IndexName: vix",
    ),
    "a set of numbers": (
        {"emb": {"NS": ["1", "2", "3"]}},
        WRONG_VALUE + "Invalid type for parameter emb, Expected: 32-bit floating point number list IndexName: vix",
    ),
    "a list with text": (
        {"emb": {"L": [{"N": "1"}, {"S": "x"}, {"N": "2"}]}},
        WRONG_VALUE + "Invalid type for parameter emb[1], Expected: 32-bit floating point number, Actual: S. "
        "IndexName: vix",
    ),
    "a number beyond 32 bits": (
        {"emb": vector(1, 2, "-3.5E38")},
        WRONG_VALUE + "Invalid value for parameter emb[2], Value: -3.5E+38 is outside valid range "
        "[-3.4028235E38, 3.4028235E38]. IndexName: vix",
    ),
    "HASH of another type": (
        {"tenant": {"N": "1"}},
        WRONG_VALUE + "Attribute 'tenant' type mismatch. Expected: S, Actual: N. IndexName: vix",
    ),
    "a filter of another type": (
        {"kind": {"N": "1"}},
        WRONG_VALUE + "Attribute 'kind' type mismatch. Expected: S, Actual: N. IndexName: vix",
    ),
}

SEARCHES: dict[str, tuple[Json, str]] = {
    "no condition on HASH": (
        {},
        "ValidationException: SearchConditionExpression must be provided when SearchSchema has a HASH key",
    ),
    "a condition on a filter alone": (
        {"SearchConditionExpression": "kind = :k", "ExpressionAttributeValues": {":k": {"S": "x"}}},
        "ValidationException: SearchConditionExpression must be provided when SearchSchema has a HASH key",
    ),
    "TopK 0": ({"TopK": 0}, MEMBER.format("'0' at 'topK'", "have value greater than or equal to 1")),
    "TopK 101": (
        {"TopK": 101},
        (
            "ValidationException: Provided TopK value '101' is out of valid range. "
            "The value must be between 1 and 100 inclusive"
        ),
    ),
    "TopK 101 of a missing table": (
        {"TopK": 101, "TableName": "missing"},
        (
            "ValidationException: Provided TopK value '101' is out of valid range. "
            "The value must be between 1 and 100 inclusive"
        ),
    ),
    "no TopK": ({"TopK": None}, MEMBER.format("null at 'topK'", "not be null")),
    "no vector": ({"SearchVector": None}, MEMBER.format("null at 'searchVector'", "not be null")),
    "an empty vector": (
        {"SearchVector": []},
        MEMBER.format("at 'SearchVector'", "have length greater than or equal to 1"),
    ),
    "a long vector": (
        {"SearchVector": [{"N": "1"}] * 4097},
        MEMBER.format("at 'SearchVector'", "have length less than or equal to 4096"),
    ),
    "two dimensions": (
        {"SearchVector": [{"N": "1"}, {"N": "2"}]},
        "ValidationException: Input search vector dimension 2 does not match vector index dimension 3",
    ),
    "text in the vector": (
        {"SearchVector": [{"N": "1"}, {"S": "x"}, {"N": "2"}]},
        WRONG_SEARCH_VECTOR,
    ),
    "a number that is too large": (
        {"SearchVector": [{"N": "1E39"}, {"N": "1"}, {"N": "2"}]},
        WRONG_SEARCH_VECTOR,
    ),
    "a vector in a list": (
        {"SearchVector": [vector(1, 2, 3)]},
        WRONG_SEARCH_VECTOR,
    ),
    "a number that is not one": (
        {"SearchVector": [{"N": "nan"}] * 3},
        "ValidationException: The parameter cannot be converted to a numeric value: nan",
    ),
    "another index": (
        {"IndexName": "nope"},
        "ValidationException: The table does not have the specified index: nope",
    ),
    "a short name": (
        {"IndexName": "no"},
        MEMBER.format("at 'IndexName'", "have length greater than or equal to 3"),
    ),
    "a missing table": (
        {"TableName": "missing"},
        "ResourceNotFoundException: Requested resource not found",
    ),
    "an attribute outside the schema": (
        {"SearchConditionExpression": "tenant = :t AND color = :t", "ExpressionAttributeValues": {":t": {"S": "t"}}},
        (
            "ValidationException: SearchConditionExpression must not contain any attributes that is not in "
            "SearchSchema. Invalid attribute: color"
        ),
    ),
    "HASH of another type": (
        {"SearchConditionExpression": "tenant = :t", "ExpressionAttributeValues": {":t": {"N": "1"}}},
        (
            "ValidationException: Type of 'tenant' attribute in SearchConditionExpression (N) does not match type in "
            "search schema (S)"
        ),
    ),
    "an empty HASH": (
        {"SearchConditionExpression": "tenant = :t", "ExpressionAttributeValues": {":t": {"S": ""}}},
        NOT_VALID + "The AttributeValue for a key attribute cannot contain an empty string value. Key: tenant",
    ),
    "a nested attribute": (
        {"SearchConditionExpression": "tenant.a = :t", "ExpressionAttributeValues": {":t": {"S": "t"}}},
        (
            "ValidationException: Invalid SearchConditionExpression: "
            "SearchConditionExpression cannot have conditions on nested attributes"
        ),
    ),
    "an attribute twice": (
        {"SearchConditionExpression": "tenant = :t AND tenant = :t", "ExpressionAttributeValues": {":t": {"S": "t"}}},
        (
            "ValidationException: Invalid SearchConditionExpression: "
            "SearchConditionExpression must only contain one condition per attribute"
        ),
    ),
    "an unknown value": (
        {"SearchConditionExpression": "tenant = :x", "ExpressionAttributeValues": {":t": {"S": "t"}}},
        (
            "ValidationException: Invalid SearchConditionExpression: "
            "An expression attribute value used in expression is not defined; attribute value: :x"
        ),
    ),
    "an unused name": (
        {
            "SearchConditionExpression": "tenant = :t",
            "ExpressionAttributeValues": {":t": {"S": "t"}},
            "ExpressionAttributeNames": {"#x": "kind"},
        },
        "ValidationException: Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}",
    ),
    "an empty condition": (
        {"SearchConditionExpression": ""},
        "ValidationException: Invalid SearchConditionExpression: The expression can not be empty;",
    ),
}

OTHER_COMPARISONS = (
    "tenant < :t",
    "tenant <> :t",
    "tenant = :t OR kind = :t",
    "NOT tenant = :t",
    "tenant IN (:t)",
    "tenant BETWEEN :t AND :t",
    "begins_with(tenant, :t)",
    "size(tenant) = :t",
)


@pytest.fixture
def tenants(bench: Bench) -> Bench:
    """An engine with a table whose index has a HASH element and two filters."""
    bench.ok("CreateTable", **table("things", vectors(schema=SCHEMA), types=TYPES))
    return bench


def put(bench: Bench, key: str, **attributes: Json) -> Json:
    item = {"pk": {"S": key}, **attributes}
    reply = bench.ok("PutItem", TableName="things", Item=item, ReturnConsumedCapacity="INDEXES")
    used: Json = reply["ConsumedCapacity"]
    return used


def found(bench: Bench, tenant: str = "t", index: str = "vix", **more: Any) -> list[str]:
    body = search("things", index, [1, 0, 0], 100, {"tenant": {"S": tenant}}) | more
    return sorted(each["Item"]["pk"]["S"] for each in bench.ok("SearchVectors", **body)["SearchResults"])


@pytest.mark.parametrize("case", DEFINITIONS)
def test_definition_is_rejected_in_dynamodbs_words(bench: Bench, case: str) -> None:
    body, message = DEFINITIONS[case]
    assert bench.error("CreateTable", **body) == message
    assert bench.ok("ListTables")["TableNames"] == []


@pytest.mark.parametrize("case", ITEMS)
def test_malformed_item_is_rejected_by_every_write(tenants: Bench, case: str) -> None:
    attributes, message = ITEMS[case]
    item = {"pk": {"S": "a"}, "tenant": {"S": "t"}, "emb": vector(1, 2, 3), **attributes}
    assert tenants.error("PutItem", TableName="things", Item=item) == message
    batch = {"things": [{"PutRequest": {"Item": item}}]}
    assert tenants.error("BatchWriteItem", RequestItems=batch) == message
    answer = tenants.failed("TransactWriteItems", TransactItems=[{"Put": {"TableName": "things", "Item": item}}])
    reasons = [{"Code": "ValidationError", "Message": message.partition(": ")[2]}]
    assert answer.body["CancellationReasons"] == reasons
    ((name, value),) = attributes.items()
    update = {"UpdateExpression": f"SET {name} = :v", "ExpressionAttributeValues": {":v": value}}
    assert tenants.error("UpdateItem", TableName="things", Key={"pk": {"S": "a"}}, **update) == message
    assert tenants.rows("things") == []


def test_empty_hash_is_rejected(tenants: Bench) -> None:
    empty = "The AttributeValue for a key attribute cannot contain an empty string value."
    item = {"pk": {"S": "a"}, "tenant": {"S": ""}}
    assert tenants.error("PutItem", TableName="things", Item=item) == (
        f"{NOT_VALID}A value specified for a secondary index key is not supported. {empty} "
        "IndexName: vix, IndexKey: tenant"
    )
    update = {"UpdateExpression": "SET tenant = :v", "ExpressionAttributeValues": {":v": {"S": ""}}}
    assert tenants.error("UpdateItem", TableName="things", Key={"pk": {"S": "a"}}, **update) == (
        f"{NOT_VALID}The update expression attempted to update a secondary index key to a value that is not "
        f"supported. {empty}"
    )


@pytest.mark.parametrize("case", SEARCHES)
def test_search_is_rejected_in_dynamodbs_words(tenants: Bench, case: str) -> None:
    changes, message = SEARCHES[case]
    body = search("things", "vix", [1, 2, 3]) | changes
    assert tenants.error("SearchVectors", **{key: value for key, value in body.items() if value is not None}) == message


@pytest.mark.parametrize("condition", OTHER_COMPARISONS)
def test_only_equality_may_be_searched_for(tenants: Bench, condition: str) -> None:
    body = search("things", "vix", [1, 2, 3]) | {
        "SearchConditionExpression": condition,
        "ExpressionAttributeValues": {":t": {"S": "t"}},
    }
    assert tenants.error("SearchVectors", **body) == (
        "ValidationException: Invalid SearchConditionExpression: Invalid comparator used in SearchConditionExpression"
    )


def test_item_without_hash_or_vector_is_not_in_the_index(tenants: Bench) -> None:
    put(tenants, "whole", tenant={"S": "t"}, emb=vector(1, 2, 3))
    put(tenants, "no hash", emb=vector(1, 2, 3))
    put(tenants, "no vector", tenant={"S": "t"})
    assert found(tenants) == ["whole"]
    for attribute in ("tenant", "emb"):
        put(tenants, "whole", tenant={"S": "t"}, emb=vector(1, 2, 3))
        remove = {"UpdateExpression": f"REMOVE {attribute}"}
        tenants.ok("UpdateItem", TableName="things", Key={"pk": {"S": "whole"}}, **remove)
        assert found(tenants) == []
    assert problems_of(tenants.engine) == []


def test_item_without_filter_attribute_is_found_without_the_filter(tenants: Bench) -> None:
    put(tenants, "a", tenant={"S": "t"}, emb=vector(1, 2, 3))
    put(tenants, "b", tenant={"S": "t"}, kind={"S": ""}, emb=vector(1, 2, 3))
    assert found(tenants) == ["a", "b"]
    body = search("things", "vix", [1, 0, 0], 5, {"tenant": {"S": "t"}, "kind": {"S": ""}})
    assert [each["Item"]["pk"]["S"] for each in tenants.ok("SearchVectors", **body)["SearchResults"]] == ["b"]


def test_number_of_a_vector_can_be_changed_in_place(tenants: Bench) -> None:
    put(tenants, "a", tenant={"S": "t"}, emb=vector(1, 0, 0))
    body = search("things", "vix", [0, 1, 0], 5, {"tenant": {"S": "t"}})
    for place, value, score in ((0, "0", 1.0), (1, "2", 0.0), (1, "-2", 2.0)):
        change = {"UpdateExpression": f"SET emb[{place}] = :v", "ExpressionAttributeValues": {":v": {"N": value}}}
        tenants.ok("UpdateItem", TableName="things", Key={"pk": {"S": "a"}}, **change)
        (found,) = tenants.ok("SearchVectors", **body)["SearchResults"]
        assert found["Score"] == score
    wrong = {"UpdateExpression": "SET emb[3] = :v", "ExpressionAttributeValues": {":v": {"N": "1"}}}
    size = "Invalid size for parameter emb, Expected: 3, Actual: 4 IndexName: vix"
    assert tenants.error("UpdateItem", TableName="things", Key={"pk": {"S": "a"}}, **wrong) == WRONG_VALUE + size
    assert problems_of(tenants.engine) == []


def test_zero_vectors_have_the_cosine_distance_of_a_right_angle(bench: Bench) -> None:
    bench.ok("CreateTable", **table("things", vectors()))
    put(bench, "zero", emb=vector(0, 0, 0))
    put(bench, "same", emb=vector(2, 0, 0))
    put(bench, "opposite", emb=vector(-1, 0, 0))
    results = bench.ok("SearchVectors", **search("things", "vix", [1, 0, 0]))["SearchResults"]
    assert [(each["Item"]["pk"]["S"], each["Score"]) for each in results] == [("same", 0), ("zero", 1), ("opposite", 2)]
    results = bench.ok("SearchVectors", **search("things", "vix", [0, 0, 0]))["SearchResults"]
    assert [each["Score"] for each in results] == [1, 1, 1]


def test_results_have_the_projected_attributes_and_the_vector_only_on_request(bench: Bench) -> None:
    indexes = [
        vectors("all"),
        vectors("keys", "kind:INLINE_FILTER", Projection={"ProjectionType": "KEYS_ONLY"}),
        vectors("some", Projection=included("a", "emb")),
    ]
    bench.ok("CreateTable", **table("things", *indexes, types="kind:S"))
    put(bench, "1", kind={"S": "k"}, a={"S": "1"}, b={"M": {"c": {"N": "2"}}}, emb=vector("0.1", "0.123456789012", 3))

    def result(index: str, projection: str | None = None) -> Json:
        more = {"ProjectionExpression": projection} if projection else {}
        (only,) = bench.ok("SearchVectors", **search("things", index, [1, 0, 0]), **more)["SearchResults"]
        item: Json = only["Item"]
        return item

    key = {"pk": {"S": "1"}}
    single = {"emb": vector("0.1", "0.12345679", 3)}
    assert result("all") == {**key, "kind": {"S": "k"}, "a": {"S": "1"}, "b": {"M": {"c": {"N": "2"}}}}
    assert result("keys") == {**key, "kind": {"S": "k"}}
    assert result("some") == {**key, "a": {"S": "1"}}
    assert result("all", "emb, b.c") == {"b": {"M": {"c": {"N": "2"}}}, **single}
    assert result("some", "emb, b") == single
    assert result("keys", "pk, emb, a") == key
    assert result("all", "emb[1]") == {"emb": vector("0.12345679")}
    assert bench.get("things", pk="1") == {  # the table keeps every digit
        **key,
        "kind": {"S": "k"},
        "a": {"S": "1"},
        "b": {"M": {"c": {"N": "2"}}},
        "emb": vector("0.1", "0.123456789012", 3),
    }


def test_reply_above_its_limit_is_an_error(bench: Bench) -> None:
    bench.ok(
        "CreateTable", **table("things", vectors("all"), vectors("keys", Projection={"ProjectionType": "KEYS_ONLY"}))
    )
    for number in range(46):  # of the largest size: 42 of them have 16 MB
        put(bench, f"{number:02}", emb=vector(1, number, 0), d={"S": "x" * (400 * 1024 - 50)})
    assert len(bench.ok("SearchVectors", **search("things", "all", [1, 0, 0], 40))["SearchResults"]) == 40
    assert bench.error("SearchVectors", **search("things", "all", [1, 0, 0], 41)) == (
        "ValidationException: The items of the search results exceed 16 MB. "
        "Use a narrower projection or a smaller value of TopK"
    )
    assert len(bench.ok("SearchVectors", **search("things", "keys", [1, 0, 0], 100))["SearchResults"]) == 46


def test_limit_of_a_reply_counts_items_and_not_their_json(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_vectors, "SEARCH_BYTES", 10_000)
    bench.ok("CreateTable", **table("things", vectors("all")))
    for number in range(5):  # 2 KB each, and 13 KB of JSON
        put(bench, f"{number:02}", emb=vector(1, number, 0), d={"L": [{"NULL": True}] * 990})
    assert len(bench.ok("SearchVectors", **search("things", "all", [1, 0, 0], 5))["SearchResults"]) == 5
    put(bench, "5", emb=vector(1, 5, 0), d={"L": [{"NULL": True}] * 990})
    assert "the search results exceed" in bench.error("SearchVectors", **search("things", "all", [1, 0, 0], 6))


def test_capacity_is_reported_by_index(bench: Bench) -> None:
    bench.ok("CreateTable", **table("things", vectors("all", Dimensions=300), vectors("key", Dimensions=300)))
    bench.ok("UpdateTable", TableName="things", VectorIndexUpdates=[{"Delete": {"IndexName": "key"}}])
    bench.ok(
        "UpdateTable",
        TableName="things",
        VectorIndexUpdates=[
            {"Create": vectors("keys", Dimensions=300, Projection={"ProjectionType": "KEYS_ONLY"})},
        ],
    )
    body = {"emb": vector(*[1] * 300), "note": {"S": "x" * 1000}}
    used = put(bench, "1", **body)
    assert used["VectorIndexes"] == {
        "all": {"VectorWriteRequestBytes": 4 * 300 + 3 + 3 + 1004},
        "keys": {"VectorWriteRequestBytes": 4 * 300 + 3 + 3},
    }
    assert "VectorIndexes" not in put(bench, "1", **body)  # unchanged
    changed = put(bench, "1", **body | {"note": {"S": "short"}})
    assert changed["VectorIndexes"] == {"all": {"VectorWriteRequestBytes": 4 * 300 + 3 + 3 + 1004}}
    item = {"pk": {"S": "1"}, **body}
    total = bench.ok("PutItem", TableName="things", Item=item, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    assert "VectorIndexes" not in total
    for mode in ("TOTAL", "INDEXES"):
        request = search("things", "all", [1] * 300) | {"ReturnConsumedCapacity": mode}
        consumed = bench.ok("SearchVectors", **request)["ConsumedCapacity"]
        assert consumed == {"VectorSearchRequestBytes": 17.6 * 300 + 3 + 3 + 1004}
    assert "ConsumedCapacity" not in bench.ok("SearchVectors", **search("things", "all", [1] * 300))


def test_query_scan_and_partiql_do_not_read_a_vector_index(tenants: Bench) -> None:
    query = {"KeyConditionExpression": "tenant = :t", "ExpressionAttributeValues": {":t": {"S": "t"}}}
    assert tenants.error("Query", TableName="things", IndexName="vix", **query) == (
        "ValidationException: Query operation not supported on this index type."
    )
    scanned = "ValidationException: Scan operation not supported on this index type"
    assert tenants.error("Scan", TableName="things", IndexName="vix") == scanned
    assert tenants.error("ExecuteStatement", Statement='SELECT * FROM "things"."vix"') == scanned


def test_partiql_writes_and_expiry_keep_the_index(tenants: Bench) -> None:
    ttl = {"Enabled": True, "AttributeName": "until"}
    tenants.ok("UpdateTimeToLive", TableName="things", TimeToLiveSpecification=ttl)
    until = int(tenants.clock.now) + 10
    tenants.ok(
        "ExecuteStatement",
        Statement=f"INSERT INTO things VALUE {{'pk': 'a', 'tenant': 't', 'emb': [1, 2, 3], 'until': {until}}}",
    )
    assert found(tenants) == ["a"]
    wrong = "INSERT INTO things VALUE {'pk': 'b', 'tenant': 't', 'emb': [1, 2]}"
    assert tenants.error("ExecuteStatement", Statement=wrong) == ITEMS["a short vector"][1]
    tenants.ok("ExecuteStatement", Statement="UPDATE things SET tenant = 'u' WHERE pk = 'a'")
    assert (found(tenants), found(tenants, "u")) == ([], ["a"])
    tenants.clock.now += 100
    tenants.settle()
    assert found(tenants, "u") == []
    assert problems_of(tenants.engine) == []


def described(bench: Bench) -> dict[str, tuple[str, bool | None, int]]:
    indexes = bench.ok("DescribeTable", TableName="things")["Table"].get("VectorIndexes", [])
    return {each["IndexName"]: (each["IndexStatus"], each.get("Backfilling"), each["ItemCount"]) for each in indexes}


def test_added_index_is_backfilled_in_steps_across_restarts(filed: Bench) -> None:
    filed.ok("CreateTable", **{key: value for key, value in table("things").items() if key != "VectorIndexes"})
    many = 2 * BATCH + 7
    for number in range(many):
        good = vector(number, 1, 1) if number % 10 else {"S": "no vector"}
        filed.put("things", pk=f"{number:05}", tenant="t", emb=good)
    definition = [{"AttributeName": "tenant", "AttributeType": "S"}]
    create = {"AttributeDefinitions": definition, "VectorIndexUpdates": [{"Create": vectors(schema="tenant:HASH")}]}
    reply = filed.ok("UpdateTable", TableName="things", **create)["TableDescription"]
    assert (reply["TableStatus"], reply["VectorIndexes"][0]["IndexStatus"]) == ("UPDATING", "CREATING")
    assert reply["VectorIndexes"][0]["Backfilling"] is False
    assert described(filed)["vix"][:2] == ("CREATING", True)
    body = search("things", "vix", [1, 0, 0], 100, {"tenant": {"S": "t"}})
    assert filed.error("SearchVectors", **body) == "ValidationException: Cannot search backfilling vector index: vix"
    other = {"VectorIndexUpdates": [{"Create": vectors("other")}]}
    assert filed.error("UpdateTable", TableName="things", **other) == ONE_AT_A_TIME
    filed.put("things", pk="00000", tenant="t", emb=vector(1, 1, 1))
    filed.ok("DeleteItem", TableName="things", Key={"pk": {"S": "00001"}})
    filed.reopen()
    filed.settle()
    expected = sum(bool(number % 10) for number in range(many))
    assert described(filed)["vix"] == ("ACTIVE", None, expected)
    assert problems_of(filed.engine) == []
    assert len(filed.ok("SearchVectors", **body)["SearchResults"]) == 100


def test_deleted_index_is_gone_with_its_rows(anywhere: Bench) -> None:
    anywhere.ok("CreateTable", **table("things", vectors("one"), vectors("two", "kind:INLINE_FILTER"), types="kind:S"))
    put(anywhere, "a", emb=vector(1, 2, 3))
    anywhere.ok("SearchVectors", **search("things", "two", [1, 0, 0]))
    update = {"VectorIndexUpdates": [{"Delete": {"IndexName": "two"}}]}
    reply = anywhere.ok("UpdateTable", TableName="things", **update)["TableDescription"]
    assert [(each["IndexName"], each["IndexStatus"]) for each in reply["VectorIndexes"]] == [
        ("one", "ACTIVE"),
        ("two", "DELETING"),
    ]
    assert list(described(anywhere)) == ["one"]
    definitions = anywhere.ok("DescribeTable", TableName="things")["Table"]["AttributeDefinitions"]
    assert [each["AttributeName"] for each in definitions] == ["pk"]
    assert anywhere.error("SearchVectors", **search("things", "two", [1, 0, 0])) == (
        "ValidationException: The table does not have the specified index: two"
    )
    assert len(anywhere.ok("SearchVectors", **search("things", "one", [1, 0, 0]))["SearchResults"]) == 1
    anywhere.ok("DeleteTable", TableName="things")
    assert anywhere.ok("ListTables")["TableNames"] == []


def test_invalid_updates_of_vector_indexes_are_rejected(bench: Bench) -> None:
    indexes = [vectors("one"), vectors("two")]
    bench.ok("CreateTable", **table("things", *indexes))

    def error(*updates: Json, **more: Any) -> str:
        return bench.error("UpdateTable", TableName="things", VectorIndexUpdates=list(updates), **more)

    create, delete = {"Create": vectors("new")}, {"Delete": {"IndexName": "one"}}
    assert error({}) == INVALID + "One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete must not be null"
    assert error({**create, **delete}) == INVALID + (
        "Only one vector index action is allowed per VectorIndexUpdate object"
    )
    assert error(create, delete) == ONE_AT_A_TIME
    assert error({"Create": vectors("one")}) == (
        "ValidationException: Attempting to create an index which already exists"
    )
    assert error({"Create": vectors("new", Dimensions=4)}) == DEFINITIONS["other dimensions of one attribute"][1]
    assert (
        error({"Create": vectors("new", VectorAttribute={"AttributeName": "pk"})})
        == (DEFINITIONS["a key as vector attribute"][1])
    )
    assert error({"Create": vectors("new", "pk:HASH")}) == DEFINITIONS["an element without definition"][1]
    assert error({"Delete": {"IndexName": "none"}}) == (
        "ResourceNotFoundException: Requested resource not found: Index none for table things"
    )
    throughput = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    billing = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": throughput}
    assert bench.error("UpdateTable", TableName="things", **billing) == (
        INVALID + "Tables with vector indexes must be in PAY_PER_REQUEST mode"
    )
    for number in range(3):
        bench.ok("UpdateTable", TableName="things", VectorIndexUpdates=[{"Create": vectors(f"new{number}")}])
    assert error(create) == (
        "LimitExceededException: Subscriber limit exceeded: "
        "Number of vector secondary indexes exceeds per-table limit of 5"
    )
    assert list(described(bench)) == ["one", "two", "new0", "new1", "new2"]


def test_update_that_does_not_touch_an_old_value_is_accepted(bench: Bench) -> None:
    bench.ok("CreateTable", **{key: value for key, value in table("things").items() if key != "VectorIndexes"})
    bench.put("things", pk="a", emb="not a vector")
    bench.ok("UpdateTable", TableName="things", VectorIndexUpdates=[{"Create": vectors()}])
    bench.ok("UpdateItem", TableName="things", Key={"pk": {"S": "a"}}, UpdateExpression="REMOVE note")
    assert bench.ok("SearchVectors", **search("things", "vix", [1, 0, 0]))["SearchResults"] == []
    assert problems_of(bench.engine) == []


def test_without_numpy_no_vector_index_is_created(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ImportError, match=r"needs an extra; run pip install 'partita\[vectors\]' \(numpy is missing\)"):
        bench.ask("CreateTable", table("things", vectors()))
    assert bench.ok("ListTables")["TableNames"] == []
