"""A local token issuer for development; its key is in a file beside the data, or lasts as long as the process."""

import os
import time
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from partita.errors import ConfigurationError
from partita.rest.auth.identity import GROUPS, Verifier
from partita.rest.auth.jwks import JsonWebKeySet, keys_of

NAME = "partita-local"
MONTH = 30 * 24 * 3600


class LocalIssuer:
    """Issues tokens for any subject, so for development only: it is not used where a key set is configured."""

    def __init__(self, key_file: Path | None = None) -> None:
        self._key = _load_key(key_file)

    @property
    def key_set(self) -> dict[str, Any]:
        public = jwt.algorithms.OKPAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        return {"keys": [{**public, "kid": NAME, "alg": "EdDSA", "use": "sig"}]}

    def verifier(self) -> Verifier:
        keys = keys_of(self.key_set)
        return Verifier(JsonWebKeySet(lambda: keys), issuer=NAME)

    def token(self, subject: str, groups: tuple[str, ...] = (), seconds: int = MONTH, **claims: Any) -> str:
        now = int(time.time())
        body = {"sub": subject, GROUPS: list(groups), "iss": NAME, "iat": now, "exp": now + seconds, **claims}
        return jwt.encode(body, self._key, algorithm="EdDSA", headers={"kid": NAME})


def _load_key(key_file: Path | None) -> Ed25519PrivateKey:
    if key_file is None:
        return Ed25519PrivateKey.generate()
    try:
        return _load_or_create(key_file)
    except OSError as error:
        raise ConfigurationError(f"{key_file}: {error.strerror}") from None
    except ValueError:
        wrong = "not an Ed25519 private key in PEM; delete the file to have a new one created"
        raise ConfigurationError(f"{key_file}: {wrong}") from None


def _load_or_create(key_file: Path) -> Ed25519PrivateKey:
    """The key in the file; of several processes that create it at the same time, all get the same one."""
    if not key_file.exists():
        _create(key_file)
    key = serialization.load_pem_private_key(key_file.read_bytes(), None)
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError
    return key


def _create(key_file: Path) -> None:
    pem = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with NamedTemporaryFile(dir=key_file.parent, prefix=key_file.name) as temporary:  # readable by its owner alone
        temporary.write(pem)
        temporary.flush()
        with suppress(FileExistsError):
            os.link(temporary.name, key_file)  # complete or not at all, and never over another's
