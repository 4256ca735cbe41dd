"""A clock moved by hand. It starts far ahead, so that a server with its own clock expires nothing that tests write."""

from datetime import UTC, datetime, timedelta


class Clock:
    """Time stands still until it is told to pass."""

    def __init__(self) -> None:
        self.now = datetime(2095, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def passes(self, **duration: float) -> None:
        self.now += timedelta(**duration)
