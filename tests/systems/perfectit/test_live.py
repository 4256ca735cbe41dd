"""A notification reaches its recipient's open stream of events."""

import asyncio
from typing import Any

from partita import Store, settle
from partita.http.asgi import Message
from partita.rest import LocalIssuer, RestApplication
from partita_systems.perfectit.api import api
from partita_systems.perfectit.consumers import notifications
from partita_systems.perfectit.service import PerfectIt
from tests.systems.perfectit.conftest import OIL
from tests.timing import PATIENCE


async def until(sent: "asyncio.Queue[Message]", wanted: str) -> str:
    """What is sent until this, inclusive."""
    text = ""
    while wanted not in text:
        text += (await sent.get()).get("body", b"").decode()
    return text


def test_a_comment_reaches_the_open_stream_of_the_author(perfectit: PerfectIt, db: Store) -> None:
    ana, bob = (perfectit.register(name, name).user_id for name in ("ana", "bob"))
    card = perfectit.cards.draft(ana, OIL).card_id
    perfectit.cards.publish(card)
    issuer = LocalIssuer()
    app = RestApplication([api], db, verifier=issuer.verifier())
    path = f"/api/perfectit/users/{ana}/notifications/events"
    headers = {"accept": "text/event-stream", "authorization": f"Bearer {issuer.token(ana, ())}", "host": "test"}
    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }

    def comment() -> None:
        perfectit.comment(bob, card, "Fine.")
        settle(db, notifications)

    async def listened() -> str:
        sent: asyncio.Queue[Message] = asyncio.Queue()
        gone = asyncio.Event()

        async def receive() -> Message:
            await gone.wait()
            return {"type": "http.disconnect"}

        async with app.running(), asyncio.TaskGroup() as tasks:
            tasks.create_task(app(scope, receive, sent.put))
            await until(sent, "retry:")
            await asyncio.to_thread(comment)
            text = await until(sent, "event: created")
            gone.set()
            return text

    text = asyncio.run(asyncio.wait_for(listened(), PATIENCE))
    assert '"notificationType":"COMMENTED"' in text
    assert bob in text
