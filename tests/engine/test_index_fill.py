"""New tables get the rows of their indexes in sorted order: any number of rows, across restarts, once."""

import errno
import tracemalloc
from functools import partial
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.engine import index_fill, row_sorter
from partita.engine.restore_steps import restore_step
from partita.engine.row_blocks import pack_rows
from partita.engine.row_sorter import RowSorter
from partita.errors import StorageError
from partita.storage.contract import Row
from tests.engine.faulty_storage import Failing, settle_with_failures
from tests.engine.tables import Bench, index, problems_of
from tests.engine.test_backups import back_up
from tests.engine.test_recovery import enable


@given(
    st.lists(st.tuples(st.binary(min_size=1, max_size=3), st.binary(max_size=3)), max_size=200),
    st.binary(max_size=2),
    st.integers(1, 3000),
)
def test_sorter_yields_each_key_once_in_order_with_its_last_row(
    rows: list[tuple[bytes, bytes]], after: bytes, run_bytes: int
) -> None:
    sorter = RowSorter(run_bytes=run_bytes)
    for key, value in rows:
        sorter.add(key, Row(len(value), value))
    expected = {key: Row(len(value), value) for key, value in rows if key > after}
    assert list(sorter.merged(after)) == sorted(expected.items())
    sorter.close()


def test_sorted_rows_are_merged_in_less_memory_than_they_take() -> None:
    sorter = RowSorter(run_bytes=2_000_000)
    for number in range(200):
        sorter.add(b"%04d" % (number * 7 % 200), Row(100_000, b"x" * 100_000))
    tracemalloc.start()
    try:
        assert sum(1 for _ in sorter.merged()) == 200
        assert tracemalloc.get_traced_memory()[1] < 6_000_000  # of 20 MB in ten runs
    finally:
        tracemalloc.stop()
        sorter.close()


def test_indexes_of_a_restored_table_are_filled_across_restarts(filed: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_fill, "SORTED_ROWS", 40)
    monkeypatch.setattr(index_fill, "ADDED_ROWS", 30)
    monkeypatch.setattr(index_fill, "RUN_BYTES", 5000)
    filed.table("notes", "pk:S", index("byDay", "day:S time:N"), index("sparse", "mark:S", "KEYS_ONLY"))
    random = Random(1)
    for number in range(150):
        more = {"mark": "x"} if number % 3 == 0 else {}
        filed.put("notes", pk=str(number), day=random.choice("abc"), time=random.randrange(50), **more)
    arn = back_up(filed)
    filed.settle()
    filed.ok("RestoreTableFromBackup", BackupArn=arn, TargetTableName="copy")
    steps = 0
    while filed.engine.maintenance.step():
        steps += 1
        if steps % 7 == 0:
            assert problems_of(filed.engine) == []
            filed.reopen()
    assert steps >= 14
    assert problems_of(filed.engine) == []
    assert filed.rows("copy", "byDay") == filed.rows("notes", "byDay")
    assert len(filed.rows("copy", "sparse")) == 50


def test_two_engines_fill_a_table_once(filed: Bench, tmp_path: Path) -> None:
    filed.table("notes", "pk:S", index("byDay", "day:S"))
    filed.put("notes", pk="a", day="mon")
    arn = back_up(filed)
    filed.settle()
    filed.ok("RestoreTableFromBackup", BackupArn=arn, TargetTableName="copy")
    filed.engine.maintenance.step()
    other = Bench(filed.address, filed.clock)
    other.settle()
    filed.settle()
    assert problems_of(filed.engine) == []
    assert len(filed.rows("copy", "byDay")) == 1
    other.engine.close()
    assert [each.name for each in tmp_path.iterdir() if each.name.endswith("-filling")] == []


@pytest.mark.parametrize("kind", ["second", "backup"])
def test_process_that_still_copies_does_not_begin_the_fill_again(
    filed: Bench, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Its catalogue is older: it has found a table whose items are not complete, and then waits for the writer."""
    monkeypatch.setattr(index_fill, "ADDED_ROWS", 2)
    filed.table("notes", "pk:S", index("byDay", "day:S"))
    enable(filed)
    for number in range(10):
        filed.put("notes", pk=str(number), day="mon")
    arn = back_up(filed)
    filed.settle()
    if kind == "backup":
        filed.ok("RestoreTableFromBackup", BackupArn=arn, TargetTableName="copy")
    else:
        latest = {"SourceTableName": "notes", "UseLatestRestorableTime": True}
        filed.ok("RestoreTableToPointInTime", TargetTableName="copy", **latest)
    engine = filed.engine
    while not ((fill := engine._context.catalog.restoring["copy"].record.fill) and fill.filled_to):
        assert engine.maintenance.step()
        engine._context.catalog.refresh()
    assert engine._writer.run(partial(restore_step, engine._context, "copy"))
    filed.settle()
    assert problems_of(filed.engine) == []
    assert len(filed.rows("copy", "byDay")) == 10


@pytest.mark.parametrize("failing", ["database", "temporary files"])
def test_full_disk_loses_no_index_rows_of_a_restored_table(
    anywhere: Bench, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    monkeypatch.setattr(index_fill, "SORTED_ROWS", 40)
    monkeypatch.setattr(index_fill, "ADDED_ROWS", 30)
    monkeypatch.setattr(index_fill, "RUN_BYTES", 5000)
    anywhere.table("notes", "pk:S", index("byDay", "day:S time:N"), index("byTime", "time:N"))
    for number in range(150):
        anywhere.put("notes", pk=str(number), day="abc"[number % 3], time=number % 50)
    arn = back_up(anywhere)
    anywhere.settle()
    anywhere.ok("RestoreTableFromBackup", BackupArn=arn, TargetTableName="copy")
    if failing == "database":
        writer = anywhere.engine._writer
        monkeypatch.setattr(writer, "run", Failing(writer.run, StorageError("disk full"), (3, 6, 7, 9)))
    else:
        error = OSError(errno.ENOSPC, "No space left on device")
        monkeypatch.setattr(row_sorter, "pack_rows", Failing(pack_rows, error, (2, 10, 20)))
    assert settle_with_failures(anywhere) > 0
    assert problems_of(anywhere.engine) == []
    assert anywhere.rows("copy", "byDay") == anywhere.rows("notes", "byDay")
