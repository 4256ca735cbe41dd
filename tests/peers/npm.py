"""Installs the npm packages of package.json (beside this file) into `.peers`, once, at exactly the locked versions.

An install takes minutes, and without a registry npm retries for as long. So a short probe comes first. Its failure, or
the install's, is remembered in `.peers` for the rest of the run, and every later test of the run is skipped at once.
"""

import fcntl
import functools
import json
import os
import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path

from tests.peers.runtimes import Unavailable, npm

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent.parent / ".peers"
LOCKED = ("package.json", "package-lock.json", ".npmrc")
PROBE = ("view", "dynalite", "version", "--fetch-retries=0", "--fetch-timeout=30000")
PROBE_SECONDS = 60.0
INSTALL = ("ci", "--no-progress", "--ignore-scripts")
INSTALL_SECONDS = 600.0

_PROCESS = uuid.uuid4().hex


@functools.cache
def modules() -> Path:
    """Returns the `node_modules` folder. The first caller installs it, concurrent callers wait for that."""
    command = npm()
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _install(command, FOLDER)
    return FOLDER / "node_modules"


def _install(command: list[str], folder: Path) -> None:
    """Brings the packages to the locked versions; raises `Unavailable`, at once if this run has failed before."""
    locked = b"".join((HERE / name).read_bytes() for name in LOCKED)
    stamp, failure = folder / "installed", folder / "unavailable"
    if stamp.exists() and stamp.read_bytes() == locked:
        return
    run, reason = _read_failure(failure)
    if run == _run_id():
        raise Unavailable("npm packages", reason)
    stamp.unlink(missing_ok=True)
    for name in LOCKED:
        shutil.copy(HERE / name, folder / name)
    try:
        _run([*command, *PROBE], folder, PROBE_SECONDS, "the package registry cannot be reached")
        _run([*command, *INSTALL], folder, INSTALL_SECONDS, "npm ci failed")
    except _Failure as error:
        failure.write_text(f"{_run_id()}\n{error}")
        raise Unavailable("npm packages", str(error)) from None
    failure.unlink(missing_ok=True)
    stamp.write_bytes(locked)


class _Failure(Exception):
    """npm did not do what it was asked to; the message is the reason."""


def _run(command: list[str], folder: Path, seconds: float, failure: str) -> None:
    with tempfile.TemporaryFile() as output:  # a pipe would stay open as long as a grandchild of npm lives
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise _Failure(f"{failure}: no answer within {seconds:g} s") from None
        if done.returncode != 0:
            output.seek(0)
            raise _Failure(f"{failure}: {output.read().decode(errors='replace').strip()[-400:]}")


def _run_id() -> str:
    """The id of this test run, which its xdist workers share; of this process where there are no workers."""
    return os.environ.get("PYTEST_XDIST_TESTRUNUID", _PROCESS)


def _read_failure(file: Path) -> tuple[str, str]:
    """The run that failed last, and why."""
    if not file.exists():
        return "", ""
    run, _, reason = file.read_text().partition("\n")
    return run, reason


def package(name: str) -> Path:
    """Returns the folder of an installed package; raises `Unavailable` where it has no build for this platform."""
    folder = modules() / name
    if not folder.is_dir():
        raise Unavailable(name, "npm has no build of it for this platform")
    return folder


def package_version(name: str) -> str:
    """Returns the installed version of a package."""
    version: str = json.loads((package(name) / "package.json").read_text())["version"]
    return version
