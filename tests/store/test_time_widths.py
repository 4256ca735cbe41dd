"""Ranges of times, with rows of other code in other widths: bounds hold by the time, not by its text."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from partita import Entity, Index, InvalidValue, Item, Items, Keys, Query, Store, Table, connect, pattern, prove, query
from partita.dynamodb.requests import PutItem
from tests.store.declared import opened, stored, table

pytestmark = pytest.mark.slow


logs = Table("logs", pk="PK", sk="SK", indexes=(Index("ByKind", "kind", "at"),))


class Line(Entity, table=logs, key=("LOG", "AT#{at}#{line_id}")):
    at: datetime
    line_id: str
    kind: str = "info"
    by_kind = Keys("ByKind")


@pattern
def since(at: datetime) -> Items[Line]:
    return query(Line).since(at)


@pattern
def until(at: datetime) -> Items[Line]:
    return query(Line).until(at)


@pattern
def after(at: datetime) -> Items[Line]:
    return query(Line).after(at)


@pattern
def before(at: datetime) -> Items[Line]:
    return query(Line).before(at)


@pattern
def between(low: datetime, high: datetime) -> Items[Line]:
    return query(Line).between(low, high)


@pattern
def of_kind_between(kind: str, low: datetime, high: datetime) -> Items[Line]:
    return Line.by_kind.query(kind).between(low, high)


NOON = datetime(2025, 1, 1, 12, tzinfo=UTC)
TIMES = [NOON + timedelta(microseconds=each) for each in (-1_000_000, -1, 0, 1, 500_000, 999_999, 1_000_000)]
WIDTHS: list[Callable[[datetime], str]] = [
    lambda time: time.isoformat(timespec="microseconds").replace("+00:00", "Z"),
    lambda time: time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    lambda time: time.isoformat(timespec="seconds").replace("+00:00", "Z"),
    datetime.isoformat,
]
TEXTS = sorted({width(time) for time, width in product(TIMES, WIDTHS)})


@pytest.fixture(scope="module")
def db() -> Iterator[Store]:
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, prove("logs", logs))
        store.create_tables()
        for at, text in enumerate(TEXTS):
            item = {"PK": {"S": "LOG"}, "SK": {"S": f"AT#{text}#{at}"}, "at": {"S": text}}
            backend.call(PutItem(table_name="logs", item=item | {"line_id": {"S": str(at)}, "kind": {"S": "info"}}))
        yield store


def check(db: Store, call: Query[Line], belongs: Callable[[datetime], bool]) -> None:
    wanted = sorted(str(at) for at, text in enumerate(TEXTS) if belongs(datetime.fromisoformat(text)))
    assert sorted(line.line_id for line in db(call)) == wanted
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = db(call).page(2, cursor)
        found += [line.line_id for line in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert sorted(found) == wanted


@pytest.mark.parametrize("at", TIMES)
def test_one_bound_holds_for_every_width(db: Store, at: datetime) -> None:
    check(db, since(at), lambda time: time >= at)
    check(db, until(at), lambda time: time <= at)
    check(db, after(at), lambda time: time > at)
    check(db, before(at), lambda time: time < at)


@pytest.mark.parametrize(("low", "high"), list(product(TIMES, TIMES)))
def test_two_bounds_hold_for_every_width(db: Store, low: datetime, high: datetime) -> None:
    if low <= high:
        check(db, between(low, high), lambda time: low <= time <= high)
        check(db, of_kind_between("info", low, high), lambda time: low <= time <= high)
        return
    with pytest.raises(InvalidValue, match="it must not be after high"):
        list(db(between(low, high)))


def test_times_of_different_widths_in_one_old_key_are_found() -> None:
    things = table()

    class Stay(Entity, table=things, key=("STAY", "{begin}#{end}"), old_keys=[("OLD", "{begin:plain}#{end:plain}")]):
        begin: datetime
        end: datetime

    @pattern
    def stay(begin: datetime, end: datetime) -> Item[Stay]: ...

    db = opened(things)
    begin, end = datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, 0, 0, 0, 1, tzinfo=UTC)
    for text in ("2025-01-01T00:00:00Z", "2025-01-01T00:00:00.000Z"):
        texts = {"PK": "OLD", "SK": f"{text}#2025-01-01T00:00:00.000001Z"}
        texts |= {"begin": text, "end": "2025-01-01T00:00:00.000001Z"}
        item = {name: {"S": each} for name, each in texts.items()}
        db.backend.call(PutItem(table_name="things", item=item))
        assert db.get(stay(begin, end)) == Stay(begin=begin, end=end)
        assert db.delete(stay(begin, end)) == Stay(begin=begin, end=end)
        assert stored(db) == []
