"""Access keys and their secrets, from the file that `partita engine --credentials` names.

    [keys.AKIAOPERATIONS]
    secret = "a long random text"

    [keys.AKIAREPORTS]
    secret = "another one"
    read_only = true                      # AccessDeniedException for every write
    session_token = "as STS would give"   # accept only requests with this session token

The access key's id is the name of its TOML table. Any program that signs for AWS can use it.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from partita.errors import ConfigurationError

MIN_SECRET = 16


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


def load_credentials(path: Path) -> dict[str, Credential]:
    """Reads the access keys of a file, by id; raises `ConfigurationError` for an invalid file."""
    try:
        found = msgspec.convert(tomllib.loads(path.read_text()), _File).keys
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise ConfigurationError(f"{path}: {error}; write [keys.ID] with a secret for each access key") from None
    if not found:
        raise ConfigurationError(f"{path}: no access key; write [keys.ID] with a secret for each")
    for key_id, key in found.items():
        if len(key.secret) < MIN_SECRET:
            raise ConfigurationError(f"{path}: keys.{key_id}: a secret must have at least {MIN_SECRET} characters")
    return {key_id: Credential(key_id, key.secret, key.read_only, key.session_token) for key_id, key in found.items()}
