"""Turns: work that may take long shares the event loop with short requests.

In one turn of the loop all such work gets a few milliseconds together. The rest waits, in the order of arrival, so that
a short request of another client is answered between any two pieces of it. The loop accepts one connection in a turn;
while connections arrive, work waits for them a little longer, so that a new client does not wait for the work of all
that came before it.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import TypeVar

TURN_SECONDS = 0.005
ARRIVAL_SECONDS = 0.1  # that work waits at most while connections arrive

Result = TypeVar("Result")


class Turns:
    """Calls functions that take long on the running event loop, at once where the turn has time left, or else later."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._spent = 0.0
        self._worked_at = 0.0
        self._has_arrivals = False
        self._is_scheduled = False

    def on_arrival(self) -> None:
        """Notes a new connection."""
        self._has_arrivals = True

    def run(
        self, work: Callable[[], Result | None], done: Callable[[Result], None], is_wanted: Callable[[], bool]
    ) -> Result | None:
        """Returns the result of `work`; or else None, and `done` is called with the result later, if it is wanted then.

        `work` may return None itself, if it sees to `done`.
        """
        if self.has_time():
            return self.timed(work)

        def run_later() -> None:
            if is_wanted():
                result = work()
                if result is not None:
                    done(result)

        self.run_later(run_later)
        return None

    def has_time(self) -> bool:
        """Whether work may run at once; a turn that is not scheduled goes on until its time is spent."""
        return not self._waiting and self._spent < TURN_SECONDS and not self._has_arrivals

    def run_later(self, work: Callable[[], None]) -> None:
        """Calls `work` in a later turn."""
        self._waiting.append(work)
        self._schedule()

    def timed(self, work: Callable[[], Result]) -> Result:
        """Calls `work`, and takes its time from this turn."""
        begun = perf_counter()
        try:
            return work()
        finally:
            self._worked_at = perf_counter()
            self._spent += self._worked_at - begun

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._start_turn)

    def _start_turn(self) -> None:
        self._is_scheduled = False
        self._spent = 0.0
        waits = self._has_arrivals and perf_counter() - self._worked_at < ARRIVAL_SECONDS
        self._has_arrivals = False
        while self._waiting and self._spent < TURN_SECONDS and not waits:
            self.timed(self._waiting.popleft())
        if self._waiting:
            self._schedule()
