"""The engine in this process, with the bench's table in it."""

from pathlib import Path
from typing import Any

import msgspec

from bench import workload
from partita.dynamodb import requests
from partita.engine.engine import Engine


def fill(backend: Engine, items: int) -> None:
    """Makes the table and puts `items` items into it."""
    backend.call(msgspec.convert(workload.TABLE, requests.CreateTable))
    for batch in workload.batches(items):
        backend.call(msgspec.convert(batch, requests.BatchWriteItem))


def typed(operation: str, items: int = workload.ITEMS) -> list[requests.Request[Any]]:
    """The workload's requests of one operation, as values."""
    form: type[requests.Request[Any]] = getattr(requests, operation)
    return [msgspec.convert(body, form) for body in workload.bodies(operation, items)]


def anonymous_megabytes() -> float:
    """The memory that this process holds itself, without mapped files."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("this kernel does not tell RssAnon")
