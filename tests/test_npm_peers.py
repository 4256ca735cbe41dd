"""The npm packages of the peers: installed once, and skipped after one short attempt where they cannot be."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.peers import npm
from tests.peers.runtimes import Unavailable

Attempts = Callable[[], list[str]]


@pytest.fixture
def fake_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Attempts]:
    """Puts an npm on PATH that logs its first argument and then runs a line of shell; gives the log."""
    monkeypatch.setattr(npm, "FOLDER", tmp_path / "peers")
    monkeypatch.setattr(npm, "modules", npm.modules.__wrapped__)
    monkeypatch.setenv("PYTEST_XDIST_TESTRUNUID", "first run")
    log = tmp_path / "log"
    log.touch()

    def install(line: str) -> Attempts:
        program = tmp_path / "bin" / "npm"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\necho "$1" >> "{log}"\n{line}\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        return lambda: log.read_text().split()

    return install


def test_unreachable_registry_is_tried_once_in_a_run(fake_npm: Callable[[str], Attempts]) -> None:
    attempts = fake_npm("echo connection refused >&2; exit 1")
    for _ in range(3):
        with pytest.raises(Unavailable, match="the package registry cannot be reached: connection refused"):
            npm.modules()
    assert attempts() == ["view"]


def test_silent_registry_is_given_up_after_a_short_time(
    fake_npm: Callable[[str], Attempts], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(npm, "PROBE_SECONDS", 0.2)
    attempts = fake_npm("exec sleep 600")
    for _ in range(2):
        with pytest.raises(Unavailable, match=r"the package registry cannot be reached: no answer within 0\.2 s"):
            npm.modules()
    assert attempts() == ["view"]


def test_failed_install_is_tried_once_in_a_run(fake_npm: Callable[[str], Attempts]) -> None:
    attempts = fake_npm('test "$1" = view || { echo no such version >&2; exit 1; }')
    for _ in range(2):
        with pytest.raises(Unavailable, match="npm ci failed: no such version"):
            npm.modules()
    assert attempts() == ["view", "ci"]


def test_next_run_tries_again(fake_npm: Callable[[str], Attempts], monkeypatch: pytest.MonkeyPatch) -> None:
    fake_npm("exit 1")
    with pytest.raises(Unavailable):
        npm.modules()
    monkeypatch.setenv("PYTEST_XDIST_TESTRUNUID", "second run")
    attempts = fake_npm('test "$1" = view || mkdir node_modules')
    assert npm.modules().is_dir()
    assert attempts() == ["view", "view", "ci"]


def test_installed_packages_need_no_npm(fake_npm: Callable[[str], Attempts]) -> None:
    attempts = fake_npm('test "$1" = view || mkdir node_modules')
    npm.modules()
    assert npm.modules() == npm.FOLDER / "node_modules"
    assert attempts() == ["view", "ci"]
