"""The description of an API: valid OpenAPI, examples that match, and a page that loads nothing from other hosts."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from html.parser import HTMLParser
from typing import Any

import jsonschema_rs
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from partita.rest import Api
from partita.rest.openapi import openapi
from partita.rest.pages.docs_page import docs_page
from partita_systems import SYSTEMS
from tests.rest import notes_api
from tests.rest.client import Client

pytestmark = pytest.mark.slow


APIS: dict[str, Api[Any]] = {"notes": notes_api.api, **{name: SYSTEMS[name].api for name in SYSTEMS}}
every_api = pytest.mark.parametrize("name", list(APIS))


@pytest.fixture(scope="module")
def described() -> dict[str, dict[str, Any]]:
    return {name: openapi(api) for name, api in APIS.items()}


def _operations(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}", operation


@every_api
def test_description_is_valid(described: dict[str, dict[str, Any]], name: str) -> None:
    OpenAPIV31SpecValidator(json.loads(json.dumps(described[name]))).validate()


@every_api
def test_examples_match_their_schemas(described: dict[str, dict[str, Any]], name: str) -> None:
    description = described[name]
    wrong = []
    for where, operation in _operations(description):
        contents = [response.get("content", {}) for response in operation["responses"].values()]
        contents.append(operation.get("requestBody", {}).get("content", {}))
        found = [content["application/json"] for content in contents if "application/json" in content]
        found += [each for each in operation.get("parameters", ()) if "example" in each]
        for each in found:
            schema = {**each["schema"], "components": description["components"]}
            check = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
            wrong += [f"{where}: {error.message}" for error in check.iter_errors(each["example"])]
    assert wrong == []


@every_api
def test_every_operation_has_a_description_and_a_rule(described: dict[str, dict[str, Any]], name: str) -> None:
    for where, operation in _operations(described[name]):
        assert operation["summary"].endswith("."), where
        assert "\n\nAllowed for " in operation["description"], where


@every_api
def test_no_path_contains_a_time(name: str) -> None:
    """A time in a path would be a storage key; entities have ids."""
    held = [
        f"{route.path}: {each.name}" for route in APIS[name].routes for each in route.in_path if each.type is datetime
    ]
    assert held == []


@every_api
def test_members_are_named_as_on_disk(described: dict[str, dict[str, Any]], name: str) -> None:
    """camelCase for those whose tables have it, snake_case for nbhd."""
    style = re.compile(r"[a-z0-9_]+" if name == "nbhd" else r"[a-z][a-zA-Z0-9]*")
    schemas = described[name]["components"]["schemas"]
    assert [
        f"{schema}.{member}"
        for schema, each in schemas.items()
        for member in each.get("properties", {})
        if not style.fullmatch(member)
    ] == []


class _Sources(HTMLParser):
    """The links and sources that a browser would load or follow."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.found += [value or "" for name, value in attributes if name in ("src", "href", "action", "data", "srcset")]


@every_api
def test_page_loads_nothing_from_elsewhere(described: dict[str, dict[str, Any]], name: str) -> None:
    page = docs_page(APIS[name].title, described[name], f"/api/{name}")
    sources = _Sources()
    sources.feed(page)
    assert sorted({each for each in sources.found if not each.startswith("#")}) == ["data:,", "openapi.json"]
    assert not {"img", "iframe", "object"} & set(sources.tags)
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


@every_api
def test_links_within_the_page_have_a_target(described: dict[str, dict[str, Any]], name: str) -> None:
    page = docs_page(APIS[name].title, described[name], f"/api/{name}")
    links, names = set(re.findall(r"href='#([^']+)'", page)), re.findall(r"\bid='?([\w-]+)", page)
    assert links <= set(names)
    assert len(names) == len(set(names))


@every_api
def test_page_shows_every_operation(described: dict[str, dict[str, Any]], name: str) -> None:
    page = docs_page(APIS[name].title, described[name], f"/api/{name}")
    for where, operation in _operations(described[name]):
        assert f"id='{operation['operationId']}'" in page, where
        assert where.partition(" ")[2] in page


def test_page_escapes_its_content() -> None:
    assert "Notes &amp; lines." in docs_page("<i>", openapi(notes_api.api), "/api/notes")
    assert "<i>" not in docs_page("<i>", openapi(notes_api.api), "/api/notes")


def test_openapi_and_docs_are_served(anonymous: Client) -> None:
    page, description = anonymous.get("/docs"), anonymous.get("/openapi.json")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert (description.status, description.json["openapi"]) == (200, "3.1.0")


def test_reply_schema_has_no_bounds_that_stored_items_violate(described: dict[str, dict[str, Any]]) -> None:
    """A user stored by the team's own code has no name; the reply has an empty one, which a request may not have."""
    schemas = described["blog"]["components"]["schemas"]
    shown, sent = (schemas[each]["properties"]["name"] for each in ("User", "NewCategory"))
    assert (shown.get("minLength"), shown["maxLength"], "default" in shown) == (None, 200, False)
    assert sent["minLength"] == 1
