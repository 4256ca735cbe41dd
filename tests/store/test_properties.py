"""After any operations of the typed API, every stored key matches its item."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita import InvalidTransition, NotUnique, Store, connect
from partita.design.models import model_of
from partita.dynamodb.requests import Scan
from partita.plan.items import item_of, values_of
from partita.store.decoding import decoder_of
from tests.store.clocks import Clock
from tests.store.kitchen_sink_design import (
    Artist,
    Importance,
    Kind,
    State,
    Work,
    artist,
    design,
    work,
)

pytestmark = pytest.mark.slow


START = datetime(2025, 1, 1, tzinfo=UTC)

assignments = st.one_of(
    st.tuples(st.just("state"), st.sampled_from(State)),
    st.tuples(st.just("importance"), st.sampled_from(Importance)),
    st.tuples(st.just("price"), st.integers(-9700, 9700).map(Decimal)),  # five steps stay within the bounds of Ordered
    st.tuples(st.just("published_at"), st.none() | st.integers(0, 9).map(lambda days: START + timedelta(days=days))),
    st.tuples(st.just("kind"), st.none() | st.sampled_from(Kind)),
    st.tuples(st.just("year"), st.none() | st.integers(1990, 1993)),
    st.tuples(st.just("score"), st.none() | st.integers(-3, 3)),
    st.tuples(st.just("title"), st.text(max_size=3)),
    st.tuples(st.just("artist_id"), st.sampled_from(["ann", "bob#1"])),
    st.tuples(st.just("tags"), st.sets(st.sampled_from("abc"))),
)
steps = st.one_of(
    st.tuples(st.just("price"), st.integers(-50, 50).map(Decimal)),
    st.tuples(st.just("views"), st.integers(-2, 2)),
)
changes = st.tuples(st.lists(assignments, max_size=3), st.lists(steps, max_size=1), st.booleans())


def opened(clock: Clock) -> Store:
    db = Store(connect("memory:", maintain=False), design, clock=clock, sleep=lambda _: None)
    db.create_tables()
    for number, artist_id in enumerate(("ann", "bob#1")):
        db.create(Artist(artist_id=artist_id, country="PT", handle=str(number)))
    return db


def stored_items(db: Store) -> list[dict[str, Any]]:
    return [msgspec.json.decode(item) for item in db.backend.call(Scan(table_name="gallery")).items or ()]


def check_law(db: Store) -> None:
    """Each stored item decodes, and encodes to exactly the same item."""
    works: list[Work] = []
    for item in stored_items(db):
        entity = {"Work": Work, "Artist": Artist}.get(item.get("entityType", {}).get("S", ""))
        if entity is not None:
            model = model_of(entity)
            found = decoder_of(model).from_item(item)
            assert item_of(model, values_of(model, found)) == item
            works += [found] if isinstance(found, Work) else []
    for artist_id in ("ann", "bob#1"):
        mine = [each for each in works if each.artist_id == artist_id]
        parent = db.one(artist(artist_id))
        assert parent.work_count == len(mine)
        assert parent.shown_value == sum((each.price for each in mine if each.state == State.PUBLISHED), Decimal(0))


@given(st.lists(changes, max_size=5))
@settings(deadline=None)
def test_stored_keys_and_counters_always_match_the_items(made: list[Any]) -> None:
    clock = Clock()
    db = opened(clock)
    db.create(Work(work_id="w", artist_id="ann", title=""))
    for assigned, stepped, by_system in made:
        clock.passes(minutes=1)
        try:
            with db.change(work("w"), system_change=by_system) as draft:
                for name, value in assigned:
                    setattr(draft, name, value)
                for name, value in stepped:
                    if name not in dict(assigned):
                        setattr(draft, name, getattr(draft, name) + value)
        except InvalidTransition:
            pass
        check_law(db)
    db.delete(work("w"))
    check_law(db)


@given(
    st.lists(
        st.tuples(st.sampled_from(["ann", "bob#1"]), st.sampled_from(["PT", "ES"]), st.sampled_from("xyX")), max_size=6
    )
)
@settings(deadline=None)
def test_guards_match_the_stored_items(made: list[tuple[str, str, str]]) -> None:
    db = opened(Clock())
    for artist_id, country, handle in made:
        try:
            with db.change(artist(artist_id)) as draft:
                draft.country = country
                draft.handle = handle
        except NotUnique:
            pass
        items = stored_items(db)
        guards = {item["PK"]["S"] for item in items if item["PK"]["S"].startswith("UNIQUE#Artist#named_once")}
        artists = [db.one(artist(each)) for each in ("ann", "bob#1")]
        assert guards == {f"UNIQUE#Artist#named_once#{a.country.casefold()}#{a.handle.casefold()}" for a in artists}
