"""Signals between planning and executing a write; they never leave the store."""

from partita.errors import StoreError


class Raced(StoreError):
    """What was read has changed: read again."""


class NothingToTake(Raced):
    """What would be taken is not there, so the write is made without taking it."""

    def __init__(self, identity: tuple[str, ...]) -> None:
        super().__init__("what would be taken is not there")
        self.identity = identity
