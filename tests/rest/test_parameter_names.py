"""Parameters have the names of attributes in replies, and one entity has one name in all paths."""

from typing import Any

import pytest

from partita import Entity, Item, Items, Table, pattern, prove
from partita.rest import Api, anyone, caller_is
from partita.rest.openapi import openapi
from partita_systems import SYSTEMS

PAGING = {"limit", "cursor", "include", "ids"}


def _api(naming: Any) -> Api[Any]:
    table = Table("cards", pk="PK", sk="SK", naming=naming)

    class Card(Entity, table=table, key=("OWNER#{owner_id}", "CARD#{card_id}")):
        owner_id: str
        card_id: str

    @pattern
    def card(owner_id: str, card_id: str) -> Item[Card]: ...

    @pattern
    def cards(owner_id: str) -> Items[Card]: ...

    api: Api[Any] = Api("cards", "Cards", prove("cards", table))
    api.expose_get("/owners/{owner_id}/cards/{card_id}", card, who=caller_is("owner_id"))
    api.expose_list("/owners/{owner_id}/cards", cards)

    @api.get("/owners/{named_id}/cards/{found_id}/copy", who=caller_is("named_id"))
    def copy(service: Any, named_id: str, found_id: str, full_size: bool = False) -> Card:
        """Get a copy."""
        return Card(owner_id=named_id, card_id=found_id)

    @api.put("/owners/{owner_id}/cards/{other_id}/swap/{card_id}", who=anyone)
    def swap(service: Any, owner_id: str, other_id: str, card_id: str) -> Card:
        """Swap two cards."""
        return Card(owner_id=owner_id, card_id=card_id)

    return api


@pytest.mark.parametrize(
    ("naming", "owner", "card", "full"),
    [("camel", "ownerId", "cardId", "fullSize"), ("snake", "owner_id", "card_id", "full_size")],
)
def test_parameters_are_named_as_attributes_are(naming: str, owner: str, card: str, full: str) -> None:
    copy = next(each for each in _api(naming).routes if each.name == "copy")
    assert copy.sent_path == f"/owners/{{{owner}}}/cards/{{{card}}}/copy"
    assert [each.sent_name for each in copy.in_query] == [full]
    assert copy.allowed_for == f"the caller named in `{owner}`"


def test_paging_parameters_have_the_same_names_in_every_api() -> None:
    listed = next(each for each in _api("pascal").routes if each.name == "cards")
    assert (listed.sent_path, [each.sent_name for each in listed.in_query]) == (
        "/owners/{OwnerId}/cards",
        ["limit", "cursor"],
    )


def test_placeholders_of_one_path_stay_different() -> None:
    swap = next(each for each in _api("camel").routes if each.name == "swap")
    assert swap.sent_path == "/owners/{ownerId}/cards/{otherId}/swap/{cardId}"


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_parameter_has_the_spelling_of_the_members_of_bodies(name: str) -> None:
    described = openapi(SYSTEMS[name].api)
    members = {
        member for schema in described["components"]["schemas"].values() for member in schema.get("properties", {})
    }
    is_camel = not any("_" in member for member in members)
    parameters = {
        each["name"]
        for methods in described["paths"].values()
        for operation in methods.values()
        for each in operation.get("parameters", ())
        if each["in"] in ("path", "query")
    }
    assert {each for each in parameters - PAGING if ("_" in each) == is_camel and each.lower() != each} == set()


@pytest.mark.parametrize("name", SYSTEMS)
def test_one_entity_has_one_name_in_all_paths(name: str) -> None:
    names: dict[tuple[str, ...], set[str]] = {}
    for path in openapi(SYSTEMS[name].api)["paths"]:
        before: tuple[str, ...] = ()
        for segment in path.strip("/").split("/"):
            is_name = segment.startswith("{")
            if is_name:
                names.setdefault(before, set()).add(segment)
            before = (*before, "{}" if is_name else segment)
    assert {before: found for before, found in names.items() if len(found) > 1} == {}
