"""No reply of any operation shows a key, an index attribute or an attribute that is marked `Internal`.

Every GET of every system is sent with ids of the demo data, by an anonymous caller, an admin and the owner; so is every
other operation with its example body, in a database of its own. Cursors are decoded too.
"""

import asyncio
import base64
import binascii
import enum
import re
from collections.abc import Iterator
from typing import Any

import pytest

from partita import Internal, connect
from partita.cli.open_systems import open_systems
from partita.cli.seed import seed_system
from partita.rest import LocalIssuer, RestApplication
from partita.rest.openapi import openapi
from partita.rest.routes import Route
from partita_systems import SYSTEMS
from tests.rest.client import Client, Response
from tests.rest.known_ids import known_ids
from tests.rest.system_fixtures import SYSTEM_FIXTURES

pytestmark = pytest.mark.slow

GROUPS = ("admin", "ADMIN", "machine", "MACHINE", "builder", "runner", "AUTHOR")
OWNER = "did:plc:owner"
METHODS = ("GET", "PUT", "PATCH", "POST", "DELETE")  # what is deleted is read before


@pytest.fixture(scope="module", params=SYSTEMS)
def system(request: pytest.FixtureRequest) -> Iterator[tuple[str, Client]]:
    issuer, name = LocalIssuer(), request.param
    with connect("memory:", maintain=False) as backend, asyncio.Runner() as runner:
        (opened,) = open_systems(backend, [SYSTEMS[name]])
        seed_system(opened, 0.2, 1, lambda *_: None)
        app = RestApplication([SYSTEMS[name].api], backend, verifier=issuer.verifier())
        yield name, Client(app, f"/api/{name}", issuer, runner.get_loop())


def _internal_names(name: str) -> set[str]:
    """Attributes of keys and indexes, and internal ones, on disk; an attribute that a client knows is none of them."""
    design = SYSTEMS[name].design
    keys = {key for table in design.tables for key in (table.pk, table.sk, table.ttl) if isinstance(key, str)}
    for table in design.tables:
        for index in table.indexes:
            keys |= {*index.pk, *index.sk}
    shown: set[str] = set()
    for model in design.models:
        for attribute in model.attributes.values():
            hidden = attribute.marker(Internal) is not None
            (keys if hidden else shown).update((attribute.name, attribute.member.field))
    return keys - shown | {"PK", "SK", "_shelf", "partita-leaving"}


def _prefixes(name: str) -> re.Pattern[str]:
    """The constants that keys begin with, such as `USER#`."""
    constants = {
        segment.constant
        for model in SYSTEMS[name].design.models
        for keys in (model.key, *(each for several in model.indexes.values() for each in several))
        for attribute in keys.attributes
        if attribute.template is not None
        for segment in attribute.template.segments[:1]
        if segment.constant and len(attribute.template.segments) > 1
    }
    assert constants
    return re.compile("|".join(rf"\b{re.escape(each)}#" for each in sorted(constants)))


def _walk(value: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """(the name of a member, the text of its value) of everything in some JSON."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield name, ""
            yield from _walk(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from _walk(each, at)
    elif isinstance(value, str):
        yield at, value


def _decoded(text: str) -> str:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("latin-1")
    except binascii.Error:
        return ""


def _leaks(name: str, reply: Response) -> list[str]:
    internal, prefixes = _internal_names(name), _prefixes(name)
    found = [] if reply.status < 500 else [f"status {reply.status}"]
    for member, text in _walk(reply.json) if reply.plain else ():
        if member in internal:
            found.append(member)
        texts = (text, _decoded(text)) if member == "cursor" else (text,)
        found += [f"{member}: {each[:60]}" for each in texts if prefixes.search(each) or '"PK"' in each]
    location = reply.headers.get("location", "")
    return found + ([f"location: {location}"] if "%23" in location or "#" in location else [])


def _path(route: Route, known: dict[str, list[str]], examples: dict[str, Any]) -> str:
    path = route.path
    for each in route.in_path:
        path = path.replace(f"{{{each.name}}}", known.get(each.name, [str(examples.get(each.sent_name, "x"))])[0])
    asked = [f"{each.sent_name}={examples.get(each.sent_name, 'x')}" for each in route.in_query if each.required]
    if route.related:
        asked.append("include=" + ",".join(each.name for each in route.related))
    if any(each.name == "limit" for each in route.in_query):
        asked.append("limit=2")
    return path + ("?" + "&".join(asked) if asked else "")


def test_no_reply_shows_how_it_is_stored(system: tuple[str, Client]) -> None:
    name, client = system
    api = SYSTEMS[name].api
    service = client.app._started().apis[name].service
    described = openapi(api)["paths"]
    admin = client.by("admin", *GROUPS)
    demo = known_ids(admin, name)
    own = {key: [value] for key, value in SYSTEM_FIXTURES[name](service, OWNER).items()}
    leaks, statuses = [], []
    for method in METHODS:
        for route in (each for each in api.routes if each.method == method):
            operation = described[f"/api/{name}{route.sent_path}"][method.lower()]
            examples = {each["name"]: each.get("example") for each in operation.get("parameters", ())}
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
            for known, caller in (
                (demo, client),
                (demo, client.by("admin", *GROUPS)),
                (own, client.by(OWNER, *GROUPS)),
            ):
                path = _path(route, {**demo, **known}, examples)
                reply = caller.request(method, path, body)
                statuses.append(reply.status)
                leaks += [f"{method} {path}: {each}" for each in _leaks(name, reply)]
    assert leaks == []
    assert sum(status < 300 for status in statuses) > len(api.routes) / 2, "most operations succeed"


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_schema_shows_how_it_is_stored(name: str) -> None:
    described = openapi(SYSTEMS[name].api)
    internal = _internal_names(name)
    members = {
        f"{schema}.{member}"
        for schema, content in described["components"]["schemas"].items()
        for member in content.get("properties", {})
        if member in internal
    }
    assert members == set()
    assert not [text for _, text in _walk(described) if _prefixes(name).search(text)]


@pytest.mark.parametrize("name", SYSTEMS)
def test_attribute_whose_values_are_key_prefixes_is_internal(name: str) -> None:
    shown = [
        f"{model.name}.{segment.field}"
        for model in SYSTEMS[name].design.models
        for key in model.key.attributes
        if key.template is not None and len(key.template.segments) > 1
        for segment in key.template.segments[:1]
        if segment.field is not None and not segment.constant
        for attribute in [model.attributes[segment.field]]
        if isinstance(attribute.kind, type) and issubclass(attribute.kind, enum.Enum)
        if attribute.marker(Internal) is None
    ]
    assert shown == []
