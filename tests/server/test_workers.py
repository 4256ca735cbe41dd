"""`partita engine --workers`: processes that share a port and a file."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.peers import Running, call, free_port, started, wait_until
from tests.server.conftest import engine_command
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow

TABLE = {
    "TableName": "shared",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


# A worker is replaced however soon it ends; the usual bound would count the seconds that the machine stands still.
REPLACING = (
    "import partita.server.workers as workers\nworkers.MIN_SECONDS = 0.0\nfrom partita.cli.main import main\nmain()\n"
)


def children(pid: int) -> set[int]:
    """The workers of a process that have loaded what they run; multiprocessing has a process of its own beside them."""
    found = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return {each for each in found if _is_worker(each)}


def _is_worker(pid: int) -> bool:
    with suppress(OSError):
        return b"uvloop" in Path(f"/proc/{pid}/maps").read_bytes()
    return False


def two_workers(pid: int) -> set[int]:
    """Waits for both: the first may answer before the second is there."""
    wait_until(lambda: len(children(pid)) == 2)
    return children(pid)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    command = [sys.executable, "-c", REPLACING, "engine", "--data", str(tmp_path / "shared.db"), "--workers", "2"]
    with started(lambda port: [*command, "--port", str(port)]) as found:
        yield found


def test_writes_by_any_worker_are_read_from_all(running: Running) -> None:
    assert two_workers(running.pid)
    assert call(running.endpoint, "CreateTable", TABLE).status == 200
    for number in range(30):
        item = {"pk": {"S": "a"}, "n": {"N": str(number)}}
        assert call(running.endpoint, "PutItem", {"TableName": "shared", "Item": item}).status == 200
        found = call(running.endpoint, "GetItem", {"TableName": "shared", "Key": {"pk": {"S": "a"}}})
        assert found.body == {"Item": item}


def test_worker_that_ends_is_replaced(running: Running) -> None:
    before = two_workers(running.pid)
    os.kill(min(before), signal.SIGKILL)
    wait_until(lambda: min(before) not in children(running.pid))
    assert call(running.endpoint, "ListTables", {}).status == 200
    after = two_workers(running.pid)
    assert len(after & before) == 1
    assert call(running.endpoint, "ListTables", {}).status == 200


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_the_command(tmp_path: Path, how: signal.Signals) -> None:
    port = free_port()
    command = engine_command("--data", str(tmp_path / "x.db"), "--workers", "2", "--port", str(port))
    with subprocess.Popen([str(each) for each in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            process.stdout.readline()
            assert call(f"http://127.0.0.1:{port}", "ListTables", {}).status == 200
            workers = two_workers(process.pid)
            process.send_signal(how)
            _, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()  # or leaving the block would wait for it
    assert b"Traceback" not in errors
    wait_until(lambda: not any(Path(f"/proc/{each}").exists() for each in workers))


INTERRUPTED = (
    "import os, signal\n"
    "from multiprocessing.context import SpawnProcess\n"
    "start = SpawnProcess.start\n"
    "def interrupted(process):\n"
    "    start(process)\n"
    "    os.kill(os.getpid(), signal.{name})\n"
    "SpawnProcess.start = interrupted\n"
    "from partita.cli.main import main\n"
    "main()\n"
)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_signal_while_a_worker_is_started_stops_all(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED.format(name=name), "engine", "--data", str(tmp_path / "x.db")]
    arguments = ["--workers", "2", "--port", str(free_port())]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_memory_cannot_be_shared() -> None:
    command = [str(each) for each in engine_command("--memory", "--workers", "2")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "partita: --workers: several processes cannot share memory; add --data FILE\n",
    )
