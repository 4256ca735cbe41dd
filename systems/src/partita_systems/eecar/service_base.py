"""What every subject of the service has: the store, its clock, and how ids are made."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from partita import Get, Store

E = TypeVar("E")
MakeId = Callable[[str, datetime], str]


class Subject:
    def __init__(self, db: Store, make_id: MakeId) -> None:
        self.db = db
        self.now = db.context.clock
        self._make_id = make_id

    def _id(self, prefix: str) -> str:
        return self._make_id(prefix, self.now())

    def _those(self, calls: Sequence[Get[E]]) -> list[E]:
        """What is there of many, in their order."""
        return [found for found in self.db.get_many(calls) if found is not None]
