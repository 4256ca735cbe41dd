"""Keys of comments and notifications: a key starts with a time, which the id in the path contains."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated

from msgspec import Meta

from partita import NotFound, time_in_id
from partita.rest import Problem

CreatedAtParameter = Annotated[
    Annotated[datetime, Meta(tz=True)] | None,
    Meta(description="`createdAt` from the list; needed only for ids that other code made without this time."),
]


@contextmanager
def key_time(item_id: str, created_at: datetime | None) -> Iterator[datetime]:
    """The time in an item's key: `created_at`, which items of other code need, or the time in the id.

    Raises Problem 422 if neither is known. A NotFound inside the block becomes a 404 that explains `created_at`.
    """
    time = created_at or time_in_id(item_id)
    if time is None:
        detail = f"{item_id} contains no time; add ?createdAt= with its createdAt, as the list shows it"
        raise Problem(422, "invalid", detail, "createdAt")
    try:
        yield time
    except NotFound as missing:
        if created_at is not None:
            raise
        detail = f"{missing.entity} {item_id} does not exist; if the list shows it, add ?createdAt= with its createdAt"
        raise Problem(404, "not-found", detail) from None
