"""Verified batches: what is remembered, and how much of it."""

from partita.storage.verified_batches import Columns, VerifiedBatches


def columns(value: bytes) -> Columns:
    return ((b"k",), (1,), (value,), (7,))


def test_batch_is_found_by_its_space_first_key_and_length() -> None:
    verified = VerifiedBatches()
    verified.put(("s", b"k", 1), columns(b"v"))
    assert verified.get(("s", b"k", 1)) == columns(b"v")
    assert verified.get(("t", b"k", 1)) is None


def test_batches_are_dropped_when_they_exceed_the_limit() -> None:
    verified = VerifiedBatches(max_bytes=400)
    for number in range(10):
        verified.put(("s", b"%d" % number, 1), columns(b"v" * 90))
    left = [number for number in range(10) if verified.get(("s", b"%d" % number, 1)) is not None]
    assert 0 < len(left) <= 4
    assert 9 in left


def test_batch_of_a_large_part_of_the_limit_is_not_kept() -> None:
    verified = VerifiedBatches(max_bytes=400)
    verified.put(("s", b"k", 1), columns(b"v" * 300))
    assert verified.get(("s", b"k", 1)) is None
