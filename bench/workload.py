"""The data and the requests that every engine is measured with: the same bytes for all, made from a fixed seed."""

import json
import random
from collections.abc import Iterator
from typing import Any

from tests.peers.http import HEADERS, target

ITEMS = 10_000
IN_PARTITION = 20  # so a Query of one partition is a Query of twenty items
TABLE_NAME = "bench"
OPERATIONS = ("GetItem", "Query", "UpdateItem", "PutItem")

WireItem = dict[str, Any]

TABLE: dict[str, Any] = {
    "TableName": TABLE_NAME,
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "status_key", "placed_at")
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_status",
            "KeySchema": [
                {"AttributeName": "status_key", "KeyType": "HASH"},
                {"AttributeName": "placed_at", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


def key(number: int) -> WireItem:
    """The key of item `number`."""
    return {"pk": {"S": f"CUSTOMER#{number // IN_PARTITION:06}"}, "sk": {"S": f"ORDER#{number:08}"}}


def item(number: int, variant: int = 0) -> WireItem:
    """Item `number`: 20 attributes, about 600 bytes as DynamoDB counts them. A variant differs outside its keys."""
    chance = random.Random(number * 2 + variant)
    words = [f"{chance.getrandbits(64):016x}" for _ in range(24)]
    return key(number) | {
        "status_key": {"S": f"STATUS#{number % 50}"},
        "placed_at": {"S": f"2026-01-01T00:00:00.{number:08}Z"},
        "entity": {"S": "order"},
        "customer": {"S": " ".join(words[:3])},
        "email": {"S": f"{words[3]}@example.com"},
        "street": {"S": " ".join(words[18:22])},
        "city": {"S": " ".join(words[22:24])},
        "country": {"S": "NL"},
        "note": {"S": " ".join(words[7:18])},
        "total": {"N": str(chance.randrange(100, 1_000_000))},
        "discount": {"N": f"{chance.randrange(1, 100)}.5"},
        "lines": {"N": str(chance.randrange(1, 30))},
        "visits": {"N": str(variant)},
        "gift": {"BOOL": chance.random() < 0.5},
        "coupon": {"NULL": True},
        "tags": {"SS": [f"tag-{words[6][:4]}", "web"]},
        "parcel": {"M": {"weight": {"N": str(chance.randrange(1, 5000))}, "carrier": {"S": "post"}}},
        "history": {"L": [{"S": "placed"}, {"S": "paid"}, {"N": str(chance.randrange(1, 9))}]},
    }


def batches(items: int) -> Iterator[dict[str, Any]]:
    """BatchWriteItem bodies that load the table."""
    for begin in range(0, items, 25):
        puts = [{"PutRequest": {"Item": item(number)}} for number in range(begin, min(begin + 25, items))]
        yield {"RequestItems": {TABLE_NAME: puts}}


def bodies(operation: str, items: int = ITEMS) -> list[dict[str, Any]]:
    """The requests of one measurement, in a shuffled order that is always the same.

    Puts replace items by another variant of themselves, and then by the first again, so no put finds what it writes.
    """
    order = list(range(items))
    random.Random(operation).shuffle(order)
    match operation:
        case "GetItem":
            return [{"TableName": TABLE_NAME, "Key": key(number)} for number in order]
        case "Query":
            return [_query(number) for number in order]
        case "UpdateItem":
            return [_update(number) for number in order]
        case "PutItem":
            return [{"TableName": TABLE_NAME, "Item": item(number, variant)} for variant in (1, 0) for number in order]
    raise ValueError(f"{operation} is not measured")


def _query(number: int) -> dict[str, Any]:
    return {
        "TableName": TABLE_NAME,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": key(number)["pk"]},
        "Limit": IN_PARTITION,
    }


def _update(number: int) -> dict[str, Any]:
    return {
        "TableName": TABLE_NAME,
        "Key": key(number),
        "UpdateExpression": "SET visits = visits + :one, note = :note",
        "ExpressionAttributeValues": {":one": {"N": "1"}, ":note": {"S": f"seen again {number}"}},
    }


def request(operation: str, body: dict[str, Any], port: int) -> bytes:
    """The whole HTTP request, ready to be sent."""
    payload = json.dumps(body, separators=(",", ":")).encode()
    headers = HEADERS | {
        "Host": f"127.0.0.1:{port}",
        "X-Amz-Target": target(operation),
        "Content-Length": str(len(payload)),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST / HTTP/1.1\r\n{head}\r\n".encode() + payload
