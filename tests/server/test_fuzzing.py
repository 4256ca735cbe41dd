"""Every request gets an answer that is not a server error, and the process stays alive.

PARTITA_FUZZ=20000 sends that many mutated requests instead of the default few hundred.
"""

import gzip
import json
import os
from random import Random
from typing import Any

import pytest

from partita.dynamodb.operations import OPERATIONS
from tests.engine.hostile_requests import CREATE, HostileRequests
from tests.peers import Running, call
from tests.server.sockets import RawReply, ask, connected, exchange, read_reply, request
from tests.timing import process_seconds

pytestmark = pytest.mark.slow

MUTATIONS = int(os.environ.get("PARTITA_FUZZ", "600"))
TABLE = {
    "TableName": "fuzzed",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "g", "AttributeType": "N"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "byG",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}


@pytest.fixture
def fuzzed(server: Running) -> str:
    """The endpoint with the table, created again where an earlier test has deleted it."""
    assert call(server.endpoint, "CreateTable", TABLE).status in (200, 400)
    return server.endpoint


def is_fine(reply: RawReply) -> bool:
    """Whether a reply is a success or a client error."""
    return reply.status == 200 or 400 <= reply.status < 500


def is_alive(endpoint: str) -> bool:
    return call(endpoint, "ListTables", {}).status == 200


