"""A file whose pages are damaged: clients get a problem without details, the log gets one line per request."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from partita.cli.seed import seed_file
from partita.cli.token import issuer_beside
from partita.errors import StorageBusy, StorageError
from partita.rest.error_mapping import problem_kind
from partita_systems import SYSTEMS
from tests.peers.process import free_port
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow

PARTITA = Path(sys.executable).with_name("partita")
USERS = "/api/blog/roles/AUTHOR/users"
ROLES = (b"ROLE#AUTHOR", b"ROLE#READER", b"ROLE#ADMIN")  # in items, and not in the record of the design
MALFORMED = "database disk image is malformed"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    file = tmp_path_factory.mktemp("damage") / "whole.db"
    seed_file([SYSTEMS["blog"]], str(file), 0.5)
    return file.read_bytes()


def _damaged(whole: bytes, *needles: bytes) -> bytes:
    """The file with the headers of all pages overwritten that contain such bytes, except the first page."""
    size = int.from_bytes(whole[16:18], "big")
    pages = [whole[at : at + size] for at in range(0, len(whole), size)]
    found = [at for at, page in enumerate(pages) if at and any(needle in page for needle in needles)]
    assert found
    for at in found:
        pages[at] = b"\xa5" * 64 + pages[at][64:]
    return b"".join(pages)


@contextmanager
def _running(*arguments: str) -> Iterator[tuple[str, list[str]]]:
    """The address of the process, and its output."""
    port = free_port()
    said: list[str] = []
    command = [str(PARTITA), *arguments, "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "aws dynamodb" in line:
                break
        try:
            yield f"http://127.0.0.1:{port}", said
        finally:
            process.send_signal(signal.SIGINT)
            said += process.communicate(timeout=PATIENCE)[1].splitlines()


def _asked(address: str, body: bytes | None = None, **headers: str) -> tuple[int, str]:
    request = Request(address, body, {name.replace("_", "-"): value for name, value in headers.items()})  # noqa: S310
    try:
        with urlopen(request, timeout=PATIENCE) as reply:  # noqa: S310 - our own server
            return reply.status, reply.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def test_damaged_pages_are_a_500_without_internals_and_one_line_in_the_log(whole: bytes, tmp_path: Path) -> None:
    file = tmp_path / "damaged.db"
    file.write_bytes(_damaged(whole, *ROLES))
    with _running("serve", "blog", "--on", str(file), "--no-seed", "--no-work") as (address, said):
        token = issuer_beside(str(file)).token("somebody", ("ADMIN",))
        status, body = _asked(f"{address}{USERS}", authorization=f"Bearer {token}")
        assert status == 500
        assert '"detail":"the request could not be answered"' in body
        assert "malformed" not in body
        assert "partita-dev-blog" in _asked(address, b"{}", x_amz_target="DynamoDB_20120810.ListTables")[1]
    job = "a background job failed; it runs again at its next interval"
    assert said == [f"unexpected error at GET {USERS}: {file}: {MALFORMED}", f"{job}: {file}: {MALFORMED}"]


def test_engine_on_damaged_pages_responds_without_details(whole: bytes, tmp_path: Path) -> None:
    file = tmp_path / "damaged.db"
    file.write_bytes(_damaged(whole, *ROLES))
    with _running("engine", "--data", str(file)) as (address, said):
        scan = {"x_amz_target": "DynamoDB_20120810.Scan"}
        status, body = _asked(address, b'{"TableName":"partita-dev-blog"}', **scan)
        assert (status, "InternalServerError" in body) == (500, True)
        assert (str(file) in body, "malformed" in body) == (False, False)
    assert said == [f"the storage failed while answering DynamoDB_20120810.Scan: {file}: {MALFORMED}"]


@pytest.mark.parametrize("command", [["serve", "blog", "--on"], ["engine", "--data"]], ids=["serve", "engine"])
def test_error_of_a_wholly_damaged_file_is_one_line(whole: bytes, tmp_path: Path, command: list[str]) -> None:
    file = tmp_path / "damaged.db"
    file.write_bytes(_damaged(whole, b""))
    done = subprocess.run(
        [PARTITA, *command, file, "--port", str(free_port())],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, f"partita: {file}: {MALFORMED}\n")


def test_failing_storage_is_500_and_locked_storage_is_503() -> None:
    assert problem_kind(StorageError(MALFORMED)) is None
    assert problem_kind(StorageBusy("/home/somebody/x.db", 5)) == (503, "busy")
