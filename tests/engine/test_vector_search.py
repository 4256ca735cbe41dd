"""SearchVectors finds what brute force finds: all distances, filters, after writes, restarts, and beyond memory."""

import asyncio
import threading
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from partita.dynamodb.decode import decode_request
from partita.dynamodb.requests import Request
from partita.engine import vector_matrix
from partita.engine.async_engine import AsyncEngine
from partita.engine.engine import Engine
from partita.engine.verify import repair
from partita.storage.contract import Row, Write
from partita.storage.memory import MemoryStorage
from partita.storage.sqlite import SqliteStorage
from tests.engine.shorthand import Embedded, Json, open_engine
from tests.engine.tables import Bench, problems_of
from tests.engine.vectors import (
    DISTANCES,
    assert_same_results,
    brute_force,
    ok,
    random_vector,
    search,
    table,
    vector,
    vectors,
)

DIMENSIONS = 5
TYPES = "tenant:S kind:S num:N"
SCHEMA = "tenant:HASH kind:INLINE_FILTER num:INLINE_FILTER"


class VectorModel:
    """A table with an index for each distance, with and without HASH, and the items that it must have."""

    def __init__(self, database: Embedded, seed: int) -> None:
        self.database = database
        self.random = Random(seed)
        self.items: dict[str, Json] = {}

    def create(self) -> None:
        indexes = [vectors(each, Dimensions=DIMENSIONS, DistanceFunction=each) for each in DISTANCES[:2]]
        indexes += [
            vectors(f"{each}-h", SCHEMA, Dimensions=DIMENSIONS, DistanceFunction=each) for each in DISTANCES[1:]
        ]
        indexes.append(
            vectors(
                "COSINE-f",
                "kind:INLINE_FILTER num:INLINE_FILTER",
                Dimensions=DIMENSIONS,
            )
        )
        ok(self.database, "CreateTable", table("things", *indexes, types=TYPES))

    def item(self, key: str) -> Json:
        random = self.random
        item: Json = {"pk": {"S": key}, "note": {"S": "n" * random.choice([1, 100, 3000])}}
        for name, value in (
            ("tenant", {"S": random.choice("abc")}),
            ("kind", {"S": random.choice(["x", "y", ""])}),
            ("num", {"N": random.choice(["1", "2.5"])}),
            ("emb", random_vector(random, DIMENSIONS)),
        ):
            if random.random() < 0.9:
                item[name] = value
        return item

    def write(self) -> None:
        random, key = self.random, f"k{self.random.randrange(60)}"
        choice = random.random()
        if choice < 0.4:
            self.items[key] = item = self.item(key)
            ok(self.database, "PutItem", {"TableName": "things", "Item": item})
        elif choice < 0.55:
            self.items.pop(key, None)
            ok(self.database, "DeleteItem", {"TableName": "things", "Key": {"pk": {"S": key}}})
        elif choice < 0.7:
            self._update(key)
        elif choice < 0.85:
            self._batch()
        else:
            self._transaction()

    def _update(self, key: str) -> None:
        name, value = self.random.choice(
            [("tenant", {"S": "b"}), ("kind", {"S": "y"}), ("emb", random_vector(self.random, DIMENSIONS))]
        )
        removes = self.random.random() < 0.3
        body: Json = {"UpdateExpression": "REMOVE #n" if removes else "SET #n = :v"}
        if not removes:
            body["ExpressionAttributeValues"] = {":v": value}
        key_of = {"pk": {"S": key}}
        ok(
            self.database,
            "UpdateItem",
            {"TableName": "things", "Key": key_of, "ExpressionAttributeNames": {"#n": name}, **body},
        )
        if removes:
            self.items.get(key, {}).pop(name, None)
        else:
            self.items[key] = {**self.items.get(key, key_of), name: value}

    def _batch(self) -> None:
        keys = self.random.sample(range(60), self.random.randrange(1, 12))
        requests: list[Json] = []
        for key in (f"k{each}" for each in keys):
            if self.random.random() < 0.3:
                self.items.pop(key, None)
                requests.append({"DeleteRequest": {"Key": {"pk": {"S": key}}}})
            else:
                self.items[key] = self.item(key)
                requests.append({"PutRequest": {"Item": self.items[key]}})
        ok(self.database, "BatchWriteItem", {"RequestItems": {"things": requests}})

    def _transaction(self) -> None:
        keys = [f"k{each}" for each in self.random.sample(range(60), 4)]
        items = {key: self.item(key) for key in keys[1:]}
        actions: list[Json] = [{"Put": {"TableName": "things", "Item": item}} for item in items.values()]
        actions.append({"Delete": {"TableName": "things", "Key": {"pk": {"S": keys[0]}}}})
        self.items.pop(keys[0], None)
        self.items.update(items)
        ok(self.database, "TransactWriteItems", {"TransactItems": actions})

    def check(self) -> None:
        """Compares one search of each index with brute force."""
        random = self.random
        items = list(self.items.values())
        query = [each["N"] for each in random_vector(random, DIMENSIONS)["L"]]
        count = random.choice([1, 3, 10, 100])
        filters: Json = {}
        if random.random() < 0.5:
            filters["kind"] = {"S": random.choice(["x", "y", "", "none"])}
        if random.random() < 0.3:
            filters["num"] = {"N": "2.50"}
        canonical = filters | ({"num": {"N": "2.5"}} if "num" in filters else {})
        for name in ("COSINE", "EUCLIDEAN"):
            self._compare(name, query, count, {}, {}, None)
        self._compare("COSINE-f", query, count, filters, canonical, None)
        for name in ("EUCLIDEAN-h", "DOT_PRODUCT-h"):
            tenant = {"tenant": {"S": random.choice("abcd")}}
            self._compare(name, query, count, tenant | filters, tenant | canonical, "tenant")
        assert len(items) == len(self.items)

    def _compare(
        self, index: str, query: list[str], count: int, equal: Json, canonical: Json, hash_name: str | None
    ) -> None:
        items = list(self.items.values())
        expected = brute_force(items, index.partition("-")[0], query, count, canonical, hash_name)
        found = ok(self.database, "SearchVectors", search("things", index, query, count, equal))["SearchResults"]
        assert_same_results(found, expected, items)