DEEP = 100_000
BODIES: dict[str, bytes] = {
    "empty": b"",
    "spaces": b"    ",
    "null": b"null",
    "number": b"1",
    "text": b'"text"',
    "list": b"[]",
    "not JSON": b"{",
    "half": b'{"TableName": "fuz',
    "trailing": b'{"TableName": "fuzzed"} x',
    "single quotes": b"{'TableName': 'fuzzed'}",
    "NaN": b'{"Limit": NaN}',
    "byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"TableName": "fuzzed"}'.encode("utf-16"),
    "broken UTF-8": b'{"TableName": "\xff\xfe"}',
    "overlong UTF-8": b'{"TableName": "\xc0\xaf"}',
    "broken UTF-8 in a key": b'{"TableName": "fuzzed", "Item": {"pk": {"S": "a\xed\xa0\x80"}}}',
    "lone surrogate": b'{"TableName": "fuzzed", "Item": {"pk": {"S": "\\ud800"}}}',
    "lone surrogate in a name": b'{"TableName": "fuzzed", "Item": {"pk": {"S": "a"}, "\\udfff": {"S": "x"}}}',
    "lone surrogate in the table": b'{"TableName": "\\ud800abc"}',
    "lone surrogate in an expression": b'{"TableName": "fuzzed", "Key": {"pk": {"S": "a"}}, '
    b'"UpdateExpression": "SET \\ud800 = :v"}',
    "null byte": b'{"TableName": "a\\u0000b", "Key": {"pk": {"S": "\\u0000"}}}',
    "deep lists": b'{"TableName": "fuzzed", "Item": {"pk": ' + b'{"L":[' * DEEP + b"]}" * DEEP + b"}}",
    "deep maps": b'{"TableName": "fuzzed", "Item": {"pk": ' + b'{"M":{"a":' * DEEP + b"1" + b"}}" * DEEP + b"}}",
    "deep arrays": b"[" * DEEP + b"]" * DEEP,
    "deep and open": b'{"a":' * DEEP,
    "deep with two types": b'{"TableName": "fuzzed", "Item": {"pk": {"S": "a"}, "x": '
    + b'{"S": "a", "L": [' * 300
    + b'{"S": "b"}'
    + b"]}" * 300
    + b"}}",
    "deeper with two types": b'{"TableName": "fuzzed", "Item": {"pk": {"S": "a"}, "x": '
    + b'{"S": "a", "L": [' * 3000
    + b'{"S": "b"}'
    + b"]}" * 3000
    + b"}}",
    "deep in an unknown member": b'{"Unknown": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "huge integer": b'{"TableName": "fuzzed", "Limit": ' + b"9" * 5000 + b"}",
    "huge exponent": b'{"TableName": "fuzzed", "Limit": 1e999999999}',
    "negative": b'{"TableName": "fuzzed", "Limit": -1, "TotalSegments": -5, "Segment": -5}',
    "fraction": b'{"TableName": "fuzzed", "Limit": 1.5}',
    "number of digits": b'{"TableName": "fuzzed", "Item": {"pk": {"S": "a"}, "n": {"N": "' + b"9" * 100_000 + b'"}}}',
    "number of exponent": b'{"TableName": "fuzzed", "Item": {"pk": {"S": "a"}, "n": {"N": "1e' + b"9" * 5000 + b'"}}}',
    "number of zeros": b'{"TableName": "fuzzed", "Item": {"pk": {"S": "a"}, "n": {"N": "0.' + b"0" * 100_000 + b'1"}}}',
    "giant key": b'{"TableName": "fuzzed", "Item": {"pk": {"S": "' + b"k" * 1_000_000 + b'"}}}',
    "giant name": b'{"TableName": "fuzzed", "Item": {"pk": {"S": "a"}, "' + b"n" * 1_000_000 + b'": {"S": "x"}}}',
    "giant table": b'{"TableName": "' + b"t" * 1_000_000 + b'"}',
    "giant expression": b'{"TableName": "fuzzed", "FilterExpression": "' + b"(" * 1_000_000 + b'"}',
    "many placeholders": json.dumps(
        {
            "TableName": "fuzzed",
            "FilterExpression": "a = :b",
            "ExpressionAttributeNames": {f"#{n}": "a" for n in range(9999)},
        }
    ).encode(),
    "many items": b'{"RequestItems": {"fuzzed": [' + b'{"PutRequest": {"Item": {}}},' * 9999 + b"{}]}}",
    "nulls": b'{"TableName": null, "Item": {"pk": null}, "Key": {"pk": {"S": null}}, "RequestItems": {"fuzzed": null}}',
    "null in lists": b'{"TransactItems": [null], "RequestItems": {"fuzzed": [null]}, "KeySchema": [null]}',
    "twice": b'{"TableName": "fuzzed", "TableName": 1, "Item": {"pk": {"S": "a"}, "pk": {"N": "1"}}}',
    "type twice": b'{"TableName": "fuzzed", "Item": {"pk": {"S": "a", "S": "b"}}}',
    "empty names": b'{"TableName": "fuzzed", "Item": {"pk": {"S": "a"}, "": {"S": "x"}}, "Key": {"": {"S": ""}}}',
    "odd ARN": b'{"TableName": "arn:", "ResourceArn": "arn:aws:dynamodb"}',
    "slashes": b'{"TableName": "arn:aws:dynamodb:::table/"}',
}


@pytest.mark.parametrize("name", BODIES)
def test_any_body_is_answered(fuzzed: str, name: str) -> None:
    for operation in OPERATIONS:
        reply = ask(fuzzed, operation, BODIES[name])
        assert is_fine(reply), (operation, reply)
    assert is_alive(fuzzed)


VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    10**30,
    "",
    "text",
    "\0",
    [],
    [1],
    [None],
    [[]],
    {},
    {"S": 1},
    {"S": "a"},
    {"x": {}},
    {"pk": {"S": "a"}},
    {"pk": {"S": "a", "N": "1"}},
    {"pk": {"B": "x"}},
    {"pk": {"L": [{}]}},
    [{"pk": {"S": "a"}}],
    {"fuzzed": []},
    {"fuzzed": {}},
    {"fuzzed": [{}]},
    {"fuzzed": {"Keys": [{}]}},
    {"fuzzed": {"Keys": []}},
    ":",
    "#",
    "a = :v",
    "SET a = :v",
    {":v": {"N": "x"}},
    {":v": {}},
    {"#n": ""},
    "fuzzed",
    "byG",
    "ALL_NEW",
    "arn:aws:x",
]


def members(operation: str) -> list[str]:
    return [field.encode_name for field in _fields(OPERATIONS[operation].request)]


