"""The history of an item: found by the index that background work builds, and the same as without it."""

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from partita.dynamodb.values import Item
from partita.engine import history_index
from partita.engine.history_index import changes_of, indexed_to
from partita.engine.item_history import ItemHistory
from partita.engine.schema import RecoveryRecord
from partita.engine.verify import repair
from partita.storage.contract import Row, Write
from tests.engine.tables import Bench, plain, problems_of
from tests.engine.test_recovery import DAY, STREAM, enable, stored


@pytest.fixture(autouse=True)
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of five records, of which four become one."""
    monkeypatch.setattr(history_index, "RUN_RECORDS", 5)
    monkeypatch.setattr(history_index, "MERGED_RUNS", 4)


def recovery_of(bench: Bench) -> RecoveryRecord:
    found = stored(bench).record.recovery
    assert found is not None
    assert found.by_item is not None
    return found


def history(bench: Bench, key: str, before: int | None = None, **bounds: int) -> ItemHistory:
    return bench.engine.item_history("notes", plain({"pk": key}), before, **bounds)


def values(found: ItemHistory) -> list[tuple[Any, Any]]:
    """The values before and after each change, the newest first."""

    def value(item: Item | None) -> int | None:
        return None if item is None else int(item["v"]["N"])

    return [(value(each.before), value(each.after)) for each in found.changes]


def paged(bench: Bench, key: str, most: int) -> Iterator[tuple[Any, Any]]:
    """All changes of an item, a few at a time."""
    before = None
    while True:
        found = history(bench, key, before, most=most)
        yield from values(found)
        if found.is_complete:
            return
        before = found.changes[-1].number


class Known(NamedTuple):
    """Which changes were made: the time, the key, and the value before and after."""

    at: float
    key: str
    before: int | None
    after: int | None


@pytest.mark.parametrize("seed", range(6))
def test_history_of_every_item_is_that_of_its_writes(anywhere: Bench, seed: int) -> None:
    random = Random(seed)
    more: dict[str, Any] = {"StreamSpecification": STREAM} if seed % 2 else {}
    anywhere.table("notes", "pk:S", **more)
    enable(anywhere, days=2)
    current: dict[str, int] = {}
    made: list[Known] = []
    for number in range(150):
        anywhere.clock.now += random.choice([0.0, 1.0, 2000.0])
        key = random.choice("aabcdefg")
        before = current.pop(key, None)
        if before is not None and random.random() < 0.3:
            anywhere.ok("DeleteItem", TableName="notes", Key=plain({"pk": key}))
        else:
            anywhere.put("notes", pk=key, v=number)
            current[key] = number
        made.append(Known(anywhere.clock.now, key, before, current.get(key)))
        if random.random() < 0.2:
            anywhere.engine.maintenance.step()
        if random.random() < 0.02 and anywhere.address != "memory:":
            anywhere.reopen()
    anywhere.settle()
    assert problems_of(anywhere.engine) == []
    kept_since = anywhere.clock.now - 2 * DAY
    for key in "abcdefgh":
        found = list(paged(anywhere, key, random.choice([1, 3, 100])))
        expected = [(each.before, each.after) for each in reversed(made) if each.key == key]
        assert found == expected[: len(found)]
        assert len(found) >= sum(1 for each in made if each.key == key and each.at >= kept_since)
    table, recovery = stored(anywhere), recovery_of(anywhere)
    by_index = list(
        changes_of(anywhere.engine._context.storage, recovery, table.storage_key(plain({"pk": "a"})), 1 << 62)
    )
    assert by_index == sorted(by_index, reverse=True)
    assert by_index


def test_runs_are_merged_and_dropped_with_their_records(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    enable(anywhere, days=1)
    storage, space = anywhere.engine._context.storage, recovery_of(anywhere).by_item
    assert space is not None
    for number in range(23):
        anywhere.put("notes", pk=str(number % 3), v=number)
    anywhere.settle()
    assert indexed_to(storage, recovery_of(anywhere)) > 0
    assert storage.totals(space).rows == 4  # of one long run
    assert len({history_index.run_of(key) for key, _, _ in storage.range(space, b"", None)}) == 1
    assert values(history(anywhere, "1")) == [
        (19, 22),
        (16, 19),
        (13, 16),
        (10, 13),
        (7, 10),
        (4, 7),
        (1, 4),
        (None, 1),
    ]
    anywhere.clock.now += 3 * DAY
    anywhere.settle()
    assert storage.totals(space).rows == 0
    assert values(history(anywhere, "1")) == []
    anywhere.put("notes", pk="1", v=99)
    assert values(history(anywhere, "1")) == [(22, 99)]
    assert problems_of(anywhere.engine) == []


def test_indexed_changes_are_found_behind_any_number_of_others(bench: Bench) -> None:
    bench.table("notes", "pk:S")
    enable(bench)
    bench.put("notes", pk="rare", v=1)
    for number in range(60):
        bench.put("notes", pk="often", v=number)
    assert not history(bench, "rare", examined=10).is_complete
    bench.settle()
    assert values(history(bench, "rare", examined=10)) == [(None, 1)]
    assert history(bench, "rare", examined=10).is_complete


def test_table_with_a_stream_alone_is_read_record_by_record(bench: Bench) -> None:
    bench.table("notes", "pk:S", StreamSpecification=STREAM)
    for number in range(20):
        bench.put("notes", pk="a", v=number)
    bench.settle()
    assert len(history(bench, "a").changes) == 20
    assert history(bench, "a", examined=5) == history(bench, "a", most=5)._replace(is_complete=False)
    bench.table("plain", "pk:S")
    assert not bench.engine.item_history("plain", plain({"pk": "a"})).is_kept


def test_file_of_a_version_without_the_index_gets_it(filed: Bench) -> None:
    filed.table("notes", "pk:S")
    enable(filed)
    for number in range(12):
        filed.put("notes", pk=str(number % 2), v=number)
    filed.clock.now += 2 * 3600
    filed.settle()  # the records are in blocks
    context, table = filed.engine._context, stored(filed)
    with context.storage.transaction() as txn:
        context.write_catalog.refresh(txn)
        older = replace(table.record, recovery=replace(recovery_of(filed), by_item=None))
        context.write_catalog.save(txn, older, table.record)
    filed.reopen()
    expected = [(each, each + 2) for each in (9, 7, 5, 3, 1)] + [(None, 1)]
    assert values(history(filed, "1")) == expected
    filed.settle()
    assert indexed_to(filed.engine._context.storage, recovery_of(filed)) > 0
    assert values(history(filed, "1")) == expected
    assert problems_of(filed.engine) == []


def test_large_records_make_short_runs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_index, "RUN_BYTES", 2000)
    bench.table("notes", "pk:S")
    enable(bench)
    for number in range(9):
        bench.put("notes", pk="a", v=number, text="x" * 900)
        bench.engine.maintenance.step()
    assert indexed_to(bench.engine._context.storage, recovery_of(bench)) > 0
    assert len(history(bench, "a").changes) == 9
    assert problems_of(bench.engine) == []


@pytest.mark.parametrize("damage", ["missing run", "other entries", "other totals"])
def test_verify_reports_and_repairs_the_index(filed: Bench, damage: str) -> None:
    filed.table("notes", "pk:S")
    enable(filed)
    for number in range(11):
        filed.put("notes", pk=str(number), v=number)
    filed.settle()
    storage, space = filed.engine._context.storage, recovery_of(filed).by_item
    assert space is not None
    with storage.transaction() as txn:
        key, weight, value = next(iter(txn.range(space, b"", None)))
        row = Row(weight, value)
        if damage == "missing run":
            txn.apply([Write(space, key, row, None)])
        else:
            other = value[16:] if damage == "other entries" else value
            txn.apply([Write(space, key, row, Row(weight + (damage == "other totals"), other))])
            if damage == "other totals":
                txn.apply([Write(space, key, row, Row(weight, value))])
    found = problems_of(filed.engine)
    assert found
    assert all("history by item" in each for each in found)
    repair(storage, lambda rows: None)
    filed.reopen()
    assert problems_of(filed.engine) == []
    filed.settle()
    assert indexed_to(filed.engine._context.storage, recovery_of(filed)) > 0
    assert values(history(filed, "3")) == [(None, 3)]
    assert problems_of(filed.engine) == []
