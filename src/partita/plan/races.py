"""Signals between planning and executing a write; they never leave the store."""

from partita.dynamodb.canonical import equal_items
from partita.dynamodb.values import Item
from partita.errors import StoreError


class Raced(StoreError):
    """What was read has changed: read again."""


class Unexplained(Raced):
    """The backend rejected a condition that holds for `item`, which it returned."""

    def __init__(self, entity: str, item: Item | None) -> None:
        super().__init__(entity)
        self.item = item

    def repeats(self, earlier: Raced | None) -> bool:
        """Whether the item is as it was in the earlier attempt: then no other writer is the reason."""
        return isinstance(earlier, Unexplained) and equal_items(self.item or {}, earlier.item or {})


class NothingToTake(Raced):
    """What would be taken is not there, so the write is made without taking it."""

    def __init__(self, identity: tuple[str, ...]) -> None:
        super().__init__("what would be taken is not there")
        self.identity = identity
