"""OpenSearch as the place of a text index: an address, and how its requests are authorized."""

import re
from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from partita.errors import ConfigurationError, SearchRejected
from partita.json_service import Authorize, JsonService
from partita.remote.credentials import CredentialChain, CredentialSource
from partita.remote.service_signing import ServiceSigner
from partita.search.opensearch_client import OpenSearchClient
from partita.search.opensearch_text import OpenSearchText
from partita.search.text_columns import TextColumns, Weights
from partita.search.text_target import TextTarget
from partita.search.words import Analyzer
from partita.setting_rules import COUNT, FILE, FLAG, POSITIVE_COUNT, TEXT, TIMEOUT, check_settings

_RULES = {
    "url": TEXT,
    "user": TEXT,
    "password": TEXT,
    "region": TEXT,
    "shards": POSITIVE_COUNT,
    "replicas": COUNT,
    "refresh": FLAG,
    "ca_bundle": FILE,
    "connections": POSITIVE_COUNT,
    "connect_timeout": TIMEOUT,
    "read_timeout": TIMEOUT,
    "retries": COUNT,
}
_AMAZON_HOST = re.compile(
    r".+\.(?P<classic>[a-z0-9-]+)\.es\.amazonaws\.com(?:\.cn)?|.+\.aos\.(?P<dual>[a-z0-9-]+)\.on\.aws"
)
_SERVERLESS_HOST = re.compile(r".+\.aoss\.(?:amazonaws\.com(?:\.cn)?|[a-z0-9.-]+)")
_PREFIX = re.compile("[a-z0-9][a-z0-9_.-]{0,99}")


@dataclass(frozen=True, kw_only=True)
class _Settings:
    """Everything has a default. Times are in seconds."""

    user: str | None = None
    password: str | None = field(default=None, repr=False)

    region: str | None = None
    """Requests are signed for this region of AWS; a host of Amazon OpenSearch Service says it by itself."""

    credentials: CredentialSource | None = None
    """The keys to sign with; by default botocore's chain."""

    prefix: str = "partita-"
    """Comes before the name of the text index in the names of the cluster. One for each database in it."""

    shards: int = 1
    replicas: int = 1

    refresh: bool = False
    """Whether a change can be found as soon as it is applied, for tests; else within a second."""

    ca_bundle: str | None = None
    """A file of certificates to trust instead of the system's."""

    connections: int = 16
    connect_timeout: float = 5.0
    read_timeout: float = 30.0
    retries: int = 4


@dataclass(frozen=True)
class OpenSearch(_Settings):
    """A cluster of OpenSearch: place=OpenSearch("https://search.example.com:9200", user="cards", password=...)."""

    url: str

    def __post_init__(self) -> None:
        check_settings(_RULES, {name: getattr(self, name) for name in _RULES})
        host = self._host()
        if (self.user is None) != (self.password is None):
            raise ConfigurationError("OpenSearch: user and password are given together")
        if not _PREFIX.fullmatch(self.prefix):
            raise ConfigurationError(f"prefix={self.prefix!r} is not valid; use lower case letters, digits, . - and _")
        if _SERVERLESS_HOST.fullmatch(host):
            raise ConfigurationError(
                f"{self.url}: Amazon OpenSearch Serverless lacks requests that a text index needs; use a domain"
            )

    def open(self, name: str, weights: Weights, analyzer: Analyzer) -> TextTarget:
        service = JsonService(
            self.url,
            SearchRejected,
            retries=self.retries,
            connections=self.connections,
            connect_timeout=self.connect_timeout,
            read_timeout=self.read_timeout,
            authorize=self._authorize(),
            ca_bundle=self.ca_bundle,
        )
        columns = TextColumns(weights, analyzer)
        settings = {"index": {"number_of_shards": self.shards, "number_of_replicas": self.replicas}}
        return OpenSearchText(
            OpenSearchClient(service), f"{self.prefix}{name}", columns, settings, refresh=self.refresh
        )

    def _authorize(self) -> Authorize | None:
        if self.user is not None:
            basic = b64encode(f"{self.user}:{self.password}".encode()).decode()
            return lambda *_: {"Authorization": f"Basic {basic}"}
        found = _AMAZON_HOST.fullmatch(self._host())
        region = self.region or (found and (found["classic"] or found["dual"]))
        if not region:
            return None
        credentials = self.credentials or CredentialChain()
        return ServiceSigner(credentials, urlsplit(self.url).netloc, region, "es").headers

    def _host(self) -> str:
        try:
            url = urlsplit(self.url)
            host = url.hostname or ""
        except ValueError:
            host = ""
        if not host or url.scheme not in ("http", "https") or url.query or url.fragment or url.username is not None:
            raise ConfigurationError(f"{self.url!r} is not valid; use http://HOST:PORT or https://HOST")
        return host
