"""A handler may read items that have expired and are still stored, as DynamoDB leaves them for days."""

from datetime import datetime, timedelta

from partita import (
    Change,
    Consumer,
    ConsumerAdministration,
    Entity,
    Expires,
    HandlerTransaction,
    Item,
    Store,
    Table,
    connect,
    pattern,
    prove,
    settle,
)
from tests.store.clocks import Clock

table = Table("visits", pk="PK", sk="SK", ttl="ttl", stream="NEW_AND_OLD_IMAGES")


class Visit(Entity, table=table, key=("VISIT#{visit_id}", "VISIT")):
    visit_id: str


class Last(Entity, table=table, key=("LAST", "LAST")):
    visit_id: str
    visits: int = 1
    at: datetime

    expiry = Expires("at", after=timedelta(days=1))


@pattern
def last() -> Item[Last]: ...


design = prove("visits", table)


def test_expired_item_counts_as_absent_and_is_replaced() -> None:
    clock = Clock()
    consumer = Consumer("visits")

    @consumer.on(Visit)
    def note(change: Change[Visit], t: HandlerTransaction) -> None:
        before = t.get(last())
        visits = 1 if before is None else before.visits + 1
        t.put(Last(visit_id="v", visits=visits, at=clock()))

    with connect("memory:", maintain=False) as backend:
        db = Store(backend, design, clock=clock, sleep=lambda _: None)
        db.create_tables()
        for number, days in enumerate((0, 0, 3, 0)):
            clock.passes(days=days)
            db.create(Visit(visit_id=str(number)))
            settle(db, consumer)
        assert db.one(last()).visits == 2
        assert ConsumerAdministration(db, "visits").status().parked == 0


def test_read_without_a_fence_may_change_before_the_commit() -> None:
    clock = Clock()
    runs: dict[bool, int] = {}

    with connect("memory:", maintain=False) as backend:
        db = Store(backend, design, clock=clock, sleep=lambda _: None)
        db.create_tables()
        db.create(Last(visit_id="v", at=clock()))
        db.create(Visit(visit_id="1"))
        for fenced in (True, False):
            consumer = Consumer(f"visits-{fenced}")

            @consumer.on(Visit)
            def note(change: Change[Visit], t: HandlerTransaction, fenced: bool = fenced) -> None:
                runs[fenced] = runs.get(fenced, 0) + 1
                t.get(last(), fenced=fenced)
                if runs[fenced] == 1:
                    with db.change(last()) as draft:  # as another writer does meanwhile
                        draft.visits += 1

            settle(db, consumer)
    assert runs == {True: 2, False: 1}
