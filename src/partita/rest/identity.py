"""Who is calling: a bearer JWT verified against a key set.

The claims are Cognito's: `sub` is the caller's id, `cognito:groups` the groups that decide what they may do. Its
access tokens name their client in `client_id` and not in `aud`; either is taken for the audience.
"""

import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jwt

from partita.errors import ConfigurationError
from partita.rest.problems import Problem

ALGORITHMS = ("RS256", "ES256", "EdDSA")
GROUPS = "cognito:groups"
REMEMBERED = 1024
LEEWAY_SECONDS = 30
READ_AGAIN_SECONDS = 60  # how often a key that is not in the set may have it read again


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
_log = logging.getLogger("partita.rest")
Keys = dict[str, jwt.PyJWK]


def keys_of(key_set: Any, where: str = "key set") -> Keys:
    """The keys of a JSON Web Key Set that may sign tokens, by their ids; `where` it is from, for who has to mend it."""
    try:
        found = jwt.PyJWKSet.from_dict(key_set).keys
    except (jwt.PyJWTError, AttributeError, TypeError) as error:
        raise ConfigurationError(f"{where}: not a JSON Web Key Set ({error})") from None
    keys = {key.key_id: key for key in found if key.key_id and key.algorithm_name in ALGORITHMS}
    if not keys:
        raise ConfigurationError(f"{where}: no key with a `kid`, for one of {', '.join(ALGORITHMS)}")
    return keys


class Verifier:
    """Turns the `Authorization` header into a caller; a token that was verified is remembered until it expires."""

    def __init__(
        self,
        keys: Callable[[], Keys],
        issuer: str | None = None,
        audience: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._read_keys = keys
        self._keys = keys()
        self._issuer = issuer
        self._audience = audience
        self._clock = clock
        self._read_at = clock()
        self._known: OrderedDict[bytes, tuple[float, Caller]] = OrderedDict()

    @classmethod
    def from_file(cls, path: Path, issuer: str | None = None, audience: str | None = None) -> "Verifier":
        """A key set in a file; it is read again when a token names a key that it did not have."""

        def keys() -> Keys:
            try:
                return keys_of(json.loads(path.read_text(encoding="utf-8")), str(path))
            except (OSError, ValueError) as error:
                raise ConfigurationError(f"{path}: no key set can be read from it ({error})") from None

        return cls(keys, issuer, audience)

    def caller(self, header: bytes | None) -> Caller:
        if header is None:
            return NOBODY
        known = self._known.get(header)
        if known is not None and known[0] > self._clock():
            return known[1]
        caller, expires = self._verified(header)
        self._known[header] = (expires, caller)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return caller

    def _verified(self, header: bytes) -> tuple[Caller, float]:
        scheme, _, token = header.decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise _refused("the Authorization header must hold a bearer token")
        try:
            key = self._key(jwt.get_unverified_header(token).get("kid"))
            claims = jwt.decode(
                token,
                key.key,
                algorithms=[str(key.algorithm_name)],
                issuer=self._issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["sub", "exp"], "verify_aud": False},
            )
        except jwt.PyJWTError as error:
            raise _refused(f"the token is not valid: {error}") from None
        if self._audience is not None and self._audience not in _audiences(claims):
            raise _refused("the token is for somebody else")
        groups = claims.get(GROUPS, [])
        if not isinstance(groups, list) or not isinstance(claims["sub"], str) or not claims["sub"]:
            raise _refused("the token's claims are not of the expected form")
        return Caller(claims["sub"], frozenset(map(str, groups)), claims), float(claims["exp"])

    def _key(self, key_id: Any) -> jwt.PyJWK:
        now = self._clock()
        if key_id not in self._keys and now - self._read_at > READ_AGAIN_SECONDS:
            self._read_at = now
            try:
                self._keys = self._read_keys()
            except ConfigurationError as error:
                _log.error("the keys that were known are kept: %s", error)
        if key_id not in self._keys:
            raise _refused("the token is signed by a key that is not in the key set")
        return self._keys[key_id]


def _audiences(claims: dict[str, Any]) -> list[Any]:
    named = claims.get("aud", [])
    return [*(named if isinstance(named, list) else [named]), claims.get("client_id")]


def _refused(why: str) -> Problem:
    return Problem(401, "unauthorized", why)
