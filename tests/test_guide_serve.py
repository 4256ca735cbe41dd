"""The guide to serving an API of one's own: its file is served by `partita serve` and answers over HTTP."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from partita.cli import design_loader
from partita.cli.serve import systems_to_serve
from tests.timing import PATIENCE

PAGE = Path(__file__).parent.parent / "docs" / "guide" / "serve-your-own.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
PARTITA = Path(sys.executable).with_name("partita")
ADDRESS = "http://127.0.0.1:8000"


def _blocks(kind: str) -> list[str]:
    return [text for each, text in BLOCKS if each == kind]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text("\n".join(_blocks("python")), encoding="utf-8")
    return tmp_path


@contextmanager
def _serving(folder: Path, command: str, environment: dict[str, str]) -> Iterator[list[str]]:
    """Runs the command of the page on a free port; what it prints up to its examples."""
    arguments = [*command.split(), "--port", "0"]
    with subprocess.Popen(
        arguments, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            lines = []
            for line in process.stdout:
                if line.startswith("try:"):
                    break
                lines.append(line)
            yield lines
        finally:
            process.kill()


@pytest.mark.slow
def test_file_of_the_guide_is_served_and_answers(folder: Path) -> None:
    environment = os.environ | {"PATH": f"{PARTITA.parent}{os.pathsep}{os.environ['PATH']}"}
    (serve, requests), (printed, replies) = _blocks("sh"), _blocks("text")
    with _serving(folder, serve, environment) as lines:
        address = re.findall(r"http://127.0.0.1:\d+", lines[0])[0]
        assert "".join(lines) == printed.replace(ADDRESS, address)
        script = requests.replace(ADDRESS, address).replace("\ncurl", "\necho\ncurl")
        done = subprocess.run(
            ["sh", "-ec", script],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
        assert done.stdout.strip() == replies.strip()


def test_api_of_the_guide_is_ten_lines() -> None:
    lines = [line for line in _blocks("python")[1].splitlines() if line.strip()]
    assert len(lines) <= 10


def test_system_of_the_guide_is_found_by_its_entry_point(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    declared = tomllib.loads(_blocks("toml")[0])["project"]["entry-points"]["partita.systems"]
    found = [EntryPoint(name, value, "partita.systems") for name, value in declared.items()]
    monkeypatch.setattr(design_loader, "entry_points", lambda group: found)
    try:
        (system,) = systems_to_serve(())
        assert (system.name, system.api.title, len(system.api.routes)) == ("shop", "Shop", 3)
    finally:
        sys.modules.pop("shop", None)
