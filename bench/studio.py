"""`python -m bench.studio`: how fast the studio starts, and its pages on a table of a million items.

It fills a database file with items of the tests' shop, starts `partita studio` on it, and measures from the command to
the entities of the design, the first page of items, further pages, a pattern, and the memory of the server.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from partita import Store, connect
from partita.dynamodb.requests import BatchWriteItem, PutRequest, WriteRequest
from partita.plan.items import item_of, values_of
from tests.peers.process import free_port
from tests.studio.shop import NOON, Order, Status, design

TOKEN = "a-token-of-the-benchmark"
ITEMS = int(os.environ.get("PARTITA_STUDIO_ITEMS", "1000000"))
BATCH = 25
PAGES = 200
PARTITA = Path(sys.executable).with_name("partita")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "million.db"
        begun = time.monotonic()
        _fill(file)
        print(f"{ITEMS:,} items written in {time.monotonic() - begun:.0f} s, {file.stat().st_size / 1e6:,.0f} MB")
        _measure(file)


def _fill(file: Path) -> None:
    """Writes orders as the design stores them; in batches, which keep no counters."""
    model = design.holding(Order)
    with connect(file, durability="process") as backend:
        Store(backend, design).create_tables()
        for first in range(0, ITEMS, BATCH):
            numbers = range(first, min(first + BATCH, ITEMS))
            items = [item_of(model, values_of(model, _order(number))) for number in numbers]
            puts = [WriteRequest(put_request=PutRequest(item=item)) for item in items]
            backend.call(BatchWriteItem(request_items={"shop": puts}))


def _order(number: int) -> Order:
    status = Status.OPEN if number % 2 else Status.SHIPPED
    return Order(
        customer_id=f"c{number // 100}", placed_at=NOON, order_id=f"o{number}", status=status, note=f"order {number}"
    )


def _measure(file: Path) -> None:
    port = free_port()
    command = [str(PARTITA), "studio", "tests.studio.shop", "--on", str(file), "--port", str(port)]
    begun = time.monotonic()
    process = subprocess.Popen(
        command, env={**os.environ, "PARTITA_STUDIO_TOKEN": TOKEN}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        base = f"http://127.0.0.1:{port}/studio/shop"
        view = _until(f"{base}.json")
        print(f"from the command to {len(view['entities'])} entities: {time.monotonic() - begun:.2f} s")
        print(f"memory: {_memory(process.pid):,.0f} MB")
        seconds, body = _timed(f"{base}/items", html=True)
        print(f"first page of items, HTML: {seconds * 1000:.0f} ms, {len(body) / 1024:.0f} KB")
        start, times = None, []
        for _ in range(PAGES):
            query = "" if start is None else f"?start={json.dumps(start)}".replace(" ", "").replace('"', "%22")
            seconds, body = _timed(f"{base}/items.json{query.replace('#', '%23')}")
            times.append(seconds)
            start = json.loads(body)["page"]["start"]
        print(
            f"{PAGES} further pages: median {statistics.median(times) * 1000:.0f} ms, worst {max(times) * 1000:.0f} ms"
        )
        seconds, _ = _timed(f"{base}/patterns/orders_of?arg.customer_id=c7&run=1", html=True)
        print(f"a pattern, HTML: {seconds * 1000:.0f} ms")
        print(f"memory after {PAGES + 2} pages: {_memory(process.pid):,.0f} MB")
        begun = time.monotonic()
        size = 0
        with urlopen(_request(f"{base}/export/lines")) as reply:  # noqa: S310 - our own server
            while piece := reply.read(1 << 20):
                size += len(piece)
        print(f"export of everything: {size / 1e6:,.0f} MB in {time.monotonic() - begun:.0f} s")
        print(f"memory after the export: {_memory(process.pid):,.0f} MB")
    finally:
        process.terminate()
        process.wait()


def _request(url: str, html: bool = False) -> Request:
    accept = "text/html" if html else "application/json"
    return Request(url, headers={"Authorization": f"Bearer {TOKEN}", "Accept": accept})  # noqa: S310 - our own server


def _timed(url: str, *, html: bool = False) -> tuple[float, bytes]:
    begun = time.perf_counter()
    with urlopen(_request(url, html)) as reply:  # noqa: S310 - our own server
        body: bytes = reply.read()
    return time.perf_counter() - begun, body


def _until(url: str) -> Any:
    for _ in range(2_000):
        try:
            return json.loads(_timed(url)[1])
        except OSError:
            time.sleep(0.01)
    raise TimeoutError(url)


def _memory(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(text.partition("VmRSS:")[2].split()[0]) / 1024


if __name__ == "__main__":
    main()
