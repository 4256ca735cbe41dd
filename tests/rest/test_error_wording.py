"""Errors use the names of the API: no storage keys, no names that only the design has."""

import pytest

from partita import (
    AlreadyExists,
    ConditionFailed,
    InvalidCursor,
    LimitReached,
    NotFound,
    ReferenceMissing,
    Store,
    StoredItemInvalid,
    VersionConflict,
)
from partita.dynamodb.requests import PutItem
from partita.dynamodb.values import Item
from partita.rest.error_mapping import ErrorMapping, RequestNames
from partita.store.decoding import decoder_of
from partita_systems import SYSTEMS
from partita_systems.checks.design import design as checks
from tests.rest import notes_api
from tests.rest.client import Client

MAPPING = ErrorMapping(notes_api.design)
SEARCH = next(route for route in notes_api.api.routes if route.name == "search")


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (NotFound("Note", {"note_id": "n1"}), "Note n1 does not exist"),
        (NotFound("Line", {"note_id": "n1", "number": 7}), "Line n1, 7 does not exist"),
        (AlreadyExists("Like", {"note_id": "n1", "user_id": "ana"}), "Like n1, ana already exists"),
        (ReferenceMissing("Line", "Note", {"note_id": "n1"}), "Line refers to Note n1, which does not exist"),
        (
            LimitReached("Note", {"note_id": "a: b"}, "like_count", "<=", "most_likes"),
            "Note a: b: the write would exceed the limit likeCount <= most_likes",
        ),
        (ConditionFailed("Note", {"note_id": "n1"}), "Note n1: the condition does not hold"),
        (VersionConflict("Note", {"note_id": "n1"}, 3), "Note n1 is no longer at version 3; read it again"),
        (
            StoredItemInvalid(
                "Line", {"PK": "NOTE#n1", "SK": "LINE#000007"}, "no words", {"note_id": "n1", "number": 7}
            ),
            "Line n1, 7 cannot be read as it is stored; see the log",
        ),
        (
            StoredItemInvalid("Note or Line", {"PK": "NOTE#n1", "SK": "X"}, "the key belongs to none of them"),
            "Note or Line cannot be read as it is stored; see the log",
        ),
        (InvalidCursor("lines", "it is too old"), "invalid cursor for search: it is too old"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_errors_show_values_and_no_storage_keys(error: Exception, detail: str) -> None:
    problem = MAPPING.problem(error, RequestNames(SEARCH, None), matching=False)
    assert problem is not None
    assert problem.detail == detail


def test_missing_note_is_named_as_in_its_path(ana: Client) -> None:
    for name in ("n1", "전기차 부품", "a#b"):
        assert ana.get(f"/notes/{name.replace('#', '%23')}").json["detail"] == f"Note {name} does not exist"
    assert ana.delete("/notes/n1").json["detail"] == "Note n1 does not exist"
    assert ana.patch("/notes/n1", {"title": "t"}).json["detail"] == "Note n1 does not exist"
    assert ana.get("/notes/n1/whole").json["detail"] == "Note n1 does not exist"


def test_unreadable_view_is_named_by_the_id_of_its_entity() -> None:
    patterns = checks.patterns.values()
    (view,) = {each.read.view for each in patterns if each.read.view is not None}
    with pytest.raises(StoredItemInvalid) as error:
        decoder_of(view)(b'{"PK":{"S":"c1"},"SK":{"S":"CHECK"}}')
    assert (error.value.entity, error.value.key) == ("CheckSummary", {"check_id": "c1"})


@pytest.mark.parametrize("path", ["/notes/n1/lines", "/notes/n1/whole", "/search?words=n1"])
def test_list_leaves_out_an_item_that_it_cannot_read_and_the_log_names_it_once(
    ana: Client, db: Store, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    ana.post("/notes", {"noteId": "n1", "title": "t"})
    line = {"PK": "NOTE#n1", "SK": "LINE#000007", "noteId": "n1"}
    item: Item = {name: {"S": value} for name, value in line.items()} | {"number": {"N": "7"}, "words": {"N": "1"}}
    db.backend.call(PutItem(table_name="notes", item=item))
    for _ in range(2):
        response = ana.get(path)
        assert response.status == 200
        assert "words" not in response.plain.decode()
    (logged,) = caplog.messages
    assert "left out of a list: Line NOTE#n1 LINE#000007 cannot be read as it is stored: " in logged
    assert list(ana.app.unreadable_items) == [logged.removeprefix("left out of a list: ")]
    changed = ana.patch("/notes/n1/lines/7", {"words": "x"})
    assert (changed.status, changed.json["type"]) == (500, "urn:partita:problem:unreadable")


NOT_A_CURSOR = "it is not a cursor of this query with these arguments; start again without a cursor"


def test_error_of_a_cursor_names_the_operation(ana: Client, five: Client) -> None:
    rejected = ana.get("/search?words=a&cursor=x").json
    assert (rejected["detail"], rejected["field"]) == (
        f"invalid cursor for search: {NOT_A_CURSOR}",
        "cursor",
    )
    rejected = five.get("/perfectit/cards?cursor=x").json
    assert rejected["detail"].startswith("invalid cursor for recent_cards: ")


@pytest.mark.parametrize("name", SYSTEMS)
def test_not_found_error_shows_no_storage_key(five: Client, name: str) -> None:
    admin = five.by("nobody", "admin", "ADMIN")
    missing = 0
    for route in SYSTEMS[name].api.routes:
        if route.method not in ("GET", "DELETE") or not route.in_path:
            continue
        path = route.path
        for each in route.in_path:
            path = path.replace(f"{{{each.name}}}", "nobody")
        response = admin.request(route.method, f"/{name}{path}")
        if response.status == 404:
            missing += 1
            assert "#" not in response.json["detail"], route.path
            assert "nobody" in response.json["detail"], route.path
    assert missing
