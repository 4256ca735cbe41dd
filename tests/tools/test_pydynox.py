"""pydynox: a client written in Rust, on Amazon's SDK for Rust."""

from typing import Any

import pytest

pytestmark = pytest.mark.slow

pydynox = pytest.importorskip("pydynox", reason="pydynox is not in this environment")


@pytest.fixture
def client(endpoint: str) -> Any:
    return pydynox.DynamoDBClient(
        region="us-east-1", access_key="partita", secret_key="partita", endpoint_url=endpoint, max_retries=0
    )


def test_items_are_written_read_and_queried(client: Any, table_name: str) -> None:
    client.sync_create_table(table_name, partition_key=("pk", "S"), sort_key=("sk", "N"), wait=True)
    assert client.sync_table_exists(table_name)
    for number in range(5):
        client.sync_put_item(table_name, {"pk": "a", "sk": number, "tags": ["x", {"deep": True}], "price": 1.5})
    assert client.sync_get_item(table_name, {"pk": "a", "sk": 3})["tags"] == ["x", {"deep": True}]
    found = client.sync_query(
        table_name,
        "#pk = :pk AND #sk > :sk",
        expression_attribute_names={"#pk": "pk", "#sk": "sk"},
        expression_attribute_values={":pk": "a", ":sk": 1},
        scan_index_forward=False,
    )
    assert [item["sk"] for item in found] == [4, 3, 2]
    client.sync_update_item(table_name, {"pk": "a", "sk": 1}, updates={"price": 2})
    assert client.sync_get_item(table_name, {"pk": "a", "sk": 1})["price"] == 2
    client.sync_delete_item(table_name, {"pk": "a", "sk": 1})
    assert client.sync_get_item(table_name, {"pk": "a", "sk": 1}) is None


def test_statements_batches_and_transactions(client: Any, table_name: str) -> None:
    client.sync_create_table(table_name, partition_key=("pk", "S"), wait=True)
    client.sync_batch_write(table_name, put_items=[{"pk": str(number)} for number in range(40)])
    found = client.sync_batch_get(table_name, [{"pk": str(number)} for number in range(40)])
    assert len(found) == 40
    client.sync_transact_write(
        [
            {"type": "put", "table": table_name, "item": {"pk": "new"}},
            {"type": "delete", "table": table_name, "key": {"pk": "0"}},
        ]
    )
    selected = client.sync_execute_statement(f'SELECT * FROM "{table_name}" WHERE pk = ?', parameters=["new"])  # noqa: S608
    assert list(selected) == [{"pk": "new"}]
    assert client.sync_get_item(table_name, {"pk": "0"}) is None


def test_model_condition_is_checked(client: Any, table_name: str) -> None:
    client.sync_create_table(table_name, partition_key=("pk", "S"), wait=True)

    class User(pydynox.Model):  # type: ignore[misc, name-defined]
        model_config = pydynox.ModelConfig(table=table_name, client=client)
        pk = pydynox.attributes.StringAttribute(partition_key=True)
        age = pydynox.attributes.NumberAttribute()

    User(pk="u1", age=30).sync_save()
    with pytest.raises(pydynox.exceptions.ConditionalCheckFailedException):
        User(pk="u1", age=31).sync_save(condition=User.pk.not_exists())
    assert User.sync_get(pk="u1").age == 30
