"""Requests and responses about tags, account limits and endpoints."""

from partita.dynamodb.requests import Request
from partita.dynamodb.shapes import Shape, Tag


class EmptyOutput(Shape):
    pass


class ListTagsOfResourceOutput(Shape):
    tags: list[Tag] | None = None
    next_token: str | None = None


class DescribeLimitsOutput(Shape):
    account_max_read_capacity_units: int | None = None
    account_max_write_capacity_units: int | None = None
    table_max_read_capacity_units: int | None = None
    table_max_write_capacity_units: int | None = None


class Endpoint(Shape):
    address: str | None = None
    cache_period_in_minutes: int | None = None


class DescribeEndpointsOutput(Shape):
    endpoints: list[Endpoint] | None = None


class TagResource(Request[EmptyOutput]):
    resource_arn: str | None = None
    tags: list[Tag] | None = None


class UntagResource(Request[EmptyOutput]):
    resource_arn: str | None = None
    tag_keys: list[str] | None = None


class ListTagsOfResource(Request[ListTagsOfResourceOutput]):
    resource_arn: str | None = None
    next_token: str | None = None


class DescribeLimits(Request[DescribeLimitsOutput]):
    pass


class DescribeEndpoints(Request[DescribeEndpointsOutput]):
    pass
