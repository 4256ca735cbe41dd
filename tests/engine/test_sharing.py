"""Several threads on one engine, several engines on one file, several writes in one commit."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from partita.dynamodb.decode import decode_request
from partita.dynamodb.exceptions import (
    DynamoDBError,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from partita.engine.context import Job
from partita.engine.writer import PendingWrite
from partita.storage.contract import Row, StorageTransaction, Write
from tests.engine.shorthand import Json
from tests.engine.tables import Bench, index, plain, problems_of

# Several engines on one file -----------------------------------------------------------------------------------


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Bench, Bench]]:
    """Two engines that share only the file, as two processes do."""
    path = str(tmp_path / "shared.db")
    one, other = Bench(path), Bench(path)
    yield one, other
    one.engine.close()
    other.engine.close()


def sound(bench: Bench) -> bool:
    return problems_of(bench.engine) == []


def test_table_created_by_one_engine_is_seen_by_the_other(two: tuple[Bench, Bench]) -> None:
    one, other = two
    assert other.failed("GetItem", TableName="notes", Key=plain({"pk": "a"})).code == "ResourceNotFoundException"
    one.table("notes", "pk:S")
    other.put("notes", pk="a")
    assert one.get("notes", pk="a") == plain({"pk": "a"})
    assert other.ok("ListTables") == {"TableNames": ["notes"]}


def test_table_deleted_by_one_engine_is_gone_for_the_other(two: tuple[Bench, Bench]) -> None:
    one, other = two
    one.table("notes", "pk:S")
    one.put("notes", pk="a")
    assert other.get("notes", pk="a") is not None
    one.ok("DeleteTable", TableName="notes")
    for operation, body in (
        ("GetItem", {"Key": plain({"pk": "a"})}),
        ("Scan", {}),
        ("PutItem", {"Item": plain({"pk": "a"})}),
        ("DescribeTable", {}),
    ):
        assert other.failed(operation, TableName="notes", **body).code == "ResourceNotFoundException"


def test_recreated_table_is_seen_with_its_new_schema(two: tuple[Bench, Bench]) -> None:
    one, other = two
    one.table("notes", "pk:S")
    assert other.get("notes", pk="a") is None
    one.ok("DeleteTable", TableName="notes")
    one.table("notes", "id:N", index("byGroup", "g:S"))
    one.put("notes", id=1, g="x")
    assert other.get("notes", id=1) == plain({"id": 1, "g": "x"})
    assert len(other.rows("notes", "byGroup")) == 1


def test_index_created_by_one_engine_is_used_by_the_other(two: tuple[Bench, Bench]) -> None:
    one, other = two
    one.table("notes", "pk:S")
    other.put("notes", pk="before", g="x")
    one.ok(
        "UpdateTable",
        TableName="notes",
        AttributeDefinitions=[{"AttributeName": "g", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "byGroup",
                    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    )
    one.settle()
    assert len(other.rows("notes", "byGroup")) == 1
    other.put("notes", pk="after", g="x")
    assert len(one.rows("notes", "byGroup")) == 2
    assert sound(one)
    one.ok("UpdateTable", TableName="notes", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "byGroup"}}])
    one.settle()
    assert other.failed("Scan", TableName="notes", IndexName="byGroup").code == "ValidationException"
    other.put("notes", pk="later", g="x")
    assert sound(one)


def test_stream_and_ttl_of_one_engine_apply_in_the_other(two: tuple[Bench, Bench]) -> None:
    one, other = two
    one.table("notes", "pk:S")
    assert other.get("notes", pk="a") is None
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    one.ok("UpdateTable", TableName="notes", StreamSpecification=stream)
    one.ok("UpdateTimeToLive", TableName="notes", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ends"})
    status = other.ok("DescribeTimeToLive", TableName="notes")["TimeToLiveDescription"]["TimeToLiveStatus"]
    assert status == "ENABLED"
    other.put("notes", pk="a", ends=int(other.clock.now) - 1)
    assert len(one.changes("notes")) == 1
    one.settle()
    assert other.get("notes", pk="a") is None
    assert sound(other)


def test_condition_holds_across_engines(two: tuple[Bench, Bench]) -> None:
    one, other = two
    one.table("notes", "pk:S")
    condition: Json = {"TableName": "notes", "ConditionExpression": "attribute_not_exists(pk)"}
    one.ok("PutItem", Item=plain({"pk": "a", "by": "one"}), **condition)
    failed = other.failed("PutItem", Item=plain({"pk": "a", "by": "other"}), **condition)
    assert failed.code == "ConditionalCheckFailedException"


def test_counter_incremented_by_two_engines_is_exact(two: tuple[Bench, Bench]) -> None:
    two[0].table("notes", "pk:S", index("byN", "n:N"))

    def raise_it(bench: Bench) -> None:
        for _ in range(60):
            bench.ok(
                "UpdateItem",
                TableName="notes",
                Key=plain({"pk": "a"}),
                UpdateExpression="ADD n :one",
                ExpressionAttributeValues=plain({":one": 1}),
            )

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(raise_it, two))
    assert two[1].get("notes", pk="a") == plain({"pk": "a", "n": 120})
    assert sound(two[0])


# Several threads on one engine ---------------------------------------------------------------------------------


def test_counter_incremented_by_threads_is_exact(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S", index("byN", "n:N"))

    def raise_it(_: int) -> None:
        for _ in range(40):
            anywhere.ok(
                "UpdateItem",
                TableName="notes",
                Key=plain({"pk": "a"}),
                UpdateExpression="ADD n :one",
                ExpressionAttributeValues=plain({":one": 1}),
            )

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(raise_it, range(6)))
    assert anywhere.get("notes", pk="a") == plain({"pk": "a", "n": 240})
    assert sound(anywhere)


def test_transfer_is_never_seen_half_done(anywhere: Bench) -> None:
    """Two accounts have a hundred together: every snapshot of both has a hundred."""
    anywhere.table("accounts", "pk:S")
    anywhere.put("accounts", pk="a", n=100)
    anywhere.put("accounts", pk="b", n=0)

    def moved(amount: int) -> Json:
        return {
            "TransactItems": [
                {
                    "Update": {
                        "TableName": "accounts",
                        "Key": plain({"pk": key}),
                        "UpdateExpression": "ADD n :n",
                        "ExpressionAttributeValues": plain({":n": change}),
                    }
                }
                for key, change in (("a", -amount), ("b", amount))
            ]
        }

    def transfer(_: int) -> None:
        for amount in range(40):
            anywhere.ok("TransactWriteItems", **moved(amount % 7 - 3))

    def watch(_: int) -> set[int]:
        gets = [{"Get": {"TableName": "accounts", "Key": plain({"pk": key})}} for key in "ab"]
        sums = set()
        for _ in range(150):
            answers = anywhere.ok("TransactGetItems", TransactItems=gets)["Responses"]
            sums.add(sum(int(each["Item"]["n"]["N"]) for each in answers))
        return sums

    with ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(transfer, number) for number in range(2)]
        seen = set().union(*pool.map(watch, range(2)))
        for each in writing:
            each.result()
    assert seen == {100}


def test_tables_come_and_go_under_readers_and_writers(anywhere: Bench) -> None:
    """Every answer is a reply or a DynamoDB error."""

    def churn(_: int) -> None:
        for _ in range(15):
            anywhere.ask(
                "CreateTable",
                {
                    "TableName": "coming",
                    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                    "BillingMode": "PAY_PER_REQUEST",
                },
            )
            anywhere.ask("DeleteTable", {"TableName": "coming"})

    def use(_: int) -> set[str]:
        codes = set()
        for number in range(150):
            item = plain({"pk": str(number)})
            codes.add(anywhere.ask("PutItem", {"TableName": "coming", "Item": item}).code)
            codes.add(anywhere.ask("GetItem", {"TableName": "coming", "Key": item}).code)
            codes.add(anywhere.ask("Scan", {"TableName": "coming"}).code)
        return codes

    with ThreadPoolExecutor(4) as pool:
        churning = pool.submit(churn, 0)
        seen = set().union(*pool.map(use, range(3)))
        churning.result()
    assert seen <= {"", "ResourceNotFoundException"}
    assert sound(anywhere)


# Several writes in one commit ----------------------------------------------------------------------------------


def together(bench: Bench, *requests: tuple[str, Json]) -> list[Any]:
    """Commits writes as one group; returns a reply or an error for each."""
    tickets = [
        PendingWrite(bench.engine.prepare(decode_request(name, json.dumps(body).encode()))) for name, body in requests
    ]
    for ticket in tickets:
        bench.engine.writer.enqueue(ticket)
    bench.engine.writer.commit_queue()
    return [ticket.error if ticket.error is not None else ticket.reply for ticket in tickets]


CREATE: Json = {
    "TableName": "notes",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
PUT: Json = {"TableName": "notes", "Item": plain({"pk": "a", "g": "x"})}


def test_two_creations_in_one_commit_create_one_table(anywhere: Bench) -> None:
    first, second = together(anywhere, ("CreateTable", CREATE), ("CreateTable", CREATE))
    assert not isinstance(first, DynamoDBError)
    assert isinstance(second, ResourceInUseException)
    anywhere.put("notes", pk="a")
    assert sound(anywhere)


def test_table_can_be_used_in_the_commit_that_creates_it(anywhere: Bench) -> None:
    together(anywhere, ("CreateTable", CREATE), ("PutItem", PUT))
    assert sound(anywhere)
    anywhere.ok("PutItem", **PUT)
    assert len(anywhere.rows("notes")) == 1


def test_write_after_table_deletion_in_one_commit_is_rejected(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    anywhere.table("other", "pk:S")
    other = {"TableName": "other", "Item": plain({"pk": "a"})}
    deleted, put, fine = together(
        anywhere, ("DeleteTable", {"TableName": "notes"}), ("PutItem", PUT), ("PutItem", other)
    )
    assert not isinstance(deleted, BaseException)
    assert isinstance(put, ResourceNotFoundException)
    assert not isinstance(fine, BaseException), "the others do not suffer for it"
    assert anywhere.get("other", pk="a") is not None
    assert sound(anywhere)


def test_write_after_index_creation_in_one_commit_is_indexed(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    update = {
        "TableName": "notes",
        "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [
            {
                "Create": {
                    "IndexName": "byGroup",
                    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    }
    together(anywhere, ("UpdateTable", update), ("PutItem", PUT))
    anywhere.settle()
    assert len(anywhere.rows("notes", "byGroup")) == 1
    assert sound(anywhere)


def test_write_after_enabling_a_stream_in_one_commit_is_recorded(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    stream = {"TableName": "notes", "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}}
    together(anywhere, ("UpdateTable", stream), ("PutItem", PUT))
    assert len(anywhere.changes("notes")) == 1


def test_failed_write_does_not_affect_others_in_its_commit(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    condition = PUT | {"ConditionExpression": "attribute_exists(pk)"}
    other = {"TableName": "notes", "Item": plain({"pk": "b"})}
    failed, done = together(anywhere, ("PutItem", condition), ("PutItem", other))
    assert isinstance(failed, DynamoDBError)
    assert not isinstance(done, BaseException)
    assert [row["pk"]["S"] for row in anywhere.rows("notes")] == ["b"]


def test_rejected_write_that_has_changed_something_is_undone_alone(anywhere: Bench) -> None:
    """Writes share a commit: one that is rejected halfway must not be committed with the others."""
    anywhere.table("notes", "pk:S")
    context, writer = anywhere.engine._context, anywhere.engine.writer
    context.catalog.refresh()

    def put(name: str) -> Job:
        return lambda txn: txn.apply([Write(notes.space, name.encode(), None, Row(1, b"{}"))])

    def rejected(txn: StorageTransaction) -> None:
        put("halfway")(txn)
        raise ValidationException("rejected")

    notes = context.catalog.tables["notes"]
    writes = [PendingWrite(job) for job in (put("one"), rejected, put("other"))]
    for each in writes:
        writer.enqueue(each)
    assert writer.open_group() is None
    writer.commit_queue()
    writes[0].result()
    writes[2].result()
    with pytest.raises(ValidationException, match="rejected"):
        writes[1].result()
    assert [key for key, _, _ in context.storage.range(notes.space, b"", None)] == [b"one", b"other"]
