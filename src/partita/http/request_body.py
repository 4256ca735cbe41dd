"""Reads the body of a request, bounded in size and time, and decompresses it."""

import asyncio
import zlib
from collections.abc import Sequence

from partita.dynamodb.exceptions import SerializationException
from partita.errors import PartitaError
from partita.http.asgi import Receive

BODY_SECONDS = 30.0
MAX_ENCODINGS = 4  # of one body, one around the other
MAX_MEMBERS = 10  # of one gzip file, one behind the other (RFC 1952, 2.2)

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP, _ZLIB, _RAW = 31, 15, -15  # zlib's window bits for each format
ENCODINGS = {b"gzip": (_GZIP,), b"x-gzip": (_GZIP,), b"deflate": (_ZLIB, _RAW)}
"""The formats of each Content-Encoding; some clients send deflate without zlib's header (RFC 9110, 8.4.1.2)."""


class BodyTooLarge(PartitaError):
    """The body is larger than allowed."""


class UnknownEncoding(SerializationException):
    """The body has a Content-Encoding that is not supported."""


class ClientDisconnected(PartitaError):
    """The client has gone before its request was complete."""


def header_map(headers: Sequence[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """The last header of each name; those of Content-Encoding together, which are one list (RFC 9110, 5.3).

    >>> header_map([(b"content-encoding", b"deflate"), (b"content-encoding", b"gzip")])
    {b'content-encoding': b'deflate, gzip'}
    """
    found = dict(headers)
    if b"content-encoding" in found:
        found[b"content-encoding"] = b", ".join(value for name, value in headers if name == b"content-encoding")
    return found


async def read_body(receive: Receive, headers: dict[bytes, bytes], maximum: int) -> bytes:
    """Reads and decompresses the body of an ASGI request.

    Raises BodyTooLarge, TimeoutError, ClientDisconnected, or SerializationException for a body that cannot be
    decompressed.
    """
    encodings = content_encodings(headers)
    return decompressed(await read_raw_body(receive, maximum), encodings, maximum)


async def read_raw_body(receive: Receive, maximum: int) -> bytes:
    """Reads the body as it was sent, which is what a signature covers."""
    first, rest, more = b"", bytearray(), True
    async with asyncio.timeout(BODY_SECONDS):
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnected
            part, more = message.get("body", b""), message.get("more_body", False)
            if not first:
                first = part
            else:
                rest += part
            if len(first) + len(rest) > maximum:
                raise BodyTooLarge
    return first + rest if rest else first


def content_encodings(headers: dict[bytes, bytes]) -> list[bytes]:
    """The encodings of a body, in the order in which they were applied; raises UnknownEncoding.

    >>> content_encodings({b"content-encoding": b"deflate, GZIP, identity"})
    [b'deflate', b'gzip']
    """
    value = headers.get(b"content-encoding")
    if not value:
        return []
    names = [name for each in value.lower().split(b",") if (name := each.strip()) not in (b"", b"identity")]
    if len(names) > MAX_ENCODINGS or any(name not in ENCODINGS for name in names):
        raise UnknownEncoding("The Content-Encoding is not supported; use gzip or deflate")
    return names


def decompressed(body: bytes, encodings: list[bytes], maximum: int) -> bytes:
    """The body without its encodings."""
    for name in reversed(encodings):
        body = _decompressed(body, name, maximum)
    return body


def _decompressed(body: bytes, name: bytes, maximum: int) -> bytes:
    for window_bits in ENCODINGS[name]:
        plain, rest = _decompressed_member(body, window_bits, maximum)
        if plain is not None:
            return plain + _further_members(rest, maximum - len(plain)) if window_bits == _GZIP and rest else plain
    raise SerializationException(f"The request body is not {name.decode()}")


def _decompressed_member(body: bytes, window_bits: int, maximum: int) -> tuple[bytes | None, bytes]:
    """What the body decompresses to, or None where it has another format, and the bytes behind it."""
    decompressor = zlib.decompressobj(wbits=window_bits)
    try:
        plain = decompressor.decompress(body, maximum + 1)
    except zlib.error:
        return None, b""
    if len(plain) > maximum:
        raise BodyTooLarge
    return (plain, decompressor.unused_data) if decompressor.eof else (None, b"")


def _further_members(rest: bytes, maximum: int) -> bytes:
    """The members of a gzip file behind the first one; other bytes behind a member are ignored, as Java does."""
    found = bytearray()
    for _ in range(MAX_MEMBERS - 1):
        if not rest.startswith(_GZIP_MAGIC):
            return bytes(found)
        plain, rest = _decompressed_member(rest, _GZIP, maximum - len(found))
        if plain is None:
            raise SerializationException("The request body is not gzip")
        found += plain
    if rest.startswith(_GZIP_MAGIC):
        raise SerializationException(f"The request body has more than {MAX_MEMBERS} gzip members")
    return bytes(found)
