"""Endpoints: the host that requests are sent to, and the region to sign for, from an address or a region."""

import re
import urllib.request
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from partita.errors import ConfigurationError

DEFAULT_REGION = "us-east-1"
_PORTS = {"http": 80, "https": 443}


class _Partition(NamedTuple):
    """A group of AWS regions; its hosts end in `suffix`, or in `dual_stack` where IPv6 is wanted too."""

    regions: str
    suffix: str
    dual_stack: str


# botocore's partitions.json and endpoint-rule-set-1.json; a test compares every region and variant.
_PARTITIONS = (
    _Partition(r"(us|eu|ap|sa|ca|me|af|il|mx)-\w+-\d+", "amazonaws.com", "api.aws"),
    _Partition(r"us-gov-\w+-\d+", "amazonaws.com", "api.aws"),
    _Partition(r"cn-\w+-\d+", "amazonaws.com.cn", "api.amazonwebservices.com.cn"),
    _Partition(r"eusc-de-\w+-\d+", "amazonaws.eu", "api.amazonwebservices.eu"),
    _Partition(r"us-iso-\w+-\d+", "c2s.ic.gov", "api.aws.ic.gov"),
    _Partition(r"us-isob-\w+-\d+", "sc2s.sgov.gov", "api.aws.scloud"),
    _Partition(r"eu-isoe-\w+-\d+", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"),
    _Partition(r"us-isof-\w+-\d+", "csp.hci.ic.gov", "api.aws.hci.ic.gov"),
)
_SUFFIXES = "|".join(re.escape(suffix) for each in _PARTITIONS for suffix in (each.suffix, each.dual_stack))
_AMAZON_HOST = re.compile(rf"(?:\d+\.ddb|dynamodb(?:-fips)?)\.([a-z0-9-]+)\.(?:{_SUFFIXES})")
_DASHED_STREAMS = (".api.aws", ".api.amazonwebservices.com.cn")  # streams-dynamodb.REGION, not streams.dynamodb.REGION


@dataclass(frozen=True, slots=True)
class RemoteEndpoint:
    """A host and the region to sign for; `amazon` marks Amazon's own hosts, where streams and searches have others."""

    scheme: str
    host: str
    port: int
    region: str
    amazon: bool = False

    @property
    def netloc(self) -> str:
        """The Host header: without the default port of the scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.netloc}"

    def for_streams(self) -> "RemoteEndpoint":
        """The endpoint of DynamoDB Streams; the same one everywhere but at Amazon."""
        if not self.amazon:
            return self
        account, _, rest = self.host.rpartition(".ddb.")
        host = f"dynamodb.{rest}" if account else self.host
        return replace(self, host=f"streams{'-' if host.endswith(_DASHED_STREAMS) else '.'}{host}")

    def for_search(self) -> "RemoteEndpoint":
        """The endpoint of SearchVectors; the same one everywhere but at Amazon."""
        if not self.amazon:
            return self
        account, _, rest = self.host.rpartition(".ddb.")
        return replace(self, host=f"{account}.search-ddb.{rest}" if account else f"search-{self.host}")

    def proxy(self) -> str | None:
        """The proxy that the environment names for this host (HTTPS_PROXY, NO_PROXY); plain HTTP uses none."""
        if self.scheme == "http" or urllib.request.proxy_bypass(self.host):
            return None
        return urllib.request.getproxies().get("https")


def endpoint_at(address: str, region: str | None = None) -> RemoteEndpoint:
    """The endpoint at an `http://` or `https://` address; the region of Amazon's own hosts is read from their names.

    >>> endpoint_at("https://dynamodb.eu-west-1.amazonaws.com").region
    'eu-west-1'
    >>> endpoint_at("http://127.0.0.1:8000").netloc
    '127.0.0.1:8000'
    """
    try:
        url = urlsplit(address)
    except ValueError as error:
        raise ConfigurationError(f"{address!r} is not a valid endpoint: {error}") from None
    if url.scheme not in _PORTS or not url.hostname:
        raise ConfigurationError(f"{address!r} is not a valid endpoint; use http://HOST:PORT or https://HOST")
    if url.path not in ("", "/") or url.query or url.fragment or url.username is not None:
        raise ConfigurationError(
            f"{address!r} has more than a scheme, a host and a port; use {url.scheme}://{_host(url)}"
        )
    amazon = _AMAZON_HOST.fullmatch(url.hostname)
    return RemoteEndpoint(
        url.scheme,
        url.hostname,
        _port(address, url),
        region or (amazon.group(1) if amazon else DEFAULT_REGION),
        amazon=amazon is not None,
    )


def amazon_endpoint(region: str, *, fips: bool = False, dual_stack: bool = False) -> RemoteEndpoint:
    """Amazon DynamoDB's endpoint in a region.

    >>> amazon_endpoint("eu-west-1").url
    'https://dynamodb.eu-west-1.amazonaws.com'
    """
    partition = next((each for each in _PARTITIONS if re.fullmatch(each.regions, region)), None)
    if partition is None:
        raise ConfigurationError(f"dynamodb://{region}: not an AWS region; use dynamodb://eu-west-1, for example")
    if fips and region.startswith("us-gov-") and not dual_stack:
        fips = False  # GovCloud's own hosts are the FIPS ones
    suffix = partition.dual_stack if dual_stack else partition.suffix
    return RemoteEndpoint("https", f"dynamodb{'-fips' if fips else ''}.{region}.{suffix}", 443, region, amazon=True)


def _host(url: SplitResult) -> str:
    return url.netloc.rpartition("@")[2]


def _port(address: str, url: SplitResult) -> int:
    try:
        return url.port or _PORTS[url.scheme]
    except ValueError:
        raise ConfigurationError(f"{address!r}: the port must be a number from 1 to 65535") from None
