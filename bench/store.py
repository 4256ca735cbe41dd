"""Typed reads: a page and a get over HTTP beside PynamoDB, pydynox and boto3, a get in the process beside raw apsw."""

import asyncio
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import boto3

from bench.engines import OURS_MEMORY, partita, scratch
from bench.inprocess import raw_reads
from bench.report import Section, Target, alone, table
from bench.store_models import (
    ATTRIBUTES,
    PAGE,
    TABLE_NAME,
    Order,
    call,
    customer_of,
    design,
    dynox_model,
    made,
    orders_of,
    pynamo_model,
)
from bench.workload import ITEMS
from partita import Store, connect
from partita.remote.credentials import Credentials

PYNAMODB, PYDYNOX, BOTO3, APSW = "PynamoDB", "pydynox", "boto3, untyped", "raw apsw, one row"
PYDYNOX_ASYNC = "pydynox, on an event loop"
OURS = "Partita"
TIMES_PYNAMODB, TIMES_PYDYNOX, TIMES_BOTO3, OF_APSW = 4.0, 2.0, 2.0, 0.25
KEYS = Credentials("partita", "secret")
GETS = 200

Run = Callable[[], int]
"""One round: how much was read in it."""


def measure(quick: bool) -> Section:
    """Medians of rounds taken in turns, everything in one run."""
    with partita(OURS_MEMORY) as server, _over_http(server.endpoint) as (pages, gets):
        page = _rates(pages, 5 if quick else 15)
        get = _rates(gets, 5 if quick else 11)
    embedded = _embedded(5 if quick else 11)
    return Section("Typed", _text(page, get, embedded), _targets(page, get, embedded))


def _text(page: dict[str, float], get: dict[str, float], embedded: dict[str, float]) -> str:
    return (
        f"Items of {ATTRIBUTES} attributes (texts, numbers, times, a set, a list, a map) as the entities of a design, "
        f"by one client, one call after the other. Over HTTP all read the same items from the same `partita engine "
        f"--memory` and sign their requests; PynamoDB {version('pynamodb')}, pydynox {version('pydynox')}, "
        f"boto3 {version('boto3')}. In the process, the store and apsw {version('apsw')} read the same rows of one "
        "file.\n\n"
        + table([f"a page of {PAGE:,} over HTTP", "milliseconds"], _rows(page, lambda rate: f"{1e3 / rate:.1f}"))
        + "\n\n"
        + table(["a get over HTTP", "a second"], _rows(get, "{:,.0f}".format))
        + "\n\n"
        + table(["a get in the process", "a second"], _rows(embedded, "{:,.0f}".format))
    )


def _rows(rates: Mapping[str, float], shown: Callable[[float], str]) -> list[list[str]]:
    return [[name, shown(rate)] for name, rate in rates.items()]


def _targets(page: dict[str, float], get: dict[str, float], embedded: dict[str, float]) -> list[Target]:
    pydynox = max(page[PYDYNOX], page[PYDYNOX_ASYNC])
    return [
        Target("a typed page, of PynamoDB's rate", page[OURS] / page[PYNAMODB], TIMES_PYNAMODB, "times"),
        Target("a typed page, of pydynox's faster rate", page[OURS] / pydynox, TIMES_PYDYNOX, "times"),
        Target("a typed get, of boto3's untyped rate", get[OURS] / get[BOTO3], TIMES_BOTO3, "times"),
        Target("a typed get in the process, of raw apsw's rate", embedded[OURS] / embedded[APSW], OF_APSW, "of it"),
    ]


def _rates(runs: dict[str, Run], rounds: int) -> dict[str, float]:
    """How many a second, each run once for nothing before it counts."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(rounds + 1):
        for name, run in runs.items():
            begun = time.perf_counter()
            count = run()
            if turn:
                taken[name].append(count / (time.perf_counter() - begun))
    return {name: statistics.median(samples) for name, samples in taken.items()}


@contextmanager
def _over_http(endpoint: str) -> Iterator[tuple[dict[str, Run], dict[str, Run]]]:
    """What reads pages, and what gets single items."""
    client: Any = boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id=KEYS.access_key,
        aws_secret_access_key=KEYS.secret_key,
    )
    with connect(endpoint, credentials=KEYS) as backend, asyncio.Runner() as runner:
        db = Store(backend, design, cursor_keys=[bytes(32)])
        db.create_tables()
        db.put_many([made(number) for number in range(PAGE)])

        numbers = random.Random(0).sample(range(PAGE), GETS)
        calls = [call(number) for number in numbers]
        asked = [{"pk": {"S": f"CUSTOMER#{customer_of(each)}"}, "sk": {"S": f"ORDER#{each:08}"}} for each in numbers]
        if len(client.get_item(TableName=TABLE_NAME, Key=asked[0])["Item"]) != ATTRIBUTES:
            raise RuntimeError(f"an item has not {ATTRIBUTES} attributes")
        gets: dict[str, Run] = {
            OURS: lambda: len([db.one(each) for each in calls]),
            BOTO3: lambda: len([client.get_item(TableName=TABLE_NAME, Key=key)["Item"] for key in asked]),
        }
        yield _pages(db, endpoint, runner), gets


def _pages(db: Store, endpoint: str, runner: asyncio.Runner) -> dict[str, Run]:
    partition = f"CUSTOMER#{customer_of(0)}"
    pynamo = pynamo_model(endpoint, KEYS.access_key, KEYS.secret_key)
    dynox = dynox_model(endpoint, KEYS.access_key, KEYS.secret_key)

    async def on_loop() -> list[Any]:
        return [each async for each in dynox.query(partition_key=partition, limit=PAGE)]

    readers: dict[str, Callable[[], list[Any]]] = {
        OURS: lambda: db(orders_of(customer_of(0))).page(PAGE).items,
        PYNAMODB: lambda: list(pynamo.query(partition, limit=PAGE)),
        PYDYNOX: lambda: list(dynox.sync_query(partition_key=partition, limit=PAGE)),
        PYDYNOX_ASYNC: lambda: runner.run(on_loop()),
    }
    for name, read in readers.items():
        _see(name, read())
    return {name: _counted(read) for name, read in readers.items()}


def _counted(read: Callable[[], list[Any]]) -> Run:
    """A page is one, however many it holds."""

    def run() -> int:
        read()
        return 1

    return run


def _see(name: str, found: list[Any]) -> None:
    """Every library has to make the same of the page."""
    for at, each in enumerate(found):
        wanted = made(at)
        for field in Order.__struct_fields__:
            is_, should = getattr(each, field), getattr(wanted, field)
            if field == "parcel":
                is_, should = (is_.weight, is_.carrier), (should.weight, should.carrier)
            if is_ != should or type(is_) is not type(should):
                raise RuntimeError(f"{name}: item {at}: {field} is {is_!r}, not {should!r}")
    if len(found) != PAGE:
        raise RuntimeError(f"{name}: {len(found)} items, not {PAGE}")


def _embedded(rounds: int) -> dict[str, float]:
    with scratch() as folder, connect(str(folder / "store.db")) as backend:
        db = Store(backend, design)
        db.create_tables()
        db.put_many([made(number) for number in range(ITEMS)])
        calls = [call(number) for number in random.Random(0).sample(range(ITEMS), ITEMS)]
        if db.one(calls[0]).order_id != calls[0].arguments[1]:
            raise RuntimeError("a get answers with another order")

        def ours() -> int:
            for each in calls:
                db(each)
            return len(calls)

        return _rates({OURS: ours, APSW: raw_reads(folder / "store.db")}, rounds)


if __name__ == "__main__":
    alone(measure)
