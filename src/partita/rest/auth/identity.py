"""The caller of a request: a bearer JWT, verified against a key set.

The claims are Cognito's: `sub` is the caller's id, `cognito:groups` the caller's groups. Cognito's access tokens name
their client in `client_id` and not in `aud`; either counts as the audience.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from unicodedata import normalize

import jwt

from partita.rest.auth.jwks import JsonWebKeySet, Keys, key_set_at
from partita.rest.problems import Problem

GROUPS = "cognito:groups"
MAX_CACHED_TOKENS = 1024
LEEWAY_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated caller, or an anonymous one (`id` is None)."""

    id: str | None = None
    groups: frozenset[str] = frozenset()
    claims: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        """The caller's id; raises 401 for an anonymous caller."""
        if self.id is None:
            raise Problem(401, "unauthorized", "authentication required; send a bearer token")
        return self.id


ANONYMOUS = Caller()


def reject_tokens(header: bytes | None) -> Caller:
    """The caller where no verifier is configured: always an anonymous one."""
    if header is not None:
        raise _unauthorized("this server accepts no tokens: it has no key set to verify them with")
    return ANONYMOUS


class Verifier:
    """Turns the `Authorization` header into a caller.

    A verified token is cached until it expires or the key set is reloaded: its key may have been revoked.
    """

    def __init__(
        self,
        key_set: JsonWebKeySet,
        issuer: str | None = None,
        audience: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._key_set = key_set
        self._issuer = issuer
        self._audience = audience
        self._clock = clock
        self._verified_tokens: OrderedDict[bytes, tuple[float, Keys, Caller]] = OrderedDict()

    @classmethod
    def from_jwks(cls, source: str, *, issuer: str | None = None, audience: str | None = None) -> "Verifier":
        """Verifies tokens with the JSON Web Key Set in a file or at an https:// URL.

        `issuer` and `audience` are what a token has to name (`iss`, `aud`), where they are given.
        """
        return cls(key_set_at(source), issuer, audience)

    def caller(self, header: bytes | None) -> Caller:
        if header is None:
            return ANONYMOUS
        self._key_set.refresh()
        keys = self._key_set.keys
        cached = self._verified_tokens.get(header)
        if cached is not None and cached[0] > self._clock() and cached[1] is keys:
            return cached[2]
        caller, expires = self._verify(header)
        self._verified_tokens[header] = (expires, keys, caller)
        if len(self._verified_tokens) > MAX_CACHED_TOKENS:
            self._verified_tokens.popitem(last=False)
        return caller

    def _verify(self, header: bytes) -> tuple[Caller, float]:
        scheme, _, token = header.decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise _unauthorized("the Authorization header must contain a bearer token")
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
            if key_id is None:
                raise _unauthorized("the token does not name the key that signed it (kid)")
            key = self._key_set.key(key_id)
            claims = jwt.decode(
                token,
                key.key,
                algorithms=[str(key.algorithm_name)],
                issuer=self._issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["sub", "exp"], "verify_aud": False},
            )
            expires = float(claims["exp"])
        except jwt.PyJWTError as error:
            raise _unauthorized(f"the token is not valid: {error}") from None
        except (OverflowError, ValueError, TypeError, RecursionError):  # a time out of range, or a list as a time
            raise _unauthorized("the token's claims are not of the expected form") from None
        if self._audience is not None and self._audience not in _audiences(claims):
            raise _unauthorized("the token is for another audience")
        groups = claims.get(GROUPS, [])
        if not isinstance(groups, list) or not _is_id(claims["sub"]):
            raise _unauthorized("the token's claims are not of the expected form")
        return Caller(nfc(claims["sub"]), frozenset(map(str, groups)), claims), expires


def nfc(name: str) -> str:
    """An id in Unicode's composed form, as in keys: two spellings of one id are one caller."""
    return normalize("NFC", name)


def _is_id(subject: Any) -> bool:
    """Whether it is text that can be stored: a lone surrogate cannot."""
    return isinstance(subject, str) and bool(subject) and not any("\ud800" <= each <= "\udfff" for each in subject)


def _audiences(claims: dict[str, Any]) -> list[Any]:
    named = claims.get("aud", [])
    return [*(named if isinstance(named, list) else [named]), claims.get("client_id")]


def _unauthorized(why: str) -> Problem:
    return Problem(401, "unauthorized", why)
