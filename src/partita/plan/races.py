"""Signals between planning and executing a write; they never leave the store."""

from collections.abc import Mapping
from typing import Any

from partita.design.models import Model
from partita.dynamodb.canonical import equal_items
from partita.dynamodb.values import Item
from partita.errors import StoreError


class Raced(StoreError):
    """The item has changed since it was read: read again."""

    def __init__(self, entity: str) -> None:
        super().__init__(entity)
        self.entity = entity

    def __str__(self) -> str:
        return f"{self.entity}: changed by another writer since it was read"


class Unexplained(Raced):
    """The backend rejected a condition that holds for `item`, which it returned."""

    def __init__(self, entity: str, item: Item | None) -> None:
        super().__init__(entity)
        self.item = item

    def repeats(self, earlier: Raced | None) -> bool:
        """Whether the item is as it was in the earlier attempt: then no other writer is the reason."""
        return isinstance(earlier, Unexplained) and equal_items(self.item or {}, earlier.item or {})


class NothingToTake(Raced):
    """The counter or guard of this identity has nothing to give back, so the write goes without it."""

    def __init__(self, entity: str, identity: tuple[str, ...]) -> None:
        super().__init__(entity)
        self.identity = identity


class ParentMissing(StoreError):
    """The item that is counted in or referred to is not under its current key, and may be under an old one.

    `otherwise` is the error where it is not.
    """

    def __init__(self, model: Model, values: Mapping[str, Any], otherwise: StoreError) -> None:
        super().__init__(model.name)
        self.model = model
        self.values = values
        self.otherwise = otherwise


class HasExpired(NothingToTake):
    """The item of this identity is there, but has expired: it is read, and replaced."""


class BoundUnread(Raced):
    """A limit whose bound is in the item under `key` needs that item read: the increment is not one."""

    def __init__(self, entity: str, table: str, key: Item) -> None:
        super().__init__(entity)
        self.table = table
        self.key = key
