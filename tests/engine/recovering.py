"""Writes to a table with recovery until it is killed, and prints every acknowledged write with its time.

Run as a program: `recovering FILE SEED TIME`. Its clock is moved with each write, so that every run is the same. It
does background work too: it archives history, and goes on with restores.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from partita.connect import connect
from partita.dynamodb import requests as q
from partita.dynamodb.shapes import StreamSpecification
from partita.engine.engine import Engine

TABLE = "recovered"
KEYS = 30


def write(engine: Engine, random: Random, stamp: str, keys: list[int]) -> None:
    """Sends one request that gives each of the keys this stamp, or deletes the items when the stamp ends in d."""
    if stamp.endswith("d"):
        requests = [q.WriteRequest(delete_request=q.DeleteRequest(key={"pk": {"S": str(key)}})) for key in keys]
    else:
        text = "x" * random.choice([10, 500, 3000])
        items = [{"pk": {"S": str(key)}, "v": {"S": stamp}, "g": {"S": stamp[-1]}, "text": {"S": text}} for key in keys]
        requests = [q.WriteRequest(put_request=q.PutRequest(item=item)) for item in items]
    engine.call(q.BatchWriteItem(request_items={TABLE: requests}))


def switch_stream(engine: Engine, random: Random) -> None:
    described = engine.call(q.DescribeTable(table_name=TABLE)).table
    assert described is not None
    wanted = StreamSpecification(stream_enabled=True, stream_view_type=random.choice(["KEYS_ONLY", "NEW_IMAGE"]))
    if described.stream_specification is not None:
        wanted = StreamSpecification(stream_enabled=False)
    engine.call(q.UpdateTable(table_name=TABLE, stream_specification=wanted))


def main() -> None:
    path, seed, now = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    random = Random(seed)
    engine = connect(Path(path), durability="process", maintain=False, clock=lambda: datetime.fromtimestamp(now, UTC))
    number = 0
    while True:
        number += 1
        now += random.choice([0.1, 0.25, 1.0, 700.0])
        keys = random.sample(range(KEYS), random.choice([1, 1, 1, 4]))
        stamp = f"{seed}.{number}" + ("d" if random.random() < 0.2 else "")
        print("begin", stamp, ",".join(map(str, keys)), now, flush=True)
        write(engine, random, stamp, keys)
        print("done", stamp, ",".join(map(str, keys)), now, flush=True)
        if random.random() < 0.3:
            engine.maintenance.step()
        if random.random() < 0.02:
            switch_stream(engine, random)


if __name__ == "__main__":
    main()
