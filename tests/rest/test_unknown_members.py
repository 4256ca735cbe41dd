"""An unknown member is rejected anywhere in a body; an unknown stored one is ignored."""

from typing import Any

import msgspec
import pytest

from partita import Store
from partita.dynamodb.requests import PutItem
from partita.dynamodb.values import Item
from partita.rest.unknown_members import unknown_members
from tests.rest.client import Client

GOOD = {"bookId": "b", "boughtAt": "2025-01-01T00:00:00Z"}
SIZE = {"highCm": 1}


class Tree(msgspec.Struct, tag_field="kind"):
    below: list["Tree"] = []


class Pond(msgspec.Struct, tag_field="kind", tag="pond"):
    deep: int = 1


class Garden(msgspec.Struct):
    holds: Tree | Pond | None = None


@pytest.mark.parametrize(
    ("members", "place"),
    [
        ({"size": SIZE | {"widCm": 2}}, "size.widCm"),
        ({"size": SIZE | {"high_cm": 2}}, "size.high_cm"),
        ({"images": {"front": {"url": "u", "alt": "x"}}}, "images.front.alt"),
        ({"images": {"front": {"url": "u", "size": SIZE | {"deep": 1}}}}, "images.front.size.deep"),
        (
            {"shown": {"alternatives": [{"url": "u"}, {"url": "u", "size": SIZE | {"": 1}}]}},
            "shown.alternatives[1].size.",
        ),
        ({"shown": {"image": None, "picture": None}}, "shown.picture"),
        ({"wings": 2}, "wings"),
    ],
)
def test_unknown_member_is_rejected_with_its_path(keeper: Client, members: dict[str, Any], place: str) -> None:
    keeper.put("/shelves/s")
    rejected = keeper.post("/shelves/s/books", GOOD | members)
    assert (rejected.status, rejected.json.get("field")) == (422, place)
    assert rejected.json["detail"] == f"{place} is not a known member"
    assert keeper.get("/shelves/s/books").json["items"] == []


@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        ("/eecar/watches", {"criteria": {"minSpec": {"v": 1}}, "email": "a@b.example"}, "criteria.minSpec"),
        (
            "/nbhd/neighborhoods",
            {"name": "Typo", "settings": {"allow_site_creaton": False}},
            "settings.allow_site_creaton",
        ),
    ],
)
def test_systems_reject_a_misspelt_member(five: Client, path: str, body: dict[str, Any], place: str) -> None:
    rejected = five.by("did:plc:typo").post(path, body)
    assert (rejected.status, rejected.json.get("field")) == (422, place)


def test_unknown_member_of_a_change_is_rejected(keeper: Client) -> None:
    keeper.put("/shelves/s")
    made = keeper.post("/shelves/s/books", GOOD)
    rejected = keeper.patch(made.headers["location"].removeprefix("/api/shelves"), {"size": SIZE | {"weight": 2}})
    assert (rejected.status, rejected.json["field"]) == (422, "size.weight")


def test_untyped_map_accepts_every_member(keeper: Client) -> None:
    keeper.put("/shelves/s")
    assert keeper.post("/shelves/s/books", GOOD | {"config": {"any": {"thing": [{"at": "all"}]}}}).status == 201


def test_unknown_stored_member_is_ignored(keeper: Client, shelf_db: Store) -> None:
    keeper.put("/shelves/s")
    item: Item = {
        "PK": {"S": "SHELF#s"},
        "SK": {"S": "BOOK#2025-01-01T00:00:00.000000Z#b"},
        "shelfId": {"S": "s"},
        "bookId": {"S": "b"},
        "boughtAt": {"S": "2025-01-01T00:00:00Z"},
        "size": {"M": {"highCm": {"N": "1"}, "weight": {"N": "2"}}},
    }
    shelf_db.backend.call(PutItem(table_name="shelves", item=item))
    (book,) = keeper.get("/shelves/s/books").json["items"]
    assert book["size"] == {"highCm": 1.0, "wideCm": None}


def test_schema_of_a_body_allows_no_additional_properties(keeper: Client) -> None:
    described = keeper.get("/openapi.json").json["components"]["schemas"]
    for name in ("NewBook", "SizeInput", "ImageInput", "NewImage"):
        assert described[name]["additionalProperties"] is False


def test_recursive_struct_is_checked_at_every_depth() -> None:
    check = unknown_members(Tree)
    assert check is not None
    check({"below": [{"below": []}]}, "")
    with pytest.raises(Exception, match=r"below\[0\].below\[0\].leaf is not a known member"):
        check({"below": [{"below": [{"leaf": 1}]}]}, "")


def test_union_of_structs_is_checked_by_its_tag() -> None:
    check = unknown_members(Garden)
    assert check is not None
    check({"holds": {"kind": "pond", "deep": 1}}, "")
    check({"holds": None}, "")
    with pytest.raises(Exception, match=r"holds.deep is not a known member"):
        check({"holds": {"kind": "Tree", "deep": 1}}, "")


def test_schema_of_a_reply_requires_every_member_that_is_sent(keeper: Client) -> None:
    described = keeper.get("/openapi.json").json["components"]["schemas"]
    for name in ("Book", "Size", "Image"):
        assert sorted(described[name]["required"]) == sorted(described[name]["properties"])
    assert "highCm" in described["SizeInput"]["required"]
    assert "wideCm" not in described["SizeInput"]["required"]
