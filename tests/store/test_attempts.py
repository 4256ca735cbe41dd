"""`retrying`: attempts of a read and a conditional write, with pauses, and a bound."""

import asyncio
from collections.abc import Iterator

import pytest

from partita import AsyncStore, RetriesExhausted, Store, connect
from tests.store.kitchen_sink_design import design


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def db(waits: list[float]) -> Iterator[Store]:
    with connect("memory:", maintain=False) as backend:
        yield Store(backend, design, sleep=waits.append, random=lambda: 1.0)


def test_first_success_has_no_pause(db: Store, waits: list[float]) -> None:
    for _ in db.retrying("Work"):
        break
    assert waits == []


def test_pauses_grow_up_to_a_bound_until_retries_are_exhausted(db: Store, waits: list[float]) -> None:
    with pytest.raises(RetriesExhausted, match="Work: gave up after 30 conflicting writes; nothing was written"):
        for _ in db.retrying("Work"):
            pass
    assert waits[:3] == [0.025, 0.05, 0.1]
    assert max(waits) == 5.0


def test_async_retries_are_awaited() -> None:
    async def all_of_them(db: AsyncStore) -> list[int]:
        return [attempt async for attempt in db.retrying("Work")]

    async def at_once(_: float) -> None: ...

    with (
        connect("memory:", maintain=False) as backend,
        pytest.raises(RetriesExhausted),
    ):
        asyncio.run(all_of_them(AsyncStore(backend, design, sleep=at_once)))
