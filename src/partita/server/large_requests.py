"""Large requests: about a megabyte of them is in progress at a time, each in two turns of the event loop.

A decoded request takes up to twenty times the memory of its body. Decoding and executing the largest take about a tenth
of a second each. So further ones wait as bytes, and short requests are answered between the two steps:

    waiting --> decoded in one turn --> executed in another --> answered
                |------------- at most MAX_BYTES of bodies ------------|
"""

from collections import deque
from collections.abc import Callable

from partita.server.turns import Turns

MAX_BYTES = 1024 * 1024  # of bodies in progress; a larger one is in progress alone

Finish = Callable[[], None]
Execute = Callable[[Finish], None]
Decode = Callable[[], Execute | None]


class LargeRequests:
    """Admits large requests in the order of arrival."""

    def __init__(self, turns: Turns, max_bytes: int = MAX_BYTES) -> None:
        self._turns = turns
        self._max_bytes = max_bytes
        self._in_progress = 0
        self._waiting: deque[tuple[int, Decode]] = deque()

    def add(self, size: int, decode: Decode) -> None:
        """Calls `decode` in a turn, and in a later one the function that it returns, which calls its argument at last.

        `decode` returns None where the request needs no execution: it is invalid, or not wanted any more.
        """
        self._waiting.append((size, decode))
        self._admit()

    def _admit(self) -> None:
        while self._waiting and (not self._in_progress or self._in_progress + self._waiting[0][0] <= self._max_bytes):
            size, decode = self._waiting.popleft()
            self._in_progress += size
            self._turns.run_later(lambda size=size, decode=decode: self._decode(size, decode))  # type: ignore[misc]

    def _decode(self, size: int, decode: Decode) -> None:
        execute = decode()
        if execute is None:
            self._finish(size)
        else:
            self._turns.run_later(lambda: execute(lambda: self._finish(size)))

    def _finish(self, size: int) -> None:
        self._in_progress -= size
        self._admit()
