"""A cached reply is the one that an application without a cache makes, for every caller and at every time."""

import asyncio
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Literal

import pytest

from partita import Entity, Expires, Item, Items, Store, Table, connect, pattern, prove
from partita.rest import Api, Related, anyone, caller_is, group, owned_by, public_if, signed_in
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from tests.rest.client import Client
from tests.rest.conftest import UnversionedBackend

table = Table("rooms", "PK", "SK", naming="camel", ttl="ttl")


class Room(Entity, table=table, key=("ROOM#{room_id}", "ROOM")):
    room_id: str
    owner_id: str = "ana"
    is_open: bool = True
    gone_at: datetime | None = None
    ends = Expires("gone_at")


class User(Entity, table=table, key=("USER#{user_id}", "USER")):
    user_id: str
    gone_at: datetime | None = None
    ends = Expires("gone_at")


class Line(Entity, table=table, key=("LINES#{room_id}", "LINE#{number:6}")):
    room_id: str
    number: int
    author_id: str
    gone_at: datetime | None = None
    ends = Expires("gone_at")


@pattern
def room(room_id: str) -> Item[Room]: ...
@pattern
def user(user_id: str) -> Item[User]: ...
@pattern
def line(room_id: str, number: int) -> Item[Line]: ...
@pattern
def lines(room_id: str) -> Items[Line]: ...


design = prove("rooms", table)
api = Api("rooms", "Rooms", design, service=lambda db: db)
seen = public_if("an open room", lambda found: found.is_open) | owned_by("owner_id")
related = [Related("author", user, user_id="author_id")]

api.expose_get("/rooms/{room_id}", room, who=seen | group("keepers"))
api.expose_list("/rooms/{room_id}/lines", lines, who=anyone | group("admin"), include=related)
api.expose_list("/rooms/{room_id}/guarded", lines, name="guarded", who=seen | group("admin"), on=room)
api.expose_get("/users/{user_id}", user, who=signed_in)
api.expose_list("/users/{room_id}/lines", lines, name="lines_of_user")
api.expose_list("/private/{room_id}/lines", lines, name="private_lines", who=caller_is("room_id") | group("admin"))

PATHS = [
    *("/rooms/{}", "/rooms/{}/lines", "/rooms/{}/lines?include=author", "/rooms/{}/lines?limit=1"),
    *("/rooms/{}/guarded", "/users/{}", "/users/{}/lines", "/private/{}/lines"),
]
CALLERS = {"": (), "ana": (), "bob": (), "root": ("admin",), "eve": ("keepers",)}
NAMES = ["ana", "bob", "eve"]


class Rooms:
    """The API on an engine, with a cache and without, and a clock."""

    def __init__(self, address: Path | Literal["memory:"], runner: asyncio.Runner) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.engine = connect(address, maintain=False, clock=lambda: self.now)
        self.db = Store(self.engine, design, clock=lambda: self.now)
        self.db.create_tables()
        self.issuer = LocalIssuer()
        self.app = RestApplication([api], self.db, verifier=self.issuer.verifier())
        uncached = Store(
            UnversionedBackend(self.engine), design, clock=lambda: self.now, cursor_keys=[self.engine.cursor_key]
        )
        apps = (self.app, RestApplication([api], uncached, verifier=self.issuer.verifier()))
        self._cached, self._uncached = (Client(app, "/api/rooms", self.issuer, runner.get_loop()) for app in apps)
        self._tokens = {name: self.issuer.token(name, groups) for name, groups in CALLERS.items() if name}

    def get(self, path: str, caller: str = "") -> tuple[int, bytes]:
        """The reply with the cache, which is checked against the reply without it."""
        headers = {"authorization": f"Bearer {self._tokens[caller]}"} if caller else {}
        cached, uncached = (client.get(path, **headers) for client in (self._cached, self._uncached))
        assert (cached.status, cached.plain) == (uncached.status, uncached.plain), f"{caller} {path}"
        return cached.status, cached.plain


@pytest.fixture(params=["memory", "file"])
def rooms(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rooms]:
    with asyncio.Runner() as runner:
        rooms = Rooms("memory:" if request.param == "memory" else tmp_path / "rooms.db", runner)
        yield rooms
        rooms.engine.close()


