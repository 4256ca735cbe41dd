"""DescribeLimits and DescribeEndpoints: the limits of an account, and the endpoint of its region."""

from partita.dynamodb.limits import ACCOUNT_CAPACITY, TABLE_CAPACITY
from partita.dynamodb.tag_shapes import (
    DescribeEndpoints,
    DescribeEndpointsOutput,
    DescribeLimits,
    DescribeLimitsOutput,
    Endpoint,
)
from partita.engine.context import EngineContext

_CACHE_MINUTES = 1440


def describe_limits(context: EngineContext, request: DescribeLimits) -> DescribeLimitsOutput:
    return DescribeLimitsOutput(
        account_max_read_capacity_units=ACCOUNT_CAPACITY,
        account_max_write_capacity_units=ACCOUNT_CAPACITY,
        table_max_read_capacity_units=TABLE_CAPACITY,
        table_max_write_capacity_units=TABLE_CAPACITY,
    )


def describe_endpoints(context: EngineContext, request: DescribeEndpoints) -> DescribeEndpointsOutput:
    """Amazon's own host name, as in DynamoDB; an SDK with an endpoint of its own does not use it."""
    address = f"dynamodb.{context.region}.amazonaws.com"
    return DescribeEndpointsOutput(endpoints=[Endpoint(address=address, cache_period_in_minutes=_CACHE_MINUTES)])