@pytest.mark.parametrize("seed", range(6))
def test_searches_equal_brute_force_after_random_writes(anywhere: Bench, seed: int) -> None:
    model = VectorModel(anywhere, seed)
    model.create()
    for step in range(150):
        model.write()
        if step % 5 == 0:
            model.check()
        if step % 60 == 59 and anywhere.address != "memory:":
            anywhere.reopen()
    model.check()
    assert problems_of(anywhere.engine) == []


@pytest.mark.parametrize("seed", range(3))
def test_searches_beyond_memory_read_blocks_and_equal_brute_force(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_matrix, "_BLOCK_BYTES", 7 * DIMENSIONS * 4)
    with Engine(SqliteStorage(str(tmp_path / "d.db"), "process"), maintain=False, vector_memory=100) as engine:
        model = VectorModel(Embedded(engine), seed)
        model.create()
        for _ in range(12):
            for _ in range(8):
                model.write()
            model.check()


def test_least_recently_used_vectors_leave_memory_first() -> None:
    with Engine(MemoryStorage(), maintain=False, vector_memory=64 * DIMENSIONS * 4 * 2) as engine:
        model = VectorModel(Embedded(engine), 1)
        model.create()
        for _ in range(40):
            model.write()
        for _ in range(3):
            model.check()
        memory = engine._context.vectors
        assert 0 < len(memory._matrices) < len(engine._context.catalog.tables["things"].vector_indexes)


