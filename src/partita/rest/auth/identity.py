"""Who is calling: a bearer JWT verified against a key set.

The claims are Cognito's: `sub` is the caller's id, `cognito:groups` the groups that decide what they may do. Its
access tokens name their client in `client_id` and not in `aud`; either is taken for the audience.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from unicodedata import normalize

import jwt

from partita.rest.auth.jwks import JsonWebKeySet, Keys
from partita.rest.problems import Problem

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


ANONYMOUS = Caller()


class Verifier:
    """Turns the `Authorization` header into a caller.

    A token that was verified is remembered until it expires or the key set is read again: it may have been signed by
    a key that is not in there any more.
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
        self._known: OrderedDict[bytes, tuple[float, Keys, Caller]] = OrderedDict()

    def caller(self, header: bytes | None) -> Caller:
        if header is None:
            return ANONYMOUS
        self._key_set.refresh()
        keys = self._key_set.keys
        known = self._known.get(header)
        if known is not None and known[0] > self._clock() and known[1] is keys:
            return known[2]
        caller, expires = self._verified(header)
        self._known[header] = (expires, keys, caller)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return caller

    def _verified(self, header: bytes) -> tuple[Caller, float]:
        scheme, _, token = header.decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise _refused("the Authorization header must hold a bearer token")
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
            if key_id is None:
                raise _refused("the token does not name the key that signed it")
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
            raise _refused(f"the token is not valid: {error}") from None
        except (OverflowError, ValueError, TypeError, RecursionError):  # a time beyond all numbers, a list as a time
            raise _refused("the token's claims are not of the expected form") from None
        if self._audience is not None and self._audience not in _audiences(claims):
            raise _refused("the token is for somebody else")
        groups = claims.get(GROUPS, [])
        if not isinstance(groups, list) or not _is_id(claims["sub"]):
            raise _refused("the token's claims are not of the expected form")
        return Caller(nfc(claims["sub"]), frozenset(map(str, groups)), claims), expires


def nfc(name: str) -> str:
    """An id in the form that it has in a key, so that one who is written otherwise is not somebody else."""
    return normalize("NFC", name)


def _is_id(subject: Any) -> bool:
    """Whether it is text that can be stored: half of a surrogate pair cannot."""
    return isinstance(subject, str) and bool(subject) and not any("\ud800" <= each <= "\udfff" for each in subject)


def _audiences(claims: dict[str, Any]) -> list[Any]:
    named = claims.get("aud", [])
    return [*(named if isinstance(named, list) else [named]), claims.get("client_id")]


def _refused(why: str) -> Problem:
    return Problem(401, "unauthorized", why)
