"""The command line: what it says of itself, and what it says when something is wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "command-line.md"
COMMANDS = ("engine", "serve", "seed", "token", "prove", "explain", "verify")


def _ran(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    command = [sys.executable, "-m", "partita", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, check=False, timeout=60)


def _page() -> str:
    parts = ["# The command line\n", "What `--help` prints.\n"]
    for command in ("", *COMMANDS):
        told = "\n".join(line.rstrip() for line in _ran(*filter(None, [command]), "--help").stdout.splitlines())
        parts.append(f"## `partita{' ' if command else ''}{command}`\n\n```text\n{told}\n```\n")
    return "\n".join(parts)


def test_the_page_of_the_command_line_is_current() -> None:
    page = _page()
    if os.environ.get("PARTITA_UPDATE"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page


def test_prove_lists_every_pattern_of_a_design() -> None:
    found = _ran("prove", "partita.systems.checks.design")
    assert found.returncode == 0
    assert "checks: " in found.stdout
    assert "checks_of_user" in found.stdout


def test_explain_prints_range_cost_and_proof() -> None:
    found = _ran("explain", "partita.systems.checks.design", "checks_of_user")
    assert found.returncode == 0
    for word in ("where", "range", "cost", "proof"):
        assert f"  {word} " in found.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["prove", "no.such.module"], "partita: no.such.module: Python finds no such module from here\n"),
        (["explain", "partita.systems.checks.design", "nothing"], "partita: checks: has no pattern 'nothing'"),
        (["verify", "nothing.db"], "partita: nothing.db: there is no such file\n"),
        (["engine", "--memory", "--data", "x.db"], "partita: --memory and --data: choose one\n"),
        (["engine", "--host", "192.0.2.1"], "partita: --host 192.0.2.1: anybody who can reach this address"),
    ],
)
def test_what_cannot_work_is_one_line(arguments: list[str], said: str, tmp_path: Path) -> None:
    found = _ran(*arguments, cwd=tmp_path)
    assert found.returncode == 2
    assert found.stderr.startswith(said)
    assert found.stderr.count("\n") == 1
    assert not found.stdout


def test_a_design_that_cannot_be_proven_is_told_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "from partita import *\n"
        "t = Table('notes', pk='PK')\n"
        "class Note(Entity, table=t, key=('SCORE#{score}',)):\n"
        "    score: int\n"
    )
    found = _ran("prove", "broken", cwd=tmp_path)
    assert found.returncode == 2
    assert found.stderr.startswith("partita: Note")
    assert "Traceback" not in found.stderr


def test_verify_holds_a_file_against_itself(tmp_path: Path) -> None:
    seeded = _ran("seed", "checks", "--on", "data.db", cwd=tmp_path)
    assert seeded.returncode == 0, seeded.stderr
    found = _ran("verify", "data.db", cwd=tmp_path)
    assert found.returncode == 0
    assert found.stdout == "data.db: every index agrees with its table, every total is exact\n"
