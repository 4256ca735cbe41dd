"""DynamoDB requests over HTTP without an SDK, for readiness checks and the bench."""

import http.client
import json
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.timing import PATIENCE

# Every peer requires a well-formed signature, and none verifies it.
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Date": "20260101T000000Z",
    "Authorization": (
        "AWS4-HMAC-SHA256 Credential=partita/20260101/us-east-1/dynamodb/aws4_request, "
        "SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=" + "0" * 64
    ),
}


@dataclass(frozen=True)
class Reply:
    """An HTTP status and a decoded JSON body (`None` when it is empty)."""

    status: int
    body: Any


def call(endpoint: str, operation: str, body: dict[str, Any], *, timeout: float = PATIENCE) -> Reply:
    """Sends one operation to `endpoint` and returns its reply; raises `OSError` when there is none."""
    url = urlsplit(endpoint)
    assert url.hostname is not None
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=timeout)
    try:
        headers = HEADERS | {"X-Amz-Target": target(operation)}
        connection.request("POST", "/", json.dumps(body).encode(), headers)
        response = connection.getresponse()
        payload = response.read()
        return Reply(response.status, json.loads(payload) if payload else None)
    except http.client.HTTPException as broken:
        raise ConnectionError(f"{endpoint}: the connection broke: {broken}") from broken
    finally:
        connection.close()


def expect(endpoint: str, operation: str, body: dict[str, Any]) -> dict[str, Any]:
    """Sends one operation and returns the body of its reply; raises `RuntimeError` unless the status is 200."""
    reply = call(endpoint, operation, body)
    if reply.status != 200:
        raise RuntimeError(f"{endpoint}: {operation} answers {reply.status}: {reply.body}")
    answer: dict[str, Any] = reply.body
    return answer


def create_table(endpoint: str, definition: dict[str, Any], *, within: float = PATIENCE) -> None:
    """Creates a table and waits until it is active, which takes some engines a moment."""
    expect(endpoint, "CreateTable", definition)
    name = {"TableName": definition["TableName"]}
    deadline = time.monotonic() + within
    while expect(endpoint, "DescribeTable", name)["Table"]["TableStatus"] != "ACTIVE":
        if time.monotonic() > deadline:
            raise RuntimeError(f"{endpoint}: the table is not active after {within:g} s")


def target(operation: str) -> str:
    """Returns the `X-Amz-Target` of an operation of DynamoDB or of DynamoDB Streams."""
    streams = operation in {"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"}
    return f"{'DynamoDBStreams_20120810' if streams else 'DynamoDB_20120810'}.{operation}"
