"""Indexes by keys of the table: inverted and local ones. Their text is that of the table, which an item has once."""

from typing import Annotated, Any

import pytest

from partita import DesignError, Entity, Index, InKey, Items, Keys, pattern
from tests.store.declared import opened, table

INVERTED = Index("Inverted", "SK", "PK")
LOCAL = Index("Local", "PK", "rank", local=True)


def test_template_of_the_table_may_be_repeated() -> None:
    """Also where its text would be escaped otherwise in the place that the index has for it."""
    things = table(INVERTED)

    class Seat(Entity, table=things, key=("ROOM#{room}", "ROW#{row}#{seat}")):
        room: Annotated[str, InKey()]
        row: Annotated[str, InKey()]
        seat: Annotated[str, InKey()]

        by_row = Keys("Inverted", "ROW#{row}#{seat}", "ROOM#{room}")

    @pattern(Seat.by_row)
    def rooms_of(row: str, seat: str) -> Items[Seat]: ...

    db = opened(things)
    seats = [Seat(room=room, row="a b", seat="#!") for room in ("x", "y z")]
    db.put_many(seats)
    assert list(db(rooms_of("a b", "#!"))) == seats


@pytest.mark.parametrize(
    ("index", "keys", "texts"),
    [
        (INVERTED, ("USER#{b}", "A#{a}"), ("SK", "B#{b}", "USER#{b}")),
        (INVERTED, (None, "{a}"), ("PK", "A#{a}", "{a}")),
        (LOCAL, ("RANKS#{a}", "{n:4}"), ("PK", "A#{a}", "RANKS#{a}")),
        (LOCAL, ("{n:4}",), ("PK", "A#{a}", "{n:4}")),
    ],
)
def test_other_text_for_a_key_of_the_table_is_rejected(
    index: Index, keys: tuple[Any, ...], texts: tuple[str, ...]
) -> None:
    """An item would not have it, so a query of the index would find nothing."""
    things = table(index)
    with pytest.raises(DesignError) as raised:

        class Thing(Entity, table=things, key=("A#{a}", "B#{b}")):
            a: str
            b: str
            n: int = 0

            by_index = Keys(index.name, *keys)

    name, own, other = texts
    wrong = f"Thing.{index.name}.{name}: it is a key of the table, where its text is {own!r}, not {other!r}"
    assert str(raised.value) == f"{wrong}; write None in its place, or give the index an attribute in place of {name!r}"


def test_local_index_has_the_partition_of_the_table() -> None:
    things = table(LOCAL)

    class Thing(Entity, table=things, key=("A#{a}", "B#{b}")):
        a: str
        b: str
        n: int = 0

        by_rank = Keys("Local", None, "{n:4,desc}")

    db = opened(things)
    for n in (1, 3, 2):
        db.create(Thing(a="a", b=str(n), n=n))
    assert [each.n for each in db(Thing.by_rank.query("a").largest_first("n"), consistent=True)] == [3, 2, 1]
