"""`partita engine --workers`: processes that share a port and a file."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers import Running, call, free_port, started
from tests.server.conftest import engine_command

pytestmark = pytest.mark.slow

TABLE = {
    "TableName": "shared",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def children(pid: int) -> set[int]:
    """The workers of a process; multiprocessing has a process of its own beside them."""
    found = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return {each for each in found if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    command = engine_command("--data", str(tmp_path / "shared.db"), "--workers", "2", "--port")
    with started(lambda port: [*command, str(port)]) as found:
        yield found


def test_writes_by_any_worker_are_read_from_all(running: Running) -> None:
    assert len(children(running.pid)) == 2
    assert call(running.endpoint, "CreateTable", TABLE).status == 200
    for number in range(30):
        item = {"pk": {"S": "a"}, "n": {"N": str(number)}}
        assert call(running.endpoint, "PutItem", {"TableName": "shared", "Item": item}).status == 200
        found = call(running.endpoint, "GetItem", {"TableName": "shared", "Key": {"pk": {"S": "a"}}})
        assert found.body == {"Item": item}


def test_worker_that_ends_is_replaced(running: Running) -> None:
    before = children(running.pid)
    deadline = time.monotonic() + 1.1  # a worker that ends sooner than in a second is not replaced
    while time.monotonic() < deadline:
        assert call(running.endpoint, "ListTables", {}).status == 200
    os.kill(min(before), signal.SIGKILL)
    deadline = time.monotonic() + 20
    while len(children(running.pid) - before) < 1 and time.monotonic() < deadline:
        assert call(running.endpoint, "ListTables", {}).status == 200
    assert len(children(running.pid) - before) == 1


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_the_command(tmp_path: Path, how: signal.Signals) -> None:
    port = free_port()
    command = engine_command("--data", str(tmp_path / "x.db"), "--workers", "2", "--port", str(port))
    with subprocess.Popen([str(each) for each in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            process.stdout.readline()
            assert call(f"http://127.0.0.1:{port}", "ListTables", {}).status == 200
            workers = children(process.pid)
            assert len(workers) == 2
            process.send_signal(how)
            _, errors = process.communicate(timeout=30)
        finally:
            process.kill()  # or leaving the block would wait for it
    assert b"Traceback" not in errors
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{each}").exists() for each in workers) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(Path(f"/proc/{each}").exists() for each in workers)


def test_memory_cannot_be_shared() -> None:
    command = [str(each) for each in engine_command("--memory", "--workers", "2")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "partita: --workers: several processes cannot share memory; add --data FILE\n",
    )
