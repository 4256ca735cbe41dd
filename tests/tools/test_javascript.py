"""The AWS SDK for JavaScript: its document client, its paginators, its streams client."""

import pytest

from tests.peers.fixtures import RunJavaScript
from tests.peers.javascript import JavaScriptError

pytestmark = pytest.mark.slow

CREATE = """
await client.send(new dynamodb.CreateTableCommand({
  TableName: name, BillingMode: "PAY_PER_REQUEST",
  AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }, { AttributeName: "sk", AttributeType: "N" }],
  KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }, { AttributeName: "sk", KeyType: "RANGE" }],
  StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_IMAGE" },
}));
await dynamodb.waitUntilTableExists({ client, maxWaitTime: 120, minDelay: 1 }, { TableName: name });
"""


def script(name: str, body: str) -> str:
    return f"const name = {name!r};\n{CREATE}\n{body}"


def test_document_client_returns_javascript_values_unchanged(
    javascript: RunJavaScript, endpoint: str, table_name: str
) -> None:
    body = """
    const Item = { pk: "a", sk: 1, list: [1, "x", null, { deep: true }], set: new Set(["b", "a"]), empty: "" };
    await documentClient.send(new documents.PutCommand({ TableName: name, Item }));
    return (await documentClient.send(new documents.GetCommand({ TableName: name, Key: { pk: "a", sk: 1 } }))).Item;
    """
    found = javascript(endpoint, script(table_name, body))
    assert found | {"set": sorted(found["set"])} == {
        "pk": "a",
        "sk": 1,
        "list": [1, "x", None, {"deep": True}],
        "set": ["a", "b"],
        "empty": "",
    }


def test_document_client_queries_pages_and_updates(javascript: RunJavaScript, endpoint: str, table_name: str) -> None:
    body = """
    const requests = [...Array(25).keys()].map((sk) => ({ PutRequest: { Item: { pk: "a", sk, n: 0 } } }));
    await documentClient.send(new documents.BatchWriteCommand({ RequestItems: { [name]: requests } }));
    await documentClient.send(new documents.TransactWriteCommand({ TransactItems: [{ Update: {
      TableName: name, Key: { pk: "a", sk: 3 },
      UpdateExpression: "ADD n :one", ExpressionAttributeValues: { ":one": 1 },
    } }] }));
    const pages = documents.paginateQuery({ client: documentClient, pageSize: 10 }, {
      TableName: name, KeyConditionExpression: "pk = :pk", ExpressionAttributeValues: { ":pk": "a" },
    });
    const sizes = [], changed = [];
    for await (const page of pages) {
      sizes.push(page.Items.length);
      changed.push(...page.Items.filter((item) => item.n > 0).map((item) => item.sk));
    }
    const selected = await documentClient.send(new documents.ExecuteStatementCommand({
      Statement: `SELECT n FROM "${name}" WHERE pk = ? AND sk = ?`, Parameters: ["a", 3],
    }));
    return { sizes, changed, selected: selected.Items };
    """
    found = javascript(endpoint, script(table_name, body))
    assert found == {"sizes": [10, 10, 5], "changed": [3], "selected": [{"n": 1}]}


def test_streams_client_reads_changes(javascript: RunJavaScript, endpoint: str, table_name: str) -> None:
    body = """
    await documentClient.send(new documents.PutCommand({ TableName: name, Item: { pk: "a", sk: 1 } }));
    const { Streams } = await streamsClient.send(new streams.ListStreamsCommand({ TableName: name }));
    const StreamArn = Streams[0].StreamArn;
    const { StreamDescription } = await streamsClient.send(new streams.DescribeStreamCommand({ StreamArn }));
    const { ShardIterator } = await streamsClient.send(new streams.GetShardIteratorCommand({
      StreamArn, ShardId: StreamDescription.Shards[0].ShardId, ShardIteratorType: "TRIM_HORIZON",
    }));
    const { Records } = await streamsClient.send(new streams.GetRecordsCommand({ ShardIterator }));
    return Records.map((record) => [record.eventName, record.dynamodb.NewImage.sk.N]);
    """
    assert javascript(endpoint, script(table_name, body)) == [["INSERT", "1"]]


def test_error_has_its_class(javascript: RunJavaScript, endpoint: str, table_name: str) -> None:
    body = """
    const put = { TableName: name, Item: { pk: "a", sk: 1 }, ConditionExpression: "attribute_exists(pk)" };
    await documentClient.send(new documents.PutCommand(put));
    """
    with pytest.raises(JavaScriptError, match="ConditionalCheckFailedException: The conditional request failed"):
        javascript(endpoint, script(table_name, body))
