"""Requests that are malformed before any operation sees them: status, body and headers of each reply.

The bodies are those of the service where its protocol prescribes them. `docs/reference/conformance.md` lists where
DynamoDB Local answers otherwise; the other cases are compared with it.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.peers import PEERS, Unavailable, started
from tests.server.conftest import engine_command
from tests.server.sockets import RawReply, exchange

pytestmark = pytest.mark.slow

LIST = "DynamoDB_20120810.ListTables"
AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=AKIA/20200101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
)
UNKNOWN = {"__type": "com.amazon.coral.service#UnknownOperationException"}
NONE: dict[str, Any] = {"TableNames": []}


def fault(message: str) -> dict[str, str]:
    return {"__type": "com.amazon.coral.service#SerializationException", "Message": message}


NOT_JSON = fault("The request body is not JSON in UTF-8")
NOT_A_MAP = fault("Start of structure or map expected")


def sent(body: bytes = b"{}", *, method: str = "POST", path: str = "/", **headers: str | None) -> bytes:
    """A request; a header of None is left out."""
    fields: dict[str, str | None] = {
        "Host": "localhost",
        "X-Amz-Target": LIST,
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Date": "20200101T000000Z",
        "Authorization": AUTHORIZATION,
        "Content-Length": str(len(body)),
    }
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{name}: {value}" for name, value in fields.items() if value is not None]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines]).encode("latin-1") + b"\r\n\r\n" + body


SAME: dict[str, tuple[bytes, int, Any]] = {
    "a request": (sent(), 200, NONE),
    "an unknown member": (sent(b'{"X": [1]}'), 200, NONE),
    "a member twice": (sent(b'{"Limit": 1, "Limit": 2}'), 200, NONE),
    "JSON 1.1": (sent(Content_Type="application/x-amz-json-1.1"), 200, NONE),
    "another content type": (sent(Content_Type="text/plain"), 200, NONE),
    "no content type": (sent(Content_Type=None), 200, NONE),
    "a charset": (sent(Content_Type="application/x-amz-json-1.0; charset=utf-8"), 200, NONE),
    "another path": (sent(path="/some/path"), 200, NONE),
    "a query": (sent(path="/?a=b"), 200, NONE),
    "an origin of the same host": (sent(Origin="http://localhost"), 200, NONE),
}
OURS: dict[str, tuple[bytes, int, Any]] = {
    "no target": (sent(X_Amz_Target=None), 400, UNKNOWN),
    "an unknown operation": (sent(X_Amz_Target="DynamoDB_20120810.Nothing"), 400, UNKNOWN),
    "another service": (sent(X_Amz_Target="Kinesis_20131202.ListStreams"), 400, UNKNOWN),
    "a target without a version": (sent(X_Amz_Target="ListTables"), 400, UNKNOWN),
    "the version of 2011": (sent(X_Amz_Target="DynamoDB_20111205.ListTables"), 400, UNKNOWN),
    "no body": (sent(b""), 400, NOT_JSON),
    "an incomplete body": (sent(b"{"), 400, NOT_JSON),
    "a text": (sent(b"hello"), 400, NOT_JSON),
    "something after the JSON": (sent(b"{} x"), 400, NOT_JSON),
    "a byte order mark": (sent(b"\xef\xbb\xbf{}"), 400, NOT_JSON),
    "NaN": (sent(b'{"Limit": NaN}'), 400, NOT_JSON),
    "other bytes than UTF-8": (sent(b'{"ExclusiveStartTableName": "\xff"}'), 400, NOT_JSON),
    "a list": (sent(b"[]"), 400, NOT_A_MAP),
    "null": (sent(b"null"), 400, NOT_A_MAP),
    "a wrong type": (sent(b'{"Limit": "x"}'), 400, fault("STRING_VALUE cannot be converted to Integer")),
    "a body that is not gzip": (sent(Content_Encoding="gzip"), 400, fault("The request body is not gzip")),
    "Brotli": (
        sent(Content_Encoding="br"),
        400,
        fault("The Content-Encoding is not supported; use gzip or deflate"),
    ),
    "no authorization": (sent(Authorization=None), 200, NONE),
    "another authorization": (sent(Authorization="nonsense"), 200, NONE),
    "GET of another path": (sent(b"", method="GET", path="/some/path", X_Amz_Target=None), 404, UNKNOWN),
    "PUT": (sent(method="PUT"), 404, UNKNOWN),
    "DELETE": (sent(method="DELETE"), 404, UNKNOWN),
    "OPTIONS without an origin": (sent(b"", method="OPTIONS", X_Amz_Target=None), 404, UNKNOWN),
}


def check(reply: RawReply, status: int, body: Any) -> None:
    assert (reply.status, json.loads(reply.body)) == (status, body)
    assert reply.headers["content-type"] == "application/x-amz-json-1.0"
    assert {"date", "x-amzn-requestid", "content-length"} <= reply.headers.keys()


@pytest.fixture(scope="module")
def own_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server without tables, whatever other tests create."""
    data = str(tmp_path_factory.mktemp("shapes") / "server.db")
    command = engine_command("--data", data, "--durability", "process", "--port")
    with started(lambda port: [*command, str(port)]) as running:
        yield running.endpoint


@pytest.mark.parametrize("name", [*SAME, *OURS])
def test_reply_to_a_malformed_request(own_endpoint: str, name: str) -> None:
    request, status, body = (SAME | OURS)[name]
    reply = exchange(own_endpoint, request)
    check(reply, status, body)
    assert "x-amz-crc32" in reply.headers


@pytest.fixture(scope="module")
def local() -> Iterator[str]:
    try:
        with PEERS["dynamodb-local"].started() as running:
            yield running.endpoint
    except Unavailable as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", SAME)
def test_dynamodb_local_answers_the_same(local: str, name: str) -> None:
    check(exchange(local, SAME[name][0]), *SAME[name][1:])


@pytest.mark.parametrize("name", OURS)
def test_dynamodb_local_answers_otherwise(local: str, name: str) -> None:
    """Where it does not any more, the case belongs to `SAME` and leaves the table of differences."""
    request, status, body = OURS[name]
    reply = exchange(local, request)
    assert (reply.status, json.loads(reply.body)) != (status, body)
