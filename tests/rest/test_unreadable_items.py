"""Rows that other code has damaged: every list of the five systems goes on without them."""

import asyncio
import json
from typing import Any

import pytest

from partita import connect
from partita.cli.open_systems import open_systems
from partita.cli.seed import seed_system
from partita.dynamodb.requests import PutItem, Scan
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from partita_systems import SYSTEMS
from tests.rest.client import Client
from tests.rest.known_ids import known_ids
from tests.rest.test_random_requests import GROUPS

pytestmark = pytest.mark.slow


def _damage(backend: Any, table: Any) -> int:
    """Makes all attributes but the keys of every third item unreadable; returns their number."""
    keys = {*table.key_names, *(name for index in table.indexes for name in index.pk + index.sk)}
    keys |= {name for index in table.vector_indexes for name in (index.vector, *index.search_names)}
    raw = backend.call(Scan(table_name=table.name)).items
    items = [json.loads(bytes(each)) for each in raw][::3]
    for item in items:
        damaged = {name: value if name in keys else {"BOOL": True} for name, value in item.items()}
        backend.call(PutItem(table_name=table.name, item=damaged))
    return len(items)


def _is_about_the_address(detail: str, path: str) -> bool:
    """Whether the unreadable item is the one that the path names, such as the check whose results are listed."""
    return any(f"{segment} cannot be read" in detail for segment in path.split("/"))


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_list_goes_on_without_unreadable_items(name: str) -> None:
    issuer = LocalIssuer()
    with connect("memory:", maintain=False) as backend, asyncio.Runner() as runner:
        (system,) = open_systems(backend, [SYSTEMS[name]])
        seed_system(system, 0.2, 1, lambda *_: None)
        app = RestApplication([SYSTEMS[name].api], backend, verifier=issuer.verifier())
        client = Client(app, f"/api/{name}", issuer, runner.get_loop()).by("admin", *GROUPS)
        known = known_ids(client, name)
        assert sum(_damage(backend, table) for table in SYSTEMS[name].design.tables) > 5
        failed, tried = [], 0
        for route in SYSTEMS[name].api.routes:
            if route.method != "GET" or not hasattr(route.result, "__struct_fields__"):
                continue
            if "cursor" not in route.result.__struct_fields__ or not {each.name for each in route.in_path} <= set(
                known
            ):
                continue
            for at in range(3):
                path = route.path
                for each in route.in_path:
                    path = path.replace(f"{{{each.name}}}", known[each.name][at % len(known[each.name])])
                found = client.get(path)
                tried += 1
                if found.status >= 500 and not _is_about_the_address(found.json["detail"], path):
                    failed.append((path, found.json["detail"]))
        assert failed == []
        assert tried >= 6
        assert app.unreadable_items
