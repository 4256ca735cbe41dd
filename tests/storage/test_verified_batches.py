"""Verified batches: what is remembered, and how much of it."""

from partita.storage.contract import RowBatch
from partita.storage.verified_batches import VerifiedBatch, VerifiedBatches


def verified(value: bytes) -> VerifiedBatch:
    return VerifiedBatch(RowBatch((b"k",), (1,), (value,)), (7,))


def test_batch_is_found_by_its_space_first_key_and_length() -> None:
    found = VerifiedBatches()
    found.put(("s", b"k", 1), verified(b"v"))
    assert found.get(("s", b"k", 1)) is not None
    assert found.get(("t", b"k", 1)) is None


def test_batch_equals_the_same_rows_alone() -> None:
    batch = verified(b"v")
    assert batch.equals((b"k",), (1,), (b"v",), (7,))
    assert not batch.equals((b"j",), (1,), (b"v",), (7,))
    assert not batch.equals((b"k",), (2,), (b"v",), (7,))
    assert not batch.equals((b"k",), (1,), (b"w",), (7,))
    assert not batch.equals((b"k",), (1,), (b"v",), (8,))


def test_batches_are_dropped_when_they_exceed_the_limit() -> None:
    found = VerifiedBatches(max_bytes=400)
    for number in range(10):
        found.put(("s", b"%d" % number, 1), verified(b"v" * 90))
    left = [number for number in range(10) if found.get(("s", b"%d" % number, 1)) is not None]
    assert 0 < len(left) <= 4
    assert 9 in left


def test_batch_of_a_large_part_of_the_limit_is_not_kept() -> None:
    found = VerifiedBatches(max_bytes=400)
    found.put(("s", b"k", 1), verified(b"v" * 300))
    assert found.get(("s", b"k", 1)) is None
