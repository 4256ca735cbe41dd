"""Settings of a remote backend: region, credentials, timeouts, connections."""

import ssl
from dataclasses import dataclass
from typing import Any

from partita.errors import ConfigurationError
from partita.remote.aws_config import load_aws_config
from partita.remote.credentials import UNSIGNED, CredentialChain, CredentialSource
from partita.remote.endpoints import RemoteEndpoint, amazon_endpoint, endpoint_at
from partita.setting_rules import FILE, POSITIVE_COUNT, TEXT, TIMEOUT, SettingRule, check_settings

_AMAZON = "dynamodb://"


def _gives_keys(value: Any) -> bool:
    return hasattr(value, "current") and hasattr(value, "blocks")


_RULES = {
    "region": TEXT,
    "credentials": SettingRule(_gives_keys, "Credentials(access_key, secret_key), of partita.remote.credentials"),
    "connect_timeout": TIMEOUT,
    "read_timeout": TIMEOUT,
    "connections": POSITIVE_COUNT,
    "ca_bundle": FILE,
}


@dataclass(frozen=True, slots=True)
class RemoteSettings:
    """Everything has a default. Times are in seconds."""

    region: str | None = None
    """The region to sign for. By default that of the address, or us-east-1 where the address has none."""

    credentials: CredentialSource | None = None
    """By default botocore's chain where the endpoint is https, and `UNSIGNED` where it is plain http."""

    connect_timeout: float = 5.0
    read_timeout: float = 30.0
    connections: int = 64
    """The maximum at once; a further call waits for one."""

    ca_bundle: str | None = None
    """A file of certificates to trust instead of the system's."""

    def __post_init__(self) -> None:
        check_settings(_RULES, {name: getattr(self, name) for name in _RULES})

    def endpoint(self, address: str) -> RemoteEndpoint:
        """The endpoint of an address. For `dynamodb://REGION` it may read the AWS config files."""
        if not address.startswith(_AMAZON):
            return endpoint_at(address, self.region)
        region = address.removeprefix(_AMAZON).rstrip("/")
        if self.region and region and self.region != region:
            raise ConfigurationError(f"{address} and region={self.region!r} are different regions; give only one")
        config = load_aws_config()
        region = region or self.region or config.region or ""
        if not region:
            raise ConfigurationError("dynamodb:// has no region and none is configured; use dynamodb://eu-west-1")
        if config.endpoint_url:
            return endpoint_at(config.endpoint_url, region)
        return amazon_endpoint(region, fips=config.fips, dual_stack=config.dual_stack)

    def credential_source(self, endpoint: RemoteEndpoint) -> CredentialSource:
        """The credentials for an endpoint."""
        if self.credentials is not None:
            return self.credentials
        return UNSIGNED if endpoint.scheme == "http" else CredentialChain()

    def tls(self, endpoint: RemoteEndpoint) -> ssl.SSLContext | None:
        """The certificates to trust; None for plain HTTP."""
        return None if endpoint.scheme == "http" else ssl.create_default_context(cafile=self.ca_bundle)
