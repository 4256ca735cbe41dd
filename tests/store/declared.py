"""Small designs that a test declares for one claim."""

from typing import Any

import msgspec

from partita import Index, Store, Table, connect, prove
from partita.dynamodb.requests import Scan

BY_TEXT = Index("GSI1", "GSI1PK", "GSI1SK")


def table(*indexes: Index, **settings: Any) -> Table:
    return Table("things", pk="PK", sk="SK", indexes=indexes, **settings)


def opened(things: Table, backend: Any = None) -> Store:
    """A store of the table, which is created, with neither waits nor background work."""
    db = Store(backend or connect("memory:", maintain=False), prove("things", things), sleep=lambda _: None)
    db.create_tables()
    return db


def stored(db: Store) -> list[dict[str, Any]]:
    """Every stored item, guards included, with values that are not text as DynamoDB writes them."""
    reply = db.backend.call(Scan(table_name="things", consistent_read=True))
    items = [msgspec.json.decode(raw) for raw in reply.items or ()]
    return [{name: next(iter(value.values())) for name, value in item.items()} for item in items]