def _fields(request_type: type) -> Any:
    from msgspec import structs

    return structs.fields(request_type)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_members_of_any_type_are_answered(fuzzed: str, operation: str) -> None:
    """Each member in turn gets every odd value, in a request that is otherwise plausible."""
    plausible = {"TableName": "fuzzed", "Key": {"pk": {"S": "a"}}, "Item": {"pk": {"S": "a"}}}
    known = members(operation)
    body = {name: value for name, value in plausible.items() if name in known}
    with connected(fuzzed) as connection:
        for member in known:
            for value in VALUES:
                sent = body | {member: value}
                if operation == "DeleteTable" and sent.get("TableName") == "fuzzed":
                    continue
                connection.sendall(request(operation, json.dumps(sent).encode()))
                reply = read_reply(connection)
                assert is_fine(reply), (sent, reply)


SOUND: list[tuple[str, dict[str, Any]]] = [
    (
        "PutItem",
        {
            "TableName": "fuzzed",
            "Item": {"pk": {"S": "a"}, "g": {"N": "1"}, "m": {"M": {"l": {"L": [{"S": "x"}]}}}},
            "ConditionExpression": "attribute_not_exists(#a) OR n < :v",
            "ExpressionAttributeNames": {"#a": "a"},
            "ExpressionAttributeValues": {":v": {"N": "5"}},
            "ReturnValues": "ALL_OLD",
        },
    ),
    (
        "UpdateItem",
        {
            "TableName": "fuzzed",
            "Key": {"pk": {"S": "a"}},
            "ReturnValues": "UPDATED_NEW",
            "UpdateExpression": "SET m.l[0] = list_append(if_not_exists(l, :e), :v), n = n + :o REMOVE x[1] ADD s :s",
            "ExpressionAttributeValues": {":e": {"L": []}, ":v": {"L": []}, ":o": {"N": "1"}, ":s": {"SS": ["a"]}},
        },
    ),
    (
        "Query",
        {
            "TableName": "fuzzed",
            "KeyConditionExpression": "pk = :v",
            "FilterExpression": "size(m) BETWEEN :a AND :b",
            "ExpressionAttributeValues": {":v": {"S": "a"}, ":a": {"N": "0"}, ":b": {"N": "9"}},
            "Limit": 5,
            "ProjectionExpression": "m.l[0], n",
            "ExclusiveStartKey": {"pk": {"S": "a"}},
        },
    ),
    ("Scan", {"TableName": "fuzzed", "IndexName": "byG", "Segment": 0, "TotalSegments": 3, "Select": "COUNT"}),
    (
        "TransactWriteItems",
        {
            "ClientRequestToken": "t",
            "TransactItems": [
                {"Put": {"TableName": "fuzzed", "Item": {"pk": {"S": "t"}}}},
                {
                    "ConditionCheck": {
                        "TableName": "fuzzed",
                        "Key": {"pk": {"S": "c"}},
                        "ConditionExpression": "attribute_exists(pk)",
                    }
                },
            ],
        },
    ),
    (
        "BatchWriteItem",
        {
            "RequestItems": {
                "fuzzed": [
                    {"PutRequest": {"Item": {"pk": {"S": "b"}, "b": {"B": "AAAA"}}}},
                    {"DeleteRequest": {"Key": {"pk": {"S": "d"}}}},
                ]
            }
        },
    ),
    ("BatchGetItem", {"RequestItems": {"fuzzed": {"Keys": [{"pk": {"S": "a"}}], "ProjectionExpression": "pk"}}}),
    (
        "GetItem",
        {
            "TableName": "fuzzed",
            "Key": {"pk": {"S": "a"}},
            "ProjectionExpression": "#a.b",
            "ExpressionAttributeNames": {"#a": "m"},
        },
    ),
]


