"""What a path names must exist and be visible to the caller: otherwise every operation is a 404 with the same words."""

import asyncio
from collections.abc import Iterator

import pytest

from partita import connect
from partita.cli.open_systems import open_systems
from partita.cli.seed import seed_system
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from partita.rest.openapi import openapi
from partita.rest.routes import Route
from partita_systems import SYSTEMS
from tests.rest.client import Client, Response
from tests.rest.known_ids import known_ids
from tests.rest.test_random_requests import GROUPS

CLOSED = {"noteId": "closed", "title": "c", "isOpen": False}
LINE = {"number": 1, "words": "x"}
OPERATIONS = [
    ("GET", "", None),
    ("GET", "/lines", None),
    ("GET", "/whole", None),
    ("PATCH", "", {"text": "x"}),
    ("DELETE", "", None),
]
NO_ENTITY = {  # values of these parameters are not entities: days, types, companies of other systems
    *("role", "check_type", "status", "day", "category", "query_hash"),
    *("seller_id", "company_id", "to_company_id", "buyer_id", "recipient_id", "party_id"),
}


REPEATABLE = {  # the vote, or what is left of the account, is gone already
    ("DELETE", "/cards/{card_id}/votes/{user_id}", "user_id"),
    ("POST", "/users/{did}/purge", "did"),
}


@pytest.mark.parametrize(("method", "below", "body"), OPERATIONS)
def test_hidden_entity_is_answered_like_a_missing_one(
    bob: Client, ana: Client, method: str, below: str, body: object
) -> None:
    ana.post("/notes", CLOSED)
    ana.post("/notes/closed/lines", LINE)
    hidden, missing = (bob.request(method, f"/notes/{name}{below}", body) for name in ("closed", "nowhere"))
    assert (hidden.status, missing.status) == (404, 404)
    assert hidden.plain.replace(b"closed", b"nowhere") == missing.plain
    assert ana.get("/notes/closed").json["text"] == ""


def test_visible_entity_that_the_caller_may_not_change_is_a_403(anonymous: Client, bob: Client, ana: Client) -> None:
    ana.post("/notes", {"noteId": "open", "title": "o"})
    assert (bob.patch("/notes/open", {"text": "x"}).status, anonymous.delete("/notes/open").status) == (403, 401)


def test_empty_list_of_a_visible_parent_is_a_list(bob: Client, ana: Client) -> None:
    ana.post("/notes", {"noteId": "open", "title": "o"})
    assert bob.get("/notes/open/lines").json == {"items": [], "cursor": None}
    ana.delete("/notes/open")
    assert bob.get("/notes/open/lines").status == 404


def test_reply_that_is_cached_for_the_owner_is_hidden_from_others(bob: Client, ana: Client) -> None:
    ana.post("/notes", CLOSED)
    ana.post("/notes/closed/lines", LINE)
    for _ in range(3):
        assert (ana.get("/notes/closed/lines").status, bob.get("/notes/closed/lines").status) == (200, 404)


@pytest.fixture(scope="module", params=SYSTEMS)
def system(request: pytest.FixtureRequest) -> Iterator[tuple[str, Client]]:
    """A system with demo data of its own, and an anonymous client."""
    issuer, name = LocalIssuer(), request.param
    with connect("memory:", maintain=False) as backend, asyncio.Runner() as runner:
        (opened,) = open_systems(backend, [SYSTEMS[name]])
        seed_system(opened, 0.2, 1, lambda *_: None)
        app = RestApplication([SYSTEMS[name].api], backend, verifier=issuer.verifier())
        yield name, Client(app, f"/api/{name}", issuer, runner.get_loop())


def _without_one(system: tuple[str, Client], route: Route, missing: str, known: dict[str, list[str]]) -> Response:
    """The response to a request of an admin whose path names an entity that does not exist."""
    name, client = system
    described = openapi(SYSTEMS[name].api)["paths"][f"/api/{name}{route.sent_path}"][route.method.lower()]
    body = described.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
    path, caller = route.path, "u_nobody"
    for each in route.in_path:
        value = "xnowhere.example" if each.name == missing else known.get(each.name, ["x_other"])[0]
        path = path.replace(f"{{{each.name}}}", value)
        caller = value if f"`{each.name}`" in route.who.description else caller
    examples = {each["name"]: each.get("example", "x") for each in described.get("parameters", ())}
    query = "&".join(f"{each.sent_name}={examples[each.sent_name]}" for each in route.in_query if each.required)
    return client.by(caller, *GROUPS).request(route.method, f"{path}?{query}", body)


@pytest.mark.slow
def test_path_that_names_a_missing_entity_is_a_404_in_every_operation(system: tuple[str, Client]) -> None:
    name, client = system
    known = known_ids(client.by("admin", *GROUPS), name)
    wrong = []
    for route in SYSTEMS[name].api.routes:
        for missing in {each.name for each in route.in_path} - NO_ENTITY:
            found = _without_one(system, route, missing, known)
            invalid_id = found.status == 422 and found.json.get("field") in (route.sent_name(missing), "createdAt")
            if (route.method, route.path, missing) in REPEATABLE:
                continue
            if found.status not in (404, 403) and not invalid_id:
                wrong.append(f"{route.method} {route.path} without {missing}: {found.status} {found.plain.decode()}")
    assert wrong == []
