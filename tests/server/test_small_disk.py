"""A server on a file system that is really full: errors while it is, and nothing acknowledged is lost."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers import Running, call, create_table, started

TABLE = {
    "TableName": "notes",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
MEGABYTES = 6


def can_mount() -> bool:
    """Whether a process may have file systems of its own (user namespaces of Linux)."""
    command = ["unshare", "-Urm", "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"]
    return (
        shutil.which("unshare") is not None and not subprocess.run(command, capture_output=True, check=False).returncode
    )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Running, Path]]:
    """A server with its file on a small file system, and the folder as this process sees it."""
    if not can_mount():
        pytest.skip("no file system can be mounted here")
    serve = f"exec {sys.executable} -m partita engine --data {tmp_path}/notes.db --port"
    mount = f"mount -t tmpfs -o size={MEGABYTES}m tmpfs {tmp_path}"
    with started(lambda port: ["unshare", "-Urm", "sh", "-c", f"{mount} && {serve} {port}"]) as running:
        yield running, Path(f"/proc/{running.pid}/root{tmp_path}")


def put(endpoint: str, key: str) -> int:
    item = {"pk": {"S": key}, "text": {"S": key * 5000}}
    return call(endpoint, "PutItem", {"TableName": "notes", "Item": item}).status


def test_full_file_system_is_an_error_until_there_is_room(server: tuple[Running, Path]) -> None:
    running, folder = server
    endpoint = running.endpoint
    create_table(endpoint, TABLE)
    assert put(endpoint, "first") == 200
    filler = folder / "filler"
    filler.write_bytes(b"x" * (shutil.disk_usage(folder).free - 512 * 1024))
    statuses = {f"k{number}": put(endpoint, f"k{number}") for number in range(300)}
    stored = {"first", *(key for key, status in statuses.items() if status == 200)}
    assert 5 < len(stored) < 295
    assert set(statuses.values()) == {200, 500}
    assert call(endpoint, "GetItem", {"TableName": "notes", "Key": {"pk": {"S": "first"}}}).status == 200
    filler.unlink()
    assert put(endpoint, "after") == 200
    found = call(endpoint, "Scan", {"TableName": "notes", "ProjectionExpression": "pk"}).body["Items"]
    assert {item["pk"]["S"] for item in found} == stored | {"after"}
