"""If-Match and If-None-Match: an outdated edit is rejected, and a like does not make an edit outdated."""

from collections import Counter

import pytest

from partita import Store
from tests.rest import notes_api
from tests.rest.client import Client, Request

PLACE = "/notes/n1"


@pytest.fixture(autouse=True)
def note(ana: Client) -> None:
    assert ana.post("/notes", {"noteId": "n1", "title": "t"}).status == 201


def test_matching_if_none_match_is_304(ana: Client) -> None:
    tag = ana.get(PLACE).tag
    same = ana.get(PLACE, if_none_match=tag)
    assert (same.status, same.body, same.tag) == (304, b"", tag)
    assert "content-length" not in same.headers
    for header in (f'"other", {tag}', f"W/{tag}", "*", tag.replace('"', '"', 1)):
        assert ana.get(PLACE, if_none_match=header).status == 304
    assert ana.get(PLACE, if_none_match='"other"').status == 200


def test_etag_of_a_compressed_reply_matches(ana: Client) -> None:
    ana.patch(PLACE, {"text": "long " * 5_000})
    tag = ana.get(PLACE, accept_encoding="gzip").tag
    assert ana.get(PLACE, if_none_match=tag).status == 304
    assert ana.patch(PLACE, {"text": "short"}, if_match=tag).status == 200


def test_lists_and_pages_have_etags(ana: Client) -> None:
    for path in ("/notes/n1/lines", "/docs", "/openapi.json", "/search?words=n1"):
        tag = ana.get(path).tag
        assert ana.get(path, if_none_match=tag).status == 304


def test_change_with_the_current_etag_is_applied(ana: Client) -> None:
    changed = ana.patch(PLACE, {"text": "1"}, if_match=ana.get(PLACE).tag)
    assert changed.status == 200
    assert ana.patch(PLACE, {"text": "2"}, if_match=changed.tag).status == 200
    assert ana.patch(PLACE, {"text": "3"}, if_match="*").status == 200


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_change_with_an_outdated_etag_is_412(ana: Client, method: str) -> None:
    tag = ana.get(PLACE).tag
    ana.patch(PLACE, {"text": "somebody was faster"})
    body = {"text": "late"} if method == "PATCH" else None
    rejected = ana.request(method, PLACE, body, if_match=tag)
    assert (rejected.status, rejected.json["type"]) == (412, "urn:partita:problem:precondition-failed")
    assert ana.get(PLACE).json["text"] == "somebody was faster"
    for header in ('"nonsense"', "nonsense", f"W/{ana.get(PLACE).tag}", '""'):
        assert ana.request(method, PLACE, body, if_match=header).status == 412


def test_operation_of_the_service_checks_if_match(ana: Client) -> None:
    tag = ana.get(PLACE).tag
    assert ana.put(PLACE + "/title", {"title": "a"}, if_match=tag).status == 200
    assert ana.put(PLACE + "/title", {"title": "b"}, if_match=tag).status == 412
    assert ana.put(PLACE + "/title", {"title": "c"}).status == 200


def test_counter_does_not_change_the_edit_tag(ana: Client, bob: Client, db: Store) -> None:
    """The reply changes with a like and a view, so a reader sees it; an author may still write."""
    tag = ana.get(PLACE).tag
    assert bob.put("/notes/n1/likes/bob").status == 204
    with db.change(notes_api.note("n1")) as draft:
        draft.views += 7
    assert ana.get(PLACE, if_none_match=tag).status == 200
    assert ana.patch(PLACE, {"text": "written meanwhile"}, if_match=tag).status == 200
    assert ana.get(PLACE).json["likeCount"] == 1


def test_one_of_many_concurrent_changes_with_one_etag_is_applied(ana: Client) -> None:
    for turn in range(5):
        tag = {"if-match": ana.get(PLACE).tag}
        asked = [Request("PATCH", PLACE, {"text": f"{turn} {number}"}, tag) for number in range(8)]
        replies = ana.concurrently(asked)
        assert Counter(each.status for each in replies) == {200: 1, 412: 7}
        won = next(each for each in replies if each.status == 200)
        assert ana.get(PLACE).json["text"] == won.json["text"]


def test_either_a_change_or_a_deletion_with_one_etag_is_applied(ana: Client, db: Store) -> None:
    for turn in range(10):
        db.put(notes_api.Plain(plain_id="p", words=str(turn)))
        db.put(notes_api.Note(note_id="x", owner_id="ana", title=f"x{turn}"))
        tag = {"if-match": ana.get("/notes/x").tag}
        changed, deleted = ana.concurrently(
            [Request("PATCH", "/notes/x", {"text": "!"}, tag), Request("DELETE", "/notes/x", None, tag)]
        )
        assert (changed.status, deleted.status) in {(200, 412), (404, 204), (412, 204)}
        assert ana.get("/notes/x").status == (200 if changed.status == 200 else 404)
        if changed.status == 200:
            ana.delete("/notes/x")


def test_deletion_without_a_read_checks_if_match(ana: Client, db: Store) -> None:
    db.put(notes_api.Plain(plain_id="p", words="1"))
    tag = ana.get("/plain/p").tag
    db.put(notes_api.Plain(plain_id="p", words="2"))
    assert ana.delete("/plain/p", if_match=tag).status == 412
    assert ana.delete("/plain/p", if_match=ana.get("/plain/p").tag).status == 204


def test_owner_of_the_parent_changes_and_deletes_a_child_with_its_etag(ana: Client, bob: Client) -> None:
    place = PLACE + "/lines/1"
    line = ana.post(PLACE + "/lines", {"number": 1, "words": "one"})
    assert bob.patch(place, {"words": "mine"}).status == bob.delete(place).status == 403
    assert bob.delete(PLACE + "/lines/2").status == 403
    assert ana.delete(PLACE + "/lines/2").status == ana.delete("/notes/none/lines/1").status == 404
    changed = ana.patch(place, {"words": "two"}, if_match=line.tag)
    assert (changed.status, changed.json["words"]) == (200, "two")
    assert ana.patch(place, {"words": "three"}, if_match=line.tag).status == 412
    assert ana.delete(place, if_match=line.tag).status == 412
    assert ana.delete(place, if_match=changed.tag).status == 204


def test_changes_without_an_etag_are_all_applied(ana: Client) -> None:
    replies = ana.concurrently([Request("PATCH", PLACE, {"text": str(number)}) for number in range(8)])
    assert {each.status for each in replies} == {200}


def test_if_match_on_a_route_without_it_is_400(ana: Client) -> None:
    rejected = ana.put("/notes/n1/likes/ana", if_match=ana.get(PLACE).tag)
    assert (rejected.status, rejected.json["field"]) == (400, "If-Match")
    assert ana.get(PLACE, if_match='"x"').status == 400
