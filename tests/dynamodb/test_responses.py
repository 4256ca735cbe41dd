"""Responses and errors survive encoding and decoding, so HTTP clients get what in-process callers get."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from partita import connect
from partita.dynamodb import requests as q
from partita.dynamodb import statement_shapes as p
from partita.dynamodb import stream_shapes as s
from partita.dynamodb import tag_shapes as r
from partita.dynamodb.exceptions import BY_CODE
from partita.dynamodb.requests import Request
from partita.dynamodb.shapes import AttributeDefinition, KeySchemaElement, StreamSpecification, Tag
from partita.engine.engine import Engine

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/notes"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory:", maintain=False) as opened:
        opened.call(
            q.CreateTable(
                table_name="notes",
                attribute_definitions=[AttributeDefinition(attribute_name="pk", attribute_type="S")],
                key_schema=[KeySchemaElement(attribute_name="pk", key_type="HASH")],
                billing_mode="PAY_PER_REQUEST",
                stream_specification=StreamSpecification(stream_enabled=True, stream_view_type="NEW_AND_OLD_IMAGES"),
                tags=[Tag(key="a", value="b")],
            )
        )
        opened.call(q.PutItem(table_name="notes", item={"pk": {"S": "1"}, "n": {"N": "1"}}))
        opened.call(q.PutItem(table_name="notes", item={"pk": {"S": "1"}, "n": {"N": "2"}}))
        yield opened


def one(statement: str) -> list[p.StatementRequest]:
    return [p.StatementRequest(statement=statement)]


def requests(engine: Engine) -> Iterator[Request[Any]]:
    select = "SELECT * FROM notes WHERE pk = '1'"
    yield p.ExecuteStatement(statement=select, return_consumed_capacity="TOTAL")
    yield p.ExecuteStatement(statement="UPDATE notes SET n = 3 WHERE pk = '1' RETURNING ALL OLD *")
    yield p.BatchExecuteStatement(statements=one(select) + one("SELECT * FROM nothing WHERE pk = '1'"))
    yield p.ExecuteTransaction(transact_statements=one(select))
    yield r.ListTagsOfResource(resource_arn=ARN)
    yield r.UntagResource(resource_arn=ARN, tag_keys=["a"])
    yield r.DescribeLimits()
    yield r.DescribeEndpoints()
    (stream,) = engine.call(s.ListStreams()).streams or []
    yield s.ListStreams()
    yield s.DescribeStream(stream_arn=stream.stream_arn)
    described = engine.call(s.DescribeStream(stream_arn=stream.stream_arn)).stream_description
    assert described is not None
    (shard,) = described.shards or []
    place = s.GetShardIterator(
        stream_arn=stream.stream_arn, shard_id=shard.shard_id, shard_iterator_type="TRIM_HORIZON"
    )
    yield place
    yield s.GetRecords(shard_iterator=engine.call(place).shard_iterator)


def test_responses_survive_encoding(engine: Engine) -> None:
    for request in requests(engine):
        reply = engine.call(request)
        sent = msgspec.json.encode(reply)
        received = msgspec.json.decode(sent, type=type(reply))
        assert msgspec.json.encode(received) == sent, type(request).__name__


@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_error_of_every_code_is_restored_from_its_response(code: str) -> None:
    error = BY_CODE[code].from_body({"__type": f"some.where#{code}"}, "a message")
    assert (error.code, error.message) == (code, "a message")
