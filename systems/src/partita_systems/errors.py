"""Errors that several systems raise."""

from collections.abc import Mapping
from typing import Any

from partita import ConditionFailed


class NotPublished(ConditionFailed):
    """A draft takes no comments, votes, likes or bookmarks: for those who may see it; for others it does not exist."""

    def __init__(self, entity: str, key: Mapping[str, Any]) -> None:
        super().__init__(entity, dict(key))

    def __str__(self) -> str:
        return f"{self.entity} {', '.join(map(str, self.key.values()))} is not published; publish it first"
