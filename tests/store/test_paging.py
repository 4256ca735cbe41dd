"""Pages of any size return every item once and in order: with shards, filters and expired items."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from partita import ALL_SHARDS, Entity, Expires, F, Index, Items, Keys, Query, Store, Table, connect, pattern, prove
from tests.store.clocks import Clock

START = datetime(2095, 1, 1, tzinfo=UTC)
table = Table("jobs", pk="PK", sk="SK", ttl="ttl", indexes=(Index("Due", "duePK", "dueSK"),))


class Job(Entity, table=table, key=("JOB#{job_id}", "JOB")):
    job_id: str
    due_at: datetime
    loud: bool = False
    until: datetime | None = None

    due = Keys("Due", "DUE#{job_id:shard(3)}", "{due_at}#{job_id}")
    kept = Expires("until")


@pattern
def due() -> Items[Job]:
    return Job.due.query(ALL_SHARDS).oldest_first()


@pattern
def due_backwards() -> Items[Job]:
    return Job.due.query(ALL_SHARDS).newest_first()


@pattern
def loud() -> Items[Job]:
    return Job.due.query(ALL_SHARDS).where(F.loud == True)  # noqa: E712 - an expression, not a test of truth


design = prove("jobs", table)
jobs = st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.booleans()), max_size=25)


@given(jobs, st.lists(st.integers(1, 7), min_size=1, max_size=4))
@settings(deadline=None, max_examples=60)
def test_pages_of_any_size_give_every_item_once_and_in_order(made: list[Any], sizes: list[int]) -> None:
    clock = Clock()
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, design, clock=clock)
        db.create_tables()
        stored = []
        for number, (hours, is_loud, expired) in enumerate(made):
            until = START - timedelta(days=1) if expired else None
            job = Job(job_id=f"j{number}", due_at=START + timedelta(hours=hours), loud=is_loud, until=until)
            db.put(job)
            stored += [] if expired else [job]
        in_order = sorted(stored, key=lambda each: (each.due_at, each.job_id))
        assert _paged(db, due(), sizes) == in_order == list(db(due()))
        assert _paged(db, due_backwards(), sizes) == in_order[::-1]
        assert _paged(db, loud(), sizes) == [each for each in in_order if each.loud]


def _paged(db: Store, call: Query[Job], sizes: list[int]) -> list[Job]:
    found: list[Job] = []
    cursor: str | None = None
    for turn in range(100):
        size = sizes[turn % len(sizes)]
        page = db(call).page(size, cursor)
        assert len(page.items) <= size
        assert len(page.items) == size or page.cursor is None
        found += page.items
        cursor = page.cursor
        if cursor is None:
            return found
    raise AssertionError("a cursor without end")
