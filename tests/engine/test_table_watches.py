"""Watches of tables: each change wakes those who watch its table, whatever happens at the same time."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from partita.engine import table_watches
from partita.engine.engine import Engine
from partita.errors import StorageClosed, StorageError
from partita.storage.contract import Watch
from tests.engine.tables import Bench
from tests.engine.test_process_edges import in_child
from tests.timing import PATIENCE

NOW = 0.0
STREAM = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}


def opened(bench: Bench, *names: str) -> Bench:
    for name in names:
        bench.table(name, "pk:S", StreamSpecification=STREAM)
    return bench


def write(bench: Bench, table: str, key: str = "a") -> None:
    bench.ok("PutItem", TableName=table, Item={"pk": {"S": key}, "by": {"S": threading.current_thread().name}})


def watching_threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name == "partita-commits"}


def test_change_wakes_the_watches_of_its_table_alone(anywhere: Bench) -> None:
    opened(anywhere, "notes", "others")
    others, notes, both = (
        anywhere.engine.watch_tables(tables) for tables in (["others"], ["notes"], ["notes", "others"])
    )
    write(anywhere, "notes")
    assert both.wait(PATIENCE)  # the last to be woken
    assert notes.wait(NOW)
    assert not others.wait(NOW)
    write(anywhere, "others")
    assert both.wait(PATIENCE)
    assert others.wait(NOW)
    assert not notes.wait(NOW)


def test_change_is_reported_once(anywhere: Bench) -> None:
    opened(anywhere, "notes")
    write(anywhere, "notes")
    watch = anywhere.engine.watch_tables(["notes"])
    assert not watch.wait(NOW)
    write(anywhere, "notes", "b")
    assert watch.wait(PATIENCE)
    assert not watch.wait(NOW)


def test_change_of_another_engine_on_the_file_is_reported(filed: Bench) -> None:
    opened(filed, "notes")
    watch = filed.engine.watch_tables(["notes"])
    other = Bench(filed.address)
    write(other, "notes")
    other.engine.close()
    assert watch.wait(PATIENCE)


def test_table_is_watched_before_it_exists_and_after_it_was_deleted(anywhere: Bench) -> None:
    watch = anywhere.engine.watch_tables(["notes"])
    opened(anywhere, "notes")
    assert watch.wait(PATIENCE)
    anywhere.ok("DeleteTable", TableName="notes")
    assert watch.wait(PATIENCE)


def test_all_watches_of_an_engine_have_one_thread_that_ends_with_the_last(anywhere: Bench) -> None:
    opened(anywhere, "notes", "others")
    before = watching_threads()
    watches = [anywhere.engine.watch_tables([name]) for name in ("notes", "others", "notes")]
    assert len(watching_threads() - before) == 1
    for each in watches[:2]:
        each.close()
        each.close()
    write(anywhere, "notes")
    assert watches[2].wait(PATIENCE)
    watches[2].close()
    assert watching_threads() == before


def test_wake_ends_a_wait_without_a_change(anywhere: Bench) -> None:
    watch = anywhere.engine.watch_tables(["notes"])
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(watch.wait, PATIENCE)
        watch.wake()
        assert not waiting.result()


# What happens at the same time


def test_change_while_a_watch_is_added_is_reported(anywhere: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(anywhere, "notes")
    anywhere.engine.watch_tables(["notes"])  # its thread runs
    before = table_watches.TableWatches._states
    pending = ["b"]

    def changed(self: Any, watches: Any) -> Any:
        found = before(self, watches)
        if pending and threading.current_thread() is threading.main_thread():
            write(anywhere, "notes", pending.pop())
        return found

    monkeypatch.setattr(table_watches.TableWatches, "_states", changed)
    assert anywhere.engine.watch_tables(["notes"]).wait(PATIENCE)


def test_watch_that_is_added_while_the_last_one_is_closed_works(
    anywhere: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(anywhere, "notes")
    first, added = anywhere.engine.watch_tables(["notes"]), list[Watch]()
    stop = table_watches._WatchThread.stop

    def add_and_stop(self: Any) -> None:
        added.append(anywhere.engine.watch_tables(["notes"]))
        stop(self)

    with monkeypatch.context() as patch:
        patch.setattr(table_watches._WatchThread, "stop", add_and_stop)
        first.close()
    write(anywhere, "notes")
    assert added[0].wait(PATIENCE)


def test_no_change_is_lost_among_threads_that_add_wait_and_close(anywhere: Bench) -> None:
    opened(anywhere, "notes", "others")

    def story(number: int) -> int:
        reported = 0
        for each in range(20):
            watch = anywhere.engine.watch_tables(["notes"] if number % 2 else ["others", "notes"])
            write(anywhere, "notes", f"{number}-{each}")
            reported += watch.wait(PATIENCE)
            watch.close()
        return reported

    before = watching_threads()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(story, range(4))) == [20] * 4
    assert watching_threads() == before


# Failures


def test_engine_that_is_closed_ends_the_waits(anywhere: Bench) -> None:
    opened(anywhere, "notes")
    before = watching_threads()
    watch = anywhere.engine.watch_tables(["notes"])
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(watch.wait, PATIENCE)
        anywhere.engine.close()
        with pytest.raises(StorageClosed):
            waiting.result()
    with pytest.raises(StorageClosed):
        watch.wait(PATIENCE)
    with pytest.raises(StorageClosed):
        anywhere.engine.watch_tables(["notes"])
    watch.close()
    assert watching_threads() == before


def fail_once(engine: Engine, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the storage's next `watch` raise an error."""
    storage, errors = engine._context.storage, [error]
    watch = storage.watch

    def fail() -> Watch:
        if errors:
            raise errors.pop()
        return watch()

    monkeypatch.setattr(storage, "watch", fail)


def test_error_of_the_storage_reaches_who_waits_and_no_change_is_lost(
    anywhere: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(anywhere, "notes")
    fail_once(anywhere.engine, StorageError("disk I/O error"), monkeypatch)
    watch = anywhere.engine.watch_tables(["notes"])
    with pytest.raises(StorageError, match="disk I/O error"):
        watch.wait(PATIENCE)
    write(anywhere, "notes")
    assert watch.wait(PATIENCE)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_thread_that_ends_is_replaced_by_the_next_wait(anywhere: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(anywhere, "notes")
    fail_once(anywhere.engine, SystemExit(), monkeypatch)
    before = watching_threads()
    watch = anywhere.engine.watch_tables(["notes"])
    for each in watching_threads() - before:
        each.join(PATIENCE)
    write(anywhere, "notes")
    assert watch.wait(PATIENCE)


def test_forked_child_gets_an_error_at_once_and_the_parent_goes_on(filed: Bench) -> None:
    opened(filed, "notes")
    watch = filed.engine.watch_tables(["notes"])
    assert in_child(lambda: str(watch.wait(PATIENCE))).startswith("UsedAfterFork: ")
    assert in_child(lambda: str(filed.engine.watch_tables(["notes"]))).startswith("UsedAfterFork: ")
    write(filed, "notes")
    assert watch.wait(PATIENCE)
