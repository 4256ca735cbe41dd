"""Endpoints: the host and the region of an address, and the error for an invalid one."""

import itertools
from collections.abc import Callable, Iterator

import boto3
import botocore.session
import pytest
from botocore.config import Config
from botocore.endpoint_provider import EndpointProvider
from botocore.loaders import Loader

from partita.errors import ConfigurationError
from partita.remote.endpoints import RemoteEndpoint, amazon_endpoint, endpoint_at
from partita.remote.settings import RemoteSettings

Resolve = Callable[..., str]


@pytest.mark.parametrize(
    ("address", "netloc", "region"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1:8000", "us-east-1"),
        ("http://localhost", "localhost", "us-east-1"),
        ("http://[::1]:8000/", "[::1]:8000", "us-east-1"),
        ("https://example.com:443", "example.com", "us-east-1"),
        ("https://dynamodb.eu-west-1.amazonaws.com", "dynamodb.eu-west-1.amazonaws.com", "eu-west-1"),
        ("https://dynamodb-fips.us-gov-west-1.amazonaws.com", "dynamodb-fips.us-gov-west-1.amazonaws.com", None),
        ("https://dynamodb.cn-north-1.amazonaws.com.cn", "dynamodb.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("https://dynamodb.eu-west-1.api.aws", "dynamodb.eu-west-1.api.aws", "eu-west-1"),
        ("https://dynamodb.us-iso-east-1.c2s.ic.gov", "dynamodb.us-iso-east-1.c2s.ic.gov", "us-iso-east-1"),
        ("https://123456789012.ddb.us-east-2.amazonaws.com", "123456789012.ddb.us-east-2.amazonaws.com", "us-east-2"),
    ],
)
def test_address_has_host_and_region(address: str, netloc: str, region: str | None) -> None:
    endpoint = endpoint_at(address)
    assert (endpoint.netloc, endpoint.region) == (netloc, region or "us-gov-west-1")


def test_region_of_the_settings_is_signed_for() -> None:
    assert RemoteSettings(region="eu-north-1").endpoint("http://localhost:8000").region == "eu-north-1"


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://dynamodb.eu-west-1.amazonaws.com", "streams.dynamodb.eu-west-1.amazonaws.com"),
        ("https://dynamodb.eu-west-1.api.aws", "streams-dynamodb.eu-west-1.api.aws"),
        ("https://123456789012.ddb.us-east-2.amazonaws.com", "streams.dynamodb.us-east-2.amazonaws.com"),
        ("http://localhost:8000", "localhost"),
    ],
)
def test_streams_have_another_host_at_amazon_only(address: str, host: str) -> None:
    assert endpoint_at(address).for_streams().host == host


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://dynamodb.eu-west-1.amazonaws.com", "search-dynamodb.eu-west-1.amazonaws.com"),
        ("https://dynamodb-fips.us-east-1.api.aws", "search-dynamodb-fips.us-east-1.api.aws"),
        ("https://123456789012.ddb.us-east-2.amazonaws.com", "123456789012.search-ddb.us-east-2.amazonaws.com"),
        ("http://localhost:8000", "localhost"),
    ],
)
def test_searches_have_another_host_at_amazon_only(address: str, host: str) -> None:
    assert endpoint_at(address).for_search().host == host


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("http://", "'http://' is not a valid endpoint; use http://HOST:PORT or https://HOST"),
        ("ftp://x", "'ftp://x' is not a valid endpoint; use http://HOST:PORT or https://HOST"),
        ("http://h:0x", "'http://h:0x': the port must be a number from 1 to 65535"),
        ("http://h:99999", "'http://h:99999': the port must be a number from 1 to 65535"),
        ("http://h:1/path", "'http://h:1/path' has more than a scheme, a host and a port; use http://h:1"),
        ("https://h?a=b", "'https://h?a=b' has more than a scheme, a host and a port; use https://h"),
        ("http://u:p@h:1", "'http://u:p@h:1' has more than a scheme, a host and a port; use http://h:1"),
    ],
)
def test_invalid_address_is_explained(address: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        endpoint_at(address)
    assert str(raised.value) == message


@pytest.fixture(scope="module")
def loader() -> Loader:
    found: Loader = botocore.session.get_session().get_component("data_loader")
    return found


def _resolver(loader: Loader, service: str) -> Resolve:
    """The endpoint that botocore sends requests to, from the same rules, without a client for each region."""
    rules = loader.load_service_model(service, "endpoint-rule-set-1")
    provider = EndpointProvider(rules, loader.load_data("partitions"))

    def resolve(region: str, fips: bool, dual_stack: bool, **more: bool) -> str:
        url: str = provider.resolve_endpoint(Region=region, UseFIPS=fips, UseDualStack=dual_stack, **more).url
        return url

    return resolve


def _regions(loader: Loader) -> Iterator[str]:
    for partition in loader.load_data("partitions")["partitions"]:
        yield from (region for region in partition["regions"] if not region.endswith("-global"))


def test_every_region_and_variant_has_the_hosts_that_botocore_resolves(loader: Loader) -> None:
    tables, streams = _resolver(loader, "dynamodb"), _resolver(loader, "dynamodbstreams")
    regions = list(_regions(loader))
    assert len(regions) > 40
    for region, fips, dual_stack in itertools.product(regions, (False, True), (False, True)):
        endpoint = amazon_endpoint(region, fips=fips, dual_stack=dual_stack)
        assert endpoint.url == tables(region, fips, dual_stack)
        assert endpoint.for_streams().url == streams(region, fips, dual_stack)
        assert endpoint.for_search().url == tables(region, fips, dual_stack, IsSearchOperation=True)
        assert endpoint_at(endpoint.url) == endpoint


class _Sent(Exception):
    """Stops a request of botocore's before it is sent."""


def _sent_to(client: object, operation: str) -> str:
    urls: list[str] = []

    def record(request: object, **_: object) -> None:
        urls.append(request.url)  # type: ignore[attr-defined]
        raise _Sent

    client.meta.events.register("before-send", record)  # type: ignore[attr-defined]
    with pytest.raises(_Sent):
        getattr(client, operation)()
    return urls[0].removesuffix("/")


@pytest.mark.slow
@pytest.mark.parametrize("region", ["eu-west-1", "us-east-1", "cn-north-1", "us-gov-west-1"])
@pytest.mark.parametrize("dual_stack", [False, True])
def test_boto3_sends_requests_to_the_same_hosts(region: str, dual_stack: bool) -> None:
    session, config = boto3.Session("key", "secret", region_name=region), Config(use_dualstack_endpoint=dual_stack)
    endpoint = amazon_endpoint(region, dual_stack=dual_stack)
    assert _sent_to(session.client("dynamodb", config=config), "list_tables") == endpoint.url
    assert _sent_to(session.client("dynamodbstreams", config=config), "list_streams") == endpoint.for_streams().url


@pytest.mark.parametrize(
    ("region", "url"),
    [
        ("eu-west-1", "https://dynamodb.eu-west-1.amazonaws.com"),
        ("cn-north-1", "https://dynamodb.cn-north-1.amazonaws.com.cn"),
    ],
)
def test_region_has_its_endpoint(region: str, url: str) -> None:
    assert RemoteSettings().endpoint(f"dynamodb://{region}") == endpoint_at(url)


def test_unknown_region_is_explained() -> None:
    with pytest.raises(ConfigurationError, match="dynamodb://atlantis: not an AWS region"):
        RemoteSettings().endpoint("dynamodb://atlantis")


def test_two_different_regions_are_rejected() -> None:
    with pytest.raises(ConfigurationError, match="dynamodb://eu-west-1 and region='us-east-1' are different regions"):
        RemoteSettings(region="us-east-1").endpoint("dynamodb://eu-west-1")


def test_host_header_has_no_default_port() -> None:
    assert RemoteEndpoint("https", "h", 443, "r").netloc == "h"
    assert RemoteEndpoint("http", "h", 443, "r").netloc == "h:443"
