"""Programs that are killed. A process that has imported everything forks them, so that each starts at once.

It takes commands as lines of JSON: ["engine", FILE, PORT], ["worker", ADDRESS], ["kill", PROCESS].
"""

import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NoReturn

from partita import connect
from partita.cli.engine import engine
from partita.consumers.worker import Worker
from tests.consumers import shop


def serve(file: str, port: int) -> None:
    engine(data=Path(file), port=port, durability="process")


def work(address: str) -> None:
    durability: Literal["process"] | None = None if address.startswith("http") else "process"
    with connect(address, shop.design, durability=durability) as db, Worker(db, shop.CONSUMERS):
        print("partita: working", flush=True)
        signal.pause()


PROGRAMS: dict[str, Callable[..., None]] = {"engine": serve, "worker": work}


def run(program: str, arguments: list[Any]) -> NoReturn:
    """Runs a program in a fork; it should never end."""
    try:
        PROGRAMS[program](*arguments)
    finally:
        print("ended", flush=True)
        os._exit(1)


def kill(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def main() -> None:
    importlib.import_module("partita.server.uvicorn_server")  # so that each fork has it
    sys.stdout = os.fdopen(1, "w", closefd=False)  # buffered, even with python -u: each line is one write
    children: set[int] = set()
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        if command == "kill":
            kill(*arguments)
            children -= set(arguments)
            print("killed", flush=True)
            continue
        child = os.fork()
        if child == 0:
            run(command, arguments)
        children.add(child)
        print(f"process {child}", flush=True)
    for child in children:
        kill(child)


if __name__ == "__main__":
    main()
