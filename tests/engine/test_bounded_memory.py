"""What requests leave behind in memory is bounded, however long their texts are."""

import gc
import tracemalloc
from collections.abc import Callable, Iterator

import pytest

from tests.engine.hostile_requests import CREATE, TABLE
from tests.engine.shorthand import Embedded, Json

pytestmark = pytest.mark.slow

KEY: Json = {"pk": {"S": "p"}, "sk": {"N": "1"}}
MB = 1_000_000
REQUESTS = 40
MAX_BYTES = 10 * MB  # of the 40 MB and more in these requests
VALUE: Json = {":v": {"N": "1"}}


def scan(text: str, values: Json = VALUE) -> tuple[str, Json]:
    return "Scan", {"TableName": TABLE, "FilterExpression": text, "ExpressionAttributeValues": values}


KINDS: dict[str, Callable[[int], tuple[str, Json]]] = {
    "names of tables": lambda n: ("GetItem", {"TableName": f"{n}" + "x" * MB, "Key": KEY}),
    "ARNs of tables": lambda n: ("GetItem", {"TableName": f"arn:{n}" + "x" * MB, "Key": KEY}),
    "names of indexes": lambda n: ("Scan", {"TableName": TABLE, "IndexName": f"{n}" + "x" * MB}),
    "long placeholders": lambda n: scan("n = :v", VALUE | {f":{n}" + "x" * MB: {"N": "1"}}),
    "many placeholders": lambda n: scan("n = :v", VALUE | {f":{n}_{k}" + "x" * 500: {"S": ""} for k in range(2_000)}),
}


@pytest.fixture
def engine() -> Iterator[Embedded]:
    embedded = Embedded()
    assert embedded.ask("CreateTable", CREATE).error == ""
    tracemalloc.start()
    yield embedded
    tracemalloc.stop()
    embedded.engine.close()


@pytest.mark.parametrize("kind", KINDS)
def test_requests_leave_little_behind(engine: Embedded, kind: str) -> None:
    for number in range(REQUESTS):
        engine.ask(*KINDS[kind](number))
    gc.collect()
    assert tracemalloc.get_traced_memory()[0] < MAX_BYTES
