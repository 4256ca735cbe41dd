"""Access keys with their secrets, from a file or from the environment; only their requests are answered.

    [keys.AKIAOPERATIONS]
    secret = "a long random text"

    [keys.AKIAREPORTS]
    secret = "another one"
    read_only = true                      # AccessDeniedException for every write
    session_token = "as STS would give"   # accept only requests with this session token

The access key's id is the name of its TOML table. Any program that signs for AWS can use it. In the environment
`PARTITA_ACCESS_KEYS` has `ID:SECRET`, several separated by commas.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from partita.errors import ConfigurationError

MIN_SECRET = 16
VARIABLE = "PARTITA_ACCESS_KEYS"


class _Key(msgspec.Struct, forbid_unknown_fields=True):
    secret: str
    read_only: bool = False
    session_token: str | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    keys: dict[str, _Key]


@dataclass(frozen=True, slots=True)
class Credential:
    """One access key."""

    key_id: str
    secret: str
    read_only: bool = False
    session_token: str | None = None

    def __repr__(self) -> str:
        return f"Credential({self.key_id!r})"


def load_credentials(path: Path | None, environ: Mapping[str, str] = os.environ) -> dict[str, Credential]:
    """The access keys of a file, or else of the environment, by their ids; empty where neither has any.

    A `ConfigurationError` says what is wrong with them.
    """
    if path is not None:
        return _checked(str(path), _in_file(path))
    if VARIABLE in environ:
        return _checked(VARIABLE, _in_text(environ[VARIABLE]))
    return {}


def _in_file(path: Path) -> dict[str, _Key]:
    try:
        found = msgspec.convert(tomllib.loads(path.read_text()), _File).keys
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise ConfigurationError(f"{path}: {error}; write [keys.ID] with a secret for each access key") from None
    if not found:
        raise ConfigurationError(f"{path}: no access key; write [keys.ID] with a secret for each")
    return found


def _in_text(text: str) -> dict[str, _Key]:
    found = {}
    for each in filter(None, map(str.strip, text.split(","))):
        key_id, colon, secret = each.partition(":")
        if not key_id or not colon:
            raise ConfigurationError(f"{VARIABLE}: not an access key; write ID:SECRET, several separated by commas")
        found[key_id] = _Key(secret)
    if not found:
        raise ConfigurationError(f"{VARIABLE}: no access key; write ID:SECRET, several separated by commas")
    return found


def _checked(where: str, keys: dict[str, _Key]) -> dict[str, Credential]:
    for key_id, key in keys.items():
        if len(key.secret) < MIN_SECRET:
            raise ConfigurationError(f"{where}: keys.{key_id}: a secret must have at least {MIN_SECRET} characters")
    return {key_id: Credential(key_id, key.secret, key.read_only, key.session_token) for key_id, key in keys.items()}
