"""Hostile clients: how long another client waits while they attack, and the server's memory meanwhile."""

import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from bench.engines import PARTITA, scratch
from bench.report import Section, Target, alone, table
from tests.peers import create_table, expect, started
from tests.server.attacks import ATTACKS, TABLE, attacking
from tests.timing import process_seconds

WAIT = 250.0  # milliseconds that an attack may add to the worst wait
MEGABYTES = 200.0
PAUSE = 0.01
DEFINITION = {
    "TableName": TABLE,
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


class Worst(NamedTuple):
    """The longest wait of a client, the most that the server has worked during one, and its most memory."""

    wait: float
    work: float
    memory: float


class Server:
    """A server under attack."""

    def __init__(self, endpoint: str, pid: int) -> None:
        self.endpoint = endpoint
        self._pid = pid
        port = urlsplit(endpoint).port
        assert port is not None
        self.port = port

    def fill(self) -> None:
        """A table whose Scan returns a page of 1 MB."""
        create_table(self.endpoint, DEFINITION)
        for number in range(350):
            item = {"pk": {"S": str(number)}, "text": {"S": os.urandom(1500).hex()}}
            expect(self.endpoint, "PutItem", {"TableName": TABLE, "Item": item})

    def megabytes(self) -> float:
        lines = Path(f"/proc/{self._pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))

    def wait(self) -> float:
        """Milliseconds until a new client has connected and read the answer to its first request."""
        begun = time.perf_counter()
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"X-Amz-Target": "DynamoDB_20120810.ListTables"}
        connection.request("POST", "/", json.dumps({}), headers)
        reply = connection.getresponse()
        reply.read()
        connection.close()
        if reply.status not in (200, 400):  # 400 where the request had to be signed
            raise RuntimeError(f"{self.endpoint}: ListTables answers {reply.status}")
        return (time.perf_counter() - begun) * 1000

    def working_time(self) -> float:
        """Milliseconds of processor time that the server has taken, which other processes do not lengthen."""
        return process_seconds(self._pid) * 1000

    def worst(self, seconds: float) -> Worst:
        """The worst of a time."""
        seen: list[tuple[float, float, float]] = []
        deadline = time.monotonic() + seconds
        while not seen or time.monotonic() < deadline:
            begun = self.working_time()
            wait = self.wait()
            seen.append((wait, self.working_time() - begun, self.megabytes()))
            time.sleep(PAUSE)
        return Worst(*map(max, zip(*seen, strict=True)))


def worst_of_rounds(server: Server, attack: str | None, rounds: int, seconds: float) -> Worst:
    """The medians over rounds of the worst wait and work, and the most memory of all."""
    found = []
    for _ in range(rounds):
        with nullcontext() if attack is None else attacking(attack, server.port, seconds + 0.5):
            found.append(server.worst(seconds))
    waits, works, memory = zip(*found, strict=True)
    return Worst(statistics.median(waits), statistics.median(works), max(memory))


def measure(quick: bool, attacks: Sequence[str] = tuple(ATTACKS)) -> Section:
    """Every attack on a server without credentials, and requests sent ahead on one that requires them."""
    rounds, seconds = (1, 1.5) if quick else (5, 3.0)
    rows, targets = [], []
    with scratch() as folder:
        keys = folder / "keys.toml"
        keys.write_text('[keys.AKIA]\nsecret = "a secret of some length"\n')
        open_to_all = ["--data", folder / "hostile.db"]
        signed = ["--memory", "--credentials", keys]
        for options, names in ((open_to_all, attacks), (signed, [n for n in attacks if n.endswith("sent ahead")])):
            command = [PARTITA, "engine", *options, "--port"]
            with started(
                lambda port, command=command: [*command, str(port)],  # type: ignore[misc]
                answers=lambda endpoint: Server(endpoint, 0).wait() > 0,
            ) as running:
                server = Server(running.endpoint, running.pid)
                if options is open_to_all:
                    server.fill()
                idle = worst_of_rounds(server, None, rounds, seconds)
                where = "" if options is open_to_all else ", unsigned"
                rows.append([f"*no attack{where}*", f"{idle.wait:.0f}", f"{idle.memory:.0f}"])
                for name in names:
                    worst = worst_of_rounds(server, name, rounds, seconds)
                    rows.append([name + where, f"{worst.wait:.0f}", f"{worst.memory:.0f}"])
                    added = max(0.0, worst.wait - idle.wait)
                    targets.append(Target(f"{name}{where}: wait added", added, WAIT, "ms", below=True))
                    targets.append(Target(f"{name}{where}: memory", worst.memory, MEGABYTES, "MB", below=True))
    text = (
        f"The longest time in {seconds:g} s that a new client waits for its first answer, median of {rounds} rounds, "
        "and the most memory of the server (RSS). Attackers run in a process of their own on the same machine.\n\n"
        + table(["", "worst wait, ms", "memory, MB"], rows)
    )
    return Section("Hostile clients", text, targets)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in ATTACKS:
        name = sys.argv.pop(1)
        alone(lambda quick: measure(quick, [name]))
    alone(measure)
