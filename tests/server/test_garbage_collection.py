"""The garbage collector of a server leaves out what is loaded at its start."""

import asyncio
import gc

import pytest

from partita.server import garbage_collection


def test_what_is_loaded_is_frozen_at_the_start_and_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage_collection, "WARM_SECONDS", 0.0)

    async def frozen() -> int:
        garbage_collection.freeze_loaded_objects()
        at_start = gc.get_freeze_count()
        compiled = [object()]
        has_warmed_up = asyncio.Event()
        asyncio.get_running_loop().call_later(0.001, has_warmed_up.set)
        await has_warmed_up.wait()
        later = [object()]
        gc.collect()
        watched = [id(each) for each in gc.get_objects()]
        assert id(later) in watched
        assert id(compiled) not in watched
        return at_start

    try:
        assert asyncio.run(frozen()) > 1000
    finally:
        gc.unfreeze()
