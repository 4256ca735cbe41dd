"""Invalid input of every kind is a 4xx that says why and names the field."""

import json
from typing import Any

import pytest

from partita import Store
from partita.errors import Fault
from partita.rest.request_handler import MAX_BODY
from partita.rest.validation_messages import fault_in_words
from tests.rest import notes_api
from tests.rest.client import Client

GOOD = {"noteId": "n1", "title": "t"}


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"noteId": "n1"}, 422, "title"),
        ({**GOOD, "title": ""}, 422, "title"),
        ({**GOOD, "title": "x" * 201}, 422, "title"),
        ({**GOOD, "title": 5}, 422, "title"),
        ({**GOOD, "title": None}, 422, "title"),
        ({**GOOD, "wings": 2}, 422, "wings"),
        ({**GOOD, "note_id": "x"}, 422, "note_id"),
        ({**GOOD, "mood": "SAD"}, 422, "mood"),
        ({**GOOD, "isOpen": "yes"}, 422, "isOpen"),
        ({**GOOD, "goneAt": "tomorrow"}, 422, "goneAt"),
        ({**GOOD, "goneAt": "2025-01-01T00:00:00"}, 422, "goneAt"),
        ({**GOOD, "noteId": "x" * 101}, 422, "noteId"),
        ([], 422, None),
        ("text", 422, None),
        (None, 422, None),
        (17, 422, None),
    ],
)
def test_invalid_value_is_named(ana: Client, body: Any, status: int, field: str | None) -> None:
    rejected = ana.request("POST", "/notes", body=json.dumps(body).encode())
    assert (rejected.status, rejected.json.get("field")) == (status, field), rejected.json
    assert rejected.headers["content-type"] == "application/problem+json"
    assert rejected.json["detail"]
    assert rejected.json["status"] == status


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"{]}",
        b'{"title": NaN}',
        b"\xff\xfe",
        b'{"noteId":"\xc3"}',
        b'{"extra":{"a":' + b"[" * 100_000,
        b"\x00",
        b'{"noteId":"n","title":"t"}x',
    ],
)
def test_body_that_is_not_json_is_a_400(ana: Client, body: bytes) -> None:
    rejected = ana.request("POST", "/notes", body=body)
    assert (rejected.status, rejected.json["type"]) == (400, "urn:partita:problem:malformed")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", "the body is missing; send JSON"),
        (b" \n", "the body is missing; send JSON"),
        (b'{"noteId"', "the body is not JSON: it ends too early, after 9 bytes"),
        (b'{"noteId" 1}', "the body is not JSON: expected ':' (byte 10)"),
        (b'{"noteId": "\xc3"}', "the body is not UTF-8"),
        (b'{"noteId": "\\ud800"', "the body is not JSON: it ends too early, after 19 bytes"),
        (b'{"extra":{"a":' + b"[" * 100_000, "the body is nested too deeply"),
    ],
)
def test_error_of_invalid_json_has_a_position(ana: Client, body: bytes, expected: str) -> None:
    assert ana.request("POST", "/notes", body=body).json["detail"] == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"noteId": "n1"}, "title is missing"),
        ({**GOOD, "wings": 2}, "wings is not a known member"),
        ({**GOOD, "title": ""}, "title must have at least 1 character"),
        ({**GOOD, "title": "x" * 201}, "title must have at most 200 characters"),
        ({**GOOD, "title": None}, "title must be text"),
        ({**GOOD, "isOpen": "yes"}, "isOpen must be true or false"),
        ({**GOOD, "goneAt": "tomorrow"}, "goneAt must be a time such as 2025-01-31T12:00:00Z"),
        ({**GOOD, "extra": []}, "extra must be an object"),
        ([], "the body must be an object"),
    ],
)
def test_error_of_an_invalid_body_describes_the_fault(ana: Client, body: Any, expected: str) -> None:
    assert ana.post("/notes", body).json["detail"] == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/notes/n1/lines?limit=abc", "limit must be a whole number"),
        ("/notes/n1/lines?limit=0", "limit must be at least 1"),
        ("/notes/n1/lines?limit=201", "limit must be at most 200"),
        ("/notes/n1/lines?size=1", "unknown query parameter 'size'; the parameters are limit, cursor"),
        ("/notes/n1?x=1", "unknown query parameter 'x'; this operation has no parameters"),
        ("/search?words=a&on=yesterday", "on must be a date such as 2025-01-31"),
        ("/search?words=", "words must have at least 1 character"),
    ],
)
def test_error_of_an_invalid_address_describes_the_fault(ana: Client, path: str, expected: str) -> None:
    assert ana.get(path).json["detail"] == expected


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault("type", "int | str | null", "array"), "must be a whole number or text or null"),
        (Fault("length", "array", operator="<=", limit="1"), "must have at most 1 element"),
        (Fault("pattern", limit="'^a$'"), "must match '^a$'"),
        (Fault("multiple", limit="5"), "must be a multiple of 5"),
        (Fault("time zone", "a"), "must have a time zone: 2025-01-31T12:00:00Z"),
        (Fault("choice", got="'x'"), "has an unknown value: 'x'"),
        (Fault("format", "UUID"), "must be a UUID"),
        (Fault("range"), "is out of range"),
    ],
)
def test_fault_in_words(fault: Fault, expected: str) -> None:
    assert fault_in_words(fault) == expected


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/xml", "multipart/form-data", "", "application/json; charset=utf-16"]
)
def test_other_media_types_are_415(ana: Client, kind: str) -> None:
    assert ana.post("/notes", GOOD, content_type=kind).status == 415


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON;charset=UTF-8",
        "application/merge-patch+json",
    ],
)
def test_every_json_media_type_is_accepted(ana: Client, kind: str) -> None:
    assert ana.post("/notes", GOOD, content_type=kind).status == 201


