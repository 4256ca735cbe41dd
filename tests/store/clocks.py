"""A clock for tests."""

from datetime import UTC, datetime, timedelta


class Clock:
    """A clock that `passes` alone moves.

    It starts far ahead, so that a server with a clock of its own expires nothing that a test writes.
    """

    def __init__(self) -> None:
        self.now = datetime(2095, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def passes(self, **duration: float) -> None:
        self.now += timedelta(**duration)
