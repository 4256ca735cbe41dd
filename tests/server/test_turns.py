"""Long work takes turns, and short work runs between its pieces."""

import asyncio
from time import perf_counter

from partita.server.turns import TURN_SECONDS, Turns


def busy(seconds: float) -> None:
    until = perf_counter() + seconds
    while perf_counter() < until:
        pass


def test_work_runs_at_once_while_the_turn_has_time() -> None:
    async def run() -> None:
        turns = Turns()
        assert [turns.run(lambda number=number: number + 1, print, bool) for number in range(3)] == [1, 2, 3]  # type: ignore[misc]

    asyncio.run(run())


def test_other_callbacks_run_between_long_pieces_of_work() -> None:
    async def run() -> list[str]:
        turns, order = Turns(), []
        loop = asyncio.get_running_loop()

        def long(name: str) -> str:
            busy(TURN_SECONDS)
            order.append(name)
            loop.call_soon(order.append, "short")
            return name

        for name in "abc":
            turns.run(lambda name=name: long(name), lambda _: None, lambda: True)  # type: ignore[misc]
        for _ in range(10):
            await asyncio.sleep(0)
        return order

    assert asyncio.run(run()) == ["a", "short", "b", "short", "c", "short"]


def test_work_waits_while_connections_arrive_but_not_for_ever() -> None:
    async def run() -> int:
        turns = Turns()
        done: list[str] = []
        turns.run(lambda: "first", print, bool)  # notes the time
        turns.on_arrival()
        assert turns.run(lambda: "second", done.append, lambda: True) is None
        arrivals, begun = 0, perf_counter()
        while not done and perf_counter() - begun < 5:
            turns.on_arrival()
            arrivals += 1
            await asyncio.sleep(0)
        assert done == ["second"]
        return arrivals

    assert asyncio.run(run()) > 10
