"""The data of a map: tables, item collections, indexes, and the entries of entities in them."""

import msgspec


class MapEntry(msgspec.Struct, frozen=True):
    """An entity in a table or an index, by the templates of its key; `when` is the condition of a sparse index."""

    entity: str
    partition: str
    sort: str
    when: str

    @property
    def text(self) -> str:
        key = " / ".join(filter(None, (self.partition, self.sort)))
        return f"{key}, while {self.when}" if self.when else key


class ItemCollection(msgspec.Struct, frozen=True):
    """The entities that share a partition key."""

    partition: str
    entries: list[MapEntry]


class IndexPlace(msgspec.Struct, frozen=True):
    """An index and the entities in it."""

    name: str
    key: list[str]
    entries: list[MapEntry]


class MapTable(msgspec.Struct, frozen=True):
    """A table with its item collections and indexes."""

    name: str
    key: list[str]
    collections: list[ItemCollection]
    indexes: list[IndexPlace]
