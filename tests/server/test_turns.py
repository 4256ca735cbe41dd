"""Long work takes turns, and short work runs between its pieces."""

import asyncio

import pytest

from partita.server.turns import ARRIVAL_SECONDS, TURN_SECONDS, Turns


class Clock:
    """A clock that the test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("partita.server.turns.perf_counter", clock)
    return clock


def test_work_runs_at_once_while_the_turn_has_time() -> None:
    async def run() -> None:
        turns = Turns()
        assert [turns.run(lambda number=number: number + 1, print, bool) for number in range(3)] == [1, 2, 3]  # type: ignore[misc]

    asyncio.run(run())


def test_other_callbacks_run_between_long_pieces_of_work(clock: Clock) -> None:
    async def run() -> list[str]:
        turns, order = Turns(), []
        loop = asyncio.get_running_loop()

        def long(name: str) -> str:
            clock.now += TURN_SECONDS
            order.append(name)
            loop.call_soon(order.append, "short")
            return name

        for name in "abc":
            turns.run(lambda name=name: long(name), lambda _: None, lambda: True)  # type: ignore[misc]
        for _ in range(10):
            await asyncio.sleep(0)
        return order

    assert asyncio.run(run()) == ["a", "short", "b", "short", "c", "short"]


def test_work_waits_while_connections_arrive_but_not_for_ever(clock: Clock) -> None:
    async def run() -> int:
        turns = Turns()
        done: list[str] = []
        turns.run(lambda: "first", print, bool)  # notes the time
        turns.on_arrival()
        assert turns.run(lambda: "second", done.append, lambda: True) is None
        arrivals = 0
        while not done:
            clock.now += ARRIVAL_SECONDS / 10
            assert clock.now < 2 * ARRIVAL_SECONDS
            turns.on_arrival()
            arrivals += 1
            await asyncio.sleep(0)
        assert done == ["second"]
        return arrivals

    assert 10 <= asyncio.run(run()) <= 12
