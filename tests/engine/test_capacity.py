"""Capacity units as they are billed: reads, writes, indexes, transactions, batches."""

import pytest

from tests.engine.shorthand import Json
from tests.engine.tables import Bench, index, plain

KB = 1024


def sized(size: int, **item: object) -> Json:
    """An item of exactly this many bytes, padded by `p`."""
    known = plain(item)
    used = sum(len(name) + len(value.get("S", value.get("N", ""))) for name, value in known.items()) + 1
    return known | {"p": {"S": "x" * (size - used)}}


def units(answer: Json) -> Json | float:
    """The total units, or with indexes {"table": units, index: units}."""
    used: Json = answer["ConsumedCapacity"]
    if "Table" not in used:
        total: float = used["CapacityUnits"]
        return total
    parts = {"table": used["Table"]["CapacityUnits"]}
    for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        parts |= {name: each["CapacityUnits"] for name, each in used.get(kind, {}).items()}
    assert sum(parts.values()) == used["CapacityUnits"]
    return parts


@pytest.fixture
def plainly(bench: Bench) -> str:
    return bench.table("plainly", "pk:S sk:S")


@pytest.fixture
def indexed(bench: Bench) -> str:
    return bench.table(
        "indexed",
        "pk:S sk:S",
        index("all", "g:S", "ALL"),
        index("keys", "g:S h:S", "KEYS_ONLY"),
        index("some", "h:S", "INCLUDE", "a"),
        local=(index("local", "pk:S l:S", "KEYS_ONLY"),),
    )


@pytest.mark.parametrize(("size", "expected"), [(100, 1.0), (KB, 1.0), (KB + 1, 2.0), (10 * KB, 10.0)])
def test_write_costs_a_unit_for_each_started_kilobyte(bench: Bench, plainly: str, size: int, expected: float) -> None:
    item = sized(size, pk="a", sk="b")
    answer = bench.ok("PutItem", TableName=plainly, Item=item, ReturnConsumedCapacity="TOTAL")
    assert units(answer) == expected
    key = {name: item[name] for name in ("pk", "sk")}
    assert units(bench.ok("DeleteItem", TableName=plainly, Key=key, ReturnConsumedCapacity="TOTAL")) == expected
    assert units(bench.ok("DeleteItem", TableName=plainly, Key=key, ReturnConsumedCapacity="TOTAL")) == 1.0


def test_write_is_charged_for_the_larger_of_before_and_after(bench: Bench, plainly: str) -> None:
    bench.ok("PutItem", TableName=plainly, Item=sized(3 * KB, pk="a", sk="b"))
    small = plain({"pk": "a", "sk": "b"})
    assert units(bench.ok("PutItem", TableName=plainly, Item=small, ReturnConsumedCapacity="TOTAL")) == 3.0
    assert units(bench.ok("PutItem", TableName=plainly, Item=small, ReturnConsumedCapacity="TOTAL")) == 1.0


@pytest.mark.parametrize(
    ("size", "consistent", "expected"),
    [(100, True, 1.0), (100, False, 0.5), (4 * KB, True, 1.0), (4 * KB + 1, True, 2.0), (4 * KB + 1, False, 1.0)],
)
def test_read_costs_a_unit_for_each_started_four_kilobytes(
    bench: Bench, plainly: str, size: int, consistent: bool, expected: float
) -> None:
    bench.ok("PutItem", TableName=plainly, Item=sized(size, pk="a", sk="b"))
    key = plain({"pk": "a", "sk": "b"})
    body: Json = {"TableName": plainly, "Key": key, "ConsistentRead": consistent, "ReturnConsumedCapacity": "TOTAL"}
    assert units(bench.ok("GetItem", **body)) == expected
    assert units(bench.ok("GetItem", **body, ProjectionExpression="pk")) == expected, "a projection saves nothing"


def test_read_of_nothing_costs_the_minimum(bench: Bench, plainly: str) -> None:
    key = plain({"pk": "a", "sk": "b"})
    asked = {"TableName": plainly, "ReturnConsumedCapacity": "INDEXES"}
    assert units(bench.ok("GetItem", Key=key, **asked)) == {"table": 0.5}
    assert units(bench.ok("GetItem", Key=key, ConsistentRead=True, **asked)) == {"table": 1.0}


