"""The response of one client that listens: events, a comment every 15 seconds, an end."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from partita.consumers.change_feed import ChangeFeed, Event, Topic
from partita.http.asgi import EVENT_STREAM, UNLIMITED, Receive, Scope, Send
from partita.rest.auth.identity import Caller
from partita.rest.problems import Problem
from partita.rest.reply_json import encoded_reply

HEARTBEAT_SECONDS = 15.0
MAX_STREAMS = 1000
MAX_STREAMS_OF_CALLER = 5
MAX_WAITING = 1000  # events that a client has not read

_HEADERS = [
    (b"content-type", EVENT_STREAM),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # nginx would hold events back
    (b"connection", b"close"),
]
_HELLO = b"retry: 3000\n\n"
_HEARTBEAT = b":\n\n"
_RESET = b"event: reset\ndata: {}\n\n"


class OpenStreams:
    """How many streams are open, in all and for each caller."""

    def __init__(self, maximum: int = MAX_STREAMS, of_caller: int = MAX_STREAMS_OF_CALLER) -> None:
        self._maximum = maximum
        self._of_caller = of_caller
        self._open: Counter[str | None] = Counter()

    @contextmanager
    def one_more(self, caller: Caller) -> Iterator[None]:
        """Counts a stream while it is open; a problem where there are too many."""
        if self._open.total() >= self._maximum:
            raise Problem(503, "busy", f"this server has {self._maximum} open event streams; try again later")
        if caller.id is not None and self._open[caller.id] >= self._of_caller:
            detail = f"a caller may have {self._of_caller} open event streams; close one first"
            raise Problem(429, "too-many-streams", detail)
        self._open[caller.id] += 1
        try:
            yield
        finally:
            self._open[caller.id] -= 1
            if not self._open[caller.id]:
                del self._open[caller.id]


class EventStream:
    """What one client listens to: a topic of a feed, from an event on that it has already.

    `is_allowed` is asked again with every heartbeat; `expires` is the time at which the caller's token ends.
    """

    def __init__(
        self,
        feed: ChangeFeed,
        topic: Topic,
        last_event_id: str | None,
        is_allowed: Callable[[], bool],
        expires: float | None,
        heartbeat: float = HEARTBEAT_SECONDS,
    ) -> None:
        self._feed = feed
        self._topic = topic
        self._last_event_id = last_event_id
        self._is_allowed = is_allowed
        self._expires = expires
        self._heartbeat = heartbeat
        self.has_started = False

    async def respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends events until the client goes, may not listen any more, or reads too slowly."""
        inbox = _Inbox(asyncio.get_running_loop())
        gone = asyncio.ensure_future(_until_disconnected(receive))
        try:
            await asyncio.to_thread(self._feed.subscribe, self._topic, inbox)
            missed = await asyncio.to_thread(self._missed, inbox)
            scope.get("extensions", {}).get(UNLIMITED, lambda: None)()
            self.has_started = True
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            await _send(send, _HELLO + missed)
            while not gone.done() and not inbox.has_overflowed:
                await self._wait(inbox, gone)
                frames = b"".join(inbox.take())
                if not frames:
                    if not await self._may_go_on():
                        break
                    frames = _HEARTBEAT
                await _send(send, frames)
            if not gone.done():
                await send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()
            await asyncio.to_thread(self._feed.unsubscribe, self._topic, inbox)

    def _missed(self, inbox: "_Inbox") -> bytes:
        if self._last_event_id is None:
            return b""
        found = self._feed.events_after(self._last_event_id, self._topic)
        if found is None:
            return _RESET
        inbox.leave_out({each.id for each in found})
        return b"".join(map(frame, found))

    async def _wait(self, inbox: "_Inbox", gone: "asyncio.Future[None]") -> None:
        left = self._heartbeat
        if self._expires is not None:
            left = min(left, max(0.0, self._expires - time.time()))
        ready = asyncio.ensure_future(inbox.ready.wait())
        waiting: set[asyncio.Future[Any]] = {ready, gone}
        await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()

    async def _may_go_on(self) -> bool:
        if self._expires is not None and time.time() >= self._expires:
            return False
        return await asyncio.to_thread(self._is_allowed)


class _Inbox:
    """The events that wait for one client; the feed fills it from its thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._frames: list[tuple[str, bytes]] = []
        self._left_out: set[str] = set()
        self.ready = asyncio.Event()
        self.has_overflowed = False

    def offer(self, events: list[Event]) -> None:
        self._add_later([(each.id, frame(each)) for each in events])

    def reset(self) -> None:
        self._add_later([("", _RESET)])

    def leave_out(self, ids: set[str]) -> None:
        """Events that the client has got already."""
        self._left_out = ids

    def take(self) -> list[bytes]:
        self.ready.clear()
        frames, self._frames = self._frames, []
        return [data for each, data in frames if each not in self._left_out]

    def _add_later(self, frames: list[tuple[str, bytes]]) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._add, frames)

    def _add(self, frames: list[tuple[str, bytes]]) -> None:
        if len(self._frames) + len(frames) > MAX_WAITING:
            self.has_overflowed = True
        else:
            self._frames += frames
        self.ready.set()


def frame(event: Event) -> bytes:
    """An event as it is sent; JSON has no line breaks."""
    return f"id: {event.id}\nevent: {event.kind}\n".encode() + b"data: %b\n\n" % encoded_reply(event.entity)


async def _send(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})


async def _until_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
