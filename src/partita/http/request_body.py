"""Reads a request's body: whole, bounded in size and time, and unzips it."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

from partita.dynamodb.exceptions import SerializationException

BODY_SECONDS = 30.0


class BodyTooLarge(Exception):
    """The body is larger than it may be."""


async def read_body(
    receive: Callable[[], Awaitable[dict[str, Any]]], headers: dict[bytes, bytes], largest: int
) -> bytes:
    """The body of an ASGI request; raises BodyTooLarge, TimeoutError, or SerializationException for broken gzip."""
    return plain_body(await read_raw_body(receive, largest), headers, largest)


async def read_raw_body(receive: Callable[[], Awaitable[dict[str, Any]]], largest: int) -> bytes:
    """The body as it was sent, which is what a signature covers."""
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


def plain_body(body: bytes, headers: dict[bytes, bytes], largest: int) -> bytes:
    """The body unzipped, where it says that it is zipped."""
    return _unzipped(body, largest) if headers.get(b"content-encoding") == b"gzip" else body


def _unzipped(body: bytes, largest: int) -> bytes:
    unzip = zlib.decompressobj(wbits=31)
    try:
        plain = unzip.decompress(body, largest + 1)
    except zlib.error:
        raise SerializationException("The request body is not gzip") from None
    if len(plain) > largest:
        raise BodyTooLarge
    if not unzip.eof:
        raise SerializationException("The request body is not gzip")
    return plain
