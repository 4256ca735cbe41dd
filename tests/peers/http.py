"""One DynamoDB request over HTTP without an SDK: what readiness checks and the bench send."""

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

# Every peer wants a signature of the right form; none of them looks whether it is the right one.
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
    """The status, and the body as JSON (`None` when it is empty)."""

    status: int
    body: Any


def call(endpoint: str, operation: str, body: dict[str, Any], *, timeout: float = 30.0) -> Reply:
    """The reply of `endpoint` to one operation; `OSError` when nobody answers."""
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
        raise ConnectionError(f"{endpoint} broke off: {broken}") from broken
    finally:
        connection.close()


def target(operation: str) -> str:
    """The `X-Amz-Target` of an operation of DynamoDB or of its streams."""
    streams = operation in {"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"}
    return f"{'DynamoDBStreams_20120810' if streams else 'DynamoDB_20120810'}.{operation}"
