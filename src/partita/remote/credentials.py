"""Credentials to sign with: fixed keys, none at all, or those of the environment and botocore's credential chain."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from partita.errors import ConfigurationError
from partita.remote.aws_config import botocore_session


class CredentialSource(Protocol):
    """Gives the keys to sign with now; `blocks` is true when it may have to read files or the network for them."""

    def current(self) -> "Credentials": ...

    def blocks(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Credentials:
    """Fixed keys; also a `CredentialSource` that always gives them."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str | None = field(default=None, repr=False)

    def current(self) -> "Credentials":
        return self

    def blocks(self) -> bool:
        return False


UNSIGNED = Credentials("partita", "")
"""For endpoints that verify nothing. Some (DynamoDB Local, dynalite) require a signature; they get zeros."""


class CredentialChain:
    """botocore's chain: environment, profile, SSO, container, instance; botocore renews them before they expire."""

    def __init__(self, session: Any = None) -> None:
        """Raises `ConfigurationError` where botocore is needed and not installed."""
        self._source: CredentialSource | None = environment_credentials() if session is None else None
        self._session = botocore_session() if session is None and self._source is None else session

    def current(self) -> Credentials:
        """The keys to sign with; raises `ConfigurationError` where the chain finds none."""
        if self._source is None:
            self._source = _BotocoreCredentials(self._session)
        return self._source.current()

    def blocks(self) -> bool:
        return self._source is None or self._source.blocks()


def environment_credentials(environ: Mapping[str, str] = os.environ) -> Credentials | None:
    """The keys in the environment, the first link of botocore's chain; None for keys that expire, or no keys."""
    access_key, secret_key = environ.get("AWS_ACCESS_KEY_ID"), environ.get("AWS_SECRET_ACCESS_KEY")
    if not access_key or not secret_key or environ.get("AWS_CREDENTIAL_EXPIRATION"):
        return None
    token = environ.get("AWS_SECURITY_TOKEN") or environ.get("AWS_SESSION_TOKEN") or None
    return Credentials(access_key, secret_key, token)


class _BotocoreCredentials:
    """The credentials that a botocore session finds."""

    def __init__(self, session: Any) -> None:
        self._found = session.get_credentials()
        if self._found is None:
            raise ConfigurationError(
                "no AWS credentials in the environment, a profile, a container or an instance; set AWS_PROFILE or "
                "AWS_ACCESS_KEY_ID, or pass credentials"
            )

    def current(self) -> Credentials:
        keys = self._found.get_frozen_credentials()
        return Credentials(keys.access_key, keys.secret_key, keys.token)

    def blocks(self) -> bool:
        refresh_needed = getattr(self._found, "refresh_needed", None)
        return refresh_needed is not None and bool(refresh_needed())
