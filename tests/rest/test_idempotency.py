"""A POST that is sent again with its Idempotency-Key is executed once."""

import asyncio
from uuid import uuid4

import pytest

from partita import Store
from partita.errors import OutcomeUnknown
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from tests.rest import notes_api
from tests.rest.client import Client, Request
from tests.rest.conftest import CURSOR_KEYS, UnversionedBackend

NOTE = {"noteId": "n1", "title": "t"}


@pytest.fixture
def key() -> str:
    return str(uuid4())


def test_repeated_request_gets_the_first_response(ana: Client, key: str) -> None:
    first = ana.post("/notes", NOTE, idempotency_key=key)
    again = ana.post("/notes", NOTE, idempotency_key=key)
    assert (first.status, again.status) == (201, 201)
    assert again.body == first.body
    assert {name: again.headers[name] for name in ("location", "etag", "content-type")} == {
        name: first.headers[name] for name in ("location", "etag", "content-type")
    }
    assert ("idempotency-replayed" in first.headers, again.headers["idempotency-replayed"]) == (False, "true")
    assert ana.post("/notes", NOTE).status == 409


def test_concurrent_requests_with_one_key_are_executed_once(ana: Client, key: str) -> None:
    requests = [Request("POST", "/notes", NOTE, {"idempotency-key": key})] * 20
    statuses = sorted({each.status for each in ana.concurrently(requests)})
    assert statuses in ([201], [201, 409])
    assert len(ana.get("/people/ana/notes").json["items"]) == 1


def test_key_of_another_request_is_rejected(ana: Client, key: str) -> None:
    ana.post("/notes", NOTE, idempotency_key=key)
    other = ana.post("/notes", {**NOTE, "noteId": "n2"}, idempotency_key=key)
    assert (other.status, other.json["field"]) == (422, "Idempotency-Key")
    assert ana.get("/notes/n2").status == 404


def test_keys_of_two_callers_are_independent(ana: Client, bob: Client, key: str) -> None:
    assert ana.post("/notes", NOTE, idempotency_key=key).status == 201
    assert bob.post("/notes", {"noteId": "n2", "title": "u"}, idempotency_key=key).status == 201


def test_rejected_request_may_be_corrected_under_its_key(ana: Client, key: str) -> None:
    ana.post("/notes", NOTE)
    assert ana.post("/notes", NOTE, idempotency_key=key).status == 409
    ana.delete("/notes/n1")
    assert ana.post("/notes", NOTE, idempotency_key=key).status == 201


def test_request_whose_outcome_is_unknown_is_not_executed_again(
    ana: Client, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = Store.create

    def lost(db: Store, entity: object, **settings: object) -> object:
        found = create(db, entity, **settings)  # type: ignore[type-var, arg-type]
        if isinstance(entity, notes_api.Note):
            raise OutcomeUnknown("Note")
        return found

    monkeypatch.setattr(Store, "create", lost)
    assert ana.post("/notes", NOTE, idempotency_key=key).status == 503
    monkeypatch.undo()
    ana.delete("/notes/n1")
    again = ana.post("/notes", NOTE, idempotency_key=key)
    assert (again.status, "outcome is unknown" in again.json["detail"]) == (409, True)
    assert ana.get("/notes/n1").status == 404


@pytest.mark.parametrize("value", ["", "x" * 256, "é", "a\tb"])
def test_invalid_key_is_rejected(ana: Client, value: str) -> None:
    rejected = ana.post("/notes", NOTE, idempotency_key=value)
    assert (rejected.status, rejected.json["field"]) == (400, "Idempotency-Key")
    assert ana.get("/notes/n1").status == 404


def test_other_methods_ignore_the_key(ana: Client, key: str) -> None:
    ana.post("/notes", NOTE)
    for text in ("a", "b"):
        assert ana.patch("/notes/n1", {"text": text}, idempotency_key=key).json["text"] == text


def test_key_is_rejected_where_its_table_may_not_be_created(db: Store, key: str) -> None:
    issuer = LocalIssuer()
    app = RestApplication(
        [notes_api.api], UnversionedBackend(db.backend), verifier=issuer.verifier(), cursor_keys=CURSOR_KEYS
    )
    with asyncio.Runner() as runner:
        ana = Client(app, "/api/notes", issuer, runner.get_loop()).by("ana")
        rejected = ana.post("/notes", NOTE, idempotency_key=key)
        assert (rejected.status, rejected.json["field"]) == (400, "Idempotency-Key")
        assert "there is no table partita-requests" in rejected.json["detail"]
        assert ana.get("/notes/n1").status == 404
