"""The storage contract, for every storage."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita.errors import SpaceMissing
from partita.storage.contract import Row, Storage, Totals, Write
from partita.storage.memory import MemoryStorage
from partita.storage.sqlite import MAX_INLINE, SqliteStorage
from tests.timing import PATIENCE

Make = Callable[[], Storage]
HUGE = 500_000
NOW = 0.0  # seconds to wait


@pytest.fixture(params=["memory", "sqlite", "sqlite, process durability"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Creates a new, empty storage at each call."""
    numbers = iter(range(1000))
    match request.param:
        case "memory":
            return MemoryStorage
        case "sqlite":
            return lambda: SqliteStorage(str(tmp_path / f"{next(numbers)}.db"))
        case _:
            return lambda: SqliteStorage(str(tmp_path / f"{next(numbers)}.db"), "process")


@pytest.fixture
def storage(make: Make) -> Iterator[Storage]:
    """A storage with the space `s`."""
    storage = make()
    with storage.transaction() as txn:
        txn.create_space("s")
    yield storage
    storage.close()


def put(storage: Storage, rows: dict[bytes, bytes | None], space: str = "s") -> None:
    with storage.transaction() as txn:
        txn.apply([write(txn, space, key, value) for key, value in rows.items()])


def write(reader: Any, space: str, key: bytes, value: bytes | None) -> Write:
    after = None if value is None else Row(len(value), value)
    return Write(space, key, reader.get(space, key), after)


def keys(storage: Any, low: bytes = b"", high: bytes | None = None, *, reverse: bool = False) -> list[bytes]:
    return [key for key, _, _ in storage.range("s", low, high, reverse=reverse)]


def test_row_is_returned_as_it_was_put(storage: Storage) -> None:
    put(storage, {b"a": b"1"})
    assert storage.get("s", b"a") == Row(1, b"1")
    assert storage.get("s", b"b") is None


def test_empty_key_and_empty_value_are_stored(storage: Storage) -> None:
    put(storage, {b"": b"", b"a": b""})
    assert storage.get("s", b"") == Row(0, b"")
    assert keys(storage) == [b"", b"a"]


def test_range_is_sorted_by_bytes(storage: Storage) -> None:
    put(storage, dict.fromkeys([b"b", b"\xff", b"a\xff", b"a", b"a\0", b"\0"], b"x"))
    assert keys(storage) == [b"\0", b"a", b"a\0", b"a\xff", b"b", b"\xff"]
    assert keys(storage, reverse=True) == [b"\xff", b"b", b"a\xff", b"a\0", b"a", b"\0"]


def test_range_includes_low_and_excludes_high(storage: Storage) -> None:
    put(storage, dict.fromkeys([b"a", b"b", b"c", b"d"], b"x"))
    assert keys(storage, b"b", b"d") == [b"b", b"c"]
    assert keys(storage, b"b", b"d", reverse=True) == [b"c", b"b"]
    assert keys(storage, b"bb") == [b"c", b"d"]
    assert keys(storage, b"c", b"c") == []
    assert keys(storage, b"d", b"a") == []


@pytest.mark.parametrize("reverse", [False, True])
def test_long_range_is_complete(storage: Storage, reverse: bool) -> None:
    rows: dict[bytes, bytes | None] = {f"{number:05}".encode(): b"x" for number in range(1000)}
    put(storage, rows)
    assert keys(storage, reverse=reverse) == sorted(rows, reverse=reverse)
    assert keys(storage, b"00256", b"00512", reverse=reverse) == sorted(list(rows)[256:512], reverse=reverse)


def test_range_may_be_abandoned(storage: Storage) -> None:
    put(storage, {f"{number:05}".encode(): b"x" for number in range(600)})
    for key, _, _ in storage.range("s", b"", None):
        assert key == b"00000"
        break
    put(storage, {b"00000": None})
    assert keys(storage)[0] == b"00001"


