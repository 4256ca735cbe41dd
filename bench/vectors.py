"""Vector indexes over HTTP: exact searches a second beside dynoxide's, and items with vectors written a second."""

import statistics
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from typing import Any

from bench import vector_workload as vectors
from bench.engines import OURS, OURS_MEMORY, OURS_PROCESS, Engine, engines
from bench.http import port_of
from bench.load import CONNECTIONS, Generator, Order, generator
from bench.report import Section, Target, alone, table
from bench.vector_workload import DIMENSIONS, SEARCH, WRITE
from tests.peers import create_table, expect

FEW, MANY = 10_000, 100_000
PEER = "dynoxide"
SEARCHES = 50.0  # a second, among the many
FASTER = 30.0  # times the peer's searches among the few
WRITES = {OURS: 3.0, OURS_MEMORY: 5.0}  # times the peer's rate
SETTING = f"""\
Requests of {CONNECTIONS} connections, median of the rounds, which are taken in turns. Vectors of {DIMENSIONS}
dimensions, COSINE, the {vectors.RESULTS} nearest, exactly. A BatchWriteItem puts {vectors.BATCH} items; {PEER} is in
memory."""


def measure(quick: bool) -> Section:
    """Fills every engine, then measures them round by round."""
    few, many, rounds, seconds = (1_000, 5_000, 1, 1.0) if quick else (FEW, MANY, 3, 3.0)
    found, missing = engines()
    measured = [engine for engine in found if engine.name in (OURS, OURS_MEMORY, PEER)]
    rates: dict[tuple[str, str], float] = {}
    with generator() as clients:
        with _filled(measured, few) as ports:
            for operation in (SEARCH, WRITE):
                rates |= _rates(clients, ports, operation, rounds, seconds)
        quickly_filled = [engine for engine in found if engine.name == OURS_PROCESS]  # it searches as OURS does
        with _filled(quickly_filled, many) as ports:
            among_many = _rates(clients, ports, SEARCH, rounds, seconds)[OURS_PROCESS, SEARCH]
    return _section(measured, missing, rates, among_many, (few, many))


@contextmanager
def _filled(found: list[Engine], items: int) -> Iterator[dict[Engine, int]]:
    """The ports of the engines, each with a table of so many vectors."""
    with ExitStack() as running:
        ports = {}
        for engine in found:
            endpoint = running.enter_context(engine.started()).endpoint
            create_table(endpoint, vectors.TABLE)
            write = partial(_write, engine, endpoint)
            with ThreadPoolExecutor(CONNECTIONS) as threads:
                for batches in _in_turns(vectors.batches(0, items), CONNECTIONS):
                    list(threads.map(write, batches))
            answer = expect(endpoint, SEARCH, vectors.bodies(SEARCH)[0])["SearchResults"]
            if len(answer) != vectors.RESULTS:
                raise RuntimeError(f"{engine.name}: SearchVectors answers {len(answer)} items")
            ports[engine] = port_of(endpoint)
        yield ports


def _write(engine: Engine, endpoint: str, batch: dict[str, Any]) -> None:
    if expect(endpoint, WRITE, batch).get("UnprocessedItems"):
        raise RuntimeError(f"{engine.name}: left a part of a batch unwritten")


def _in_turns(batches: Iterator[dict[str, Any]], count: int) -> Iterator[list[dict[str, Any]]]:
    """So many batches at a time."""
    while taken := list(islice(batches, count)):
        yield taken


def _rates(
    clients: Generator, ports: dict[Engine, int], operation: str, rounds: int, seconds: float
) -> dict[tuple[str, str], float]:
    """Searches a second, or items written a second."""
    samples: dict[tuple[str, str], list[float]] = {}
    for turn in range(rounds):
        for engine, port in ports.items():
            rate = clients.rate(Order(port, operation, seconds, warm=0.5, skip=turn * 31))
            samples.setdefault((engine.name, operation), []).append(rate * (vectors.BATCH if operation == WRITE else 1))
    return {of: statistics.median(taken) for of, taken in samples.items()}


def _section(
    found: list[Engine],
    missing: list[str],
    rates: dict[tuple[str, str], float],
    among_many: float,
    sizes: tuple[int, int],
) -> Section:
    few, many = (f"{size:,}" for size in sizes)
    rows = [
        [engine.label, f"{rates[engine.name, SEARCH]:,.0f}", f"{rates[engine.name, WRITE]:,.0f}"] for engine in found
    ]
    header = ["", f"searches/s among {few}", "items written/s"]
    lines = [SETTING, "", table(header, rows), "", f"Among {many} vectors: {among_many:,.0f} searches a second."]
    lines += [f"Not measured: {each}." for each in missing if PEER in each]
    targets = [Target(f"searches among {many} vectors", among_many, SEARCHES, "a second")]
    if any(engine.name == PEER for engine in found):
        slow = rates[PEER, SEARCH]
        targets.append(Target(f"searches among {few} vectors", rates[OURS, SEARCH] / slow, FASTER, f"times {PEER}"))
        for name, wanted in WRITES.items():
            ratio = rates[name, WRITE] / rates[PEER, WRITE]
            targets.append(Target(f"items with vectors written, {name}", ratio, wanted, f"times {PEER}"))
    return Section("Vector indexes", "\n".join(lines), targets)


if __name__ == "__main__":
    alone(measure)
