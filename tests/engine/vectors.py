"""Tables with vector indexes, and a brute-force model of their searches."""

import math
import struct
from collections.abc import Sequence
from random import Random
from typing import Any

from tests.engine.shorthand import DynamoDB, Json

LARGEST: float = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
DISTANCES = ("COSINE", "EUCLIDEAN", "DOT_PRODUCT")
TOLERANCE = 1e-5


def vector(*numbers: Any) -> Json:
    return {"L": [{"N": str(each)} for each in numbers]}


def vectors(name: str = "vix", schema: str = "", **changes: Any) -> Json:
    """A vector index of three dimensions on `emb`; `schema` as in `tenant:HASH kind:INLINE_FILTER`."""
    elements = [
        {"AttributeName": attribute, "SearchSchemaElementType": kind}
        for attribute, kind in (each.split(":") for each in schema.split())
    ]
    definition = {
        "IndexName": name,
        "VectorAttribute": {"AttributeName": "emb"},
        "Dimensions": 3,
        "DistanceFunction": "COSINE",
        "Projection": {"ProjectionType": "ALL"},
        "SearchSchema": elements or None,
    } | changes
    return {key: value for key, value in definition.items() if value is not None}


def table(name: str, *indexes: Json, types: str = "", **more: Any) -> Json:
    """A request of CreateTable with the key `pk`; `types` are those of the search schemas: `tenant:S num:N`."""
    definitions = [each.split(":") for each in ["pk:S", *types.split()]]
    return {
        "TableName": name,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": key, "AttributeType": kind} for key, kind in definitions],
        "BillingMode": "PAY_PER_REQUEST",
        "VectorIndexes": list(indexes),
    } | more


def search(name: str, index: str, query: Sequence[Any], count: int = 10, equal: Json | None = None) -> Json:
    """A request of SearchVectors; `equal` are the values that attributes must have."""
    body: Json = {
        "TableName": name,
        "IndexName": index,
        "SearchVector": [{"N": str(each)} for each in query],
        "TopK": count,
    }
    if equal:
        body["SearchConditionExpression"] = " AND ".join(f"#{at} = :{at}" for at in range(len(equal)))
        body["ExpressionAttributeNames"] = {f"#{at}": key for at, key in enumerate(equal)}
        body["ExpressionAttributeValues"] = {f":{at}": value for at, value in enumerate(equal.values())}
    return body


def float32(number: Any) -> float:
    return float(struct.unpack("<f", struct.pack("<f", float(number)))[0])


def score(distance: str, query: Sequence[Any], stored: Json) -> float:
    """The score of a stored vector, number by number."""
    left = [float32(each) for each in query]
    right = [float32(each["N"]) for each in stored["L"]]
    product = math.fsum(a * b for a, b in zip(left, right, strict=True))
    if distance == "DOT_PRODUCT":
        return max(-LARGEST, min(LARGEST, product))
    if distance == "EUCLIDEAN":
        return min(LARGEST, math.dist(left, right))
    scale = math.hypot(*left) * math.hypot(*right)
    return max(0.0, min(2.0, 1.0 - product / scale)) if scale else 1.0


def brute_force(
    items: Sequence[Json], distance: str, query: Sequence[Any], count: int, equal: Json, hash_name: str | None = None
) -> list[tuple[float, str]]:
    """The scores and keys of the best items, the best first."""
    matching = [
        item
        for item in items
        if "emb" in item
        and (hash_name is None or hash_name in item)
        and all(item.get(name) == value for name, value in equal.items())
    ]
    sign = -1.0 if distance == "DOT_PRODUCT" else 1.0
    scored = [(score(distance, query, item["emb"]), item["pk"]["S"]) for item in matching]
    return sorted(scored, key=lambda each: sign * each[0])[:count]


def assert_same_results(found: list[Json], expected: list[tuple[float, str]], items: Sequence[Json]) -> None:
    """Compares results with those of the model: the same scores, and the same items where scores are not tied."""
    assert len(found) == len(expected)
    by_key = {item["pk"]["S"]: item for item in items}
    assert len({each["Item"]["pk"]["S"] for each in found}) == len(found)
    for each, (wanted, key) in zip(found, expected, strict=True):
        scale = max(1.0, abs(wanted))
        assert abs(each["Score"] - wanted) <= TOLERANCE * scale, (each["Score"], wanted)
        if each["Item"]["pk"]["S"] != key:
            assert any(abs(other - wanted) <= 2 * TOLERANCE * scale for other, name in expected if name != key) or (
                wanted == expected[-1][0] or abs(expected[-1][0] - wanted) <= 2 * TOLERANCE * scale
            )
        assert each["Item"] == {name: value for name, value in by_key[each["Item"]["pk"]["S"]].items() if name != "emb"}


def random_vector(random: Random, dimensions: int) -> Json:
    """A vector; now and then a zero one, one that many items have, and one with numbers of extreme size."""
    kind = random.random()
    if kind < 0.05:
        return vector(*[0] * dimensions)
    if kind < 0.1:
        return vector(*[1] * dimensions)
    if kind < 0.12:
        return vector(*(random.choice(["1E-30", "-3E+38", "2E+38", "5E-39"]) for _ in range(dimensions)))
    return vector(*(round(random.gauss(0, 1), 6) for _ in range(dimensions)))


def ok(database: DynamoDB, operation: str, body: Json) -> Json:
    answer = database.ask(operation, body)
    assert not answer.error, (operation, body, answer.error)
    return answer.body