def test_body_that_is_too_large_is_413(ana: Client) -> None:
    assert ana.post("/notes", {**GOOD, "text": "x" * MAX_BODY}).status == 413


def test_longest_text_is_accepted_in_every_script(ana: Client) -> None:
    for number, text in enumerate(["x" * 100_000, "힣" * 100_000, "👏" * 50_000]):
        assert ana.post("/notes", {"noteId": str(number), "title": str(number), "text": text}).status == 201
        assert ana.get(f"/notes/{number}").json["text"] == text


@pytest.mark.parametrize("text", ["👏" * 90_000, "a" * 100_000])
def test_longest_text_is_accepted_with_every_character_escaped(ana: Client, text: str) -> None:
    written = "".join(f"\\u{each:04x}" for each in memoryview(text.encode("utf-16-le")).cast("H"))
    body = f'{{"noteId": "n", "title": "t", "text": "{written}"}}'
    assert ana.request("POST", "/notes", body=body.encode()).status == 201
    assert ana.get("/notes/n").json["text"] == text


@pytest.mark.parametrize(
    ("path", "status", "field"),
    [
        ("/notes/n1/lines?limit=0", 422, "limit"),
        ("/notes/n1/lines?limit=201", 422, "limit"),
        ("/notes/n1/lines?limit=x", 422, "limit"),
        ("/notes/n1/lines?limit=", 422, "limit"),
        ("/notes/n1/lines?limit=1.5", 422, "limit"),
        ("/notes/n1/lines?limit=1&limit=2", 400, "limit"),
        ("/notes/n1/lines?size=1", 400, "size"),
        ("/notes/n1?x=1", 400, "x"),
        ("/search", 422, "words"),
        ("/search?words=", 422, "words"),
        ("/search?words=a&on=yesterday", 422, "on"),
        ("/search?words=%FF", 400, None),
        ("/search?" + "&".join(f"a{number}=1" for number in range(200)), 400, None),
        ("/notes/%FF%FE", 400, "noteId"),
        ("/notes/" + "x" * 1_001, 422, "noteId"),
    ],
)
def test_invalid_address_is_named(ana: Client, path: str, status: int, field: str | None) -> None:
    rejected = ana.get(path)
    assert (rejected.status, rejected.json.get("field")) == (status, field), rejected.json


@pytest.mark.parametrize(
    "name", ["전기차", "Ação", "👩‍👩‍👧", "a#b", "a%2Fb", "..%2F..", "%00", "a+b", "#", " ", "~", "NOTE%23n"]
)
def test_any_text_is_a_valid_id(ana: Client, name: str) -> None:
    assert ana.get(f"/notes/{name}/lines").status == 404
    assert ana.get(f"/notes/{name}").status == 404
    assert ana.get(f"/search?words={name}").status == 200


