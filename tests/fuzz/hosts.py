"""Where the engine of the fuzzer runs: in this process, in memory or on a database file, or behind a server."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from itertools import cycle
from pathlib import Path
from typing import Any, Protocol

from partita import connect
from partita.dynamodb import requests as wire
from tests.fuzz import forms
from tests.peers import started

START = forms.TIMES[0] - timedelta(hours=12)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


class Host(Protocol):
    """Gives each design a backend without tables, and the clock of its store."""

    expires: bool
    """Whether the backend has the clock of the store; elsewhere designs with a TTL are left out."""

    def begin(self) -> tuple[Any, Clock]: ...


class Memory:
    """An engine of its own for each design."""

    expires = True

    def begin(self) -> tuple[Any, Clock]:
        clock = Clock()
        return connect("memory:", maintain=False, clock=clock), clock


class Lasting:
    """A backend that all designs use one after the other."""

    def __init__(self, backend: Any, clock: Clock, *, expires: bool) -> None:
        self._backend, self._clock, self.expires = backend, clock, expires

    def begin(self) -> tuple[Any, Clock]:
        if "tab" in self._backend.call(wire.ListTables()).table_names:
            self._backend.call(wire.DeleteTable(table_name="tab"))
        self._clock.now = START
        return self._backend, self._clock


class TakingTurns:
    """Sends each request to the next of several backends on the same data, so that none relies on what it remembers."""

    def __init__(self, *backends: Any) -> None:
        self._turns = cycle(backends)

    def call(self, request: Any, /) -> Any:
        return next(self._turns).call(request)


HOSTS = ("memory", "file", "http")


@contextmanager
def opened(on: str) -> Iterator[Host]:
    """The host of this name: `file` is one file with two engines, `http` a server on a file."""
    if on == "memory":
        yield Memory()
        return
    clock = Clock()
    with ExitStack() as stack:
        file = str(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "fuzz.db")
        if on == "file":
            engines = [
                stack.enter_context(connect(file, durability="process", maintain=False, clock=clock)) for _ in range(2)
            ]
            yield Lasting(TakingTurns(*engines), clock, expires=True)
            return
        command = [sys.executable, "-m", "partita", "engine", "--data", file, "--durability", "process", "--port"]
        running = stack.enter_context(started(lambda port: [*command, str(port)]))
        yield Lasting(stack.enter_context(connect(running.endpoint)), clock, expires=False)
