"""What is remembered is never shown to whom it is not for, nor when the data says otherwise."""

import asyncio
from pathlib import Path

from partita import Store, connect
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from partita.rest.response_cache import TwoGenerationCache
from tests.rest import notes_api
from tests.rest.client import Client


def test_remembered_reply_is_for_those_who_may_have_it(nobody: Client, ana: Client, bob: Client) -> None:
    ana.post("/notes", {"noteId": "n", "title": "t", "isOpen": False})
    for path in ("/notes/n", "/notes/n/whole", "/people/ana/notes"):
        for _ in range(2):
            assert ana.get(path).status == 200
            assert (nobody.get(path).status, bob.get(path).status) == (401, 403)


def test_remembered_reply_is_dropped_when_its_note_is_closed(nobody: Client, ana: Client) -> None:
    ana.post("/notes", {"noteId": "n", "title": "t"})
    assert [nobody.get("/notes/n").status for _ in range(2)] == [200, 200]
    ana.patch("/notes/n", {"isOpen": False})
    assert nobody.get("/notes/n").status == 401
    ana.delete("/notes/n")
    assert (nobody.get("/notes/n").status, ana.get("/notes/n").status) == (404, 404)


def test_what_another_process_wrote_is_seen(tmp_path: Path) -> None:
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


def test_memory_is_bounded_and_keeps_what_is_asked_for() -> None:
    memory: TwoGenerationCache[int] = TwoGenerationCache(1600)
    for number in range(1000):
        memory.put(number, number, 100)
        assert memory.get(0) == 0
    assert memory.get(999) == 999
    assert memory.get(500) is None
    assert len(memory.recent) + len(memory._previous) <= 32
    memory.put("large", 1, 101)
    assert memory.get("large") is None


def test_a_page_is_given_again_only_while_its_items_are_the_same(tmp_path: Path) -> None:
    """Lines never expire; each reading finds the whole reply out of date, since something was written."""
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
