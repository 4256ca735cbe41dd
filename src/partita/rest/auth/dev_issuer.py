"""A local issuer of tokens, for development: its key lives in a file beside the data, or as long as the process."""

import time
from hashlib import blake2b
from pathlib import Path
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
    """Whoever can read the key file can be anybody: never used where a key set is configured."""

    def __init__(self, key_file: Path | None = None) -> None:
        self._key = _loaded(key_file)

    @property
    def key_set(self) -> dict[str, Any]:
        public = jwt.algorithms.OKPAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        return {"keys": [{**public, "kid": NAME, "alg": "EdDSA", "use": "sig"}]}

    @property
    def secret(self) -> bytes:
        """Something that only this issuer knows, for signing cursors: they outlive a restart as its tokens do."""
        return blake2b(self._key.private_bytes_raw(), person=b"partita.cursors").digest()

    def verifier(self) -> Verifier:
        keys = keys_of(self.key_set)
        return Verifier(JsonWebKeySet(lambda: keys), issuer=NAME)

    def token(self, subject: str, groups: tuple[str, ...] = (), seconds: int = MONTH, **claims: Any) -> str:
        now = int(time.time())
        body = {"sub": subject, GROUPS: list(groups), "iss": NAME, "iat": now, "exp": now + seconds, **claims}
        return jwt.encode(body, self._key, algorithm="EdDSA", headers={"kid": NAME})


def _loaded(key_file: Path | None) -> Ed25519PrivateKey:
    if key_file is None:
        return Ed25519PrivateKey.generate()
    try:
        return _in_file(key_file)
    except OSError as error:
        raise ConfigurationError(f"{key_file}: {error.strerror}") from None
    except ValueError:
        raise ConfigurationError(f"{key_file}: not a key of the local issuer's") from None


def _in_file(key_file: Path) -> Ed25519PrivateKey:
    if key_file.exists():
        key = serialization.load_pem_private_key(key_file.read_bytes(), None)
        if not isinstance(key, Ed25519PrivateKey):
            raise ValueError
        return key
    made = Ed25519PrivateKey.generate()
    key_file.touch(mode=0o600)
    key_file.write_bytes(
        made.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return made
