"""Addresses: what each means, and what is said about one that cannot be."""

import boto3
import pytest
from botocore.config import Config

from partita.errors import ConfigurationError
from partita.remote.endpoints import endpoint_at
from partita.remote.settings import RemoteSettings

pytestmark = pytest.mark.slow


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
        ("https://123456789012.ddb.us-east-2.amazonaws.com", "123456789012.ddb.us-east-2.amazonaws.com", "us-east-2"),
    ],
)
def test_address_names_host_and_region(address: str, netloc: str, region: str | None) -> None:
    endpoint = endpoint_at(address)
    assert (endpoint.netloc, endpoint.region) == (netloc, region or "us-gov-west-1")


def test_given_region_is_signed_for() -> None:
    assert RemoteSettings(region="eu-north-1").endpoint("http://localhost:8000").region == "eu-north-1"


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://dynamodb.eu-west-1.amazonaws.com", "streams.dynamodb.eu-west-1.amazonaws.com"),
        ("https://dynamodb.eu-west-1.api.aws", "streams.dynamodb.eu-west-1.api.aws"),
        ("https://123456789012.ddb.us-east-2.amazonaws.com", "streams.dynamodb.us-east-2.amazonaws.com"),
        ("http://localhost:8000", "localhost"),
    ],
)
def test_streams_have_a_host_of_their_own_at_amazon_only(address: str, host: str) -> None:
    assert endpoint_at(address).for_streams().host == host


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://", "'http://' is no address of an endpoint: write http://HOST:PORT or https://HOST"),
        ("ftp://x", "'ftp://x' is no address of an endpoint: write http://HOST:PORT or https://HOST"),
        ("http://h:0x", "'http://h:0x': the port is no number between 1 and 65535"),
        ("http://h:99999", "'http://h:99999': the port is no number between 1 and 65535"),
        ("http://h:1/path", "'http://h:1/path' says more than scheme, host and port: write http://h:1"),
        ("https://h?a=b", "'https://h?a=b' says more than scheme, host and port: write https://h"),
        ("http://u:p@h:1", "'http://u:p@h:1' says more than scheme, host and port: write http://h:1"),
    ],
)
def test_address_that_cannot_be_is_explained(address: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        endpoint_at(address)
    assert str(refused.value) == said


@pytest.mark.parametrize("region", ["eu-west-1", "us-east-1", "cn-north-1", "us-gov-west-1"])
@pytest.mark.parametrize("variant", [Config(), Config(use_dualstack_endpoint=True)])
def test_hosts_are_those_that_botocore_knows(region: str, variant: Config) -> None:
    session = boto3.Session("key", "secret", region_name=region)
    endpoint = endpoint_at(session.client("dynamodb", config=variant).meta.endpoint_url)
    assert (endpoint.amazon, endpoint.region) == (True, region)
    assert endpoint.for_streams().url == session.client("dynamodbstreams", config=variant).meta.endpoint_url


@pytest.mark.parametrize(
    ("region", "url"),
    [
        ("eu-west-1", "https://dynamodb.eu-west-1.amazonaws.com"),
        ("cn-north-1", "https://dynamodb.cn-north-1.amazonaws.com.cn"),
    ],
)
def test_region_has_its_address(region: str, url: str) -> None:
    assert RemoteSettings().endpoint(f"dynamodb://{region}").url == url


def test_region_may_come_from_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    assert RemoteSettings().endpoint("dynamodb://").region == "eu-central-1"


def test_address_of_the_environment_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:8000")
    endpoint = RemoteSettings().endpoint("dynamodb://eu-west-1")
    assert (endpoint.url, endpoint.region) == ("http://127.0.0.1:8000", "eu-west-1")


def test_no_region_at_all_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "absent")
    with pytest.raises(ConfigurationError) as refused:
        RemoteSettings().endpoint("dynamodb://")
    assert str(refused.value) == "dynamodb:// names no region and none is configured: write dynamodb://eu-west-1"


def test_unknown_region_is_explained() -> None:
    with pytest.raises(ConfigurationError, match="dynamodb://atlantis: botocore knows no such region"):
        RemoteSettings().endpoint("dynamodb://atlantis")


def test_two_regions_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="dynamodb://eu-west-1 and region='us-east-1' are two regions"):
        RemoteSettings(region="us-east-1").endpoint("dynamodb://eu-west-1")
