"""How a remote backend is reached: region, keys, time-outs, connections."""

import ssl
from dataclasses import dataclass

from partita.errors import ConfigurationError
from partita.remote.credentials import UNSIGNED, CredentialChain, CredentialSource, amazon_address
from partita.remote.endpoints import Endpoint, endpoint_at


@dataclass(frozen=True, slots=True)
class RemoteSettings:
    """Everything has a default. Times are in seconds."""

    region: str | None = None
    """What is signed for; an Amazon address says it itself, others are taken for us-east-1."""

    credentials: CredentialSource | None = None
    """By default botocore's chain for https:// and dynamodb://, and `UNSIGNED` for http://."""

    connect_timeout: float = 5.0
    read_timeout: float = 30.0
    connections: int = 64
    """At most this many at once; a call beyond them waits for one."""

    ca_bundle: str | None = None
    """A file of certificates to trust instead of the system's."""

    def endpoint(self, address: str) -> Endpoint:
        """The endpoint that an address means with these settings."""
        if not address.startswith("dynamodb://"):
            return endpoint_at(address, self.region)
        region = address.removeprefix("dynamodb://").rstrip("/")
        if self.region and region and self.region != region:
            raise ConfigurationError(f"{address} and region={self.region!r} are two regions: choose one")
        return endpoint_at(*amazon_address(region or self.region or ""))

    def source(self, endpoint: Endpoint) -> CredentialSource:
        """Who signs for an endpoint."""
        if self.credentials is not None:
            return self.credentials
        return UNSIGNED if endpoint.scheme == "http" else CredentialChain()

    def tls(self, endpoint: Endpoint) -> ssl.SSLContext | None:
        """What is trusted; None where nothing is encrypted."""
        return None if endpoint.scheme == "http" else ssl.create_default_context(cafile=self.ca_bundle)
