"""The sample of partition keys: a hot key is found with its share, in a table of fixed size."""

import random

from partita.dynamodb.requests import BatchGetItem, GetItem, KeysAndAttributes, PutItem, Query, UpdateItem
from partita.engine.hot_keys import PLACES, SAMPLE_OF, SECONDS, HotKey, KeySample, _Counts, _turns
from tests.engine.tables import Bench


def test_misra_gries_finds_every_share_above_one_in_256_and_bounds_it() -> None:
    for seed in range(5):
        draw = random.Random(seed)
        counts = _Counts(0.0)
        exact: dict[str, int] = {}
        for _ in range(20_000):
            key = draw.choice(["hot", "warm", *(str(draw.randrange(5_000)) for _ in range(4))])
            exact[key] = exact.get(key, 0) + 1
            counts.add(("shop", "", key))
        assert len(counts.places) <= PLACES
        for key, number in exact.items():
            found = counts.places.get(("shop", "", key), 0)
            assert found <= number <= found + counts.lowered
            assert number <= counts.total / (PLACES + 1) or found > 0


def test_sample_has_one_of_its_many_and_no_short_period() -> None:
    turns = _turns()
    assert sum(turns) * SAMPLE_OF == len(turns)
    for period in range(1, 65):  # keys in turn: each is seen, or none of them much more than another
        seen = [sum(turns[at::period]) for at in range(period)]
        assert max(seen) <= sum(turns) / period + 20


def test_keys_of_every_kind_of_request_are_counted_by_table_and_index(bench: Bench) -> None:
    bench.table("notes", "PK:S SK:S")
    now = [0.0]
    sample = KeySample(bench.engine._context, lambda: now[0])
    key = {"PK": {"S": "a"}, "SK": {"S": "1"}}
    several = KeysAndAttributes(keys=[key, {"PK": {"S": "b"}, "SK": {"S": "1"}}])
    of_key = Query(
        table_name="notes", key_condition_expression="PK = :k", expression_attribute_values={":k": {"S": "a"}}
    )
    for request in (
        PutItem(table_name="notes", item=key),
        GetItem(table_name="notes", key=key),
        UpdateItem(table_name="notes", key=key),
        BatchGetItem(request_items={"notes": several}),
        of_key,
        GetItem(table_name="missing", key=key),
        GetItem(table_name="notes", key={"PK": {}}),
        Query(table_name="notes", key_condition_expression="PK = "),
    ):
        sample.add(request)
    found = sample.top()
    assert found.sampled == 6
    assert found.keys == [HotKey("notes", "", "a", 5 / 6, 5 / 6), HotKey("notes", "", "b", 1 / 6, 1 / 6)]
    now[0] = SECONDS * 1.5
    assert sample.top().sampled == 6
    now[0] = SECONDS * 4
    assert sample.top().keys == []


def test_engine_samples_reads_and_writes_of_any_path(bench: Bench) -> None:
    bench.table("notes", "PK:S SK:S")
    key = {"PK": {"S": "hot"}, "SK": {"S": "1"}}
    for _ in range(SAMPLE_OF * 2):
        bench.engine.call(PutItem(table_name="notes", item=key))
        bench.engine.call(GetItem(table_name="notes", key=key))
        bench.engine.record_reads().call(GetItem(table_name="notes", key=key))
    (found,) = bench.engine.hot_keys().keys
    assert (found.table, found.key, found.share) == ("notes", "hot", 1.0)