def test_oversized_key_is_rejected(ana: Client) -> None:
    assert ana.get("/notes/" + "%ED%9E%A3" * 800).status == 422


def test_value_in_use_is_a_409_that_names_the_field(ana: Client) -> None:
    ana.post("/notes", GOOD)
    taken = ana.post("/notes", {"noteId": "n2", "title": "t"})
    assert (taken.status, taken.json["field"], taken.json["type"]) == (409, "title", "urn:partita:problem:taken")
    assert ana.post("/notes", {"noteId": "n1", "title": "u"}).status == 409


def test_missing_entity_that_the_path_names_is_a_404(ana: Client) -> None:
    rejected = ana.post("/notes/nowhere/lines", {"number": 1, "words": "x"})
    assert (rejected.status, rejected.json["detail"]) == (404, "Note nowhere does not exist")


def test_rejected_change_writes_nothing(ana: Client, db: Store) -> None:
    ana.post("/notes", GOOD)
    ana.post("/notes", {"noteId": "n2", "title": "u"})
    before = db.one(notes_api.note("n2"))
    assert ana.patch("/notes/n2", {"title": "t", "text": "half"}).status == 409
    assert db.one(notes_api.note("n2")) == before


def test_busy_database_is_503(ana: Client, db: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from partita.errors import NoReply

    def lost(request: object) -> None:
        raise NoReply("there", "no answer", perhaps_executed=False)

    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr(db.backend, "call", lost)
    rejected = ana.delete("/notes/n1")
    assert (rejected.status, rejected.headers["retry-after"]) == (503, "1")
    assert rejected.json["detail"] == "the database does not answer"


@pytest.mark.parametrize(("status", "expected"), [(429, 503), (502, 503), (401, 500)])
def test_busy_service_is_503_and_one_that_rejects_us_500(
    ana: Client, db: Store, monkeypatch: pytest.MonkeyPatch, status: int, expected: int
) -> None:
    """An embedding service, or OpenSearch."""
    from partita.errors import SearchRejected

    def rejecting(request: object) -> None:
        raise SearchRejected("https://search.internal/x", status, "secret words")

    monkeypatch.setattr(db.backend, "call", rejecting)
    rejected = ana.delete("/notes/n1")
    assert rejected.status == expected
    assert "secret" not in rejected.json["detail"]
    assert "internal" not in rejected.json["detail"]


@pytest.mark.parametrize(
    ("body", "detail", "field"),
    [
        (b'{"noteId": "\\ud800"}', "noteId is not Unicode text: it has half of a surrogate pair", "noteId"),
        (
            b'{"title": "t", "noteId": "\\udc00"}',
            "noteId is not Unicode text: it has half of a surrogate pair",
            "noteId",
        ),
        (
            b'{"extra": {"a": ["\\ud800 b"]}}',
            "extra.a[0] is not Unicode text: it has half of a surrogate pair",
            "extra.a[0]",
        ),
        (b'{"extra": {"\\ud83d\\u0041": 1}}', "a name in extra has half of a surrogate pair", "extra"),
        (b'"\\ud800"', "the body is not Unicode text: it has half of a surrogate pair", None),
    ],
)
def test_half_of_a_surrogate_pair_is_rejected_with_its_place(
    ana: Client, body: bytes, detail: str, field: str | None
) -> None:
    rejected = ana.request("POST", "/notes", body=body)
    assert (rejected.status, rejected.json["detail"], rejected.json.get("field")) == (422, detail, field)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"noteId": "n1", "title": "a", "title": "b"}', "title"),
        (b'{"noteId": "n1", "title": "a", "extra": {"list": [{"x": 1, "x": 1}]}}', "extra.list[0].x"),
    ],
)
def test_member_that_occurs_twice_is_rejected(ana: Client, body: bytes, field: str) -> None:
    rejected = ana.request("POST", "/notes", body=body)
    assert (rejected.status, rejected.json["field"]) == (400, field)
    assert rejected.json["detail"] == f"the member {field} occurs twice"
    assert ana.get("/notes/n1").status == 404
