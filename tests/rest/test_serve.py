"""`partita serve` as a user runs it: started, its examples tried, interrupted; errors are one line."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from partita import Store, connect
from partita.cli.open_systems import OpenSystem, open_systems
from partita.cli.seed import seed_system
from partita.cli.serve import example_commands
from partita.dynamodb.requests import DeleteItem
from partita.store.seeding import TABLE, is_loaded
from partita_systems import SYSTEMS
from tests.peers.process import free_port
from tests.timing import PATIENCE, process_seconds

pytestmark = pytest.mark.slow

PARTITA = Path(sys.executable).with_name("partita")
ENVIRONMENT = os.environ | {"PATH": f"{PARTITA.parent}{os.pathsep}{os.environ['PATH']}", "AWS_PAGER": ""}


@contextmanager
def _serving(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The process, and what it has printed once it is ready."""
    command = [str(PARTITA), "serve", "--port", "0", *arguments]
    with subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            lines: list[str] = []
            for line in process.stdout:
                lines.append(line.strip())
                if line.strip().startswith("aws "):
                    break
            yield process, lines
        finally:
            process.kill()


def _shell(script: str) -> str:
    done = subprocess.run(
        ["sh", "-ec", script], env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    return done.stdout


def test_printed_examples_work_and_an_interrupt_ends_the_server(tmp_path: Path) -> None:
    with _serving(tmp_path) as (process, lines):
        assert process_seconds(process.pid) < 30  # about five
        first, token, second, aws = lines[lines.index("try:") + 1 :]
        assert json.loads(_shell(first))["items"]
        assert json.loads(_shell(f"{token}\n{second}"))["items"]
        assert json.loads(_shell(aws))["Items"]
        for page in (line for line in lines if line.endswith("/docs")):
            assert "<!doctype html>" in _shell(f"curl -sS --fail {page}")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, "")


def test_second_start_finds_the_data_and_accepts_tokens_of_the_first(tmp_path: Path) -> None:
    with _serving(tmp_path, "checks", "--scale", "0.1") as (_, lines):
        token = next(line for line in lines if line.startswith("TOKEN="))
    with _serving(tmp_path, "checks", "--scale", "0.1") as (process, lines):
        assert process_seconds(process.pid) < 20  # less than one
        second = next(line for line in lines if "$TOKEN" in line)
        assert json.loads(_shell(f"{token}\n{second}"))["items"]
        made = subprocess.run(
            [PARTITA, "token", "somebody", "admin"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert json.loads(_shell(f"TOKEN={made.stdout}\n{second}"))["items"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_examples_of_each_system_are_its_own(name: str) -> None:
    lines = list(example_commands([SYSTEMS[name]], "http://127.0.0.1:1", "token"))
    assert len(lines) == 4
    assert all(f"/api/{name}/" in line for line in lines if line.startswith("curl"))
    assert SYSTEMS[name].design.tables[0].name in lines[-1]


def _error(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [PARTITA, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env=ENVIRONMENT,
    )
    assert done.returncode == 2
    assert re.fullmatch(r"partita: [^\n]+\n", done.stderr), done.stderr
    return done.stderr


def test_port_in_use_is_one_line(tmp_path: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        said = f"--port {port}: Address already in use; choose another with --port"
        assert said in _error(tmp_path, "serve", "checks", "--port", port)
        assert f"--port {port}" in _error(tmp_path, "engine", "--memory", "--port", port)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["shop"], "'shop' is neither an installed system"),
        (["checks", "--on", "missing/folder/x.db"], "cannot be opened"),
        (["checks", "--on", "text.txt"], "not a Partita database file"),
        (["checks", "--on", "ftp://x"], "'ftp://x' is not a valid address"),
        (["checks", "--host", "192.0.2.1"], "--no-dynamodb"),
        (["checks", "--on", "memory:", "--keys", "absent.json"], "absent.json: the key set cannot be read"),
        (
            ["checks", "--keys", "http://issuer.example/keys"],
            "/keys: plain http can be intercepted",
        ),
        (["checks", "--keys", "http://127.0.0.1:1/keys"], "http://127.0.0.1:1/keys: the key set cannot be read"),
        (["checks", "--on", "x.db", "--scale", "0.1"], "x.db.issuer.pem: not an Ed25519 private key"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_error_is_one_line(tmp_path: Path, arguments: Sequence[str], said: str) -> None:
    (tmp_path / "text.txt").write_text("not a database " * 100)
    (tmp_path / "x.db.issuer.pem").write_text("not a key")
    assert said in _error(tmp_path, "serve", *arguments, "--port", str(free_port()))


def test_interrupted_seed_command_says_so_and_is_incomplete(tmp_path: Path) -> None:
    command = [str(PARTITA), "seed", "checks", "--on", "x.db", "--scale", "1000"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        file = tmp_path / "x.db"
        while process.poll() is None and (not file.exists() or file.stat().st_size + _log_size(file) < 200_000):
            os.sched_yield()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors.strip()) == (130, "partita: interrupted")
    with connect(str(file), maintain=False) as backend:
        system = open_systems(backend, [SYSTEMS["checks"]])[0]
        assert not is_loaded(system.db, "checks-1000-1", SYSTEMS["checks"].seed.total(1000))


def _log_size(file: Path) -> int:
    log = file.with_name(file.name + "-wal")
    return log.stat().st_size if log.exists() else 0


class Interrupted(Exception):
    """Simulates a crash."""


@pytest.mark.parametrize("name", SYSTEMS)
def test_interrupted_seeding_resumes_and_writes_the_same_items(name: str) -> None:
    """Interrupted after every third step, and once between writing a step and recording it."""
    counts = []
    for interrupted in (False, True):
        with connect("memory:", maintain=False) as backend:
            system = open_systems(backend, [SYSTEMS[name]])[0]
            total = SYSTEMS[name].seed.total(0.1)
            if interrupted:
                _seed_with_interruptions(system.db, name, total)
            seed_system(system, 0.1, 1, lambda *_: None)
            assert seed_system(system, 0.1, 1, lambda *_: None) == 0
            counts.append(_count(system.db))
    assert counts[0] == counts[1]


def _seed_with_interruptions(db: Store, name: str, total: int) -> None:
    for stop in range(3, total, 3):

        def progress(_: str, done: int, __: int, stop: int = stop) -> None:
            if done >= stop:
                raise Interrupted

        with pytest.raises(Interrupted):
            seed_system(OpenSystem(SYSTEMS[name], db), 0.1, 1, progress)
    db.backend.call(DeleteItem(table_name=TABLE, key={"seeding": {"S": f"{name}-0.1-1"}}))


def _count(db: Store) -> dict[str, int]:
    from partita.dynamodb.requests import Scan

    found = {}
    for table in db.design.tables:
        count, start = 0, None
        while True:
            reply = db.backend.call(Scan(table_name=table.name, select="COUNT", exclusive_start_key=start))
            count += reply.count or 0
            if reply.last_evaluated_key is None:
                break
            start = json.loads(bytes(reply.last_evaluated_key))
        found[table.name] = count
    return found


def test_shell_lines_survive_quoting() -> None:
    for line in example_commands(list(SYSTEMS.values()), "http://127.0.0.1:1", "token"):
        assert shlex.split(line)
