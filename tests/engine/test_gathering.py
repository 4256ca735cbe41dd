"""Gathering: which writes a commit waits for, and for how long."""

import asyncio
from pathlib import Path

import pytest

from partita.engine.async_engine import AsyncEngine
from partita.engine.gathering import MAX_SECONDS, MAX_SHARE, Gathering
from tests.engine.test_async_engine import Disk, put, run_story


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def gathering_after_commits(clock: Clock, seconds: float) -> Gathering:
    gathering = Gathering(clock)
    for _ in range(100):
        gathering.on_commit(seconds)
    return gathering


def test_a_commit_waits_for_as_many_writers_as_were_answered(clock: Clock) -> None:
    gathering = gathering_after_commits(clock, 0.001)
    gathering.on_answers(3, 1)
    assert [gathering.is_complete(queued) for queued in (1, 2, 3, 4)] == [False, False, False, True]


def test_a_commit_waits_no_longer_than_a_share_of_its_time(clock: Clock) -> None:
    gathering = gathering_after_commits(clock, 0.001)
    gathering.on_answers(3, 0)
    clock.now = 0.001 * MAX_SHARE * 0.9
    assert not gathering.is_complete(1)
    clock.now = 0.001 * MAX_SHARE
    assert gathering.is_complete(1)


def test_a_slow_disk_does_not_make_the_wait_long(clock: Clock) -> None:
    gathering = gathering_after_commits(clock, 10.0)
    gathering.on_answers(3, 0)
    clock.now = MAX_SECONDS
    assert gathering.is_complete(1)


def test_a_lone_writer_never_waits(clock: Clock) -> None:
    gathering = gathering_after_commits(clock, 0.001)
    assert gathering.is_complete(1)
    gathering.on_answers(1, 0)
    assert gathering.is_complete(1)


def waited(clock: Clock, gathering: Gathering, back: int) -> float:
    """The wait of a commit after one with four writers, of whom some come back."""
    gathering.on_answers(4, 0)
    begun = clock.now
    while not gathering.is_complete(back):
        clock.now += 1e-6
    return clock.now - begun


def test_the_wait_becomes_short_where_writers_do_not_come_back_and_long_again_where_they_do(clock: Clock) -> None:
    gathering = gathering_after_commits(clock, 0.001)
    first = waited(clock, gathering, 1)
    for _ in range(40):
        last = waited(clock, gathering, 1)
    assert last < first / 10
    for _ in range(40):
        assert waited(clock, gathering, 4) == 0
    assert waited(clock, gathering, 1) > first * 0.9


def test_writers_that_come_back_one_after_the_other_share_a_commit(tmp_path: Path) -> None:
    async def story(disk: Disk, engine: AsyncEngine) -> None:
        disk.seconds = 0.001
        await asyncio.gather(engine.call(put("a")), engine.call(put("b")))
        first = asyncio.ensure_future(engine.call(put("c")))
        for _ in range(10):
            await asyncio.sleep(0)
        await asyncio.gather(first, engine.call(put("d")))
        assert len(disk.threads) == 2

    run_story(tmp_path, story)


def test_a_writer_that_comes_back_alone_is_committed_alone(tmp_path: Path) -> None:
    async def story(disk: Disk, engine: AsyncEngine) -> None:
        disk.seconds = 0.001
        await asyncio.gather(engine.call(put("a")), engine.call(put("b")))
        alone = asyncio.ensure_future(engine.call(put("c")))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not alone.done()
        disk.now += MAX_SECONDS
        await alone
        assert len(disk.threads) == 2

    run_story(tmp_path, story)
