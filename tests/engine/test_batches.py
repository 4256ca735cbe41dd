"""BatchGetItem and BatchWriteItem: all items, or the unprocessed rest; invalid batches have no effect."""

import pytest

from tests.engine.shorthand import Json
from tests.engine.tables import Bench, plain

KB = 1024


@pytest.fixture
def notes(anywhere: Bench) -> str:
    anywhere.table("notes", "pk:S")
    return anywhere.table("other", "pk:S sk:N")


def puts(*keys: str) -> list[Json]:
    return [{"PutRequest": {"Item": plain({"pk": key, "x": key})}} for key in keys]


def test_batch_puts_and_deletes_in_several_tables(anywhere: Bench, notes: str) -> None:
    anywhere.put("notes", pk="old")
    requests = {
        "notes": [*puts("a", "b"), {"DeleteRequest": {"Key": plain({"pk": "old"})}}],
        "other": [{"PutRequest": {"Item": plain({"pk": "a", "sk": 1})}}],
    }
    assert anywhere.ok("BatchWriteItem", RequestItems=requests) == {"UnprocessedItems": {}}
    assert {row["pk"]["S"] for row in anywhere.rows("notes")} == {"a", "b"}
    assert len(anywhere.rows("other")) == 1


def test_batch_gets_from_several_tables(anywhere: Bench, notes: str) -> None:
    anywhere.ok("BatchWriteItem", RequestItems={"notes": puts("a", "b")})
    anywhere.put("other", pk="a", sk=1)
    asked = {
        "notes": {"Keys": [plain({"pk": key}) for key in ("a", "b", "none")], "ProjectionExpression": "x"},
        "other": {"Keys": [plain({"pk": "a", "sk": 1})]},
    }
    answer = anywhere.ok("BatchGetItem", RequestItems=asked)
    assert answer["UnprocessedKeys"] == {}
    assert sorted(item["x"]["S"] for item in answer["Responses"]["notes"]) == ["a", "b"]
    assert answer["Responses"]["other"] == [plain({"pk": "a", "sk": 1})]


def test_batch_leaves_items_beyond_the_reply_limit_unprocessed(anywhere: Bench, notes: str) -> None:
    """Sixteen megabytes are forty items of 400 KB; the rest is for the next request."""
    for number in range(45):
        anywhere.put("notes", pk=f"{number:02}", x="x" * (400 * KB - 10))
    keys = [plain({"pk": f"{number:02}"}) for number in range(45)]
    asked: Json = {"notes": {"Keys": keys, "ConsistentRead": True}}
    rounds: list[int] = []
    while asked:
        answer = anywhere.ok("BatchGetItem", RequestItems=asked)
        rounds.append(len(answer["Responses"]["notes"]))
        asked = answer["UnprocessedKeys"]
        assert not asked or asked["notes"]["ConsistentRead"] is True
    assert sum(rounds) == 45
    assert len(rounds) == 2


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({}, ("1 validation error detected: Value null at 'requestItems' failed to satisfy constraint: Member must not "
         "be null")),
        ({"RequestItems": {"notes": [*puts("a", "a")]}}, "Provided list of item keys contains duplicates"),
        ({"RequestItems": {"notes": [*puts("a"), {"DeleteRequest": {"Key": plain({"pk": "a"})}}]}},
         "Provided list of item keys contains duplicates"),
        ({"RequestItems": {"notes": puts(*map(str, range(13))), "other": puts(*map(str, range(13)))}},
         "Too many items requested for the BatchWriteItem call"),
        ({"RequestItems": {"notes": [{"PutRequest": {"Item": plain({"x": "a"})}}]}},
         "The provided key element does not match the schema"),
        ({"RequestItems": {"notes": [{"DeleteRequest": {"Key": plain({"x": "a"})}}]}},
         "The provided key element does not match the schema"),
        ({"RequestItems": {"notes": [{"PutRequest": {"Item": plain({"pk": "a", "x": "x" * 400 * KB})}}]}},
         "Item size has exceeded the maximum allowed size"),
    ],
)  # fmt: skip
def test_invalid_batch_write_is_rejected_as_a_whole(anywhere: Bench, notes: str, body: Json, error: str) -> None:
    if isinstance(body.get("RequestItems"), dict):
        body["RequestItems"]["notes"] = [
            {"PutRequest": {"Item": plain({"pk": "fine"})}},
            *body["RequestItems"]["notes"],
        ]
    assert anywhere.error("BatchWriteItem", **body) == f"ValidationException: {error}"
    assert anywhere.rows("notes") == []


def test_batch_write_to_a_missing_table_writes_nothing(anywhere: Bench, notes: str) -> None:
    requests = {"notes": puts("a"), "missing": puts("a")}
    assert anywhere.failed("BatchWriteItem", RequestItems=requests).code == "ResourceNotFoundException"
    assert anywhere.rows("notes") == []


def test_table_named_by_name_and_arn_is_one_list_of_keys(anywhere: Bench, notes: str) -> None:
    """The same key under both is a duplicate."""
    arn = anywhere.ok("DescribeTable", TableName="notes")["Table"]["TableArn"]
    answer = anywhere.ask("BatchWriteItem", {"RequestItems": {"notes": puts("a"), arn: puts("a")}})
    assert answer.error in ("", "ValidationException: Provided list of item keys contains duplicates")
    described = anywhere.ok("DescribeTable", TableName="notes")["Table"]
    assert described["ItemCount"] == len(anywhere.rows("notes"))


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"notes": {"Keys": [plain({"pk": "a"}), plain({"pk": "a"})]}},
         "Provided list of item keys contains duplicates"),
        ({"notes": {"Keys": [plain({"pk": str(number)}) for number in range(60)]},
          "other": {"Keys": [plain({"pk": str(number), "sk": 1}) for number in range(60)]}},
         "Too many items requested for the BatchGetItem call"),
        ({"notes": {"Keys": [plain({"x": "a"})]}}, "The provided key element does not match the schema"),
    ],
)  # fmt: skip
def test_invalid_batch_get_is_rejected(anywhere: Bench, notes: str, asked: Json, error: str) -> None:
    assert anywhere.error("BatchGetItem", RequestItems=asked) == f"ValidationException: {error}"
