"""Watches: what buyers wait for, and the parts that have triggered them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from partita import (
    AUTO,
    CreatedAt,
    Entity,
    Expires,
    InKey,
    Item,
    Items,
    Keys,
    Owns,
    References,
    Transitions,
    fan_out,
    pattern,
    query,
)
from partita_systems import fields
from partita_systems.eecar.categories import Category
from partita_systems.eecar.design.table import table
from partita_systems.eecar.design.values import KEEP_MATCHES, NEW, Line, Party, Score, Won, whole

WatchStatus = Literal["active", "triggered", "cancelled"]


class Criteria(msgspec.Struct, kw_only=True, rename="camel"):
    category: Category | None = None
    min_specs: dict[str, Any] = {}
    max_price: Won | None = None

    def __post_init__(self) -> None:
        self.max_price = None if self.max_price is None else whole(self.max_price)


class Watch(Entity, table=table, key=("WATCH#{watch_id}", "METADATA")):
    """Stays active after each part that it finds, `triggered_at` is the last time; a watch marked `once` ends."""

    watch_id: Annotated[str, InKey()] = NEW
    buyer_id: Party
    email: fields.Email | None = None
    phone: Line | None = None
    criteria: Criteria
    once: bool = False
    status: Annotated[WatchStatus, Transitions({"active": ("triggered", "cancelled")}, start=("active",))] = "active"
    created_at: Annotated[datetime, CreatedAt()] = AUTO
    triggered_at: datetime | None = None

    of_buyer = Keys("GSI1", "BUYER#{buyer_id}", "STATUS#{status}#CREATED#{created_at}")
    parts = Owns(lambda: (Watching, Trigger))


class Watching(Entity, table=table, key=("WATCH#{watch_id}", "INDEX")):
    """Finds the active watches of a category; exists while the watch is active."""

    watch_id: Annotated[str, InKey(), References(lambda: Watch)]
    buyer_id: Party
    category: Category
    criteria: Criteria
    created_at: datetime

    in_category = Keys("GSI1", "WATCH_CATEGORY#{category}", "CREATED#{created_at}")


class Triggering(Entity, table=table, key=("TRIGGERING#{part_id}", "NEXT")):
    """More watches fit a part than one transaction triggers: the position of the last one that was."""

    part_id: Annotated[str, InKey()]
    position: Line
    created_at: datetime

    expiry = Expires("created_at", after=KEEP_MATCHES)


class Trigger(Entity, table=table, key=("WATCH#{watch_id}", "TRIGGER#{part_id}")):
    watch_id: Annotated[str, InKey(), References(lambda: Watch)]
    part_id: str
    match_score: Score
    notified_at: datetime


@pattern(Watch.of_buyer.newest_first())
def watches_of_buyer(buyer_id: str, status: WatchStatus) -> Items[Watch]:
    """5. A buyer's watches with one status, newest first."""


@pattern
def watches_of_buyer_in(buyer_id: str, statuses: Sequence[WatchStatus]) -> Items[Watch]:
    """A buyer's watches with any of these statuses, newest first."""
    return Watch.of_buyer.query(buyer_id, fan_out(statuses, limit=3)).newest_first()


@pattern
def watch(watch_id: str) -> Item[Watch]: ...


@pattern
def watch_with_triggers(watch_id: str) -> Items[Watch | Watching | Trigger]:
    """A watch, its lookup item while it is active, and its triggers."""


@pattern(query(Trigger))
def triggers(watch_id: str) -> Items[Trigger]:
    """The parts that have triggered a watch."""


@pattern
def trigger(watch_id: str, part_id: str) -> Item[Trigger]: ...


@pattern
def watching_categories(categories: Sequence[Category]) -> Items[Watching]:
    """Active watches of these categories, oldest first; for a part its category and `ANY`."""
    return Watching.in_category.query(fan_out(categories, limit=2)).oldest_first()
