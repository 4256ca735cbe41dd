"""A writing process is killed repeatedly: acknowledged writes are there, and none is there in part.

PARTITA_CRASHES=500 kills that often, instead of the default few dozen times.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec
import pytest

from partita.dynamodb import requests as q
from partita.engine.change_log import read_changes
from partita.engine.engine import Engine
from tests.engine import crashing
from tests.engine.shorthand import Embedded, open_engine
from tests.engine.tables import Bench, problems_of
from tests.engine.vectors import assert_same_results, brute_force, ok, search
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow

CRASHES = int(os.environ.get("PARTITA_CRASHES", "40"))
ROOT = Path(__file__).parent.parent.parent


def run_and_kill(path: Path, seed: int, lines: int) -> Iterator[tuple[str, str, list[int]]]:
    """Returns the lines of a writer that is killed some time after it has printed `lines` lines."""
    command = [sys.executable, "-m", crashing.__name__, str(path), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        for count, line in enumerate(process.stdout, 1):
            if line.endswith("\n"):  # complete
                word, stamp, keys = line.split()
                yield word, stamp, [int(key) for key in keys.split(",")]
            if count == lines:
                process.kill()
    assert process.returncode == -9, "it ended by itself"


def stamps(engine: Engine) -> dict[int, str]:
    """The stamp of every item."""
    found = {}
    for key in range(crashing.KEYS):
        raw = engine.call(q.GetItem(table_name="crashed", key={"pk": {"S": str(key)}})).item
        if raw is not None:
            found[key] = msgspec.json.decode(raw)["v"]["S"]
    return found


@pytest.mark.parametrize("writer", range(4))
def test_killed_writer_loses_no_acknowledged_write(tmp_path: Path, writer: int) -> None:
    path = tmp_path / "crashed.db"
    random = Random(writer)
    expected: dict[int, str] = {}
    for round_number in range(CRASHES // 4):
        doubtful: tuple[str, list[int]] | None = None
        for word, stamp, keys in run_and_kill(path, writer * 10_000 + round_number, random.randint(1, 120)):
            if word == "begin":
                doubtful = stamp, keys
            else:
                doubtful = None
                expected = _after(expected, stamp, keys)
        with open_engine(str(path)) as engine:
            crashing.create(engine)  # it may have been killed before the table was created
            found = stamps(engine)
            assert problems_of(engine) == []
            assert _replayed(engine) == found, "the stream tells the same story"
            _check_searches(engine)
        if doubtful is not None and found != expected:
            expected = _after(expected, *doubtful)  # all of the last write, or none of it
        assert found == expected


def _check_searches(engine: Engine) -> None:
    """The vector index finds what the table has."""
    items = [msgspec.json.decode(raw) for raw in engine.call(q.Scan(table_name="crashed")).items or ()]
    for group in range(4):
        equal = {"g": {"N": str(group)}}
        body = search("crashed", "nearest", [1, 2, 3], 100, equal)
        found = ok(Embedded(engine), "SearchVectors", body)["SearchResults"]
        assert_same_results(found, brute_force(items, "EUCLIDEAN", [1, 2, 3], 100, equal), items)


def _after(before: dict[int, str], stamp: str, keys: list[int]) -> dict[int, str]:
    if stamp.endswith("d"):
        return {key: each for key, each in before.items() if key not in keys}
    return before | dict.fromkeys(keys, stamp)


def _replayed(engine: Engine) -> dict[int, str]:
    """The items according to the change log, from its beginning."""
    context = engine._context
    items: dict[int, str] = {}
    for _, change in read_changes(context.storage, context.catalog.table_in_txn("crashed"), 0, 1_000_000):
        key = int(change.keys["pk"]["S"])
        if change.event == "REMOVE":
            del items[key]
        else:
            items[key] = msgspec.json.decode(change.new)["v"]["S"]
    return items


def test_killed_backfill_continues_where_it_stopped(tmp_path: Path) -> None:
    """The backfill runs in a process that is killed after each step; the index is complete at the end."""
    path = str(tmp_path / "filled.db")
    bench = Bench(path)
    bench.table("notes", "pk:S")
    for number in range(1800):
        bench.put("notes", pk=f"{number:04}", g=str(number % 7))
    bench.ok(
        "UpdateTable",
        TableName="notes",
        AttributeDefinitions=[{"AttributeName": "g", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "byG",
                    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    )
    bench.engine.close()
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom partita import connect\n"
        "engine = connect(Path(sys.argv[1]), durability='process', maintain=False)\n"
        "more = engine.maintenance.step()\n"
        "print(more, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    for _ in range(20):
        done = subprocess.run(
            [sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True, check=False, timeout=PATIENCE
        )
        assert done.returncode == -9
        if done.stdout.strip() == "False":
            break
    bench.reopen()
    assert problems_of(bench.engine) == []
    assert len(bench.rows("notes", "byG")) == 1800
    bench.engine.close()
