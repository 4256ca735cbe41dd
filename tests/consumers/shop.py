"""A design with consumers: orders that notify their customers and keep a tally."""

from enum import Enum

import msgspec

from partita import (
    Change,
    Consumer,
    Created,
    Deleted,
    Entity,
    F,
    HandlerTransaction,
    Item,
    Items,
    Table,
    Updated,
    pattern,
    prove,
)

table = Table("shop", "PK", "SK", ttl="ttl", stream="NEW_AND_OLD_IMAGES")


class Status(Enum):
    OPEN = "OPEN"
    SHIPPED = "SHIPPED"


class Order(Entity, table=table, key=("ORDER#{order_id}", "ORDER")):
    order_id: str
    customer_id: str
    status: Status = Status.OPEN
    number: int = 0


class Notification(Entity, table=table, key=("CUSTOMER#{customer_id}", "NOTE#{notification_id}")):
    customer_id: str
    notification_id: str
    text: str


class Tally(Entity, table=table, key=("TALLY#{name}", "TALLY")):
    name: str
    created: int = 0
    updated: int = 0
    deleted: int = 0
    total: int = 0


class Copy(Entity, table=table, key=("COPY#{order_id}", "COPY")):
    """The last number of an order, and all of them in the order in which they were handled."""

    order_id: str
    number: int = 0
    history: list[int] = msgspec.field(default_factory=list)


@pattern
def order(order_id: str) -> Item[Order]: ...
@pattern
def notifications_of(customer_id: str) -> Items[Notification]: ...
@pattern
def tally(name: str) -> Item[Tally]: ...
@pattern
def copy_of(order_id: str) -> Item[Copy]: ...


design = prove("shop", table)

notifications = Consumer("notifications", tries=3)


@notifications.on(Order)
def shipped(change: Change[Order], t: HandlerTransaction) -> None:
    if found := change.became(F.status == Status.SHIPPED):
        note = Notification(customer_id=found.customer_id, notification_id=change.id, text=f"{found.order_id} shipped")
        t.create(note)


tallies = Consumer("tallies")


@tallies.on(Order)
async def count(change: Change[Order], t: HandlerTransaction) -> None:
    draft = t.change(tally("orders"), create=True)
    match change:
        case Created():
            draft.created += 1
            draft.total += change.after.number
        case Updated():
            draft.updated += 1
            draft.total += change.after.number - change.before.number
        case Deleted():
            draft.deleted += 1
            draft.total -= change.before.number


copies = Consumer("copies")


@copies.on(Order)
def copy(change: Change[Order], t: HandlerTransaction) -> None:
    if isinstance(change, Deleted):
        t.delete(copy_of(change.before.order_id))
        return
    found = t.get(copy_of(change.after.order_id))
    history = [] if found is None else found.history
    t.put(Copy(order_id=change.after.order_id, number=change.after.number, history=[*history, change.after.number]))


CONSUMERS = (notifications, tallies, copies)