def test_query_rounds_the_total_size_before_the_filter(bench: Bench, plainly: str) -> None:
    for sort in "abcd":
        bench.ok("PutItem", TableName=plainly, Item=sized(1500, pk="a", sk=sort))
    body: Json = {
        "TableName": plainly,
        "KeyConditionExpression": "pk = :a",
        "ExpressionAttributeValues": plain({":a": "a"}),
        "ReturnConsumedCapacity": "TOTAL",
        "ConsistentRead": True,
    }
    assert units(bench.ok("Query", **body)) == 2.0  # 6000 bytes
    assert units(bench.ok("Query", **body, FilterExpression="attribute_exists(absent)")) == 2.0
    assert units(bench.ok("Query", **body, Select="COUNT")) == 2.0
    assert units(bench.ok("Query", **body, Limit=2)) == 1.0
    assert units(bench.ok("Scan", TableName=plainly, ReturnConsumedCapacity="TOTAL")) == 1.0


def put(bench: Bench, **item: object) -> Json | float:
    return units(bench.ok("PutItem", TableName="indexed", Item=plain(item), ReturnConsumedCapacity="INDEXES"))


def test_index_write_is_charged_only_when_its_row_changes(bench: Bench, indexed: str) -> None:
    assert put(bench, pk="a", sk="b") == {"table": 1.0}
    assert put(bench, pk="a", sk="b", g="1") == {"table": 1.0, "all": 1.0}
    assert put(bench, pk="a", sk="b", g="1", h="1") == {"table": 1.0, "all": 1.0, "keys": 1.0, "some": 1.0}
    assert put(bench, pk="a", sk="b", g="1", h="1") == {"table": 1.0}, "nothing changed"
    assert put(bench, pk="a", sk="b", g="1", h="1", x="1") == {"table": 1.0, "all": 1.0}, "only ALL holds x"
    assert put(bench, pk="a", sk="b", g="1", h="1", a="1") == {"table": 1.0, "all": 1.0, "some": 1.0}
    assert put(bench, pk="a", sk="b", g="2", h="1", a="1") == {"table": 1.0, "all": 2.0, "keys": 2.0}
    assert put(bench, pk="a", sk="b", l="1") == {"table": 1.0, "local": 1.0, "all": 1.0, "keys": 1.0, "some": 1.0}
    key = plain({"pk": "a", "sk": "b"})
    answer = bench.ok("DeleteItem", TableName="indexed", Key=key, ReturnConsumedCapacity="INDEXES")
    assert units(answer) == {"table": 1.0, "local": 1.0}


def test_index_read_is_charged_for_index_rows(bench: Bench, indexed: str) -> None:
    item = sized(5 * KB, pk="a", sk="b", g="1", h="1")
    answer = bench.ok("PutItem", TableName=indexed, Item=item, ReturnConsumedCapacity="INDEXES")
    assert units(answer) == {"table": 5.0, "all": 5.0, "keys": 1.0, "some": 1.0}
    query: Json = {
        "TableName": indexed,
        "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": plain({":g": "1"}),
        "ReturnConsumedCapacity": "INDEXES",
    }
    assert units(bench.ok("Query", IndexName="all", **query)) == {"table": 0.0, "all": 1.0}
    assert units(bench.ok("Query", IndexName="keys", **query)) == {"table": 0.0, "keys": 0.5}
    assert units(bench.ok("Scan", TableName=indexed, IndexName="some", ReturnConsumedCapacity="INDEXES")) == {
        "table": 0.0,
        "some": 0.5,
    }


def test_local_index_fetch_is_charged_for_each_item(bench: Bench, indexed: str) -> None:
    for sort in "xyz":
        bench.put("indexed", pk="a", sk=sort, l=sort, x="1")
    query: Json = {
        "TableName": indexed,
        "IndexName": "local",
        "KeyConditionExpression": "pk = :a",
        "ExpressionAttributeValues": plain({":a": "a"}),
        "ReturnConsumedCapacity": "INDEXES",
        "ConsistentRead": True,
    }
    assert units(bench.ok("Query", **query)) == {"table": 0.0, "local": 1.0}
    assert units(bench.ok("Query", **query, ProjectionExpression="x")) == {"table": 3.0, "local": 1.0}
    assert units(bench.ok("Query", **query, Select="ALL_ATTRIBUTES")) == {"table": 3.0, "local": 1.0}


