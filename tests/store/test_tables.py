"""Creating tables on a backend that lacks some settings."""

from typing import Any

from partita import Entity, Store, Table, connect
from partita.dynamodb.exceptions import UnknownOperationException
from partita.dynamodb.requests import UpdateContinuousBackups


def test_unsupported_setting_is_reported_and_the_table_is_created() -> None:
    shelf = Table("shelf", pk="PK", recovery_days=35)

    class Book(Entity, table=shelf, key="BOOK#{title}"):
        title: str

    class WithoutHistory:
        """A backend without continuous backups."""

        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def call(self, request: Any, /) -> Any:
            if isinstance(request, UpdateContinuousBackups):
                raise UnknownOperationException
            return self.inner.call(request)

    with connect("memory:", maintain=False) as backend:
        db = Store(WithoutHistory(backend), shelf)
        (left,) = db.create_tables()
        assert left.sentence == "table shelf: UpdateContinuousBackups is not supported by this backend"
        db.create(Book(title="Atlas"))
