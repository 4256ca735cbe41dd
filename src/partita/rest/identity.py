"""Who is calling: a bearer JWT verified against a key set, and a local issuer for development.

The claims are Cognito's: `sub` is the caller's id, `cognito:groups` the groups that decide what they may do.
"""

import json
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from partita.errors import ConfigurationError
from partita.rest.problems import Problem

ALGORITHMS = ["RS256", "ES256", "EdDSA"]
GROUPS = "cognito:groups"
REMEMBERED = 1024
LEEWAY_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody, or nobody in particular (`id` is None)."""

    id: str | None = None
    groups: frozenset[str] = frozenset()
    claims: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        """The id of a caller who has signed in."""
        if self.id is None:
            raise Problem(401, "unauthorized", "this needs a bearer token")
        return self.id


NOBODY = Caller()


class Verifier:
    """Turns the `Authorization` header into a caller; a token that was verified is remembered until it expires."""

    def __init__(self, key_set: dict[str, Any], issuer: str | None = None, audience: str | None = None) -> None:
        try:
            self._keys = {key.key_id: key for key in jwt.PyJWKSet.from_dict(key_set).keys}
        except jwt.PyJWTError as error:
            raise ConfigurationError(f"key set: {error}") from None
        self._issuer = issuer
        self._audience = audience
        self._known: OrderedDict[bytes, tuple[float, Caller]] = OrderedDict()

    @classmethod
    def from_file(cls, path: Path, issuer: str | None = None, audience: str | None = None) -> "Verifier":
        try:
            return cls(json.loads(path.read_text()), issuer, audience)
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"{path}: no key set can be read from it ({error})") from None

    def caller(self, header: bytes | None) -> Caller:
        if header is None:
            return NOBODY
        known = self._known.get(header)
        if known is not None and known[0] > time.time():
            return known[1]
        caller, expires = self._verified(header)
        self._known[header] = (expires, caller)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return caller

    def _verified(self, header: bytes) -> tuple[Caller, float]:
        scheme, _, token = header.decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Problem(401, "unauthorized", "the Authorization header must hold a bearer token")
        try:
            key = self._keys.get(jwt.get_unverified_header(token).get("kid"))
            if key is None:
                raise Problem(401, "unauthorized", "the token is signed by a key that is not in the key set")
            claims = jwt.decode(
                token,
                key.key,
                algorithms=ALGORITHMS,
                issuer=self._issuer,
                audience=self._audience,
                leeway=LEEWAY_SECONDS,
                options={"require": ["sub", "exp"], "verify_aud": self._audience is not None},
            )
        except jwt.PyJWTError as error:
            raise Problem(401, "unauthorized", f"the token is not valid: {error}") from None
        groups = claims.get(GROUPS, [])
        if not isinstance(groups, list) or not isinstance(claims["sub"], str):
            raise Problem(401, "unauthorized", "the token's claims are not of the expected form")
        return Caller(claims["sub"], frozenset(map(str, groups)), claims), float(claims["exp"])


class LocalIssuer:
    """Issues tokens for development; its key lives in a file beside the data, or only as long as the process."""

    NAME = "partita-local"

    def __init__(self, key_file: Path | None = None) -> None:
        self._key = _loaded(key_file)

    @property
    def key_set(self) -> dict[str, Any]:
        public = jwt.algorithms.OKPAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        return {"keys": [{**public, "kid": self.NAME, "alg": "EdDSA", "use": "sig"}]}

    def verifier(self) -> Verifier:
        return Verifier(self.key_set, issuer=self.NAME)

    def token(self, subject: str, groups: tuple[str, ...] = (), seconds: int = 30 * 24 * 3600, **claims: Any) -> str:
        now = int(time.time())
        body = {"sub": subject, GROUPS: list(groups), "iss": self.NAME, "iat": now, "exp": now + seconds, **claims}
        return jwt.encode(body, self._key, algorithm="EdDSA", headers={"kid": self.NAME})


def _loaded(key_file: Path | None) -> Ed25519PrivateKey:
    if key_file is not None and key_file.exists():
        key = serialization.load_pem_private_key(key_file.read_bytes(), None)
        if not isinstance(key, Ed25519PrivateKey):
            raise ConfigurationError(f"{key_file}: not a key of the local issuer's")
        return key
    made = Ed25519PrivateKey.generate()
    if key_file is not None:
        key_file.touch(mode=0o600)
        key_file.write_bytes(
            made.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
    return made