def test_batch_costs_the_sum_of_its_parts(bench: Bench, indexed: str) -> None:
    requests = [{"PutRequest": {"Item": plain({"pk": "a", "sk": sort, "g": "1"})}} for sort in "abc"]
    requests.append({"DeleteRequest": {"Key": plain({"pk": "a", "sk": "none"})}})
    answer = bench.ok("BatchWriteItem", RequestItems={indexed: requests}, ReturnConsumedCapacity="INDEXES")
    (used,) = answer["ConsumedCapacity"]
    assert units({"ConsumedCapacity": used}) == {"table": 4.0, "all": 3.0}
    keys = [plain({"pk": "a", "sk": sort}) for sort in ("a", "b", "none")]
    for consistent, expected in ((True, 3.0), (False, 1.5)):
        asked = {indexed: {"Keys": keys, "ConsistentRead": consistent}}
        answer = bench.ok("BatchGetItem", RequestItems=asked, ReturnConsumedCapacity="TOTAL")
        assert answer["ConsumedCapacity"] == [{"TableName": indexed, "CapacityUnits": expected}]


def test_transaction_costs_twice_for_the_table_and_once_for_indexes(bench: Bench, indexed: str) -> None:
    """awslabs/amazon-dynamodb-local-samples#31; nubo-db/dynamodb-conformance."""
    item = sized(1500, pk="a", sk="b", g="1")
    answer = bench.ok(
        "TransactWriteItems",
        TransactItems=[
            {"Put": {"TableName": indexed, "Item": item}},
            {
                "ConditionCheck": {
                    "TableName": indexed,
                    "Key": plain({"pk": "a", "sk": "c"}),
                    "ConditionExpression": "attribute_not_exists(pk)",
                }
            },
        ],
        ReturnConsumedCapacity="INDEXES",
        ClientRequestToken="token",
    )
    (used,) = answer["ConsumedCapacity"]
    assert used == {
        "TableName": indexed,
        "CapacityUnits": 8.0,
        "WriteCapacityUnits": 8.0,
        "Table": {"CapacityUnits": 6.0, "WriteCapacityUnits": 6.0},
        "GlobalSecondaryIndexes": {"all": {"CapacityUnits": 2.0, "WriteCapacityUnits": 2.0}},
    }


def test_repeated_transaction_costs_a_transactional_read(bench: Bench, plainly: str) -> None:
    body: Json = {
        "TransactItems": [{"Put": {"TableName": plainly, "Item": sized(1500, pk="a", sk="b")}}],
        "ReturnConsumedCapacity": "TOTAL",
        "ClientRequestToken": "token",
    }
    assert bench.ok("TransactWriteItems", **body)["ConsumedCapacity"] == [
        {"TableName": plainly, "CapacityUnits": 4.0, "WriteCapacityUnits": 4.0}
    ]
    assert bench.ok("TransactWriteItems", **body)["ConsumedCapacity"] == [
        {"TableName": plainly, "CapacityUnits": 2.0, "ReadCapacityUnits": 2.0}
    ]


def test_transactional_read_costs_double_for_existing_and_missing_items(bench: Bench, plainly: str) -> None:
    bench.ok("PutItem", TableName=plainly, Item=sized(5 * KB, pk="a", sk="b"))
    gets = [{"Get": {"TableName": plainly, "Key": plain({"pk": "a", "sk": sort})}} for sort in ("b", "none")]
    answer = bench.ok("TransactGetItems", TransactItems=gets, ReturnConsumedCapacity="INDEXES")
    assert answer["ConsumedCapacity"] == [
        {
            "TableName": plainly,
            "CapacityUnits": 6.0,
            "ReadCapacityUnits": 6.0,
            "Table": {"CapacityUnits": 6.0, "ReadCapacityUnits": 6.0},
        }
    ]


@pytest.mark.parametrize("asked", [None, "NONE"])
def test_capacity_is_reported_only_on_request(bench: Bench, plainly: str, asked: str | None) -> None:
    more = {} if asked is None else {"ReturnConsumedCapacity": asked}
    item = plain({"pk": "a", "sk": "b"})
    for operation, body in (
        ("PutItem", {"Item": item}),
        ("GetItem", {"Key": item}),
        ("UpdateItem", {"Key": item}),
        ("DeleteItem", {"Key": item}),
        ("Scan", {}),
    ):
        assert "ConsumedCapacity" not in bench.ok(operation, TableName=plainly, **body, **more)
