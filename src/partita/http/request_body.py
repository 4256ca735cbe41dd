"""Reads the body of a request, bounded in size and time, and decompresses it."""

import asyncio
import zlib

from partita.dynamodb.exceptions import SerializationException
from partita.errors import PartitaError
from partita.http.asgi import Receive

BODY_SECONDS = 30.0


class BodyTooLarge(PartitaError):
    """The body is larger than allowed."""


async def read_body(receive: Receive, headers: dict[bytes, bytes], largest: int) -> bytes:
    """Reads the body of an ASGI request; raises BodyTooLarge, TimeoutError, or SerializationException for bad gzip."""
    return decompressed_body(await read_raw_body(receive, largest), headers, largest)


async def read_raw_body(receive: Receive, largest: int) -> bytes:
    """Reads the body as it was sent, which is what a signature covers."""
    parts: list[bytes] = []
    size, more = 0, True
    async with asyncio.timeout(BODY_SECONDS):
        while more:
            message = await receive()
            parts.append(message.get("body", b""))
            size, more = size + len(parts[-1]), message.get("more_body", False)
            if size > largest:
                raise BodyTooLarge
    return parts[0] if len(parts) == 1 else b"".join(parts)


def decompressed_body(body: bytes, headers: dict[bytes, bytes], largest: int) -> bytes:
    """Decompresses a body with `Content-Encoding: gzip`; returns any other as it is."""
    return _gunzip(body, largest) if headers.get(b"content-encoding") == b"gzip" else body


def _gunzip(body: bytes, largest: int) -> bytes:
    decompressor = zlib.decompressobj(wbits=31)
    try:
        plain = decompressor.decompress(body, largest + 1)
    except zlib.error:
        raise SerializationException("The request body is not gzip") from None
    if len(plain) > largest:
        raise BodyTooLarge
    if not decompressor.eof:
        raise SerializationException("The request body is not gzip")
    return plain
