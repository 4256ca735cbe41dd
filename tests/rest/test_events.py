"""Server-sent events: every change once, resumed where a client left off, for those who may see it."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from partita import DesignError, Entity, Item, Store, Table, connect, pattern, prove
from partita.consumers.change_feed import ChangeFeed, Topic
from partita.dynamodb.backend import Backend
from partita.http.asgi import Message
from partita.rest import Api, caller_is, owned_by
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from partita.rest.auth.identity import Caller
from partita.rest.events import event_stream
from partita.rest.events.event_stream import MAX_STREAMS_OF_CALLER, EventStream, OpenStreams
from partita.rest.problems import Problem
from tests.rest.conftest import CURSOR_KEYS, UnversionedBackend
from tests.timing import PATIENCE

table = Table("mail", pk="PK", sk="SK", naming="camel", stream="NEW_AND_OLD_IMAGES")


class Letter(Entity, table=table, key=("USER#{user_id}", "LETTER#{number:6}")):
    user_id: str
    number: int
    text: str = ""


class Box(Entity, table=table, key=("BOX#{box_id}", "BOX")):
    box_id: str
    owner_id: str
    is_full: bool = False


@pattern
def letter(user_id: str, number: int) -> Item[Letter]: ...
@pattern
def box(box_id: str) -> Item[Box]: ...


design = prove("mail", table)
api = Api("mail", "Mail", design)
api.expose_events("/users/{user_id}/letters/events", Letter, who=caller_is("user_id"))
api.expose_events("/boxes/{box_id}/events", Box, who=owned_by("owner_id"), on=box)
api.expose_get("/boxes/{box_id}", box)

LETTERS = "/users/ana/letters/events"
Frame = dict[str, str]


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, design)
        store.create_tables()
        yield store


@pytest.fixture(params=["engine", "other database"])
def backend(request: pytest.FixtureRequest, db: Store) -> Backend:
    return db.backend if request.param == "engine" else UnversionedBackend(db.backend)


class Listener:
    """One request for events, and the frames that arrive."""

    def __init__(self, mail: "Mail", path: str, headers: dict[str, str]) -> None:
        path, _, query = path.partition("?")
        self.scope: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "path": f"/api/mail{path}",
            "raw_path": f"/api/mail{path}".encode(),
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        }
        self._messages: asyncio.Queue[Message] = asyncio.Queue()
        self._gone = asyncio.Event()
        self._buffer = b""
        self.task = asyncio.create_task(mail.app(self.scope, self._receive, self._messages.put))
        self.body = b""

    async def _receive(self) -> Message:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def status(self) -> int:
        message = await self._next()
        self.headers = dict(message["headers"])
        if message["status"] != 200:
            self.body = (await self._next())["body"]
        else:
            assert await self.raw() == b"retry: 3000"
        return int(message["status"])

    async def raw(self) -> bytes:
        while b"\n\n" not in self._buffer:
            message = await self._next()
            assert message.get("more_body"), "the stream has ended"
            self._buffer += message["body"]
        found, _, self._buffer = self._buffer.partition(b"\n\n")
        return found

    async def frame(self) -> Frame:
        """The next event, without comments."""
        while (found := await self.raw()).startswith(b":"):
            pass
        return dict(line.split(": ", 1) for line in found.decode().splitlines())

    async def ended(self) -> None:
        while (await self._next()).get("more_body"):
            pass
        await asyncio.wait_for(self.task, PATIENCE)

    async def leave(self) -> None:
        self._gone.set()
        await asyncio.wait_for(self.task, PATIENCE)

    async def _next(self) -> Message:
        return await asyncio.wait_for(self._messages.get(), PATIENCE)


class Mail:
    """The API on a database, with listeners."""

    def __init__(self, backend: Backend) -> None:
        self.issuer = LocalIssuer()
        self.app = RestApplication([api], backend, verifier=self.issuer.verifier(), cursor_keys=CURSOR_KEYS)

    def listen(self, path: str = LETTERS, user: str | None = "ana", **headers: str) -> Listener:
        sent = {"accept": "text/event-stream", **headers}
        if user is not None:
            sent["authorization"] = f"Bearer {self.issuer.token(user, ())}"
        return Listener(self, path, sent)

    async def post(self, path: str, user: str) -> dict[str, Any]:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        headers = [(b"authorization", f"Bearer {self.issuer.token(user, ())}".encode())]
        path = f"/api/mail{path}"
        scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
        await self.app({**scope, "raw_path": path.encode()}, lambda: asyncio.sleep(0, {"type": "http.request"}), send)
        return {"status": sent[0]["status"], **json.loads(sent[1]["body"])}


def run(backend: Backend, story: Callable[[Mail], Awaitable[None]]) -> None:
    async def play() -> None:
        mail = Mail(backend)
        async with mail.app.running():
            await story(mail)

    asyncio.run(play())


def test_changes_arrive_in_order_with_what_they_changed(backend: Backend, db: Store) -> None:
    async def story(mail: Mail) -> None:
        ana = mail.listen()
        assert await ana.status() == 200
        assert ana.headers[b"content-type"] == b"text/event-stream"
        db.create(Letter(user_id="ana", number=1, text="first"))
        with db.change(letter("ana", 1)) as draft:
            draft.text = "line\nbreak"
        db.delete(letter("ana", 1))
        frames = [await ana.frame() for _ in range(3)]
        assert [each["event"] for each in frames] == ["created", "updated", "deleted"]
        assert [json.loads(each["data"])["text"] for each in frames] == ["first", "line\nbreak", "line\nbreak"]
        assert json.loads(frames[0]["data"])["userId"] == "ana"
        await ana.leave()

    run(backend, story)


def test_each_listener_gets_its_own_changes_only(db: Store) -> None:
    async def story(mail: Mail) -> None:
        ana, bob = mail.listen(), mail.listen("/users/bob/letters/events", "bob")
        assert (await ana.status(), await bob.status()) == (200, 200)
        for number, user in enumerate(["bob", "ana", "carl", "bob"]):
            db.create(Letter(user_id=user, number=number))
        assert json.loads((await ana.frame())["data"])["number"] == 1
        assert [json.loads((await bob.frame())["data"])["number"] for _ in range(2)] == [0, 3]
        await ana.leave()
        await bob.leave()

    run(db.backend, story)


def test_client_that_comes_back_gets_what_it_has_missed_once(backend: Backend, db: Store) -> None:
    async def story(mail: Mail) -> None:
        ana = mail.listen()
        await ana.status()
        db.create(Letter(user_id="ana", number=0))
        last = (await ana.frame())["id"]
        await ana.leave()
        for number in range(1, 30):
            db.create(Letter(user_id="ana" if number % 2 else "bob", number=number))
        for again in (mail.listen(**{"last-event-id": last}), mail.listen(f"{LETTERS}?lastEventId={last}")):
            await again.status()
            numbers = [json.loads((await again.frame())["data"])["number"] for _ in range(15)]
            assert numbers == list(range(1, 30, 2))
            await again.leave()

    run(backend, story)


def test_changes_while_a_client_comes_back_are_neither_lost_nor_repeated(db: Store) -> None:
    async def story(mail: Mail) -> None:
        first = mail.listen()
        await first.status()
        db.create(Letter(user_id="ana", number=0))
        last = (await first.frame())["id"]
        await first.leave()
        writing = asyncio.create_task(asyncio.to_thread(write, range(1, 200)))
        again = mail.listen(**{"last-event-id": last})
        await again.status()
        assert [json.loads((await again.frame())["data"])["number"] for _ in range(1, 200)] == list(range(1, 200))
        await writing
        await again.leave()

    def write(numbers: range) -> None:
        for number in numbers:
            db.create(Letter(user_id="ana", number=number))

    run(db.backend, story)


@pytest.mark.parametrize("last", ["nonsense", "shard:12", ":", "a:b", "9" * 199, "shard:²"])
def test_unknown_event_id_is_a_reset(db: Store, last: str) -> None:
    async def story(mail: Mail) -> None:
        ana = mail.listen(**{"last-event-id": last.encode().decode("latin-1")})
        await ana.status()
        assert (await ana.frame())["event"] == "reset"
        db.create(Letter(user_id="ana", number=1))
        assert (await ana.frame())["event"] == "created"
        await ana.leave()

    run(db.backend, story)


def test_others_may_not_listen(db: Store) -> None:
    db.create(Box(box_id="b1", owner_id="ana"))

    async def story(mail: Mail) -> None:
        for path, user, expected in [
            (LETTERS, None, 401),
            (LETTERS, "bob", 403),
            ("/boxes/b1/events", "bob", 403),
            ("/boxes/b2/events", "ana", 404),
            (f"{LETTERS}?unknown=1", "ana", 400),
            (f"{LETTERS}?ticket=forged", None, 401),
        ]:
            listener = mail.listen(path, user)
            assert await listener.status() == expected, (path, user)
            assert json.loads(listener.body)["status"] == expected

    run(db.backend, story)


def test_request_without_the_media_type_says_what_to_send(db: Store) -> None:
    async def story(mail: Mail) -> None:
        listener = mail.listen(accept="*/*")
        assert await listener.status() == 406
        assert "text/event-stream" in json.loads(listener.body)["detail"]

    run(db.backend, story)


def test_ticket_opens_the_stream_without_a_header(db: Store) -> None:
    async def story(mail: Mail) -> None:
        ticket = await mail.post(f"{LETTERS}/ticket", "ana")
        assert ticket["status"] == 200
        ana = mail.listen(f"{LETTERS}?ticket={ticket['ticket']}", None)
        assert await ana.status() == 200
        db.create(Letter(user_id="ana", number=1))
        assert (await ana.frame())["event"] == "created"
        await ana.leave()
        elsewhere = mail.listen(f"/users/bob/letters/events?ticket={ticket['ticket']}", None)
        assert await elsewhere.status() == 401
        assert (await mail.post(f"{LETTERS}/ticket", "bob"))["status"] == 403

    run(db.backend, story)


def test_expired_ticket_is_rejected(db: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(mail: Mail) -> None:
        ticket = (await mail.post(f"{LETTERS}/ticket", "ana"))["ticket"]
        later = time.time() + 3601
        monkeypatch.setattr("partita.rest.events.event_routes.time.time", lambda: later)
        late = mail.listen(f"{LETTERS}?ticket={ticket}", None)
        assert await late.status() == 401
        assert "expired" in json.loads(late.body)["detail"]

    run(db.backend, story)


def test_caller_has_a_limited_number_of_streams(db: Store) -> None:
    async def story(mail: Mail) -> None:
        listeners = [mail.listen() for _ in range(MAX_STREAMS_OF_CALLER)]
        assert [await each.status() for each in listeners] == [200] * MAX_STREAMS_OF_CALLER
        assert await mail.listen().status() == 429
        await listeners.pop().leave()
        again = mail.listen()
        assert await again.status() == 200
        for each in (*listeners, again):
            await each.leave()

    run(db.backend, story)


def test_all_callers_together_have_a_limited_number_of_streams() -> None:
    streams = OpenStreams(maximum=2)
    with streams.one_more(Caller("a")), streams.one_more(Caller()):
        with pytest.raises(Problem) as caught, streams.one_more(Caller("b")):
            pass
        assert caught.value.status == 503
    with streams.one_more(Caller("b")):
        pass


def stream_of(db: Store, is_allowed: Callable[[], bool], expires: float | None = None) -> EventStream:
    topic = Topic(Letter.__model__, ("user_id",), ("ana",))
    return EventStream(ChangeFeed(db, table), topic, None, is_allowed, expires, heartbeat=0.01)


async def respond(stream: EventStream) -> list[bytes]:
    """The response of a stream whose client stays."""
    sent: list[bytes] = []

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))

    await asyncio.wait_for(stream.respond({}, asyncio.Event().wait, send), PATIENCE)  # type: ignore[arg-type]
    return sent


def test_silent_stream_has_heartbeats_and_ends_when_the_caller_may_not_listen_any_more(db: Store) -> None:
    answers = [True, True, False]
    sent = asyncio.run(respond(stream_of(db, lambda: answers.pop(0))))
    assert sent[1:] == [b"retry: 3000\n\n", b":\n\n", b":\n\n", b""]


def test_stream_ends_with_the_token(db: Store) -> None:
    sent = asyncio.run(respond(stream_of(db, lambda: True, expires=time.time())))
    assert sent[1:] == [b"retry: 3000\n\n", b""]


def test_client_that_does_not_read_loses_its_stream_and_not_the_server(
    db: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "MAX_WAITING", 5)

    async def story(mail: Mail) -> None:
        ana = mail.listen()
        await ana.status()
        for number in range(100):
            db.create(Letter(user_id="ana", number=number))
        await ana.ended()

    run(db.backend, story)


def test_thread_of_a_feed_ends_with_its_last_listener(db: Store) -> None:
    feed = ChangeFeed(db, table)
    topic = Topic(Letter.__model__, ("user_id",), ("ana",))

    class Inbox:
        def offer(self, events: list[Any]) -> None: ...
        def reset(self) -> None: ...

    first, second = Inbox(), Inbox()
    feed.subscribe(topic, first)
    feed.subscribe(topic, second)
    follower = feed._follower
    assert follower is not None
    feed.unsubscribe(topic, first)
    assert follower.is_alive()
    feed.unsubscribe(topic, second)
    follower.join(PATIENCE)
    assert not follower.is_alive()


def test_declarations_that_cannot_work_are_rejected() -> None:
    silent = Table("silent", pk="PK", sk="SK")

    class Note(Entity, table=silent, key=("NOTE#{note_id}", "NOTE")):
        note_id: str

    other = Api("other", "Other", design)
    with pytest.raises(DesignError, match=r"'nobody' is not a field of Letter"):
        other.expose_events("/users/{nobody}/events", Letter)
    with pytest.raises(DesignError, match=r"has no stream"):
        other.expose_events("/notes/{note_id}/events", Note)
    with pytest.raises(DesignError, match=r"no placeholder 'number'"):
        other.expose_events("/users/{user_id}/events", Letter, "number")
