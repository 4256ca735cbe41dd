"""Where requests go: an address taken apart, and the region that is signed for."""

import re
import urllib.request
from dataclasses import dataclass, replace
from urllib.parse import SplitResult, urlsplit

from partita.errors import ConfigurationError

DEFAULT_REGION = "us-east-1"
_PORTS = {"http": 80, "https": 443}
_AMAZON = re.compile(
    r"(?:\d+\.ddb|dynamodb(?:-fips)?)\.([a-z0-9-]+)"
    r"\.(?:amazonaws\.com(?:\.cn)?|api\.aws|api\.amazonwebservices\.com\.cn)"
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One host that answers; `amazon` when it is one of Amazon's own, where streams have a host of their own."""

    scheme: str
    host: str
    port: int
    region: str
    amazon: bool = False

    @property
    def netloc(self) -> str:
        """The Host header: without the port that the scheme implies."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.netloc}"

    def for_streams(self) -> "Endpoint":
        if not self.amazon:
            return self
        account, _, rest = self.host.rpartition(".ddb.")
        return replace(self, host=f"streams.dynamodb.{rest}" if account else f"streams.{self.host}")

    def proxy(self) -> str | None:
        """The proxy that the environment (HTTPS_PROXY, NO_PROXY) wants for this host; plain HTTP goes direct."""
        if self.scheme == "http" or urllib.request.proxy_bypass(self.host):
            return None
        return urllib.request.getproxies().get("https")


def endpoint_at(address: str, region: str | None = None) -> Endpoint:
    """The endpoint of an `http://` or `https://` address; Amazon's addresses say their region themselves.

    >>> endpoint_at("https://dynamodb.eu-west-1.amazonaws.com").region
    'eu-west-1'
    >>> endpoint_at("http://127.0.0.1:8000").netloc
    '127.0.0.1:8000'
    """
    url = urlsplit(address)
    if url.scheme not in _PORTS or not url.hostname:
        raise ConfigurationError(f"{address!r} is no address of an endpoint: write http://HOST:PORT or https://HOST")
    if url.path not in ("", "/") or url.query or url.fragment or url.username is not None:
        raise ConfigurationError(f"{address!r} says more than scheme, host and port: write {url.scheme}://{_host(url)}")
    known = _AMAZON.fullmatch(url.hostname)
    return Endpoint(
        url.scheme,
        url.hostname,
        _port(address, url),
        region or (known.group(1) if known else DEFAULT_REGION),
        amazon=known is not None,
    )


def _host(url: SplitResult) -> str:
    return url.netloc.rpartition("@")[2]


def _port(address: str, url: SplitResult) -> int:
    try:
        return url.port or _PORTS[url.scheme]
    except ValueError:
        raise ConfigurationError(f"{address!r}: the port is no number between 1 and 65535") from None
