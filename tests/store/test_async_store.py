"""The async store runs the same flows, over a sync and over an async backend."""

import asyncio
from typing import Any

import pytest

from partita import AsyncStore, NotFound, Store, connect
from tests.store.clocks import Clock
from tests.store.kitchen_sink_design import Artist, Note, Work, artist, design, note, notes, work


class Awaited:
    """An async backend around the embedded engine."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    async def call(self, request: Any, /) -> Any:
        await asyncio.sleep(0)
        return self._backend.call(request)


async def story(db: AsyncStore) -> None:
    await db.create_tables()
    ann = await db.create(Artist(artist_id="ann", country="PT", handle="Ann"))
    assert await db(artist("ann")) == ann
    await asyncio.gather(*(db.create(Work(work_id=f"w{n}", artist_id="ann", title="")) for n in range(8)))
    assert (await db.one(artist("ann"))).work_count == 8
    async with db.change(work("w0")) as draft:
        draft.views += 2
    assert (await db.one(work("w0"))).views == 2
    await db.put_many([Note(artist_id="ann", number=number, text="") for number in range(30)])
    assert [each.number async for each in db(notes("ann"))] == list(range(30))
    page = await db(notes("ann")).page(10)
    assert len((await db(notes("ann")).page(10, page.cursor)).items) == 10
    assert (await db(notes("ann")).one()) == (await db.get_many([note("ann", 0)]))[0]
    async with db.transaction() as together:
        together.change(work("w0")).title = "both"
        together.delete(work("w1"))
    assert (await db.one(artist("ann"))).work_count == 7
    assert (await db.find_by_unique(Artist, "named_once", "pt", "ann")) is not None
    await db.update(work("w2"), lambda each: setattr(each, "title", "updated"))
    await db.replace(await db.one(work("w2")))
    await db.put(Note(artist_id="ann", number=99, text=""))
    await db.delete_many([note("ann", 99)])
    assert await db.delete(work("w2")) is not None
    with pytest.raises(NotFound):
        await db.one(work("w2"))
    assert await db.differences() == []
    assert {each.number async for each in db.scan(Note)} == set(range(30))
    with db.measure() as used:
        await db(artist("ann"))
    assert used.requests == 1


@pytest.mark.parametrize("wrap", [lambda backend: backend, Awaited], ids=["sync backend", "async backend"])
def test_everything_can_be_awaited(wrap: Any) -> None:
    with connect("memory:", maintain=False) as backend:
        asyncio.run(story(AsyncStore(wrap(backend), design, clock=Clock(), cursor_keys=[bytes(16)])))


@pytest.mark.parametrize("store", [Store, AsyncStore])
def test_now_is_the_time_of_the_clock(store: type[Store] | type[AsyncStore]) -> None:
    clock = Clock()
    with connect("memory:", maintain=False) as backend:
        db = store(backend, design, clock=clock)
        clock.passes(hours=1)
        assert db.now() == clock()
