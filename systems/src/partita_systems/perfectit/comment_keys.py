"""Where comments and notifications are: their keys begin with a time, their paths have an id alone, which says it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated

from msgspec import Meta

from partita import NotFound, time_in_id
from partita.rest import Problem

GivenTime = Annotated[
    Annotated[datetime, Meta(tz=True)] | None,
    Meta(description="`createdAt` as the list shows it; needed only where the id says no time, or another one."),
]


@contextmanager
def made_at(thing_id: str, created_at: datetime | None) -> Iterator[datetime]:
    """The time in a thing's key: the one in its id, unless it is given, as for what other code wrote."""
    time = created_at or time_in_id(thing_id)
    if time is None:
        detail = f"{thing_id} does not say when it was made; add ?created_at= with its createdAt, as the list shows it"
        raise Problem(422, "invalid", detail, "created_at")
    try:
        yield time
    except NotFound as missing:
        if created_at is not None:
            raise
        detail = (
            f"{missing.entity} {thing_id} does not exist; if the list shows it, add ?created_at= with its createdAt"
        )
        raise Problem(404, "not-found", detail) from None
