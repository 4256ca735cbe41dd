"""Tokens of an issuer, and the key set that verifies them."""

import time
from collections.abc import Callable
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from partita.rest.auth.identity import GROUPS

ISSUER, AUDIENCE = "https://issuer.example", "our-client"
KEYS: dict[str, Any] = {
    "RS256": rsa.generate_private_key(65537, 2048),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": Ed25519PrivateKey.generate(),
}
_JWK: dict[str, Callable[..., Any]] = {
    "RS256": jwt.algorithms.RSAAlgorithm.to_jwk,
    "ES256": jwt.algorithms.ECAlgorithm.to_jwk,
    "EdDSA": jwt.algorithms.OKPAlgorithm.to_jwk,
}


def jwk(algorithm: str, **more: Any) -> dict[str, Any]:
    return {**_JWK[algorithm](KEYS[algorithm].public_key(), as_dict=True), "kid": algorithm, **more}


KEY_SET = {"keys": [jwk(each) for each in KEYS]}


def signed(algorithm: str = "RS256", *, kid: str | None = None, key: Any = None, **changed: Any) -> str:
    claims = {"sub": "ana", GROUPS: ["admin"], "iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 60, **changed}
    claims = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(claims, key or KEYS[algorithm], algorithm=algorithm, headers={"kid": kid or algorithm})


def bearer(token: str) -> bytes:
    """The Authorization header of a token."""
    return f"Bearer {token}".encode()
