"""Cursors: the position in a query, as text for a client.

A cursor belongs to its query: it is rejected for other arguments, another pattern or another direction. With a secret
it is signed, so that a client cannot make its own and start at the keys of another partition.
"""

import base64
import binascii
from functools import lru_cache
from typing import Any

import msgspec

from partita.dynamodb.values import Item
from partita.errors import InvalidCursor
from partita.plan.read_requests import Plan, fan_out_values, query

START: Any = 0  # this range has not been read yet
DONE: Any = 1  # this range is at its end
State = Item | int


def binding(plan: Plan, arguments: tuple[Any, ...]) -> str:
    """A digest of the query without its page size."""
    try:
        return _cached_digest(plan, arguments)
    except TypeError:  # an argument is not hashable
        return _digest(plan, arguments)


@lru_cache(4096)
def _cached_digest(plan: Plan, arguments: tuple[Any, ...]) -> str:
    return _digest(plan, arguments)


def _digest(plan: Plan, arguments: tuple[Any, ...]) -> str:
    import hashlib

    digest = hashlib.blake2b(plan.read.name.encode(), digest_size=12)
    for value in fan_out_values(plan, arguments):
        digest.update(msgspec.json.encode(query(plan, arguments, fan_out_value=value)))
    return digest.hexdigest()


def cursor_text(bound: str, states: list[State], secret: bytes | None) -> str:
    """The cursor of a query (by its binding) at the states of its ranges."""
    body = base64.urlsafe_b64encode(msgspec.json.encode([bound, states])).rstrip(b"=")
    return (body if secret is None else body + b"." + _signature(body, secret)).decode()


def states_of(name: str, text: Any, bound: str, count: int, secret: bytes | None) -> list[State]:
    """The states in a cursor, one for each of `count` ranges; InvalidCursor if it does not belong to the query."""
    if not isinstance(text, str) or not text.isascii():
        raise InvalidCursor(name, "it cannot be read")
    body, _, signature = text.encode().partition(b".")
    if secret is not None:
        from hmac import compare_digest

        if not compare_digest(signature, _signature(body, secret)):
            raise InvalidCursor(name, "its signature is wrong")
    try:
        query_digest, states = msgspec.json.decode(
            base64.urlsafe_b64decode(body + b"=" * (-len(body) % 4)), type=tuple[str, list[Item | int]]
        )
    except (binascii.Error, msgspec.DecodeError, UnicodeDecodeError):
        raise InvalidCursor(name, "it cannot be read") from None
    if query_digest != bound:
        raise InvalidCursor(name, "it was made for other arguments")
    if len(states) != count:
        raise InvalidCursor(name, f"it is of {len(states)} ranges, and not of {count}")
    return states


def _signature(body: bytes, secret: bytes) -> bytes:
    import hmac

    return base64.urlsafe_b64encode(hmac.digest(secret, body, "sha256")).rstrip(b"=")
