"""The npm packages of package.json beside this file, installed once into `.peers` at exactly the locked versions."""

import fcntl
import functools
import json
import shutil
import subprocess
from pathlib import Path

from tests.peers.runtimes import Unavailable, npm

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent.parent / ".peers"
LOCKED = ("package.json", "package-lock.json", ".npmrc")


@functools.cache
def modules() -> Path:
    """The `node_modules` folder; the first caller installs it, the others wait for that."""
    command = [*npm(), "ci", "--no-progress", "--ignore-scripts"]
    FOLDER.mkdir(exist_ok=True)
    locked = b"".join((HERE / name).read_bytes() for name in LOCKED)
    stamp = FOLDER / "installed"
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_bytes() != locked:
            stamp.unlink(missing_ok=True)
            for name in LOCKED:
                shutil.copy(HERE / name, FOLDER / name)
            _install(command)
            stamp.write_bytes(locked)
    return FOLDER / "node_modules"


def _install(command: list[str]) -> None:
    try:
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired as late:
        raise Unavailable("npm packages", "npm ci took more than 300 s") from late
    if done.returncode != 0:
        raise Unavailable("npm packages", f"npm ci failed: {done.stderr.strip()[-400:]}")


def package(name: str) -> Path:
    """The folder of an installed package; one for another platform is not there."""
    folder = modules() / name
    if not folder.is_dir():
        raise Unavailable(name, "npm has no build of it for this platform")
    return folder


def package_version(name: str) -> str:
    """The version that is installed."""
    version: str = json.loads((package(name) / "package.json").read_text())["version"]
    return version
