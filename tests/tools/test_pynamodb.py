"""PynamoDB: a model with an index, a version, a counter and a transaction."""

from typing import Any

import pytest

pynamodb = pytest.importorskip("pynamodb", reason="PynamoDB is not in this environment")

from pynamodb.attributes import (  # noqa: E402 - only where it is installed
    NumberAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
    VersionAttribute,
)
from pynamodb.connection import Connection  # noqa: E402
from pynamodb.exceptions import PutError, UpdateError  # noqa: E402
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex  # noqa: E402
from pynamodb.models import Model  # noqa: E402
from pynamodb.transactions import TransactWrite  # noqa: E402

pytestmark = pytest.mark.slow


class ByStatus(GlobalSecondaryIndex[Any]):  # type: ignore[no-untyped-call]
    class Meta:
        index_name = "by-status"
        projection = AllProjection()

    status = UnicodeAttribute(hash_key=True)
    number = NumberAttribute(range_key=True)


def model(endpoint: str, name: str) -> type[Any]:
    class Order(Model):
        class Meta:
            table_name = name
            host = endpoint
            region = "us-east-1"
            aws_access_key_id = "partita"
            aws_secret_access_key = "partita"
            billing_mode = "PAY_PER_REQUEST"

        customer = UnicodeAttribute(hash_key=True)
        number = NumberAttribute(range_key=True)
        status = UnicodeAttribute(default="open")
        tags = UnicodeSetAttribute(null=True)
        version = VersionAttribute()
        by_status = ByStatus()

    Order.create_table(wait=True)
    return Order


def test_model_is_saved_found_and_changed(endpoint: str, table_name: str) -> None:
    order = model(endpoint, table_name)
    for number in range(5):
        order("c1", number, tags={"new", "web"}).save()
    assert order.get("c1", 3).tags == {"new", "web"}
    assert [each.number for each in order.query("c1", order.number > 1, scan_index_forward=False)] == [4, 3, 2]
    found = order.get("c1", 3)
    found.update(actions=[order.status.set("shipped"), order.tags.delete({"new"})])
    assert [each.number for each in order.by_status.query("shipped")] == [3]
    assert order.get("c1", 3).tags == {"web"}
    assert order.count("c1", filter_condition=order.status == "open") == 4


def test_stale_version_is_rejected(endpoint: str, table_name: str) -> None:
    order = model(endpoint, table_name)
    order("c1", 1).save()
    first, second = order.get("c1", 1), order.get("c1", 1)
    first.update(actions=[order.status.set("a")])
    with pytest.raises(UpdateError) as caught:
        second.update(actions=[order.status.set("b")])
    assert caught.value.cause_response_code == "ConditionalCheckFailedException"
    with pytest.raises(PutError):
        order("c1", 1).save(order.customer.does_not_exist())


def test_batches_and_transactions(endpoint: str, table_name: str) -> None:
    order = model(endpoint, table_name)
    with order.batch_write() as batch:
        for number in range(30):
            batch.save(order("c1", number))
    assert len(list(order.batch_get([("c1", number) for number in range(30)]))) == 30
    connection = Connection(region="us-east-1", host=endpoint, extra_headers=None)
    connection.session.set_credentials("partita", "partita")
    with TransactWrite(connection=connection) as transaction:
        transaction.save(order("c2", 1))
        transaction.update(order.get("c1", 1), actions=[order.status.set("done")])
    assert order.get("c2", 1).status == "open"
    assert order.get("c1", 1).status == "done"
