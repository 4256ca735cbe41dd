"""An item that is still stored under an old key is read, changed and deleted like any other."""

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from partita import Entity, Item, Owns, Store, Table, connect, pattern, prove
from partita.dynamodb.requests import PutItem, Scan
from partita.rest import Api, owned_by
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from tests.rest.client import Client

table = Table("archive", pk="PK", sk="SK")


class Letter(Entity, table=table, key=("LETTER#{number:+6}", "LETTER"), old_keys=[("LETTER#{number:plain}", "LETTER")]):
    number: int
    owner_id: str
    text: str = ""


class Folder(Entity, table=table, key=("FOLDER#{number:+6}", "FOLDER"), old_keys=[("FOLDER#{number:plain}", "FOLDER")]):
    number: int
    owner_id: str
    pages = Owns(lambda: Page)


class Page(Entity, table=table, key=("FOLDER#{number:+6}", "PAGE#{page}")):
    number: int
    page: str


@pattern
def letter(number: int) -> Item[Letter]: ...
@pattern
def folder(number: int) -> Item[Folder]: ...


design = prove("archive", table)
api = Api("archive", "Archive", design)
api.expose_get("/letters/{number}", letter)
api.expose_patch("/letters/{number}", letter, "text", who=owned_by("owner_id"))
api.expose_delete("/letters/{number}", letter, who=owned_by("owner_id"))
api.expose_get("/folders/{number}", folder)
api.expose_delete("/folders/{number}", folder, who=owned_by("owner_id"))


@pytest.fixture
def archive() -> Iterator[Store]:
    with connect("memory:", design, maintain=False) as db:
        db.create_tables()
        for kind in ("LETTER", "FOLDER"):
            key: Any = {"PK": {"S": f"{kind}#7"}, "SK": {"S": kind}, "number": {"N": "7"}, "owner_id": {"S": "ana"}}
            db.backend.call(PutItem(table_name="archive", item=key))
        yield db


@pytest.fixture
def client(archive: Store) -> Iterator[Client]:
    issuer = LocalIssuer()
    app = RestApplication([api], archive.backend, verifier=issuer.verifier())
    with asyncio.Runner() as runner:
        yield Client(app, "/api/archive", issuer, runner.get_loop())


def stored(db: Store) -> set[str]:
    items = db.backend.call(Scan(table_name="archive")).items or ()
    return {msgspec.json.decode(item)["PK"]["S"] for item in items}


@pytest.mark.parametrize("path", ["/letters/7", "/folders/7"])
def test_item_under_an_old_key_is_deleted_where_it_is_read(client: Client, archive: Store, path: str) -> None:
    kind = "LETTER" if "letters" in path else "FOLDER"
    ana = client.by("ana")
    assert ana.get(path).status == 200
    assert ana.delete(path).status == 204
    assert ana.get(path).status == 404
    assert ana.delete(path).status == 404
    assert not {each for each in stored(archive) if each.startswith(kind)}


def test_item_under_an_old_key_is_changed_where_it_is_read(client: Client, archive: Store) -> None:
    ana = client.by("ana")
    changed = ana.patch("/letters/7", {"text": "new"})
    assert (changed.status, changed.json["text"]) == (200, "new")
    assert ana.get("/letters/7").json["text"] == "new"
    assert "LETTER#7" not in stored(archive)


def test_delete_that_is_forbidden_leaves_the_item_under_its_old_key(client: Client, archive: Store) -> None:
    before = stored(archive)
    assert client.by("bob").delete("/letters/7").status == 403
    assert client.by("ana").delete("/letters/7", if_match='"0000"').status == 412
    assert stored(archive) == before


def test_delete_with_the_current_etag_deletes(client: Client, archive: Store) -> None:
    ana = client.by("ana")
    tag = ana.get("/letters/7").headers["etag"]
    assert ana.delete("/letters/7", if_match=tag).status == 204
    assert "LETTER#7" not in stored(archive)
