"""Remote backends over real HTTP: an endpoint answers with the same types as the embedded engine."""

import itertools
import json
import threading
from collections.abc import Iterator

import pytest

from partita import connect
from partita.dynamodb import requests as q
from partita.dynamodb.exceptions import (
    ConditionalCheckFailedException,
    ResourceNotFoundException,
    TransactionCanceledException,
    ValidationException,
)
from partita.dynamodb.shapes import AttributeDefinition, KeySchemaElement
from partita.dynamodb.values import Item
from partita.remote.credentials import Credentials
from partita.remote.settings import RemoteSettings
from tests.remote.callers import Call, Opened

pytestmark = pytest.mark.slow

_numbers = itertools.count()


@pytest.fixture
def call(opened: Opened, endpoint: str) -> Iterator[Call]:
    with opened(endpoint, None) as calling:
        yield calling


@pytest.fixture
def table(call: Call) -> str:
    """A table for this test only, with ten items."""
    return new_table(call)


def new_table(call: Call) -> str:
    name = f"remote-{next(_numbers)}"
    call(
        q.CreateTable(
            table_name=name,
            key_schema=[KeySchemaElement(attribute_name="pk", key_type="HASH")],
            attribute_definitions=[AttributeDefinition(attribute_name="pk", attribute_type="S")],
            billing_mode="PAY_PER_REQUEST",
        )
    )
    for number in range(10):
        call(q.PutItem(table_name=name, item={"pk": {"S": f"é{number}"}, "n": {"N": str(number)}}))
    return name


def test_item_is_the_bytes_of_its_json(call: Call, table: str) -> None:
    reply = call(q.GetItem(table_name=table, key={"pk": {"S": "é3"}}, return_consumed_capacity="TOTAL"))
    assert reply.item is not None
    assert json.loads(bytes(reply.item)) == {"pk": {"S": "é3"}, "n": {"N": "3"}}
    assert reply.consumed_capacity is not None
    assert reply.consumed_capacity.capacity_units == 0.5


def test_missing_item_is_none(call: Call, table: str) -> None:
    assert call(q.GetItem(table_name=table, key={"pk": {"S": "absent"}})).item is None


def test_pages_follow_one_another(call: Call, table: str) -> None:
    first = call(q.Scan(table_name=table, limit=4))
    assert first.items is not None
    assert first.last_evaluated_key is not None
    start = json.loads(bytes(first.last_evaluated_key))
    second = call(q.Scan(table_name=table, exclusive_start_key=start))
    assert second.items is not None
    assert (len(first.items), len(second.items), second.last_evaluated_key) == (4, 6, None)
    assert len({bytes(item) for item in first.items + second.items}) == 10


def test_table_is_described(call: Call, table: str) -> None:
    described = call(q.DescribeTable(table_name=table)).table
    assert described is not None
    assert (described.table_name, described.table_status) == (table, "ACTIVE")


def test_missing_table_raises_resource_not_found(call: Call) -> None:
    with pytest.raises(ResourceNotFoundException):
        call(q.DescribeTable(table_name="absent"))


def test_wrong_key_is_a_validation_error(call: Call, table: str) -> None:
    with pytest.raises(ValidationException):
        call(q.GetItem(table_name=table, key={"other": {"S": "a"}}))


def test_failed_condition_has_the_item(call: Call, table: str) -> None:
    with pytest.raises(ConditionalCheckFailedException, match="The conditional request failed") as failed:
        call(
            q.PutItem(
                table_name=table,
                item={"pk": {"S": "é1"}},
                condition_expression="attribute_not_exists(pk)",
                return_values_on_condition_check_failure="ALL_OLD",
            )
        )
    assert failed.value.item == {"pk": {"S": "é1"}, "n": {"N": "1"}}


def test_cancelled_transaction_has_its_reasons(call: Call, table: str) -> None:
    fine = q.TransactWriteItem(put=q.Put(table_name=table, item={"pk": {"S": "new"}}))
    refused = q.TransactWriteItem(
        put=q.Put(table_name=table, item={"pk": {"S": "é1"}}, condition_expression="attribute_not_exists(pk)")
    )
    with pytest.raises(TransactionCanceledException) as cancelled:
        call(q.TransactWriteItems(transact_items=[fine, refused]))
    assert [reason["Code"] for reason in cancelled.value.reasons] == ["None", "ConditionalCheckFailed"]
    assert call(q.GetItem(table_name=table, key={"pk": {"S": "new"}})).item is None


def test_lone_surrogate_is_rejected_before_it_is_sent(call: Call) -> None:
    with pytest.raises(ValidationException, match="lone surrogate"):
        call(q.GetItem(table_name="any", key={"pk": {"S": "\ud800"}}))


def test_every_endpoint_accepts_a_signed_request(opened: Opened, endpoint: str) -> None:
    settings = RemoteSettings(region="eu-west-1", credentials=Credentials("key", "secret", "token"))
    with opened(endpoint, settings) as call:
        assert isinstance(call(q.ListTables()).table_names, list)


def test_batch_of_several_megabytes_is_written_and_read(opened: Opened, partita_engine: str) -> None:
    with opened(partita_engine, None) as call:
        name = new_table(call)
        keys: list[Item] = [{"pk": {"S": f"large{number}"}} for number in range(5)]
        puts = [q.WriteRequest(put_request=q.PutRequest(item=key | {"v": {"S": "x" * 390_000}})) for key in keys]
        call(q.BatchWriteItem(request_items={name: puts}))
        replies = call(q.BatchGetItem(request_items={name: q.KeysAndAttributes(keys=keys)})).responses
    assert replies is not None
    assert sum(len(bytes(item)) for item in replies[name]) > 5 * 390_000


def test_threads_share_a_backend(partita_engine: str) -> None:
    with connect(partita_engine, connections=3) as backend:
        name = new_table(backend.call)
        found: list[bytes] = []

        def read() -> None:
            for number in range(10):
                item = backend.call(q.GetItem(table_name=name, key={"pk": {"S": f"é{number}"}})).item
                assert item is not None
                found.append(bytes(item))

        threads = [threading.Thread(target=read) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 80
    assert len(set(found)) == 10
