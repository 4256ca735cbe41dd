"""Verified batches: what is remembered, and how much of it."""

from pathlib import Path

from partita.storage.contract import Row, RowBatch, Write
from partita.storage.sqlite import SqliteStorage
from partita.storage.verified_batches import MAX_READ_ONCE, BatchRequest, VerifiedBatches


def asked(number: int) -> BatchRequest:
    return "s", b"%d" % number, None, False, 1


def batch(size: int) -> RowBatch:
    return RowBatch([b"k"], [1], [b"v" * size])


def read_twice(verified: VerifiedBatches, number: int, size: int) -> None:
    for _ in range(2):
        verified.put(asked(number), batch(size))


def test_batch_is_found_by_its_request() -> None:
    verified = VerifiedBatches()
    read_twice(verified, 1, 3)
    assert verified.get(asked(1)) is not None
    assert verified.get(asked(2)) is None


def test_batch_that_is_read_once_is_not_stored() -> None:
    verified = VerifiedBatches()
    for number in range(3 * MAX_READ_ONCE):
        verified.put(asked(number), batch(3))
        assert verified.get(asked(number)) is None
    read_twice(verified, 1, 3)
    assert verified.get(asked(1)) is not None


def test_scan_does_not_displace_the_batches_of_queries() -> None:
    verified = VerifiedBatches(max_bytes=400)
    read_twice(verified, 1, 90)
    for number in range(2, 100):
        verified.put(asked(number), batch(90))
    assert verified.get(asked(1)) is not None


def test_oldest_batches_are_dropped_when_all_exceed_the_limit() -> None:
    verified = VerifiedBatches(max_bytes=400)
    for number in range(10):
        read_twice(verified, number, 90)
    left = [number for number in range(10) if verified.get(asked(number)) is not None]
    assert left == [6, 7, 8, 9]


def test_batch_that_is_read_again_after_a_change_counts_once() -> None:
    verified = VerifiedBatches(max_bytes=400)
    for size in (50, 60, 70, 80, 90, 95):
        verified.put(asked(1), batch(size))
    for number in (2, 3, 4):
        read_twice(verified, number, 90)
    assert all(verified.get(asked(number)) is not None for number in (1, 2, 3, 4))


def test_batch_of_a_large_part_of_the_limit_is_not_kept() -> None:
    verified = VerifiedBatches(max_bytes=400)
    read_twice(verified, 1, 300)
    assert verified.get(asked(1)) is None


def test_batch_is_the_same_object_until_a_row_changes(tmp_path: Path) -> None:
    storage = SqliteStorage(str(tmp_path / "s.db"), "process")
    with storage.transaction() as txn:
        txn.create_space("s")
        txn.apply([Write("s", b"k%d" % number, None, Row(1, b"%d" % number)) for number in range(5)])
    once, twice, again = (next(storage.batches("s", b"", None, expected=5)) for _ in range(3))
    assert once.values == twice.values
    assert twice is again
    with storage.transaction() as txn:
        txn.apply([Write("s", b"k2", Row(1, b"2"), Row(1, b"x"))])
    changed = next(storage.batches("s", b"", None, expected=5))
    assert list(changed.values) == [b"0", b"1", b"x", b"3", b"4"]
    storage.close()