@pytest.mark.parametrize("share", [0, 1, 2, 10, 50, 99, 100])
def test_filter_of_any_selectivity_gets_as_many_results_as_match(bench: Bench, share: int) -> None:
    bench.ok("CreateTable", **table("things", vectors(schema="kind:INLINE_FILTER"), types="kind:S"))
    random = Random(share)
    for number in range(100):
        kind = "wanted" if number < share else "other"
        item = {"pk": {"S": str(number)}, "kind": {"S": kind}, "emb": random_vector(random, 3)}
        bench.ok("PutItem", TableName="things", Item=item)
    for count in (1, 10, 100):
        found = bench.ok("SearchVectors", **search("things", "vix", [1, 2, 3], count, {"kind": {"S": "wanted"}}))
        assert len(found["SearchResults"]) == min(count, share)
        assert {each["Item"]["kind"]["S"] for each in found["SearchResults"]} <= {"wanted"}


def test_matrix_that_is_far_behind_its_log_is_loaded_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partita.engine.vector_indexes.LOG_RECORDS", 5)
    monkeypatch.setattr("partita.engine.maintenance.LOG_RECORDS", 5)
    monkeypatch.setattr("partita.engine.maintenance.BATCH", 1)
    model = VectorModel(bench, 3)
    model.create()
    for _ in range(10):
        for _ in range(12):
            model.write()
        bench.settle()
        model.check()
    table_ = bench.engine._context.catalog.tables["things"]
    rows = [bench.engine._context.storage.totals(index.log).rows for index in table_.vector_indexes.values()]
    assert max(rows) <= 6


@pytest.mark.parametrize("seed", range(3))
def test_processes_that_share_a_file_find_each_others_writes(tmp_path: Path, seed: int) -> None:
    address = str(tmp_path / "d.db")
    with open_engine(address) as one, open_engine(address) as other:
        model = VectorModel(Embedded(one), seed)
        model.create()
        for _ in range(30):
            model.database = Embedded(model.random.choice([one, other]))
            for _ in range(model.random.randrange(5)):
                model.write()
            model.database = Embedded(model.random.choice([one, other]))
            model.check()
        assert problems_of(one) == []


def test_repaired_vector_index_finds_what_the_table_has(tmp_path: Path) -> None:
    bench = Bench(str(tmp_path / "d.db"))
    model = VectorModel(bench, 1)
    model.create()
    for _ in range(60):
        model.write()
    model.check()
    storage = bench.engine._context.storage
    indexes = bench.engine._context.catalog.tables["things"].vector_indexes
    with storage.transaction() as txn:
        for index in indexes.values():
            key, weight, value = next(iter(txn.range(index.space, b"", None)))
            txn.apply([Write(index.space, key, Row(weight, value), None)])
    assert len([each for each in problems_of(bench.engine) if "things." in each]) >= len(indexes)
    built = repair(storage, lambda damaged: None)
    assert {f"things.{name}" for name in indexes} <= set(built)
    bench.reopen()
    assert problems_of(bench.engine) == []
    model.check()
    bench.engine.close()


def request(operation: str, body: Json) -> Request[Any]:
    return decode_request(operation, msgspec.json.encode(body))


def test_searches_of_an_event_loop_run_beside_it(tmp_path: Path) -> None:
    async def run() -> list[str]:
        engine = AsyncEngine(open_engine(str(tmp_path / "d.db")))
        loop_thread, threads = threading.get_ident(), []
        try:
            await engine.call(request("CreateTable", table("things", vectors())))
            item = {"pk": {"S": "a"}, "emb": vector(1, 2, 3)}
            await engine.call(request("PutItem", {"TableName": "things", "Item": item}))
            original = engine._engine.call

            def noted(asked: Request[Any]) -> Any:
                threads.append(threading.get_ident())
                return original(asked)

            engine._engine.call = noted  # type: ignore[method-assign,assignment]
            wanted = request("SearchVectors", search("things", "vix", [1, 0, 0]))
            replies = await asyncio.gather(*(engine.call(wanted) for _ in range(5)))
        finally:
            await engine.close()
        assert len(threads) == 5
        assert loop_thread not in threads
        return [msgspec.json.decode(each.search_results[0].item)["pk"]["S"] for each in replies]

    assert asyncio.run(run()) == ["a"] * 5
