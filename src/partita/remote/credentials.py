"""Who signs: keys given by hand, none at all, or whatever botocore's credential chain finds."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from partita.errors import ConfigurationError


class CredentialSource(Protocol):
    """Gives the keys to sign with now; `blocks` is true when that may first have to fetch them over a network."""

    def current(self) -> "Credentials": ...

    def blocks(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Credentials:
    """Keys that stay the same; a `CredentialSource` of themselves."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str | None = field(default=None, repr=False)

    def current(self) -> "Credentials":
        return self

    def blocks(self) -> bool:
        return False


UNSIGNED = Credentials("partita", "")
"""For endpoints that verify nothing. Some (DynamoDB Local, dynalite) still want to see a signature: they see zeros."""


class CredentialChain:
    """botocore's chain: environment, profile, SSO, container, instance; renewed by botocore before they expire."""

    def __init__(self, session: Any = None) -> None:
        self._session = session or botocore_session()
        self._found: Any = None

    def current(self) -> Credentials:
        found = self._look().get_frozen_credentials()
        return Credentials(found.access_key, found.secret_key, found.token)

    def blocks(self) -> bool:
        if self._found is None:
            return True
        refresh_needed = getattr(self._found, "refresh_needed", None)
        return refresh_needed is not None and bool(refresh_needed())

    def _look(self) -> Any:
        if self._found is None:
            self._found = self._session.get_credentials()
        if self._found is None:
            raise ConfigurationError(
                "no AWS credentials in the environment, a profile, a container or an instance: set AWS_PROFILE or "
                "AWS_ACCESS_KEY_ID, or pass credentials"
            )
        return self._found


def botocore_session() -> Any:
    """A new botocore session; botocore comes with an extra."""
    try:
        import botocore.session
    except ModuleNotFoundError as missing:
        raise ConfigurationError(
            "Amazon's keys and regions are found by botocore, which is not installed: pip install 'partita[remote]'"
        ) from missing
    return botocore.session.get_session()


def amazon_address(region: str) -> tuple[str, str]:
    """The address of DynamoDB in a region, and that region: an empty one is the configured one.

    botocore knows the address, and what the environment says about it (AWS_USE_FIPS_ENDPOINT, AWS_ENDPOINT_URL).
    """
    session = botocore_session()
    region = region or session.get_config_variable("region") or ""
    if not region:
        raise ConfigurationError("dynamodb:// names no region and none is configured: write dynamodb://eu-west-1")
    from botocore import UNSIGNED as UNSIGNED_REQUESTS
    from botocore.config import Config
    from botocore.exceptions import UnknownRegionError

    try:
        session.get_partition_for_region(region)
    except UnknownRegionError:
        raise ConfigurationError(f"dynamodb://{region}: botocore knows no such region") from None
    client = session.create_client("dynamodb", region, config=Config(signature_version=UNSIGNED_REQUESTS))
    return client.meta.endpoint_url, region
