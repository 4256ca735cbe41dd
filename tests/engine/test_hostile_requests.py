"""Requests that are nearly right get a reply or a client's error, soon; PARTITA_FUZZ sets their number."""

import json
import os
import time
from collections.abc import Iterator
from unittest.mock import patch

import pytest

from partita.dynamodb import statement_shapes
from partita.dynamodb.decode import decode_request
from partita.dynamodb.operations import is_read
from partita.engine import legacy_parameters
from tests.engine.hostile_requests import CREATE, HostileRequests, Json
from tests.engine.shorthand import Embedded, open_engine
from tests.timing import shortest

pytestmark = pytest.mark.slow


REQUESTS = int(os.environ.get("PARTITA_FUZZ", "1500"))
MAX_SECONDS = 0.25


@pytest.fixture
def engine() -> Iterator[Embedded]:
    with open_engine("memory:") as opened:
        embedded = Embedded(opened)
        assert embedded.ask("CreateTable", CREATE).error == ""
        yield embedded


def answer(engine: Embedded, operation: str, body: Json) -> str:
    """What is wrong with the answer of a request: an unexpected error, a server's error, or that it came late."""
    begun = time.thread_time()
    try:
        found = engine.ask(operation, body)
    except Exception as error:  # noqa: BLE001 - any is the finding
        return repr(error)
    if found.code == "InternalServerError":
        return found.error
    took = time.thread_time() - begun
    if took > MAX_SECONDS:
        took = shortest(lambda: engine.ask(operation, body), MAX_SECONDS)
    return f"took {took:.2f} s" if took > MAX_SECONDS else ""


def first_finding(engine: Embedded, seed: int, count: int) -> tuple[str, str, Json] | None:
    requests = HostileRequests(seed)
    for _ in range(count):
        operation, body = requests.request()
        wrong = answer(engine, operation, body)
        if wrong:
            return wrong, operation, body
    return None


@pytest.mark.parametrize("seed", range(4))
def test_hostile_request_is_answered(engine: Embedded, seed: int) -> None:
    assert first_finding(engine, seed, REQUESTS // 4) is None


def test_request_that_only_reads_opens_no_transaction(engine: Embedded) -> None:
    requests = HostileRequests(5)
    reads = 0
    for _ in range(REQUESTS // 2):
        operation, body = requests.request()
        request, before = decode_request(operation, json.dumps(body).encode()), engine.engine.version()
        engine.ask(operation, body)
        if is_read(request):
            reads += 1
            assert engine.engine.version() == before, (operation, body)
    assert reads > 50


def test_most_requests_reach_the_engine(engine: Embedded) -> None:
    """Otherwise the generator tests nothing but the parser."""
    requests = HostileRequests(0)
    answers = [engine.ask(*requests.request()).code for _ in range(400)]
    assert sum(code in ("", "ConditionalCheckFailedException") for code in answers) > 80


# Faults that were there once, planted again: the generator finds each


def test_key_operator_without_a_range_is_found(engine: Embedded) -> None:
    with patch.dict(legacy_parameters._KEY_OPERATORS, {"NE": "<>"}):
        found = first_finding(engine, 0, 12_000)
    assert found is not None
    assert found[1] == "Query"


def test_missing_check_of_the_number_of_values_is_found(engine: Embedded) -> None:
    with patch.dict(legacy_parameters._COUNTS, {"BETWEEN": 1}):
        assert first_finding(engine, 0, 12_000) is not None


def test_decision_from_the_text_of_a_statement_is_found(engine: Embedded) -> None:
    with patch.object(statement_shapes, "_is_select", lambda text: "SELECT" in text):
        assert first_finding(engine, 0, 12_000) is not None
