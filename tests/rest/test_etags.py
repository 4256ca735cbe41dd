"""If-Match on items that other code wrote: an item in another format is unchanged while it reads as the same entity."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from partita import Store, connect
from partita.cli.open_systems import open_systems
from partita.dynamodb.requests import PutItem
from partita.dynamodb.values import Item
from partita.plan.condition_expressions import to_stored
from partita.plan.predicates import evaluate
from partita.plan.unchanged import unchanged_condition
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from partita_systems import SYSTEMS
from tests.rest import notes_api
from tests.rest.client import Client

NOON = datetime(2100, 1, 1, 12, tzinfo=UTC)
ROW: Item = {
    "PK": {"S": "NOTE#n1"},
    "SK": {"S": "NOTE"},
    "noteId": {"S": "n1"},
    "ownerId": {"S": "ana"},
    "title": {"S": "t"},
}
OTHER_ROWS: dict[str, dict[str, Any]] = {
    "nothing but what must be there": {},
    "null": {name: {"NULL": True} for name in ("text", "mood", "isOpen", "goneAt", "updatedAt")},
    "without a fraction": {"goneAt": {"S": "2100-01-01T12:00:00Z"}, "updatedAt": {"S": "2025-01-01T00:00:00Z"}},
    "as JavaScript does": {"goneAt": {"S": "2100-01-01T12:00:00.000Z"}, "updatedAt": {"S": "2025-01-01T00:00:00.250Z"}},
    "as Python does": {"goneAt": {"S": "2100-01-01T12:00:00+00:00"}},
    "as Python does without a zone": {"goneAt": {"S": "2100-01-01T12:00:00"}},
}


@pytest.mark.parametrize("row", OTHER_ROWS.values(), ids=list(OTHER_ROWS))
def test_item_of_other_code_is_changed_and_deleted_with_its_etag(ana: Client, db: Store, row: dict[str, Any]) -> None:
    db.backend.call(PutItem(table_name="notes", item=ROW | row))
    assert ana.put("/notes/n1/title", {"title": "u"}, if_match=ana.get("/notes/n1").tag).status == 200
    db.backend.call(PutItem(table_name="notes", item=ROW | row))
    assert ana.delete("/notes/n1", if_match=ana.get("/notes/n1").tag).status == 204


@pytest.mark.parametrize(
    "edit",
    [
        {"text": {"S": "x"}},
        {"mood": {"S": "WILD"}},
        {"isOpen": {"BOOL": False}},
        {"goneAt": {"S": "2100-01-01T12:00:01Z"}},
        {"goneAt": {"NULL": True}},
        {"title": {"S": "T"}},
    ],
)
def test_etag_changes_with_the_value_that_is_read(edit: Item) -> None:
    """A time that was removed counts as changed too, although null is one of its formats."""
    was = notes_api.Note(note_id="n1", owner_id="ana", title="t", gone_at=NOON)
    condition = unchanged_condition(was)
    assert condition is not None
    stored = ROW | {"goneAt": {"S": "2100-01-01T12:00:00Z"}}
    assert evaluate(to_stored(notes_api.Note.__model__, condition), stored)
    assert not evaluate(to_stored(notes_api.Note.__model__, condition), stored | edit)


def test_fraction_of_a_second_is_not_lost() -> None:
    was = notes_api.Note(note_id="n1", owner_id="ana", title="t", gone_at=NOON.replace(microsecond=250_001))
    condition = unchanged_condition(was)
    assert condition is not None
    for text, same in [("12:00:00Z", False), ("12:00:00.250Z", False), ("12:00:00.250001+00:00", True)]:
        there = ROW | {"goneAt": {"S": f"2100-01-01T{text}"}}
        assert evaluate(to_stored(notes_api.Note.__model__, condition), there) is same


@pytest.fixture
def documented() -> Iterator[tuple[Store, Store, Client]]:
    """The blog and the neighbourhood, empty."""
    issuer = LocalIssuer()
    with connect("memory:", maintain=False) as backend, asyncio.Runner() as runner:
        systems = open_systems(backend, (SYSTEMS["blog"], SYSTEMS["nbhd"]))
        app = RestApplication([each.system.api for each in systems], backend, verifier=issuer.verifier())
        client = Client(app, "/api", issuer, runner.get_loop())
        blog, nbhd = (each.db for each in systems)
        yield blog, nbhd, client


AT = "2025-01-01T00:00:00Z"
POST = {
    "PK": "POST#p",
    "SK": "POST#p",
    "GSI1PK": "CATEGORY#k",
    "GSI1SK": f"POST#{AT}#p",
    "GSI2PK": "AUTHOR#ana",
    "GSI2SK": f"POST#{AT}#p",
    "postId": "p",
    "authorId": "ana",
    "subcategoryId": "k",
    "title": "Olá",
    "publishedAt": AT,
    "content": "Texto",
    "entityType": "POST",
    "createdAt": AT,
    "updatedAt": AT,
}
CATEGORY = {
    "PK": "CATEGORY#k",
    "SK": "CATEGORY#k",
    "GSI1PK": "CATEGORY_ROOT",
    "GSI1SK": "CATEGORY#1#k",
    "categoryId": "k",
    "name": "k",
    "entityType": "CATEGORY",
    "createdAt": AT,
    "updatedAt": AT,
}


def _put(db: Store, table: str, row: dict[str, str], **more: Any) -> None:
    item: Item = {name: {"S": value} for name, value in row.items()} | more
    db.backend.call(PutItem(table_name=table, item=item))


@pytest.mark.parametrize("form", [{}, {"status": "PUBLISHED"}, {"publishedAt": "2025-01-01T00:00:00.000000Z"}])
def test_documented_post_is_edited_and_removed_with_its_etag(
    documented: tuple[Store, Store, Client], form: dict[str, str]
) -> None:
    blog, _, client = documented
    table = SYSTEMS["blog"].design.tables[0].name
    _put(blog, table, CATEGORY, order={"N": "1"})
    author = client.by("ana", "AUTHOR")
    _put(blog, table, POST | form)
    edited = author.patch("/blog/posts/p", {"title": "X"}, if_match=author.get("/blog/posts/p").tag)
    assert (edited.status, edited.json.get("title")) == (200, "X"), edited.json
    _put(blog, table, POST | form)
    stale = author.get("/blog/posts/p").tag
    _put(blog, table, POST | form | {"title": "Y"})
    assert author.delete("/blog/posts/p", if_match=stale).status == 412
    assert author.delete("/blog/posts/p", if_match=author.get("/blog/posts/p").tag).status == 204


def test_documented_build_is_deleted_with_its_etag(documented: tuple[Store, Store, Client]) -> None:
    _, nbhd, client = documented
    did, day = "did:plc:abc123", "2100-01-10T09:15:00Z"
    site = {"PK": f"USER#{did}", "SK": "SITE#s", "site_id": "s", "title": "My Blog", "template": "blog"}
    site |= {"status": "published", "subdomain": "alice", "public_url": "https://alice.nbhd.city"}
    site |= {"created_at": AT, "updated_at": AT}
    build = {"PK": "BUILD#s", "SK": f"JOB#{day}", "job_id": "j", "site_id": "s", "status": "completed"}
    profile = {"PK": f"USER#{did}", "SK": "PROFILE", "did": did, "bluesky_handle": "alice.bsky.social"}
    profile |= {"bluesky_did": "did:plc:xyz789", "display_name": "Alice", "created_at": AT, "updated_at": AT}
    _put(nbhd, "nbhd-city", profile)
    _put(nbhd, "nbhd-city", site, config={"M": {}})
    _put(nbhd, "nbhd-city", build | {"started_at": day, "completed_at": day}, error={"NULL": True})
    place = f"/nbhd/users/{did}/sites/s/builds/j"
    alice = client.by(did)
    assert alice.delete(place, if_match=alice.get(place).tag).status == 204
