"""The cost of checksums: GetItem with and without their verification, on the same rows, in one run."""

import time
from collections.abc import Callable
from typing import Any

import apsw

from bench.embedded import fill, typed
from bench.engines import scratch
from bench.inprocess import calls
from bench.report import Section, Target, alone, table
from bench.workload import ITEMS
from partita import connect
from partita.engine.engine import Engine
from partita.storage.contract import Row
from partita.storage.sqlite import SqliteStorage
from partita.storage.sqlite_connection import SqliteConnection

WANTED = 0.95  # of the rate without checksums
WITH, WITHOUT = "GetItem", "GetItem, checksums neither read nor verified"


class UnverifiedStorage(SqliteStorage):
    """Reads one row as it was read before rows had checksums."""

    def _reader(self) -> SqliteConnection:
        is_new = not hasattr(self._local, "connection")
        connection = super()._reader()
        if is_new:
            self._local.get = _unverified_get(connection)
        return connection


def _unverified_get(connection: SqliteConnection) -> Callable[[str, bytes], Row | None]:
    execute, statements = connection.execute, _Statements()

    def get(space: str, key: bytes) -> Row | None:
        try:
            found: Any = execute(statements[space], (key,)).get
        except apsw.Error as error:
            raise connection.storage_error(error, space) from None
        return None if found is None else tuple.__new__(Row, found)

    return get


class _Statements(dict[str, str]):
    def __missing__(self, space: str) -> str:
        self[space] = statement = f'SELECT w, v FROM "{space}" WHERE k = ?'
        return statement


def measure(quick: bool) -> Section:
    """Short runs in turns, in processor time; the shortest of each counts, since other work only makes them longer."""
    rounds = 4 if quick else 40
    with scratch() as folder:
        file = folder / "bench.db"
        with connect(file) as backend:
            fill(backend, ITEMS)
        with connect(file) as verified, Engine(UnverifiedStorage(str(file))) as unverified:
            runs = {name: calls(each, typed("GetItem")) for name, each in ((WITH, verified), (WITHOUT, unverified))}
            for _ in range(5):  # every page is in the cache of both
                for run in runs.values():
                    run()
            taken = _shortest(runs, rounds)
    text = "Microseconds of processor time for a GetItem in the process, while nothing is written.\n\n" + table(
        ["", "microseconds"], [[name, f"{seconds * 1e6:.2f}"] for name, seconds in taken.items()]
    )
    reached = taken[WITHOUT] / taken[WITH]
    return Section("Checksums", text, [Target("GetItem, of its rate without checksums", reached, WANTED, "of it")])


def _shortest(runs: dict[str, Callable[[], int]], rounds: int) -> dict[str, float]:
    """Seconds for each call."""
    taken = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            begun = time.thread_time()
            count = run()
            taken[name] = min(taken[name], (time.thread_time() - begun) / count)
    return taken


if __name__ == "__main__":
    alone(measure)
