"""Who is measured over HTTP: ours in its three settings, and every peer that this machine can have."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from bench import workload
from tests.peers import PEERS, Peer, Running, Unavailable, create_table, expect, started

PARTITA = Path(sys.executable).with_name("partita")
SCRATCH = Path(__file__).parent.parent / ".bench"

OURS = "Partita"
OURS_PROCESS = "Partita, --durability process"
OURS_MEMORY = "Partita, --memory"
OURS_WORKERS = "Partita, --workers 2"
PEER_NAMES = ("dynoxide", "dynamodb-local", "dynalite")


@dataclass(frozen=True)
class Engine:
    """An engine that can be started empty."""

    name: str
    version: str
    keeps: str
    peer: Peer | None = None

    @property
    def label(self) -> str:
        """The name with the version behind its first part."""
        name, comma, setting = self.name.partition(",")
        return f"{name} {self.version}{comma}{setting}"

    def started(self) -> AbstractContextManager[Running]:
        return self.peer.started() if self.peer else partita(self.name)


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder on the disk that the project is on: a temporary one may be memory, where a commit costs nothing."""
    SCRATCH.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        yield Path(folder)


@contextmanager
def partita(name: str) -> Iterator[Running]:
    """Our engine, one process, in one of its settings."""
    with scratch() as folder:
        place: list[str | Path] = ["--data", folder / "bench.db"]
        settings: dict[str, list[str | Path]] = {
            OURS: place,
            OURS_PROCESS: [*place, "--durability", "process"],
            OURS_MEMORY: ["--memory"],
            OURS_WORKERS: [*place, "--workers", "2"],
        }
        with started(lambda port: [PARTITA, "engine", *settings[name], "--port", str(port)]) as running:
            yield running


def engines() -> tuple[list[Engine], list[str]]:
    """Who can be measured here, and why the others cannot."""
    ours = version("partita")
    found = [
        Engine(OURS, ours, "file, survives power loss"),
        Engine(OURS_PROCESS, ours, "file, survives the end of the process"),
        Engine(OURS_MEMORY, ours, "memory"),
        Engine(OURS_WORKERS, ours, "file, survives power loss"),
    ]
    missing = []
    for name in PEER_NAMES:
        try:
            found.append(Engine(name, PEERS[name].version(), "memory", PEERS[name]))
        except Unavailable as why:
            missing.append(str(why))
    return found, missing


def load(endpoint: str) -> None:
    """Makes the table, fills it, and sees that the engine answers each measured request as it should."""
    create_table(endpoint, workload.TABLE)
    for batch in workload.batches(workload.ITEMS):
        if expect(endpoint, "BatchWriteItem", batch).get("UnprocessedItems"):
            raise RuntimeError(f"{endpoint}: left a part of a batch unwritten")
    got = expect(endpoint, "GetItem", {"TableName": workload.TABLE_NAME, "Key": workload.key(77)})["Item"]
    if got["note"] != workload.item(77)["note"] or len(got) != len(workload.item(77)):
        raise RuntimeError(f"{endpoint}: GetItem answers {got}")
    if (count := expect(endpoint, "Query", workload.bodies("Query")[0])["Count"]) != workload.IN_PARTITION:
        raise RuntimeError(f"{endpoint}: Query answers {count} items")
