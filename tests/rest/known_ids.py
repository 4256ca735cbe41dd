"""Ids that exist in the demo data of a system, for requests to any of its operations."""

import re
from collections.abc import Iterator
from typing import Any

from tests.rest.client import Client

LISTS = {
    "perfectit": ["/cards/top", "/categories"],
    "checks": ["/types/AVAILABILITY/ACTIVE/checks"],
    "eecar": ["/categories/battery/parts", "/needs?status=active", "/matches"],
    "blog": ["/categories", "/roles/AUTHOR/users"],
    "nbhd": ["/users", "/neighborhoods"],
}


def _named(value: Any) -> Iterator[tuple[str, str]]:
    """(name as in a path, text) of every member of some JSON."""
    if isinstance(value, list):
        for each in value:
            yield from _named(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if isinstance(each, str):
                yield re.sub(r"[A-Z]", lambda found: "_" + found[0].lower(), name), each
            yield from _named(each)


def known_ids(client: Client, name: str) -> dict[str, list[str]]:
    """Ids of existing entities, by the name of their parameter."""
    found: dict[str, list[str]] = {}
    for path in LISTS[name]:
        reply = client.get(path)
        assert reply.status == 200, path
        for member, text in _named(reply.json["items"][:5]):
            found.setdefault(member, []).append(text)
    people = next(found[each] for each in ("did", "author_id", "user_id", "seller_id") if each in found)
    return {"user_id": people, "company_id": people, **found}
