"""The replies of routes: entities, pages, changes, headers, and missing items."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from partita import DesignError, Store
from partita.dynamodb.backend import Backend
from partita.rest import Api, anyone, owned_by
from partita.rest.application import RestApplication
from tests.rest import notes_api
from tests.rest.client import Client

TEXTS = ["plain", "Ação e emoção", "전기차 부품", "👩‍👩‍👧 family", 'quotes " and \\ slashes', "line\nbreak\ttab", "é"]


def _written(who: Client, note_id: str = "n1", **more: Any) -> str:
    reply = who.post("/notes", {"noteId": note_id, "title": f"title of {note_id}", **more})
    assert reply.status == 201, reply.json
    return reply.headers["location"].removeprefix("/api/notes")


def test_created_entity_is_at_its_location(ana: Client) -> None:
    place = _written(ana, "a/b c?é", text="hello")
    assert place == "/notes/a%2Fb%20c%3F%C3%A9"
    assert ana.get(place).json["noteId"] == "a/b c?é"


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_returned_as_it_was_sent(ana: Client, text: str) -> None:
    place = _written(ana, "n1", title=text, text=text)
    found = ana.get(place)
    assert (found.json["title"], found.json["text"]) == (text, text)


def test_reply_is_json_with_its_length(ana: Client) -> None:
    found = ana.get(_written(ana))
    assert found.headers["content-type"] == "application/json"
    assert found.headers["content-length"] == str(len(found.body))


def test_head_is_a_get_without_its_body(ana: Client) -> None:
    place = _written(ana)
    get, head = ana.get(place), ana.request("HEAD", place)
    assert head.body == b""
    assert (head.status, head.headers) == (200, get.headers)


def test_pages_follow_each_other_by_cursor(ana: Client) -> None:
    _written(ana)
    for number in range(5):
        assert ana.post("/notes/n1/lines", {"number": number, "words": "x"}).status == 201
    seen: list[int] = []
    cursor = ""
    for _ in range(3):
        page = ana.get(f"/notes/n1/lines?limit=2{cursor}").json
        seen += [each["number"] for each in page["items"]]
        cursor = f"&cursor={page['cursor']}"
    assert (seen, page["cursor"]) == ([0, 1, 2, 3, 4], None)


def test_page_of_several_entities_names_the_type_of_each(ana: Client) -> None:
    _written(ana)
    ana.post("/notes/n1/lines", {"number": 1, "words": "x"})
    assert sorted(each["entity"] for each in ana.get("/notes/n1/whole").json["items"]) == ["Line", "Note"]
    assert ana.get("/notes/n1/first").json["entity"] == "Line"


def test_operation_can_return_a_page(ana: Client) -> None:
    _written(ana)
    ana.post("/notes/n1/lines", {"number": 1, "words": "x"})
    assert ana.get("/search?words=n1").json["items"][0]["number"] == 1
    assert ana.get("/search?words=n1&on=1999-01-01").status == 422


@pytest.mark.parametrize("cursor", ["x", "e30", "e30.abc", "%00", "W10.AAAA", "é"])
def test_forged_cursor_is_rejected(ana: Client, cursor: str) -> None:
    _written(ana)
    rejected = ana.get(f"/notes/n1/lines?cursor={cursor}")
    assert (rejected.status, rejected.json["field"]) == (400, "cursor")


def test_cursor_of_another_list_is_rejected(ana: Client) -> None:
    for name in ("n1", "n2"):
        _written(ana, name)
        for number in range(3):
            ana.post(f"/notes/{name}/lines", {"number": number, "words": "x"})
    cursor = ana.get("/notes/n1/lines?limit=1").json["cursor"]
    assert ana.get(f"/notes/n2/lines?limit=1&cursor={cursor}").status == 400


def test_change_returns_the_stored_entity(ana: Client) -> None:
    place = _written(ana)
    changed = ana.patch(place, {"text": "new"})
    assert changed.json == ana.get(place).json
    assert changed.json["text"] == "new"
    assert changed.tag == ana.get(place).tag


def test_change_keeps_members_that_it_omits(ana: Client) -> None:
    place = _written(ana, text="kept")
    assert ana.patch(place, {"title": "other"}).json["text"] == "kept"
    assert ana.patch(place, {}).json["title"] == "other"


def test_deletion_includes_owned_items(ana: Client, db: Store) -> None:
    place = _written(ana)
    ana.post("/notes/n1/lines", {"number": 1, "words": "x"})
    assert ana.delete(place).status == 204
    assert ana.get(place).status == 404
    assert ana.delete(place).status == 404
    assert list(db(notes_api.lines("n1"))) == []


def test_response_without_a_body_has_no_length(ana: Client) -> None:
    done = ana.delete(_written(ana))
    assert (done.body, done.headers) == (b"", {})


def test_expired_item_is_not_found(ana: Client) -> None:
    soon, past = (datetime.now(UTC) + timedelta(hours=step) for step in (1, -1))
    assert ana.get(_written(ana, "n1", goneAt=soon.isoformat())).status == 200
    assert ana.get(_written(ana, "n2", goneAt=past.isoformat())).status == 404
    assert [each["noteId"] for each in ana.get("/people/ana/notes").json["items"]] == ["n1"]


def test_cached_item_is_hidden_once_it_expires(backend: Backend, anonymous: Client) -> None:
    """The JSON of an item is cached by its bytes; whether it has expired is checked each time."""
    now = datetime(2025, 1, 1, tzinfo=UTC)
    moving = Store(backend, notes_api.design, clock=lambda: now)
    app = RestApplication([notes_api.api], moving, verifier=anonymous.issuer.verifier(), cursor_keys=[bytes(16)])
    ana = Client(app, anonymous.root, anonymous.issuer, anonymous._loop).by("ana")
    place = _written(ana, goneAt="2025-01-01T01:00:00Z")
    assert [ana.get(place).status, ana.get(place).status] == [200, 200]
    now += timedelta(hours=2)
    assert ana.get(place).status == 404


def test_write_of_another_writer_is_returned(ana: Client, db: Store) -> None:
    place = _written(ana)
    assert ana.get(place).json["views"] == 0
    with db.change(notes_api.note("n1")) as draft:
        draft.views += 1
    assert ana.get(place).json["views"] == 1


@pytest.mark.parametrize(
    "path", ["/nothing", "/notes", "/notes/", "/notes/n1/", "/notes//lines", "/notes/n1/lines/1/2"]
)
def test_unknown_address_is_a_404_or_a_405(ana: Client, path: str) -> None:
    assert ana.get(path).status in (404, 405)


def test_unknown_system_is_a_404_that_lists_the_systems(ana: Client) -> None:
    rejected = ana.at("/api").get("/shop/x")
    assert (rejected.status, rejected.headers["content-type"]) == (404, "application/problem+json")
    assert rejected.json["detail"] == "there is no API 'shop'; /api lists notes"


@pytest.mark.parametrize(
    ("path", "allow"),
    [
        ("/notes/n1", "DELETE, GET, HEAD, PATCH"),
        ("/notes", "POST"),
        ("/docs", "GET, HEAD"),
        ("/openapi.json", "GET, HEAD"),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "OPTIONS", "TRACE", "BREW"])
def test_other_methods_are_405_with_the_allowed_ones(ana: Client, method: str, path: str, allow: str) -> None:
    rejected = ana.request(method, path)
    assert (rejected.status, rejected.headers["allow"]) == (405, allow)


def test_unexpected_error_is_a_500_without_details(ana: Client, caplog: pytest.LogCaptureFixture) -> None:
    failed = ana.post("/trouble")
    assert failed.status == 500
    assert "Zero" not in failed.body.decode()
    assert "ZeroDivisionError" in caplog.text


def test_large_reply_is_compressed_if_the_client_accepts_it(ana: Client) -> None:
    place = _written(ana, text="long " * 5_000)
    plain, zipped = ana.get(place), ana.get(place, accept_encoding="gzip, br")
    assert zipped.json == plain.json
    assert len(zipped.body) < len(plain.body) / 10
    assert zipped.tag != plain.tag
    assert "accept-encoding" in plain.headers["vary"]
    assert "content-encoding" not in ana.get(_written(ana, "n2"), accept_encoding="gzip").headers


@pytest.mark.parametrize("accepted", ["gzip;q=0", "br, GZIP ; Q=0.000", "identity", "notgzip", "*"])
def test_reply_is_not_compressed_if_the_client_does_not_accept_it(ana: Client, accepted: str) -> None:
    place = _written(ana, text="long " * 5_000)
    assert "content-encoding" not in ana.get(place, accept_encoding=accepted).headers
    assert ana.get(place, accept_encoding=f"gzip;q=0.1, {accepted}").headers["content-encoding"] == "gzip"


def test_compressed_body_is_read(ana: Client) -> None:
    import gzip
    import json

    body = gzip.compress(json.dumps({"noteId": "z", "title": "zipped"}).encode())
    assert ana.request("POST", "/notes", body=body, content_encoding="gzip").status == 201
    assert ana.request("POST", "/notes", body=body[:-9], content_encoding="gzip").status == 400
    assert ana.request("POST", "/notes", body=body, content_encoding="br").status == 415


def test_private_replies_are_not_for_shared_caches(ana: Client) -> None:
    assert ana.get(_written(ana)).headers["cache-control"] == "private, no-cache"
    assert ana.get("/notes/n1/lines").headers["cache-control"] == "no-cache"
    assert ana.get("/notes/n2").headers["cache-control"] == "no-store"


def test_declared_cache_control_is_sent(ana: Client, db: Store) -> None:
    db.create(notes_api.Plain(plain_id="p"))
    assert ana.get("/plain/p").headers["cache-control"] == "public, max-age=60"


def test_invalid_declarations_are_rejected() -> None:
    api = Api("x", "X", notes_api.design)
    api.expose_get("/notes/{note_id}", notes_api.note)
    with pytest.raises(DesignError, match="declared twice"):
        api.expose_get("/notes/{note_id}", notes_api.note, name="again")
    with pytest.raises(DesignError, match="no parameter is named other; the parameters are"):
        api.expose_get("/others/{other}", notes_api.note, name="third")
    with pytest.raises(DesignError, match="has no attribute wings"):
        api.expose_patch("/n/{note_id}", notes_api.note, "wings", who=anyone)
    with pytest.raises(DesignError, match="with on="):
        api.get("/n/{note_id}", who=owned_by("owner_id"))(lambda service: None)
