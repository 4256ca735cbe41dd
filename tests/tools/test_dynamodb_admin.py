"""dynamodb-admin: its pages load, and it creates, changes and deletes items."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.peers.http import call
from tests.peers.npm import package
from tests.peers.process import started
from tests.peers.runtimes import Unavailable, node
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow


def fetched(url: str, method: str = "GET", body: Any = None) -> tuple[int, str]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)  # noqa: S310 - ours
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:  # noqa: S310 - ours
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture(scope="module")
def admin(endpoint: str) -> Iterator[str]:
    try:
        program = package("dynamodb-admin") / "dist" / "dynamodb-admin.js"
        runtime = node()
    except Unavailable as missing:
        pytest.skip(str(missing))

    def command(port: int) -> list[str | Path]:
        options = ["--host", "127.0.0.1", "--port", str(port), "--dynamo-endpoint", endpoint]
        return [*runtime, program, *options]

    with started(command, answers=lambda url: fetched(url)[0] == 200) as running:
        yield running.endpoint


@pytest.fixture
def table(admin: str, endpoint: str, table_name: str) -> str:
    made = {
        "TableName": table_name,
        "HashAttributeName": "pk",
        "HashAttributeType": "S",
        "RangeAttributeName": "sk",
        "RangeAttributeType": "N",
        "ReadCapacityUnits": 5,
        "WriteCapacityUnits": 5,
    }
    status, text = fetched(f"{admin}/create-table", "POST", {"TableDefinition": made, "SecondaryIndexes": []})
    assert status < 300, text
    return table_name


def test_pages_load(admin: str, table: str) -> None:
    for page in ("", "create-table", f"tables/{table}", f"tables/{table}/get", f"tables/{table}/add-item"):
        status, text = fetched(f"{admin}/{page}")
        assert (status, "<html" in text.lower()) == (200, True), page
    status, text = fetched(f"{admin}/tables/{table}/meta")
    assert (status, table in text) == (200, True)
    assert table in fetched(f"{admin}/api/tables")[1]


def test_item_is_created_changed_found_and_deleted(admin: str, endpoint: str, table: str) -> None:
    item = {"pk": "a", "sk": 1, "text": "hello"}
    assert fetched(f"{admin}/tables/{table}/add-item", "PUT", item)[0] == 200
    place = f"{admin}/tables/{table}/items/{quote('a,1')}"
    status, text = fetched(place)
    assert (status, "hello" in text) == (200, True)
    status, text = fetched(place, "PUT", item | {"text": "changed", "list": [1, {"deep": True}]})
    assert (status, json.loads(text)["text"]) == (200, "changed")
    key = {"pk": {"S": "a"}, "sk": {"N": "1"}}
    stored = call(endpoint, "GetItem", {"TableName": table, "Key": key}).body["Item"]
    assert stored["list"] == {"L": [{"N": "1"}, {"M": {"deep": {"BOOL": True}}}]}
    status, text = fetched(f"{admin}/tables/{table}/items")
    assert (status, "changed" in text) == (200, True)
    assert fetched(place, "DELETE")[0] == 204
    assert call(endpoint, "GetItem", {"TableName": table, "Key": key}).body == {}


def test_items_are_filtered_and_queried(admin: str, table: str) -> None:
    for number in range(3):
        fetched(f"{admin}/tables/{table}/add-item", "PUT", {"pk": "a", "sk": number, "text": f"t{number}"})
    filters = quote(json.dumps({"pk": {"value": "a", "type": "S", "operator": "="}}))
    where = f"operationType=query&queryableSelection=table&filters={filters}"
    status, text = fetched(f"{admin}/tables/{table}/items?{where}")
    assert status == 200, text
    assert all(f"t{number}" in text for number in range(3))


def test_table_is_purged_and_deleted(admin: str, endpoint: str, table: str) -> None:
    fetched(f"{admin}/tables/{table}/add-item", "PUT", {"pk": "a", "sk": 1})
    assert fetched(f"{admin}/tables/{table}/all", "DELETE")[0] < 300
    assert call(endpoint, "Scan", {"TableName": table}).body["Count"] == 0
    assert fetched(f"{admin}/tables/{table}", "DELETE")[0] < 300
    assert table not in call(endpoint, "ListTables", {}).body["TableNames"]
