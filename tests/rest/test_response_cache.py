"""A cached reply is never sent to a caller that the rule does not allow, or after the data has changed."""

import asyncio
from pathlib import Path

from partita import Store, connect
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from partita.rest.mounted_api import MountedApi
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


def test_cached_page_is_used_only_while_its_items_are_unchanged(tmp_path: Path) -> None:
    """Lines never expire; each read finds the whole reply outdated, since there was a write."""
    issuer = LocalIssuer()
    with connect(tmp_path / "notes.db", maintain=False) as engine, asyncio.Runner() as runner:
        db = Store(engine, notes_api.design)
        db.create_tables()
        app = RestApplication([notes_api.api], db, verifier=issuer.verifier())
        client = Client(app, "/api/notes", issuer, runner.get_loop())
        pages = app._started().apis["notes"].page_cache
        db.create(notes_api.Note(note_id="n", owner_id="ana", title="t"))
        for number in range(3):
            db.create(notes_api.Line(note_id="n", number=number, words="as it was"))

        def read() -> list[str]:
            db.put(notes_api.Plain(plain_id="p", words=str(len(pages.recent))))
            found = client.get("/notes/n/lines?limit=2").json
            more = client.get(f"/notes/n/lines?limit=2&cursor={found['cursor']}").json
            return [each["words"] for each in found["items"] + more["items"]]

        assert read() == read() == ["as it was"] * 3
        assert len(pages.recent) == 2
        with db.change(notes_api.line("n", 1)) as draft:
            draft.words = "changed"
        assert read() == ["as it was", "changed", "as it was"]
        db.delete(notes_api.line("n", 1))
        assert read() == ["as it was"] * 2
        db.create(notes_api.Line(note_id="n", number=1, words="back"))
        assert read() == ["as it was", "back", "as it was"]


def test_replies_are_cached_again_when_the_data_stops_changing() -> None:
    """While every reply is out of date only some requests look at the version; then all do."""
    looks: list[int] = []

    class Counting(MountedApi):
        def __init__(self) -> None:
            self._outdated = self._skipped = 0
            self.version = self._look

        def _look(self) -> int:
            looks.append(1)
            return len(looks)

    mounted = Counting()
    for _ in range(16):
        assert mounted.version_for_reply() is not None
        mounted.note_cached_reply(is_current=False)
    looks.clear()
    assert [mounted.version_for_reply() is not None for _ in range(32)].count(True) == 2
    mounted.note_cached_reply(is_current=True)
    assert all(mounted.version_for_reply() is not None for _ in range(10))
