"""Responses in pieces: a download of any size, and events while they happen."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import msgspec

from partita.http.asgi import EVENT_STREAM, UNLIMITED, Receive, Scope, Send

log = logging.getLogger("partita.studio")

HEARTBEAT = b":\n\n"
HELLO = b"retry: 3000\n\n"


class Download(msgspec.Struct, frozen=True):
    """A file that is read while it is sent."""

    name: str
    media_type: bytes
    pieces: Iterable[bytes]


class DownloadBroken(Exception):
    """A download cannot go on; the connection is closed, so that what was sent does not look complete."""


class LiveEvents(msgspec.Struct, frozen=True):
    """Server-sent events: `read` is called in a thread every `seconds`, and returns the new ones."""

    read: Callable[[], Sequence[bytes]]
    seconds: float = 1.0
    media_type: bytes = EVENT_STREAM


def event(kind: str, data: object) -> bytes:
    """An event as it is sent; JSON has no line breaks."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), msgspec.json.encode(data))


async def send_events(
    events: LiveEvents, scope: Scope, receive: Receive, send: Send, headers: list[tuple[bytes, bytes]]
) -> None:
    """Sends events until the client goes."""
    gone = asyncio.ensure_future(_until_disconnected(receive))
    own = [
        (b"content-type", EVENT_STREAM),
        (b"cache-control", b"no-store"),
        (b"x-accel-buffering", b"no"),
        (b"connection", b"close"),
    ]
    scope.get("extensions", {}).get(UNLIMITED, lambda: None)()
    await send({"type": "http.response.start", "status": 200, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": HELLO, "more_body": True})
    try:
        while not gone.done():
            found = await asyncio.to_thread(events.read)
            await send({"type": "http.response.body", "body": b"".join(found) or HEARTBEAT, "more_body": True})
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(gone), events.seconds)
    finally:
        gone.cancel()


async def send_download(
    download: Download, scope: Scope, receive: Receive, send: Send, headers: list[tuple[bytes, bytes]]
) -> None:
    """Sends a file piece by piece, so that its size does not matter; reads no further once the client has gone."""
    own = [
        (b"content-type", download.media_type),
        (b"content-disposition", f'attachment; filename="{download.name}"'.encode("ascii", "replace")),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": [*own, *headers]})
    pieces = iter(download.pieces)
    gone = asyncio.ensure_future(_until_disconnected(receive))
    try:
        while not gone.done():
            piece = await asyncio.to_thread(next, pieces, None)
            if piece is None:
                await send({"type": "http.response.body", "body": b""})
                return
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    except DownloadBroken as error:
        log.warning("the download of %s was broken off: %s", download.name, error)
    finally:
        gone.cancel()


async def _until_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
