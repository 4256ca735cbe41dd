"""Cached expressions take new values, and are checked as if they were new."""

from collections.abc import Callable
from typing import Any

import pytest

from partita.dynamodb.statements.statement_parser import parse_statement
from partita.dynamodb.text_cache import MAX_CHARACTERS, TextCache
from partita.engine.expressions.cache import ExpressionCache
from partita.engine.expressions.parse import parse_condition, parse_projection, parse_update
from partita.engine.expressions.scope import Scope
from tests.engine.shorthand import Json
from tests.engine.tables import Bench, plain


@pytest.fixture
def table(bench: Bench) -> str:
    name = bench.table("ttt", "pk:S sk:N")
    for number in range(5):
        bench.ok("PutItem", TableName="ttt", Item=plain({"pk": "a", "sk": number, "kind": "thing", "more": number}))
    return name


def asked(expression: str, **values: Any) -> Json:
    return {
        "TableName": "ttt",
        "KeyConditionExpression": expression,
        "ExpressionAttributeValues": plain({f":{name}": value for name, value in values.items()}),
    }


def found(bench: Bench, body: Json) -> list[int]:
    return [int(item["sk"]["N"]) for item in bench.ok("Query", **body)["Items"]]


def test_key_condition_takes_new_values(bench: Bench, table: str) -> None:
    expression = "pk = :pk AND sk BETWEEN :low AND :high"
    assert found(bench, asked(expression, pk="a", low=1, high=3)) == [1, 2, 3]
    assert found(bench, asked(expression, pk="a", low=4, high=9)) == [4]
    assert found(bench, asked(expression, pk="b", low=1, high=3)) == []


def test_inverted_bounds_are_rejected_in_a_cached_expression(bench: Bench, table: str) -> None:
    expression = "pk = :pk AND sk BETWEEN :low AND :high"
    found(bench, asked(expression, pk="a", low=1, high=3))
    message = bench.error("Query", **asked(expression, pk="a", low=3, high=1))
    assert "The BETWEEN operator requires upper bound to be greater than or equal to lower bound" in message


def test_cached_filter_takes_new_values_and_checks_its_bounds(bench: Bench, table: str) -> None:
    body = asked("pk = :pk", pk="a", low=1, high=2) | {
        "FilterExpression": "more BETWEEN :low AND :high OR more <> :low"
    }
    assert found(bench, body) == [0, 1, 2, 3, 4]
    body["ExpressionAttributeValues"] = plain({":pk": "a", ":low": 2, ":high": 1})
    assert "requires upper bound to be greater" in bench.error("Query", **body)


def test_type_name_is_checked_in_a_cached_expression(bench: Bench, table: str) -> None:
    body = asked("pk = :pk", pk="a", type="S") | {"FilterExpression": "attribute_type(kind, :type)"}
    assert found(bench, body) == [0, 1, 2, 3, 4]
    body["ExpressionAttributeValues"] = plain({":pk": "a", ":type": "N"})
    assert found(bench, body) == []
    body["ExpressionAttributeValues"] = plain({":pk": "a", ":type": "X"})
    assert "Invalid attribute type name found; type: X" in bench.error("Query", **body)


def test_other_value_types_are_compiled_separately(bench: Bench, table: str) -> None:
    body = asked("pk = :pk", pk="a", v="x") | {"FilterExpression": "begins_with(kind, :v)"}
    assert found(bench, body) == []
    body["ExpressionAttributeValues"] = plain({":pk": "a", ":v": 1})
    assert "operator or function: begins_with, operand type: N" in bench.error("Query", **body)


def test_unused_placeholder_is_rejected_in_a_cached_expression(bench: Bench, table: str) -> None:
    found(bench, asked("pk = :pk", pk="a"))
    for _ in range(2):
        message = bench.error("Query", **asked("pk = :pk", pk="a", more=1))
        assert message.endswith("unused in expressions: keys: {:more}")


def made(text: str, scope: Scope) -> list[str]:
    return [text]


def test_cache_compiles_once_for_each_shape() -> None:
    kept = ExpressionCache(made)
    scope = Scope(None, {":v": {"N": "1"}})
    assert kept("a", scope) is kept("a", Scope(None, {":v": {"N": "2"}}))
    assert kept("a", scope) is not kept("a", Scope(None, {":v": {"S": "2"}}))
    assert kept("a", scope) is not ExpressionCache(made)("a", scope)


@pytest.mark.parametrize(
    "scope",
    [
        Scope({"#n": "n" * 65_000}, None),
        Scope(None, {":v" + "v" * MAX_CHARACTERS: {"N": "1"}}),
        Scope(None, {f":v{number}": {"N": "1"} for number in range(MAX_CHARACTERS // 4)}),
    ],
    ids=["a long name", "a long placeholder", "many placeholders"],
)
def test_long_placeholders_are_not_cached(scope: Scope) -> None:
    kept = ExpressionCache(made)
    assert kept("a", scope) is not kept("a", scope)


def characters(cache: TextCache[str]) -> int:
    return sum(len(str(key)) for key in cache.keys())  # noqa: SIM118 - not a dict


def test_texts_in_a_cache_are_bounded_together() -> None:
    cache: TextCache[str] = TextCache()
    for length in (1, 100, 4_000):
        for number in range(2 * MAX_CHARACTERS // length):
            text = f"{number:{length}}"
            cache.store(text, text, len(text))
            if number % 1_000 == 0:
                assert 0 < characters(cache) <= MAX_CHARACTERS
        assert cache.get(text) == text


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_condition, "a = :v"),
        (parse_update, "SET a = :v"),
        (parse_projection, "a, b"),
        (parse_statement, "SELECT * FROM ttt"),
    ],
)
def test_parsed_text_is_cached(parse: Callable[[str], object], text: str) -> None:
    assert parse(text) is parse(text)
