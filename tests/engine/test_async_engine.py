"""The engine on an event loop: whether the loop or a thread waits for a commit."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from partita.dynamodb import requests
from partita.dynamodb.shapes import AttributeDefinition, KeySchemaElement
from partita.engine.async_engine import AsyncEngine
from partita.engine.engine import Engine
from partita.storage.sqlite import SqliteStorage
from tests.timing import PATIENCE


class Disk(SqliteStorage):
    """A file whose commits take as long as the test says, by a clock that only they move."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.now = 0.0
        self.seconds = 0.0
        self.threads: list[str] = []
        self.is_waited_for = threading.Event()
        self.lets_go = threading.Event()
        self.lets_go.set()
        self.raises: BaseException | None = None

    @contextmanager
    def transaction(self, *, wait: bool = True) -> Iterator[Any]:
        with super().transaction(wait=wait) as txn:
            yield txn
            self.threads.append(threading.current_thread().name)
            self.is_waited_for.set()
            self.lets_go.wait()
            self.now += self.seconds
            if self.raises is not None:
                raise self.raises


LOOP = threading.main_thread().name
THREAD = "partita-commit"

Story = Callable[[Disk, AsyncEngine], Coroutine[None, None, None]]


def run_story(path: Path, story: Story) -> None:
    """Runs a story on a disk and an engine with one table."""

    async def whole() -> None:
        disk = Disk(path / "engine.db")
        engine = AsyncEngine(Engine(disk, maintain=False), timer=lambda: disk.now)
        await engine.call(
            requests.CreateTable(
                table_name="things",
                attribute_definitions=[AttributeDefinition(attribute_name="id", attribute_type="S")],
                key_schema=[KeySchemaElement(attribute_name="id", key_type="HASH")],
                billing_mode="PAY_PER_REQUEST",
            )
        )
        disk.threads.clear()
        try:
            await story(disk, engine)
        finally:
            await engine.close()

    asyncio.run(whole())


def put(name: str) -> requests.PutItem:
    return requests.PutItem(table_name="things", item={"id": {"S": name}})


def got(name: str) -> requests.GetItem:
    return requests.GetItem(table_name="things", key={"id": {"S": name}})


def test_fast_commits_run_on_the_loop(tmp_path: Path) -> None:
    async def story(disk: Disk, engine: AsyncEngine) -> None:
        for number in range(3):
            await engine.call(put(str(number)))
        assert disk.threads == [LOOP] * 3

    run_story(tmp_path, story)


def test_slow_commits_run_in_a_thread_while_the_loop_reads(tmp_path: Path) -> None:
    async def story(disk: Disk, engine: AsyncEngine) -> None:
        disk.seconds = 1.0
        await engine.call(put("first"))
        disk.is_waited_for.clear()
        disk.lets_go.clear()
        slow = asyncio.ensure_future(engine.call(put("second")))
        await asyncio.to_thread(disk.is_waited_for.wait)
        assert (await engine.call(got("first"))).item is not None
        assert (await engine.call(got("second"))).item is None
        assert not slow.done()
        disk.lets_go.set()
        await slow
        assert (await engine.call(got("second"))).item is not None
        assert disk.threads == [LOOP, THREAD]

    run_story(tmp_path, story)


def test_commits_return_to_the_loop_once_they_are_fast(tmp_path: Path) -> None:
    async def story(disk: Disk, engine: AsyncEngine) -> None:
        disk.seconds = 0.01
        await engine.call(put("slow"))
        disk.seconds = 0.0
        for number in range(20):
            await engine.call(put(str(number)))
        assert disk.threads[1] == THREAD
        assert disk.threads[-1] == LOOP

    run_story(tmp_path, story)


def test_concurrent_writes_share_a_commit(tmp_path: Path) -> None:
    async def story(disk: Disk, engine: AsyncEngine) -> None:
        await asyncio.gather(*(engine.call(put(str(number))) for number in range(8)))
        assert len(disk.threads) == 1

    run_story(tmp_path, story)


def test_write_committed_by_another_thread_is_answered(tmp_path: Path) -> None:
    """The background work commits all waiting writes in its own thread; here in the test's, to be certain."""

    async def story(disk: Disk, engine: AsyncEngine) -> None:
        begun = asyncio.ensure_future(engine.call(put("ours")))
        await asyncio.sleep(0)  # it is in the queue now
        engine._engine.call(put("theirs"))
        assert disk.threads == [LOOP], "one commit for both"
        async with asyncio.timeout(PATIENCE):
            await begun
        assert disk.threads == [LOOP], "and none for nothing"
        await engine.call(put("later"))
        assert (await engine.call(got("ours"))).item is not None

    run_story(tmp_path, story)
