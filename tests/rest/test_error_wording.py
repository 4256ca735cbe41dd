"""What a client is told is in the words of the API: no storage key, no name that only the design knows."""

import pytest

from partita import (
    AlreadyExists,
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
from partita.errors import ConditionFailed
from partita.rest.error_wording import Wording
from partita_systems import SYSTEMS
from partita_systems.checks.design import Check
from tests.rest import notes_api
from tests.rest.client import Client

WORDING = Wording(notes_api.design.models)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (NotFound("Note", "NOTE#n1 NOTE"), "Note n1 does not exist"),
        (NotFound("Note", "NOTE#a b NOTE c NOTE"), "Note a b NOTE c does not exist"),
        (NotFound("Line", "NOTE#n1 LINE#000007"), "Line n1, 7 does not exist"),
        (NotFound("Note", "n1"), "Note n1 does not exist"),
        (NotFound("Nothing", "NOTE#n1 NOTE"), "Nothing NOTE#n1 NOTE does not exist"),
        (AlreadyExists("Like", "LIKE#n1 ana"), "Like n1, ana exists already"),
        (ReferenceMissing("Line", "Note", "NOTE#n1 NOTE"), "Line refers to Note n1, which does not exist"),
        (LimitReached("Note", "NOTE#a: b NOTE", "likes <= 5"), "Note a: b: likes <= 5 would no longer hold"),
        (ConditionFailed("Note", "NOTE#n1 NOTE"), "Note n1: the condition does not hold"),
        (VersionConflict("Note", "NOTE#n1 NOTE", 3), "Note n1 is no longer at version 3; read it again"),
        (
            StoredItemInvalid("Line", "NOTE#n1 LINE#000007", "words is not stored as S"),
            "Line n1, 7 cannot be read as it is stored; the log says why",
        ),
        (
            StoredItemInvalid("Note or Line", "NOTE#n1 X", "the key is of neither form"),
            "Note or Line cannot be read as it is stored; the log says why",
        ),
        (InvalidCursor("lines", "its signature is wrong"), "the cursor is not one of search: its signature is wrong"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_values_are_told_instead_of_keys(error: Exception, told: str) -> None:
    assert WORDING.detail("search", error) == told


def test_note_that_is_not_there_is_named_as_in_its_path(ana: Client) -> None:
    for name in ("n1", "전기차 부품", "a#b"):
        assert ana.get(f"/notes/{name.replace('#', '%23')}").json["detail"] == f"Note {name} does not exist"
    assert ana.delete("/notes/n1").json["detail"] == "Note n1 does not exist"
    assert ana.patch("/notes/n1", {"title": "t"}).json["detail"] == "Note n1 does not exist"
    assert ana.get("/notes/n1/whole").json["detail"] == "Note n1 does not exist"


def test_view_that_cannot_be_read_is_told_by_the_id_of_its_entity() -> None:
    told = Wording([Check.__model__]).detail("", StoredItemInvalid("CheckSummary", "c1 CHECK", "no status"))
    assert told == "CheckSummary c1 cannot be read as it is stored; the log says why"


@pytest.mark.parametrize("path", ["/notes/n1/lines", "/notes/n1/whole", "/notes/n1/first", "/search?words=n1"])
def test_list_that_meets_what_it_cannot_read_names_it(
    ana: Client, db: Store, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    ana.post("/notes", {"noteId": "n1", "title": "t"})
    line = {"PK": "NOTE#n1", "SK": "LINE#000007", "noteId": "n1"}
    item: Item = {name: {"S": value} for name, value in line.items()} | {"number": {"N": "7"}, "words": {"N": "1"}}
    db.backend.call(PutItem(table_name="notes", item=item))
    told = ana.get(path)
    assert (told.status, told.json["type"]) == (500, "urn:partita:problem:unreadable")
    assert told.json["detail"] == "Line n1, 7 cannot be read as it is stored; the log says why"
    (logged,) = caplog.messages
    assert "Line NOTE#n1 LINE#000007 on disk: " in logged
    changed = ana.patch("/notes/n1/lines/7", {"words": "x"})
    assert (changed.status, changed.json["type"]) == (500, "urn:partita:problem:unreadable")


def test_cursor_is_refused_by_the_operations_own_name(ana: Client, five: Client) -> None:
    refused = ana.get("/search?words=a&cursor=x").json
    assert (refused["detail"], refused["field"]) == (
        "the cursor is not one of search: its signature is wrong",
        "cursor",
    )
    refused = five.get("/perfectit/cards?cursor=x").json
    assert refused["detail"].startswith("the cursor is not one of recent_cards: ")


@pytest.mark.parametrize("name", SYSTEMS)
def test_nothing_that_is_missing_is_told_by_its_key(five: Client, name: str) -> None:
    admin = five.by("nobody", "admin", "ADMIN")
    missing = 0
    for route in SYSTEMS[name].api.routes:
        if route.method not in ("GET", "DELETE") or not route.in_path:
            continue
        path = route.path
        for each in route.in_path:
            path = path.replace(f"{{{each.name}}}", "nobody")
        told = admin.ask(route.method, f"/{name}{path}")
        if told.status == 404:
            missing += 1
            assert "#" not in told.json["detail"], route.path
            assert "nobody" in told.json["detail"], route.path
    assert missing
