"""Several worker processes of uvicorn on one database file."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.peers.process import started, wait_until
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow

MODULE = """
import os
import msgspec
from partita import Store
from partita.rest import RestApplication, anyone
from tests.rest.notes_api import api, Notes, Plain

class Worker(msgspec.Struct):
    pid: int

@api.get("/worker")
def worker(service: Notes) -> Worker:
    return Worker(os.getpid())

@api.put("/words/{plain_id}/{words}", who=anyone)
def write_plain(service: Notes, plain_id: str, words: str) -> Worker:
    service.db.put(Plain(plain_id=plain_id, words=words))
    return Worker(os.getpid())

app = RestApplication([api], os.environ["DATA"], create_tables=True)
"""
ROOT = Path(__file__).parents[2]


@pytest.fixture
def module(tmp_path: Path) -> Path:
    (tmp_path / "served.py").write_text(MODULE)
    return tmp_path


def environment(module: Path, data: str) -> dict[str, str]:
    path = os.pathsep.join([str(module), str(ROOT), os.environ.get("PYTHONPATH", "")])
    return {"DATA": data, "PYTHONPATH": path}


def command(port: int) -> list[str]:
    return [sys.executable, "-m", "uvicorn", "served:app", "--workers", "2", "--port", str(port), "--log-level", "info"]


def is_served(endpoint: str) -> bool:
    return httpx.get(f"{endpoint}/api/notes/worker", timeout=PATIENCE).status_code == 200


def by_each_worker(ask: Callable[[], httpx.Response]) -> set[int]:
    """The ids of the two workers, each of which has responded: a new connection reaches any of them."""
    found: set[int] = set()

    def has_found_both() -> bool:
        found.add(ask().json()["pid"])
        return len(found) == 2

    wait_until(has_found_both)
    return found


def test_a_write_by_either_worker_is_read_from_both(module: Path) -> None:
    data = environment(module, str(module / "notes.db"))
    with started(command, answers=is_served, environment=data) as running:
        base = f"{running.endpoint}/api/notes"
        workers = by_each_worker(lambda: httpx.get(f"{base}/worker", timeout=PATIENCE))
        assert running.pid not in workers
        for words in ("one", "two", "three"):
            address = f"{base}/words/p/{words}"
            assert by_each_worker(lambda: httpx.put(address, timeout=PATIENCE)) == workers  # noqa: B023 - called at once
            assert {httpx.get(f"{base}/plain/p", timeout=PATIENCE).json()["words"] for _ in range(20)} == {words}


def test_memory_is_an_error_with_more_than_one_worker(module: Path) -> None:
    failed = subprocess.run(
        command(0),
        env=os.environ | environment(module, "memory:"),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert "memory: belongs to one process, and there are 2 workers; use a file path, or one worker" in failed.stderr