def mutated(random: Random, body: bytes) -> bytes:
    """Changes, moves, repeats or drops a few bytes."""
    data = bytearray(body)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(data) or 1)
        match random.randint(0, 5):
            case 0:
                data[at : at + 1] = bytes([random.randrange(256)])
            case 1:
                del data[at : at + random.randint(1, 12)]
            case 2:
                data[at:at] = data[at : at + random.randint(1, 30)]
            case 3:
                data[at:at] = random.choice(
                    [b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\\u", b"(", b")", b"null"]
                )
            case 4:
                data[at : at + 2] = random.choice(
                    [b"0", b"-", b"1e9", b"\xff", b"\\ud800", b"#", b":x", b".", b"=", b"<>"]
                )
            case _:
                other = random.randrange(len(data) or 1)
                data[at:at] = data[other : other + random.randint(1, 40)]
    return bytes(data)


@pytest.mark.parametrize("seed", range(4))
def test_mutated_request_is_answered(fuzzed: str, seed: int) -> None:
    random = Random(seed)
    with connected(fuzzed) as connection:
        for _ in range(MUTATIONS // 4):
            operation, body = random.choice(SOUND)
            sent = mutated(random, json.dumps(body).encode())
            connection.sendall(request(operation, sent))
            reply = read_reply(connection)
            assert is_fine(reply), (operation, sent, reply)
    assert is_alive(fuzzed)


@pytest.mark.parametrize("seed", range(2))
def test_hostile_request_is_answered(server: Running, seed: int) -> None:
    assert call(server.endpoint, "CreateTable", CREATE).status in (200, 400)
    requests = HostileRequests(seed)
    with connected(server.endpoint) as connection:
        for _ in range(MUTATIONS // 2):
            operation, body = requests.request()
            connection.sendall(request(operation, json.dumps(body).encode()))
            reply = read_reply(connection)
            assert is_fine(reply), (operation, body, reply)
    assert is_alive(server.endpoint)


# The protocol around the body ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [
        "",
        "ListTables",
        "DynamoDB_20120810",
        "DynamoDB_20120810.",
        "DynamoDB_20120810.Nothing",
        "DynamoDB_20111205.ListTables",
        "dynamodb_20120810.ListTables",
        "DynamoDB_20120810.ListTables.ListTables",
        "x" * 5000,
        "\xff\xfe",
        "DynamoDB_20120810.\xe9",
    ],
)
def test_unknown_target_is_rejected(fuzzed: str, target: str) -> None:
    head = f"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: {target}\r\nContent-Length: 2\r\n\r\n"
    reply = exchange(fuzzed, head.encode("latin-1") + b"{}")
    assert (reply.status, reply.code) == (400, "UnknownOperationException")


def test_request_without_a_target_is_rejected(fuzzed: str) -> None:
    reply = exchange(fuzzed, b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
    assert (reply.status, reply.code) == (400, "UnknownOperationException")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"])
@pytest.mark.parametrize("path", ["/", "/health", "/nowhere", "/%00", "//", "/../../etc/passwd", "/?x=" + "y" * 2000])
def test_any_method_on_any_path_is_answered(fuzzed: str, method: str, path: str) -> None:
    sent = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    reply = exchange(fuzzed, sent.encode())
    assert is_fine(reply), reply


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\r\n\r\n",
        b"garbage\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # a TLS hello
        b"POST / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\n" + b"X-Long: " + b"y" * 200_000 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + b"".join(b"H%d: x\r\n" % number for number in range(20_000)) + b"\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nbad header\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: a\0b\r\nContent-Length: 0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\nX-Amz-Target: y\r\n\r\n{}",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_invalid_http_is_rejected_or_closed(fuzzed: str, sent: bytes) -> None:
    """They get a 4xx or a closed connection; a connection that stays open is for the timeouts to close."""
    with connected(fuzzed) as connection:
        connection.settimeout(1.0)
        try:
            connection.sendall(sent)
            reply = read_reply(connection)
            assert reply.status < 500, reply
        except TimeoutError:
            pass
        except ConnectionError:
            pass
    assert is_alive(fuzzed)


@pytest.mark.parametrize(
    ("encoded", "code"),
    [
        (b"", "SerializationException"),
        (b"garbage", "SerializationException"),
        (gzip.compress(b"{}", mtime=0)[:-5], "SerializationException"),
        (gzip.compress(b"{}", mtime=0)[:12], "SerializationException"),
        (gzip.compress(b"not JSON", mtime=0), "SerializationException"),
        (gzip.compress(b" " * 50_000_000, mtime=0), "RequestEntityTooLargeException"),
        (gzip.compress(b"{}", mtime=0), ""),
        (gzip.compress(b"{}", mtime=0) + b"tail", ""),
    ],
)
def test_any_gzip_body_is_answered(fuzzed: str, encoded: bytes, code: str) -> None:
    reply = ask(fuzzed, "ListTables", encoded, "Content-Encoding: gzip")
    assert is_fine(reply)
    assert reply.code == code


@pytest.mark.parametrize("encoding", ["deflate", "br", "GZIP", "gzip, gzip", "identity", ""])
def test_other_content_encodings_are_answered(fuzzed: str, encoding: str) -> None:
    assert is_fine(ask(fuzzed, "ListTables", b"{}", f"Content-Encoding: {encoding}"))


@pytest.mark.parametrize("way", ["length", "chunked"])
def test_body_above_sixteen_megabytes_is_rejected(fuzzed: str, way: str) -> None:
    body = b" " * (16 * 1024 * 1024 + 1)
    if way == "length":
        sent = request("ListTables", body)
    else:
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n"
        head += b"Transfer-Encoding: chunked"
        sent = head + b"\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    reply = exchange(fuzzed, sent)
    assert reply.status in (413, 0), "an answer, or a closed connection while the body is still sent"
    assert is_alive(fuzzed)


def test_body_of_many_chunks_is_answered_in_time(fuzzed: str, server: Running) -> None:
    """Each chunk is one byte."""
    body = b'{"Limit": 1' + b" " * 1_000_000 + b"}"
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n"
    head += b"Transfer-Encoding: chunked\r\n\r\n"
    sent = head + b"".join(b"1\r\n%c\r\n" % each for each in body) + b"0\r\n\r\n"
    begun = process_seconds(server.pid)
    assert exchange(fuzzed, sent).status == 200
    assert process_seconds(server.pid) - begun < 20


def test_incomplete_request_does_not_affect_other_clients(fuzzed: str) -> None:
    sent = request("PutItem", json.dumps({"TableName": "fuzzed", "Item": {"pk": {"S": "half"}}}).encode())
    waiting = []
    for cut in (1, 20, len(sent) // 2, len(sent) - 1):
        connection = connected(fuzzed)
        connection.sendall(sent[:cut])
        waiting.append((connection, sent[cut:]))
    assert is_alive(fuzzed)
    for connection, rest in waiting[:-1]:
        connection.sendall(rest)
        assert read_reply(connection).status == 200
        connection.close()
    waiting[-1][0].close()
    assert is_alive(fuzzed)


def test_pipelined_requests_are_answered_in_order(fuzzed: str) -> None:
    sent = b""
    for number in range(60):
        item = {
            "TableName": "fuzzed",
            "Item": {"pk": {"S": "ahead"}, "n": {"N": str(number)}},
            "ReturnValues": "ALL_OLD",
        }
        sent += request("PutItem", json.dumps(item).encode())
        sent += request("GetItem", json.dumps({"TableName": "fuzzed", "Key": {"pk": {"S": "ahead"}}}).encode())
    with connected(fuzzed) as connection:
        connection.sendall(sent)
        reader = _Replies(connection)
        for number in range(60):
            assert reader.next().status == 200
            assert json.loads(reader.next().body)["Item"]["n"] == {"N": str(number)}


class _Replies:
    """Reads replies one by one, however the bytes arrive."""

    def __init__(self, connection: Any) -> None:
        self._file = connection.makefile("rb")

    def next(self) -> RawReply:
        status = int(self._file.readline().split()[1])
        headers: dict[str, str] = {}
        while (line := self._file.readline().strip()) != b"":
            name, _, text = line.decode("latin-1").partition(": ")
            headers[name.lower()] = text
        return RawReply(status, headers, self._file.read(int(headers["content-length"])))
