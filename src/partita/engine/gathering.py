"""Gathering: a commit waits a moment for the writers that have just been answered, since they tend to write again.

A commit for one write takes about as long as one for many. Writers that have shared a commit are answered together, and
come back one after the other. A commit that begins with the first of them makes all others wait for the next one:

    at once     [ A ][ B C D E F G H ][ A ][ B C D E F G H ]
    gathered    .[ A B C D E F G H ].[ A B C D E F G H ]

The wait is a fraction of what a commit takes, ends when all are back, and becomes shorter where they do not come back.
The event loop reads requests all the time meanwhile, so the wait is bounded: it costs processor time.
"""

from collections.abc import Callable

MAX_SHARE = 0.25  # of the average time of a commit
MAX_SECONDS = 0.001
_LEAST_SUCCESS = 0.05
_WEIGHT = 0.125  # of the latest commit in the moving averages


class Gathering:
    """Decides whether the next commit waits for more writes."""

    def __init__(self, timer: Callable[[], float]) -> None:
        self._timer = timer
        self.average_seconds = 0.0
        """How long commits have taken lately."""
        self._expected = 0
        self._until = 0.0
        self._success = 1.0  # the share of waits in which all came back

    def on_commit(self, seconds: float) -> None:
        """Takes account of how long a commit took."""
        self.average_seconds += (seconds - self.average_seconds) * _WEIGHT

    def on_answers(self, answered: int, queued: int) -> None:
        """Expects as many writes as have just been answered, beside those that are queued already."""
        self._expected = answered + queued
        self._until = self._timer() + min(self.average_seconds * MAX_SHARE, MAX_SECONDS) * self._success

    def is_complete(self, queued: int) -> bool:
        """Whether the next commit may begin with so many writes."""
        if queued < self._expected and self._timer() < self._until:
            return False
        if self._expected > 1:
            came_back = float(queued >= self._expected)
            self._success += (max(came_back, _LEAST_SUCCESS) - self._success) * _WEIGHT
        self._expected = 0
        return True