@pytest.mark.parametrize("size", [MAX_INLINE - 2, MAX_INLINE - 1, MAX_INLINE, MAX_INLINE + 1, 9000, HUGE])
def test_value_of_any_size_is_returned(storage: Storage, size: int) -> None:
    """From just below the inline limit to the largest item and beyond."""
    value = bytes(range(256)) * (size // 256 + 1)
    put(storage, {b"k": value[:size], b"m": b"small"})
    assert storage.get("s", b"k") == Row(size, value[:size])
    assert list(storage.range("s", b"", None)) == [(b"k", size, value[:size]), (b"m", 5, b"small")]
    with storage.snapshot() as view:
        assert view.get("s", b"k") == Row(size, value[:size])


@pytest.mark.parametrize("before", [1, MAX_INLINE + 5, HUGE])
@pytest.mark.parametrize("after", [None, 1, MAX_INLINE + 5, HUGE])
def test_value_changes_from_any_size_to_any_other(storage: Storage, before: int, after: int | None) -> None:
    put(storage, {b"k": b"a" * before})
    put(storage, {b"k": None if after is None else b"b" * after})
    expected = None if after is None else Row(after, b"b" * after)
    assert storage.get("s", b"k") == expected
    assert storage.totals("s") == (Totals(0, 0) if after is None else Totals(1, after))


def test_totals_are_exact(storage: Storage) -> None:
    put(storage, {b"a": b"1" * 10, b"b": b"2" * HUGE})
    assert storage.totals("s") == Totals(2, HUGE + 10)
    put(storage, {b"a": b"1" * 3, b"b": None, b"c": b""})
    assert storage.totals("s") == Totals(2, 3)


def test_transaction_reads_its_own_writes(storage: Storage) -> None:
    with storage.transaction() as txn:
        txn.apply([Write("s", b"a", None, Row(1, b"1")), Write("s", b"b", None, Row(1, b"2"))])
        assert txn.get("s", b"a") == Row(1, b"1")
        assert [key for key, _, _ in txn.range("s", b"", None, reverse=True)] == [b"b", b"a"]
        txn.apply([Write("s", b"a", Row(1, b"1"), None)])
        assert txn.get("s", b"a") is None
        assert txn.totals("s") == Totals(1, 1)


def test_failed_transaction_has_no_effect(storage: Storage) -> None:
    put(storage, {b"a": b"old", b"gone": b"here", b"large": b"L" * HUGE})
    with pytest.raises(ZeroDivisionError), storage.transaction() as txn:  # noqa: PT012
        txn.create_space("t")
        txn.apply([Write("t", b"x", None, Row(1, b"1"))])
        txn.apply([write(txn, "s", b"a", b"new"), write(txn, "s", b"gone", None), write(txn, "s", b"large", b"s")])
        txn.apply([write(txn, "s", b"a", None), write(txn, "s", b"added", b"x")])
        raise ZeroDivisionError
    assert {key: value for key, _, value in storage.range("s", b"", None)} == {
        b"a": b"old",
        b"gone": b"here",
        b"large": b"L" * HUGE,
    }
    assert storage.totals("s") == Totals(3, HUGE + 7)
    with pytest.raises(SpaceMissing):
        storage.get("t", b"x")


def test_failed_drop_leaves_the_space(storage: Storage) -> None:
    put(storage, {b"a": b"1", b"b": b"2" * HUGE})
    with pytest.raises(ZeroDivisionError), storage.transaction() as txn:  # noqa: PT012
        txn.drop_space("s")
        raise ZeroDivisionError
    assert keys(storage) == [b"a", b"b"]
    assert storage.totals("s") == Totals(2, HUGE + 1)


def test_snapshot_reads_one_state(storage: Storage) -> None:
    """Within one thread; concurrent writes are tested in test_sqlite."""
    put(storage, {b"a": b"1"})
    with storage.snapshot() as view:
        assert view.get("s", b"a") == Row(1, b"1")
        assert view.totals("s") == Totals(1, 1)
        assert [key for key, _, _ in view.range("s", b"", None)] == [b"a"]


def test_unknown_space_is_missing(storage: Storage) -> None:
    with pytest.raises(SpaceMissing, match="no space named 'none'"):
        storage.get("none", b"a")
    with pytest.raises(SpaceMissing):
        list(storage.range("none", b"", None))
    with pytest.raises(SpaceMissing):
        storage.totals("none")
    with storage.snapshot() as view, pytest.raises(SpaceMissing):
        view.get("none", b"a")
    assert storage.get("s", b"a") is None, "the storage is as good as before"


def test_dropped_space_is_missing(storage: Storage) -> None:
    put(storage, {b"a": b"1", b"b": b"2" * HUGE})
    with storage.transaction() as txn:
        txn.drop_space("s")
    with pytest.raises(SpaceMissing):
        storage.get("s", b"a")
    with pytest.raises(SpaceMissing):
        storage.totals("s")


def test_spaces_are_separate(storage: Storage) -> None:
    with storage.transaction() as txn:
        txn.create_space("t")
        txn.apply([Write("s", b"a", None, Row(1, b"1")), Write("t", b"a", None, Row(2, b"22"))])
    assert (storage.get("s", b"a"), storage.get("t", b"a")) == (Row(1, b"1"), Row(2, b"22"))
    with storage.transaction() as txn:
        txn.drop_space("t")
    assert storage.get("s", b"a") == Row(1, b"1")


def test_transactions_of_many_threads_are_serialized(storage: Storage) -> None:
    """A counter that all threads increment: no increment is lost, and no reader sees it fall."""
    put(storage, {b"n": b"0"})
    done = threading.Event()

    def raise_it(times: int) -> None:
        for _ in range(times):
            with storage.transaction() as txn:
                row = txn.get("s", b"n")
                assert row is not None
                txn.apply([Write("s", b"n", row, Row(1, str(int(row.value) + 1).encode()))])

    def watch() -> bool:
        seen = 0
        while not done.is_set():
            row = storage.get("s", b"n")
            if row is None or int(row.value) < seen:
                return False
            seen = int(row.value)
        return True

    with ThreadPoolExecutor(6) as pool:
        watchers = [pool.submit(watch) for _ in range(2)]
        list(pool.map(raise_it, [50] * 4))
        done.set()
        assert all(each.result() for each in watchers)
    assert storage.get("s", b"n") == Row(1, b"200")
    assert storage.totals("s") == Totals(1, 1)


def test_other_threads_do_not_see_a_transaction_before_its_end(storage: Storage) -> None:
    """They read the state before it, or wait; never what may be undone."""
    put(storage, {b"a": b"old"})
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(ZeroDivisionError), storage.transaction() as txn:  # noqa: PT012
            txn.apply([write(txn, "s", b"a", b"new")])
            answer = pool.submit(storage.get, "s", b"a")
            assert not answer.done() or answer.result() == Row(3, b"old")
            raise ZeroDivisionError
        assert answer.result(PATIENCE) == Row(3, b"old")


def test_snapshot_of_another_thread_has_all_of_a_transaction_or_nothing(storage: Storage) -> None:
    put(storage, {b"a": b"0", b"b": b"0"})
    stop = threading.Event()

    def watch() -> bool:
        while not stop.is_set():
            with storage.snapshot() as view:
                if view.get("s", b"a") != view.get("s", b"b"):
                    return False
        return True

    with ThreadPoolExecutor(2) as pool:
        watchers = [pool.submit(watch) for _ in range(2)]
        for number in range(100):
            value = str(number % 10).encode()
            put(storage, {b"a": value, b"b": value})
        stop.set()
        assert all(each.result() for each in watchers)


Steps = list[tuple[bytes, bytes | None]]
numbers = st.one_of(st.integers(0, 300), st.sampled_from([2**32, 2**56 - 1, 2**56, 2**63 - 2]))
row_keys = {"s": st.binary(max_size=3), "log1": numbers.map(lambda number: number.to_bytes(8, "big"))}
endings = st.one_of(
    st.none(), st.binary(max_size=5), st.integers(MAX_INLINE - 3, MAX_INLINE + 3).map(lambda size: b"x" * size)
)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data())
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("space", row_keys)
def test_storage_equals_a_sorted_dictionary(
    kind: str, space: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each group is one transaction; some are rolled back."""
    steps = st.lists(st.tuples(row_keys[space], endings), max_size=30)
    groups = data.draw(st.lists(st.tuples(steps, st.booleans()), max_size=6))
    model: dict[bytes, bytes] = {}
    storage: Storage = (
        MemoryStorage()
        if kind == "memory"
        else SqliteStorage(str(tmp_path_factory.mktemp("model") / "m.db"), "process")
    )
    try:
        with storage.transaction() as txn:
            txn.create_space(space)
        for group, gives_up in groups:
            model = _run(storage, space, model, group, gives_up)
            expected = [(key, len(model[key]), model[key]) for key in sorted(model)]
            assert list(storage.range(space, b"", None)) == expected
            assert list(storage.range(space, b"", None, reverse=True)) == expected[::-1]
            bounds = st.one_of(row_keys[space], row_keys[space].map(lambda key: key + b"\0"), st.binary(max_size=2))
            low, high = data.draw(bounds), data.draw(bounds)
            between = [row for row in expected if low <= row[0] < high]
            assert list(storage.range(space, low, high)) == between
            assert list(storage.range(space, low, high, reverse=True)) == between[::-1]
            for size in (1, 3, 1000):
                batches = list(storage.batches(space, b"", None, expected=size))
                assert [row for batch in batches for row in batch.rows()] == expected
                assert not batches or len(batches[0].keys) <= size
            key = data.draw(row_keys[space])
            assert storage.get(space, key) == (Row(len(model[key]), model[key]) if key in model else None)
            assert storage.last_key(space) == max(model, default=None)
            assert storage.totals(space) == Totals(len(model), sum(map(len, model.values())))
    finally:
        storage.close()


def _run(storage: Storage, space: str, model: dict[bytes, bytes], group: Steps, gives_up: bool) -> dict[bytes, bytes]:
    after = dict(model)
    try:
        with storage.transaction() as txn:
            for key, ending in group:
                value = None if ending is None else key + b"=" + ending  # a value decides its key, as an item does
                txn.apply([write(txn, space, key, value)])
                if value is None:
                    after.pop(key, None)
                else:
                    after[key] = value
            if gives_up:
                raise ZeroDivisionError
    except ZeroDivisionError:
        return model
    return after


def test_watch_reports_each_commit_once(storage: Storage) -> None:
    watch = storage.watch()
    try:
        assert not watch.wait(NOW)
        put(storage, {b"a": b"1"})
        assert watch.wait(NOW)
        assert not watch.wait(NOW)
    finally:
        watch.close()


def test_commit_and_wake_end_a_wait(storage: Storage) -> None:
    waiting = threading.Event()

    def wait_twice() -> list[bool]:
        watch = storage.watch()
        opened.append(watch)
        waiting.set()
        found = [watch.wait(PATIENCE)]
        has_seen.set()
        found.append(watch.wait(PATIENCE))
        watch.close()
        return found

    opened: list[Any] = []
    has_seen = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(wait_twice)
        assert waiting.wait(PATIENCE)
        put(storage, {b"a": b"1"})
        assert has_seen.wait(PATIENCE)
        opened[0].wake()
        assert found.result() == [True, False]


def test_last_key_follows_the_writes_of_its_transaction(storage: Storage) -> None:
    random, present = Random(1), set[bytes]()
    for _ in range(30):
        with storage.transaction() as txn:
            assert txn.last_key("s") == max(present, default=None)
            for _ in range(10):
                key = bytes([random.randrange(20)])
                txn.apply([write(txn, "s", key, None if key in present else b"x")])
                present ^= {key}
                if random.random() < 0.7:
                    assert txn.last_key("s") == max(present, default=None)
        assert storage.last_key("s") == max(present, default=None)
    with storage.transaction() as txn:
        txn.apply([write(txn, "s", b"z", b"x")])
        assert txn.last_key("s") == b"z"
        txn.drop_space("s")
        txn.create_space("s")
        assert txn.last_key("s") is None


def test_last_key_of_a_transaction_that_was_taken_back_is_forgotten(storage: Storage) -> None:
    put(storage, {b"a": b"x"})
    with suppress(KeyError), storage.transaction() as txn:
        assert txn.last_key("s") == b"a"
        txn.apply([write(txn, "s", b"b", b"x")])
        assert txn.last_key("s") == b"b"
        raise KeyError
    with storage.transaction() as txn:
        assert txn.last_key("s") == b"a"
