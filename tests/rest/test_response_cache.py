"""A cached reply is never sent to a caller that the rule does not allow, or after the data has changed."""

import asyncio
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from partita import Store, connect
from partita.dynamodb.requests import DeleteTable
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from partita.rest.response_cache import TwoGenerationCache
from tests.rest import notes_api
from tests.rest.client import Client


def test_cached_reply_is_checked_against_the_rule(anonymous: Client, ana: Client, bob: Client) -> None:
    ana.post("/notes", {"noteId": "n", "title": "t", "isOpen": False})
    for path, denied in (("/notes/n", (404, 404)), ("/notes/n/whole", (404, 404)), ("/people/ana/notes", (401, 403))):
        for _ in range(2):
            assert ana.get(path).status == 200
            assert (anonymous.get(path).status, bob.get(path).status) == denied


def test_cached_reply_is_dropped_when_its_note_is_closed(anonymous: Client, ana: Client) -> None:
    ana.post("/notes", {"noteId": "n", "title": "t"})
    assert [anonymous.get("/notes/n").status for _ in range(2)] == [200, 200]
    ana.patch("/notes/n", {"isOpen": False})
    assert anonymous.get("/notes/n").status == 404
    ana.delete("/notes/n")
    assert (anonymous.get("/notes/n").status, ana.get("/notes/n").status) == (404, 404)


def test_write_of_another_process_is_seen(tmp_path: Path) -> None:
    """Two engines on one file, as two processes would have."""
    issuer = LocalIssuer()
    file = tmp_path / "notes.db"
    with (
        connect(file, maintain=False) as one,
        connect(file, maintain=False) as other,
        asyncio.Runner() as runner,
    ):
        here, there = Store(one, notes_api.design), Store(other, notes_api.design)
        here.create_tables()
        app = RestApplication([notes_api.api], here, verifier=issuer.verifier())
        client = Client(app, "/api/notes", issuer, runner.get_loop())
        there.create(notes_api.Note(note_id="n", owner_id="ana", title="t"))
        for views in range(5):
            assert client.get("/notes/n").json["views"] == views
            assert client.get("/notes/n").json["views"] == views
            with there.change(notes_api.note("n")) as draft:
                draft.views += 1
        there.delete(notes_api.note("n"))
        assert client.get("/notes/n").status == 404


def test_cache_is_bounded_and_keeps_recently_used_entries() -> None:
    memory: TwoGenerationCache[int] = TwoGenerationCache(1600)
    for number in range(1000):
        memory.put(number, number, 100)
        assert memory.get(0) == 0
    assert memory.get(999) == 999
    assert memory.get(500) is None
    assert len(memory.recent) + len(memory._previous) <= 32
    memory.put("large", 1, 101)
    assert memory.get("large") is None


class Served:
    """The notes API on a file, and how often its routes have run."""

    def __init__(self, file: Path, runner: asyncio.Runner) -> None:
        self.engine = connect(file, maintain=False)
        self.db = Store(self.engine, notes_api.design)
        self.db.create_tables()
        issuer = LocalIssuer()
        app = RestApplication([notes_api.api], self.db, verifier=issuer.verifier())
        self.client = Client(app, "/api/notes", issuer, runner.get_loop())
        self.mounted = app._started().apis["notes"]
        self.writes = 0

    def write_elsewhere(self) -> None:
        self.writes += 1
        self.db.put(notes_api.Plain(plain_id="p", words=str(self.writes)))

    def cached(self) -> list[int]:
        """The identities of the cached replies: one that is made again is another object."""
        return sorted(id(reply) for reply, _ in self.mounted.reply_cache.recent.values())


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with asyncio.Runner() as runner:
        served = Served(tmp_path / "notes.db", runner)
        served.db.create(notes_api.Note(note_id="n", owner_id="ana", title="t"))
        for number in range(3):
            served.db.create(notes_api.Line(note_id="n", number=number, words="as it was"))
        yield served
        served.engine.close()


def words(served: Served) -> list[str]:
    """Reads two pages after a write to something else, so that the version of the data has changed."""
    served.write_elsewhere()
    found = served.client.get("/notes/n/lines?limit=2").json
    more = served.client.get(f"/notes/n/lines?limit=2&cursor={found['cursor']}").json
    return [each["words"] for each in found["items"] + more["items"]]


def test_reply_is_used_again_after_a_write_to_something_else(served: Served) -> None:
    assert words(served) == ["as it was"] * 3
    cached = served.cached()
    assert len(cached) == 2
    assert words(served) == ["as it was"] * 3
    assert served.cached() == cached


def test_reply_is_made_again_when_one_of_its_items_has_changed(served: Served) -> None:
    words(served)
    with served.db.change(notes_api.line("n", 1)) as draft:
        draft.words = "changed"
    assert words(served) == ["as it was", "changed", "as it was"]
    served.db.delete(notes_api.line("n", 1))
    assert words(served) == ["as it was"] * 2
    served.db.create(notes_api.Line(note_id="n", number=1, words="back"))
    assert words(served) == ["as it was", "back", "as it was"]
    served.db.create(notes_api.Line(note_id="n", number=7, words="last"))
    assert words(served) == ["as it was", "back", "as it was", "last"]


def test_missing_entity_that_is_created_is_found(served: Served) -> None:
    for _ in range(2):
        assert served.client.get("/notes/m").status == 404
        assert served.client.get("/notes/m/lines").status == 404
    served.db.create(notes_api.Note(note_id="m", owner_id="ana", title="another"))
    assert served.client.get("/notes/m").status == 200
    assert served.client.get("/notes/m/lines").json["items"] == []
    served.db.create(notes_api.Line(note_id="m", number=1, words="first"))
    assert [each["words"] for each in served.client.get("/notes/m/lines").json["items"]] == ["first"]


def test_table_that_is_created_again_has_no_old_replies(served: Served) -> None:
    words(served)
    for table in served.db.design.tables:
        served.engine.call(DeleteTable(table_name=table.name))
    assert served.client.get("/notes/n/lines?limit=2").status == 500
    served.db.create_tables()
    assert served.client.get("/notes/n/lines?limit=2").status == 404


def test_replies_of_random_reads_and_writes_are_those_of_an_application_without_a_cache(served: Served) -> None:
    """Pages of any size from any cursor, single items and missing ones, with writes in between."""
    chance = random.Random(12)
    for _ in range(300):
        number, words = chance.randrange(8), str(chance.randrange(3))
        match chance.randrange(5):
            case 0:
                served.db.put(notes_api.Line(note_id="n", number=number, words=words))
            case 1:
                served.db.delete(notes_api.line("n", number))
            case 2:
                served.write_elsewhere()
            case _:
                pass
        path: str | None = f"/notes/n/lines?limit={chance.randrange(1, 6)}"
        shown: list[tuple[int, str]] = []
        while path is not None:
            found = served.client.get(path).json
            shown += [(each["number"], each["words"]) for each in found["items"]]
            path = None if found["cursor"] is None else f"{path.partition('&')[0]}&cursor={found['cursor']}"
        assert shown == [(each.number, each.words) for each in served.db(notes_api.lines("n"))]


def test_other_threads_are_answered_without_the_cache(served: Served) -> None:
    """Their versions of the data are other numbers."""
    words(served)
    read = served.mounted.recorded
    assert read is not None
    assert read.is_of_this_thread()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(read.is_of_this_thread).result() is False
