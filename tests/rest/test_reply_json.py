"""Attributes that are marked `Internal` are in no reply and in no schema of one."""

import asyncio
import dataclasses
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import pytest

from partita import Entity, InKey, Internal, Item, Items, Page, Table, connect, pattern, prove
from partita.rest import Api, LocalIssuer, Related, RestApplication, anyone
from partita.rest.openapi import openapi
from partita.rest.reply_json import encoded_reply
from tests.rest.client import Client

table = Table("drawers", pk="PK", sk="SK", naming="camel")


class Drawer(Entity, table=table, key=("DRAWER#{drawer_id}", "{shelf}")):
    drawer_id: str
    shelf: Annotated[str, InKey(), Internal()] = "TOP"
    locked_by: Annotated[str | None, Internal()] = None
    neighbour_id: str | None = None


@pattern
def drawer(drawer_id: str, shelf: str) -> Item[Drawer]: ...
@pattern
def drawers(drawer_id: str) -> Items[Drawer]: ...


design = prove("drawers", table)


@dataclasses.dataclass
class Pair:
    one: Drawer
    other: Drawer | None


class Both(msgspec.Struct):
    first: Drawer
    others: list[Drawer]
    by_name: dict[str, Drawer]
    last: Drawer | None = None


api = Api("drawers", "Drawers", design)
api.expose_get("/drawers/{drawer_id}/{shelf}", drawer)
api.expose_list(
    "/drawers/{drawer_id}", drawers, include=[Related("beside", drawer, drawer_id="neighbour_id", shelf="drawer_id")]
)


@api.get("/both")
def both(service: Any) -> Both:
    one = Drawer(drawer_id="a", locked_by="x")
    return Both(one, [one, one], {"b": one}, one)


@api.get("/pages")
def page(service: Any, limit: int = 20, cursor: str | None = None) -> Page[Drawer]:
    return Page([Drawer(drawer_id="a", locked_by="x")], None)


@api.put("/drawers/{drawer_id}", who=anyone)
def put(service: Any, drawer_id: str) -> Drawer:
    made: Drawer = service.put(Drawer(drawer_id=drawer_id, locked_by="x"))
    return made


@pytest.fixture
def client() -> Iterator[Client]:
    issuer = LocalIssuer()
    with connect("memory:", maintain=False) as backend, asyncio.Runner() as runner:
        app = RestApplication([api], backend, verifier=issuer.verifier(), create_tables=True)
        yield Client(app, "/api/drawers", issuer, runner.get_loop())


@pytest.mark.parametrize("path", ["/drawers/a/TOP", "/drawers/a", "/drawers/a?include=beside", "/both", "/pages"])
def test_no_reply_has_an_internal_attribute(client: Client, path: str) -> None:
    assert client.put("/drawers/a").json == {"drawerId": "a", "neighbourId": None}
    body = client.get(path).plain.decode()
    assert '"drawerId":"a"' in body
    assert not any(word in body for word in ("shelf", "lockedBy", "TOP"))


def test_nested_entities_keep_their_other_members(client: Client) -> None:
    shown = {"drawerId": "a", "neighbourId": None}
    assert client.get("/both").json == {
        "first": shown,
        "others": [shown, shown],
        "by_name": {"b": shown},
        "last": shown,
    }


def test_schemas_of_replies_have_no_internal_attribute() -> None:
    schema = openapi(api)["components"]["schemas"]["Drawer"]
    assert (list(schema["properties"]), schema["required"]) == (
        ["drawerId", "neighbourId"],
        ["drawerId", "neighbourId"],
    )


def test_struct_without_internal_attributes_is_encoded_as_it_is() -> None:
    class Plain(msgspec.Struct):
        names: list[str]
        more: dict[str, Any]

    assert encoded_reply(Plain(["a"], {"b": 1})) == b'{"names":["a"],"more":{"b":1}}'


def test_entities_in_a_dataclass_are_shown_without_internal_attributes() -> None:
    shown = msgspec.json.decode(encoded_reply(Pair(Drawer(drawer_id="1", locked_by="x"), Drawer(drawer_id="2"))))
    assert shown["one"].keys() == shown["other"].keys() == {"drawerId", "neighbourId"}
