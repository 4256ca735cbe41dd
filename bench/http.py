"""Requests a second over HTTP, ours and every peer's in one run, its rounds taken in turns."""

import statistics
from contextlib import ExitStack
from dataclasses import dataclass
from urllib.parse import urlsplit

from bench.ceiling import always_200
from bench.engines import OURS, Engine, engines, load
from bench.load import CONNECTIONS, Generator, Order, generator
from bench.report import Section, Target, alone, table
from bench.workload import ITEMS, OPERATIONS

WANTED = {"GetItem": 1.5, "Query": 4.0, "UpdateItem": 1.7, "PutItem": 1.0}  # times the fastest peer
SETTING = f"""\
Requests a second, median of the rounds. {CONNECTIONS} connections; {ITEMS:,} items of about 600 bytes in 20 attributes;
a table with hash and range key and one index that projects all. A Query reads 20 items, an UpdateItem sets two
attributes, a PutItem replaces an item by another. The last line is the load generator's own ceiling."""


@dataclass(frozen=True)
class Rates:
    """Median requests a second, by engine and operation."""

    engines: list[Engine]
    missing: list[str]
    rates: dict[tuple[str, str], float]
    ceiling: dict[str, float]

    def fastest_peer(self, operation: str) -> float | None:
        return max((self.rates[e.name, operation] for e in self.engines if e.peer), default=None)


def measure(quick: bool) -> Rates:
    """Starts and fills every engine, then measures them one after the other, round by round."""
    rounds, seconds, warm = (1, 0.5, 0.2) if quick else (5, 1.0, 0.25)
    found, missing = engines()
    samples: dict[tuple[str, str], list[float]] = {}
    with ExitStack() as running, generator() as clients:
        ceiling = _ceiling(clients, seconds, warm)
        ports = {engine: _filled(running, engine) for engine in found}
        for turn in range(rounds):
            for operation in OPERATIONS:
                for engine, port in ports.items():
                    order = Order(port, operation, seconds, warm, skip=turn * 7919)
                    samples.setdefault((engine.name, operation), []).append(clients.rate(order))
    return Rates(found, missing, {of: statistics.median(taken) for of, taken in samples.items()}, ceiling)


def _filled(running: ExitStack, engine: Engine) -> int:
    endpoint = running.enter_context(engine.started()).endpoint
    load(endpoint)
    return port_of(endpoint)


def _ceiling(clients: Generator, seconds: float, warm: float) -> dict[str, float]:
    with always_200() as server:
        port = port_of(server.endpoint)
        return {operation: clients.rate(Order(port, operation, seconds, warm)) for operation in OPERATIONS}


def port_of(endpoint: str) -> int:
    port = urlsplit(endpoint).port
    assert port is not None
    return port


def section(measured: Rates) -> Section:
    """The table of requests a second, and what was wanted."""
    rows = [
        [engine.label, engine.keeps] + [f"{measured.rates[engine.name, operation]:,.0f}" for operation in OPERATIONS]
        for engine in measured.engines
    ]
    rows.append(
        ["*a server that does nothing*", ""] + [f"{measured.ceiling[operation]:,.0f}" for operation in OPERATIONS]
    )
    text = SETTING + "\n\n" + table(["", "keeps data in", *OPERATIONS], rows)
    if measured.missing:
        text += "\n\nNot measured: " + "; ".join(measured.missing) + "."
    return Section("Over HTTP", text, targets(measured))


def targets(measured: Rates) -> list[Target]:
    """Our power-safe file against the fastest peer, in memory; without a peer the comparison fails."""
    found = []
    for operation, wanted in WANTED.items():
        fastest = measured.fastest_peer(operation)
        reached = measured.rates[OURS, operation] / fastest if fastest else 0.0
        found.append(Target(f"{operation}, against the fastest peer", reached, wanted, "times"))
    return found


if __name__ == "__main__":
    alone(lambda quick: section(measure(quick)))
