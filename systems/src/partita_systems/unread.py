"""The number of unread notifications, the same in all systems.

A counter beside the notifications would not stay exact: they expire, and what DynamoDB deletes by TTL is in no
transaction. So they are counted when asked for, up to 100, as a badge shows them.
"""

from typing import Annotated, Any

from msgspec import Meta, Struct

from partita import Query, Store

MAX_COUNTED = 100


class Unread(Struct, frozen=True):
    """The number of unread notifications, exact up to 100."""

    unread: Annotated[int, Meta(ge=0, le=MAX_COUNTED, description="How many are unread, counted up to 100.")]
    more: Annotated[bool, Meta(description="Whether there are more than 100: show `100+`.")]


def count_unread(db: Store, unread: Query[Any]) -> Unread:
    """The number of notifications that a query of the unread ones finds."""
    page = db(unread).page(MAX_COUNTED)
    return Unread(len(page.items), page.cursor is not None)
