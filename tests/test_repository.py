"""What is committed names no machine's folder and no registry's host: it has to work on anybody's machine."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Put together here, so that this file does not name what it looks for.
FOLDERS = "|".join(["work", "root", "farm", "tmp/bash_jobs"])
HOSTS = "|".join(["py" + "pi", "python" + "hosted", "npm" + "js", "npm" + "mirror", "deb" + "ian"])
MACHINE_PATH = re.compile(rf"(?<![\w.~-])/(?:{FOLDERS})/")
REGISTRY = re.compile(rf"https?://[^/\s\"']*(?:{HOSTS})[^/\s\"']*|\b(?:registry|files|pypi)\.(?:{HOSTS})\.\w+")


def tracked() -> list[Path]:
    """The files that git has, or would take."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git work tree")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def found(pattern: re.Pattern[str]) -> list[str]:
    """Where the pattern occurs, as file:line."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in tracked()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_line_names_a_folder_of_a_machine() -> None:
    assert found(MACHINE_PATH) == []


def test_no_line_names_a_registry() -> None:
    assert found(REGISTRY) == []


@pytest.mark.parametrize("line", ["cd /" + "work/main", 'x = "/' + 'root/.cache"', "/" + "tmp/bash_jobs/1"])
def test_machine_path_is_recognised(line: str) -> None:
    assert MACHINE_PATH.search(line)


@pytest.mark.parametrize("line", ["docs/work/notes", "https://example.com/work/", "~/work/", "./root/x"])
def test_ordinary_path_is_not_a_machine_path(line: str) -> None:
    assert not MACHINE_PATH.search(line)


@pytest.mark.parametrize(
    "host", ["https://registry.npm" + "js.org/x", "https://py" + "pi.org/simple", "files.python" + "hosted.org"]
)
def test_registry_is_recognised(host: str) -> None:
    assert REGISTRY.search(host)


def test_locks_pin_every_package_by_hash() -> None:
    for lock in (ROOT / "requirements").glob("*.txt"):
        pins = re.split(r"^(?=\S)", lock.read_text(), flags=re.MULTILINE)[1:]
        assert pins
        assert [pin for pin in pins if "==" not in pin or "--hash=sha256:" not in pin] == []
