"""The Dockerfile, as far as it can be checked without a daemon: what it copies exists, what it runs exists."""

import json
import re
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path

import pytest

from partita.cli.container import DATA, DEFAULTS

ROOT = Path(__file__).parent.parent
TEXT = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
LINES = [line for line in TEXT.splitlines() if line and not line.startswith("#")]
INSTRUCTIONS = [(name, rest) for name, _, rest in (line.partition(" ") for line in LINES)]


def _of(name: str) -> list[str]:
    return [rest for each, rest in INSTRUCTIONS if each == name]


def _copied() -> list[str]:
    return [path for rest in _of("COPY") if "--from=" not in rest for path in rest.split()[:-1]]


@pytest.mark.parametrize("path", _copied())
def test_copied_path_exists_and_is_sent_to_the_daemon(path: str) -> None:
    assert (ROOT / path).exists()
    everything, *allowed = (
        line for line in (ROOT / ".dockerignore").read_text().split("\n") if line[:1] not in ("#", "")
    )
    assert everything == "*"
    assert any(fnmatch(path, each[1:]) or path.startswith(f"{each[1:]}/") for each in allowed if each.startswith("!"))


def test_requirements_that_are_installed_are_copied() -> None:
    wanted = set(re.findall(r"-r (\S+)", TEXT))
    assert wanted == {path for path in _copied() if path.startswith("requirements/")}


def test_distributions_that_are_installed_have_what_their_metadata_names() -> None:
    named = re.compile(r'^(?:readme = |license-files = \[)"(.+?)"', re.MULTILINE)
    assert named.findall((ROOT / "pyproject.toml").read_text()) == ["README.md", "LICENSE"]
    assert {"README.md", "LICENSE"} <= set(_copied())
    for name in named.findall((ROOT / "systems" / "pyproject.toml").read_text()):
        assert (ROOT / "systems" / name).exists()


def test_base_image_is_pinned_and_one() -> None:
    images = {rest.split()[0] for rest in _of("FROM")}
    assert len(images) == 1
    assert re.fullmatch(r"python:3\.11\.\d+-slim-\w+", images.pop())


def test_image_runs_without_privileges_and_keeps_data_in_a_volume() -> None:
    names = [name for name, _ in INSTRUCTIONS]
    assert _of("USER") == ["partita"]
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert _of("VOLUME") == [str(Path(DATA).parent)]
    assert f"--home-dir {Path(DATA).parent} partita" in TEXT  # a volume has the owner of the folder that it covers


def test_entry_point_and_command_exist() -> None:
    program, option, module = json.loads(_of("ENTRYPOINT")[0])
    assert (program, option) == ("python", "-m")
    assert find_spec(module) is not None
    (command,) = json.loads(_of("CMD")[0])
    assert command in DEFAULTS


def test_health_check_asks_the_port_that_is_exposed() -> None:
    (port,) = _of("EXPOSE")
    (check,) = _of("HEALTHCHECK")
    code = json.loads(check[check.index("[") :])[2]
    compile(code, "HEALTHCHECK", "exec")
    assert f"http://127.0.0.1:{port}/health" in code
    assert port == "8000"  # the default of partita engine and partita serve