def test_reply_for_a_group_is_not_sent_to_callers_who_may_not_see_the_parent(rooms: Rooms) -> None:
    rooms.db.create(Room(room_id="closed", is_open=False))
    rooms.db.create(Room(room_id="empty", is_open=False))
    rooms.db.create(Line(room_id="closed", number=1, author_id="ana"))
    assert rooms.get("/rooms/closed/lines", "root")[0] == 200
    assert [rooms.get("/rooms/closed/lines", caller)[0] for caller in ("", "bob", "ana")] == [404, 404, 200]
    assert [rooms.get("/rooms/empty/lines", caller)[0] for caller in ("ana", "", "bob", "root")] == [200, 404, 404, 404]


def test_empty_list_of_a_parent_for_signed_in_callers_is_not_sent_to_others(rooms: Rooms) -> None:
    rooms.db.create(User(user_id="ana"))
    assert [rooms.get("/users/ana/lines", caller)[0] for caller in ("bob", "")] == [200, 404]


@pytest.mark.parametrize(
    "path", ["/rooms/r", "/rooms/r/lines", "/rooms/r/guarded", "/rooms/e/lines", "/rooms/e/guarded"]
)
def test_reply_ends_when_its_parent_expires(rooms: Rooms, path: str) -> None:
    soon = rooms.now + timedelta(seconds=10)
    for name in ("r", "e"):
        rooms.db.create(Room(room_id=name, gone_at=soon))
    rooms.db.create(Line(room_id="r", number=1, author_id="ana"))
    assert rooms.get(path)[0] == 200
    rooms.now = soon
    assert rooms.get(path)[0] == 404


def test_included_entity_is_left_out_when_it_expires(rooms: Rooms) -> None:
    soon = rooms.now + timedelta(seconds=10)
    rooms.db.create(Room(room_id="r"))
    rooms.db.create(User(user_id="ana", gone_at=soon))
    rooms.db.create(Line(room_id="r", number=1, author_id="ana"))
    assert b'"author":{' in rooms.get("/rooms/r/lines?include=author")[1]
    rooms.now = soon
    assert b'"author":null' in rooms.get("/rooms/r/lines?include=author")[1]


def test_rejection_has_the_same_words_with_a_cached_reply(rooms: Rooms) -> None:
    rooms.db.create(Line(room_id="ana", number=1, author_id="ana"))
    assert [rooms.get("/private/ana/lines", caller)[0] for caller in ("ana", "bob", "")] == [200, 403, 401]


def test_replies_of_random_reads_and_writes_are_those_without_a_cache(rooms: Rooms) -> None:
    chance = random.Random(12)
    for _ in range(1500):
        name, number = chance.choice(NAMES), chance.randrange(3)
        gone_at = chance.choice([None, rooms.now + timedelta(seconds=chance.randrange(1, 5))])
        match chance.randrange(24):
            case 0:
                rooms.db.put(Room(room_id=name, is_open=chance.random() < 0.5, gone_at=gone_at))
            case 1:
                rooms.db.put(User(user_id=name, gone_at=gone_at))
            case 2:
                rooms.db.put(Line(room_id=name, number=number, author_id=chance.choice(NAMES), gone_at=gone_at))
            case 3:
                rooms.db.delete(chance.choice([line(name, number), room(name), user(name)]))
            case 4:
                rooms.now += timedelta(seconds=1)
        rooms.get(chance.choice(PATHS).format(name), chance.choice(list(CALLERS)))


def test_thread_with_the_number_of_an_ended_one_gets_current_replies(tmp_path: Path) -> None:
    """Each thread has its own connection to the file, and SQLite's versions of both may be equal."""
    with asyncio.Runner() as runner:
        rooms = Rooms(tmp_path / "rooms.db", runner)
    statuses: list[int] = []

    def get() -> None:
        with asyncio.Runner() as own:
            statuses.append(Client(rooms.app, "/api/rooms", rooms.issuer, own.get_loop()).get("/rooms/r").status)

    for number in range(8):
        if number % 2:
            rooms.db.delete(room("r"))
        else:
            rooms.db.put(Room(room_id="r"))
        thread = Thread(target=get)
        thread.start()
        thread.join()
    rooms.engine.close()
    assert statuses == [200, 404] * 4
