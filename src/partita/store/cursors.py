"""Cursors: the position in a query, signed and encrypted, as text for a client.

    base64url( signature (16 bytes), encrypted [<state of each range>] )

The signature is an HMAC-SHA256 over the states and over a digest of the query: its pattern, its arguments and its
direction. So a cursor is valid only as a store made it, and only for its own query; any other text is `InvalidCursor`,
with one message, and nothing in it is interpreted. The states are table keys, also of items that a filter has left out,
so they are encrypted: with a key stream from SHAKE-256 of the key and the signature. Like a synthetic initialisation
vector (RFC 5297), the signature differs for different states, and one position always has the same cursor.

A list that an application puts together from several queries has cursors of the same kind, bound to the list's name.

The keys are a setting of the store (`cursor_keys`: the first one signs, all are accepted), or else the key of its
backend: an engine creates one with the database and stores it there.
"""

import binascii
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import msgspec

from partita.dynamodb.values import Item
from partita.errors import ConfigurationError, InvalidCursor
from partita.plan.adjacent_values import EmptyRange
from partita.plan.read_requests import Plan, fan_out_values, query, time_ends

START: Any = 0  # this range has not been read yet
DONE: Any = 1  # this range is at its end
State = Item | int

MIN_KEY = 16
_SIGNATURE = 16  # bytes
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_STANDARD = bytes.maketrans(b"-_", b"+/")

_POSITION = "position"

_encode = msgspec.json.encode
_decode_states = msgspec.json.Decoder(list[Item | int]).decode


def checked_keys(keys: Any) -> tuple[bytes, ...]:
    """The setting `cursor_keys`; rejects keys that are too short to sign with."""
    if not isinstance(keys, list | tuple) or not keys or not all(isinstance(key, bytes) for key in keys):
        raise ConfigurationError("cursor_keys must be a list of keys of bytes; the first one signs, all are accepted")
    if any(len(key) < MIN_KEY for key in keys):
        raise ConfigurationError(f"cursor_keys: a key must have at least {MIN_KEY} bytes; use secrets.token_bytes(32)")
    return tuple(keys)


def binding(plan: Plan, arguments: tuple[Any, ...]) -> bytes:
    """A digest of the query without its page size."""
    try:
        return _cached_digest(plan, arguments)
    except TypeError:  # an argument is not hashable
        return _digest(plan, arguments)


@lru_cache(4096)
def _cached_digest(plan: Plan, arguments: tuple[Any, ...]) -> bytes:
    return _digest(plan, arguments)


def _digest(plan: Plan, arguments: tuple[Any, ...]) -> bytes:
    import hashlib

    digest = hashlib.blake2b(_encode(plan.read.name), digest_size=16)
    for value in fan_out_values(plan, arguments):
        with suppress(EmptyRange):
            digest.update(_encode(query(plan, arguments, fan_out_value=value)))
    digest.update(_encode(time_ends(plan, arguments)))
    return digest.digest()


def cursor_text(name: str, bound: bytes, states: list[State], keys: Sequence[bytes]) -> str:
    """The cursor of a query (by its binding) at the states of its ranges."""
    return _cached_text(bound, _encode(states), _known(name, keys)[0])


@lru_cache(4096)
def _cached_text(bound: bytes, states: bytes, key: bytes) -> str:
    """Pages are read again and again; a cursor that a client sends is not cached."""
    return _text(bound, states, key).decode()


def states_of(name: str, text: Any, bound: bytes, keys: Sequence[bytes]) -> list[State]:
    """The states in a cursor, one for each range of the query; InvalidCursor if it is not a cursor of the query."""
    from hmac import compare_digest

    given = text.encode() if isinstance(text, str) and text.isascii() else b""
    for key in _known(name, keys):
        states = _states_in(given, key)
        if compare_digest(_text(bound, states, key), given):
            return _decode_states(states)
    raise InvalidCursor(name, "it is not a cursor of this query with these arguments; start again without a cursor")


def position_cursor(name: str, position: str, keys: Sequence[bytes]) -> str:
    """The cursor of a list that is not one query, at a position that only its reader understands."""
    return cursor_text(name, _list_binding(name), [{_POSITION: {"S": position}}], keys)


def position_of(name: str, text: Any, keys: Sequence[bytes]) -> str:
    """The position in a cursor of such a list; InvalidCursor if it is not a cursor of this list."""
    (state,) = states_of(name, text, _list_binding(name), keys)
    assert isinstance(state, dict)
    return str(state[_POSITION]["S"])


def _list_binding(name: str) -> bytes:
    """A digest of the list's name, as `binding` is one of a query."""
    import hashlib

    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16, person=b"partita list").digest()


def _known(name: str, keys: Sequence[bytes]) -> Sequence[bytes]:
    if not keys:
        raise ConfigurationError(
            f"{name}: a cursor has to be signed, and this backend has no key for it; pass "
            "cursor_keys=[...] to connect, the same for all processes that serve the same data"
        )
    return keys


def _text(bound: bytes, states: bytes, key: bytes) -> bytes:
    import hmac

    signature = hmac.digest(key, bound + states, "sha256")[:_SIGNATURE]
    return _base64(signature + _encrypted(states, key, signature))


def _states_in(text: bytes, key: bytes) -> bytes:
    """The decrypted states of a cursor, which may be forged; nothing where it is not base64."""
    try:
        found = binascii.a2b_base64(text.translate(_STANDARD) + b"=" * (-len(text) % 4))
    except binascii.Error:
        return b""
    return _encrypted(found[_SIGNATURE:], key, found[:_SIGNATURE])


def _encrypted(data: bytes, key: bytes, signature: bytes) -> bytes:
    """The data, exclusive or a key stream; a second time, the data again."""
    from hashlib import shake_256

    stream = shake_256(b"partita cursor" + signature + key).digest(len(data))
    return (int.from_bytes(data) ^ int.from_bytes(stream)).to_bytes(len(data))


def _base64(data: bytes) -> bytes:
    return binascii.b2a_base64(data, newline=False).rstrip(b"=").translate(_URL_SAFE)
