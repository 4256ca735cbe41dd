"""Requests for event streams: who listens to what, from which event on."""

from collections.abc import Callable, Mapping
from typing import Any

from partita.consumers.change_feed import ChangeFeed
from partita.design.tables import Table
from partita.errors import PartitaError
from partita.http.asgi import Receive, Scope, Send
from partita.rest.auth.identity import Caller
from partita.rest.events.event_routes import Subscription, token_end
from partita.rest.events.event_stream import EventStream, OpenStreams
from partita.rest.mounted_api import MountedApi
from partita.rest.routes import RouteCall

LAST_EVENT_ID = b"last-event-id"


class EventStreams:
    """The event streams of an application: one feed for each table, and a limit on open streams."""

    def __init__(self) -> None:
        self._feeds: dict[tuple[int, Table], ChangeFeed] = {}
        self._open = OpenStreams()

    def open(
        self, mounted: MountedApi, call: RouteCall, run: Callable[[RouteCall], Any], last_event_id: str | None
    ) -> EventStream:
        """The stream that a call asks for; raises where the caller may not listen."""
        subscription: Subscription = run(call)

        def is_allowed() -> bool:
            try:
                run(call)
            except PartitaError:
                return False
            return True

        topic = subscription.topic
        key = id(mounted), topic.model.table
        feed = self._feeds.setdefault(key, ChangeFeed(mounted.db, topic.model.table))
        return EventStream(feed, topic, last_event_id, is_allowed, token_end(call.caller))

    async def respond(self, stream: EventStream, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends events; raises before the first where too many streams are open."""
        with self._open.one_more(caller):
            await stream.respond(scope, receive, send)

    def close(self) -> None:
        for feed in self._feeds.values():
            feed.close()
        self._feeds.clear()


def last_event_id(headers: Mapping[bytes, bytes], arguments: Mapping[str, Any]) -> str | None:
    """The last event that the client has: a browser that reconnects sends the header."""
    header = headers.get(LAST_EVENT_ID)
    given: str | None = arguments.get("last_event_id")
    return given if header is None else header.decode("latin-1")
