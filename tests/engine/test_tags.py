"""Tags of tables, and the limits and endpoints of the account."""

from collections.abc import Iterator

import pytest

from partita.dynamodb import requests as q
from partita.dynamodb import tag_shapes as r
from partita.dynamodb.exceptions import (
    AccessDeniedException,
    LimitExceededException,
    ResourceNotFoundException,
    ValidationException,
)
from partita.dynamodb.shapes import AttributeDefinition, KeySchemaElement, Tag
from partita.engine.engine import Engine
from tests.engine.shorthand import open_engine

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/notes"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with open_engine("memory:") as opened:
        opened.call(
            q.CreateTable(
                table_name="notes",
                attribute_definitions=[AttributeDefinition(attribute_name="pk", attribute_type="S")],
                key_schema=[KeySchemaElement(attribute_name="pk", key_type="HASH")],
                billing_mode="PAY_PER_REQUEST",
                tags=[Tag(key="made", value="with the table")],
            )
        )
        yield opened


def tag(engine: Engine, arn: str | None = ARN, **tags: str) -> None:
    engine.call(r.TagResource(resource_arn=arn, tags=[Tag(key=key, value=value) for key, value in tags.items()]))


def tags(engine: Engine) -> dict[str | None, str | None]:
    found: dict[str | None, str | None] = {}
    token: str | None = None
    while True:
        page = engine.call(r.ListTagsOfResource(resource_arn=ARN, next_token=token))
        found |= {each.key: each.value for each in page.tags or []}
        token = page.next_token
        if token is None:
            return found


def test_tags_are_added_replaced_and_removed(engine: Engine) -> None:
    tag(engine, env="test", team="platform")
    tag(engine, env="production")
    engine.call(r.UntagResource(resource_arn=ARN, tag_keys=["team", "never there"]))
    assert tags(engine) == {"made": "with the table", "env": "production"}


def test_tags_are_listed_in_pages(engine: Engine) -> None:
    tag(engine, **{f"key{number:02}": str(number) for number in range(25)})
    assert len(tags(engine)) == 26
    assert len(engine.call(r.ListTagsOfResource(resource_arn=ARN)).tags or []) == 10


def test_resource_may_have_fifty_tags(engine: Engine) -> None:
    tag(engine, **{f"key{number}": "" for number in range(49)})
    with pytest.raises(LimitExceededException):
        tag(engine, one="more")


@pytest.mark.parametrize(
    ("arn", "given", "words"),
    [
        (None, {"a": "b"}, "Invalid TableArn"),
        ("not-an-arn", {"a": "b"}, "Invalid TableArn: Invalid ResourceArn provided as input not-an-arn"),
        (ARN, {}, "Atleast one Tag needs to be provided as Input."),
        (ARN, {"aws:mine": "b"}, "aws:mine"),
        (ARN, {"": "b"}, "length greater than or equal to 1"),
        (ARN, {"a": "b" * 257}, "length less than or equal to 256"),
    ],
)
def test_invalid_tags_are_rejected(engine: Engine, arn: str | None, given: dict[str, str], words: str) -> None:
    with pytest.raises(ValidationException, match=words):
        tag(engine, arn, **given)


def test_tags_of_a_new_table_follow_the_same_rules(engine: Engine) -> None:
    request = q.CreateTable(
        table_name="other",
        attribute_definitions=[AttributeDefinition(attribute_name="pk", attribute_type="S")],
        key_schema=[KeySchemaElement(attribute_name="pk", key_type="HASH")],
        billing_mode="PAY_PER_REQUEST",
    )
    for tags in ([Tag(key="a", value="1"), Tag(key="a", value="2")], [Tag(key="AWS:x", value="")]):
        request.tags = tags
        with pytest.raises(ValidationException):
            engine.call(request)


def test_missing_resource_is_reported(engine: Engine) -> None:
    with pytest.raises(ResourceNotFoundException, match="ResourcArn"):
        tag(engine, ARN + "2", a="b")
    with pytest.raises(AccessDeniedException, match="is not authorized to perform: dynamodb:ListTagsOfResource"):
        engine.call(r.ListTagsOfResource(resource_arn=ARN + "2"))


def test_account_limits_and_endpoints_are_described(engine: Engine) -> None:
    limits = engine.call(r.DescribeLimits())
    assert (limits.account_max_read_capacity_units, limits.table_max_write_capacity_units) == (80_000, 40_000)
    endpoints = engine.call(r.DescribeEndpoints()).endpoints or []
    assert [each.address for each in endpoints] == ["dynamodb.us-east-1.amazonaws.com"]
