"""Many concurrent writers with random operations: afterwards every key and counter is right."""

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal

import pytest

from partita import AlreadyExists, InvalidTransition, LimitReached, NotFound, Store
from tests.store.kitchen_sink_design import Artist, Importance, State, Work, artist, work
from tests.store.test_properties import check_law

pytestmark = pytest.mark.slow

ARTISTS = ("ann", "bob#1")
REFUSALS = (AlreadyExists, NotFound, InvalidTransition, LimitReached)


class Writer:
    """Runs random operations; errors of the design's invariants are expected."""

    def __init__(self, db: Store, seed: int) -> None:
        self.db = db
        self.chance = random.Random(seed)

    def run(self, turns: int) -> int:
        return sum(self.turn() for _ in range(turns))

    def turn(self) -> bool:
        work_id = f"w{self.chance.randrange(4)}"
        act = self.chance.choice(
            (self.create, self.change, self.change, self.step, self.delete, self.update, self.both)
        )
        try:
            act(work_id)
        except REFUSALS:
            return False
        return True

    def create(self, work_id: str) -> None:
        state = self.chance.choice((State.DRAFT, State.PUBLISHED))
        self.db.create(
            Work(work_id=work_id, artist_id=self.chance.choice(ARTISTS), title="", state=state, price=self.price())
        )

    def change(self, work_id: str) -> None:
        with self.db.change(work(work_id)) as draft:
            if self.chance.random() < 0.5:
                draft.state = self.chance.choice(list(State))
            if self.chance.random() < 0.5:
                draft.importance = self.chance.choice(list(Importance))
            if self.chance.random() < 0.3:
                draft.artist_id = self.chance.choice(ARTISTS)
            draft.published_at = self.db.context.clock() + timedelta(days=self.chance.randrange(3))

    def step(self, work_id: str) -> None:
        with self.db.change(work(work_id)) as draft:
            draft.price += Decimal(1)
            draft.views += 1

    def update(self, work_id: str) -> None:
        def raise_price(each: Work) -> None:
            each.price = min(each.price * 2, Decimal(9999))

        self.db.update(work(work_id), raise_price)

    def delete(self, work_id: str) -> None:
        self.db.delete(work(work_id))

    def both(self, work_id: str) -> None:
        with self.db.transaction() as together:
            together.change(work(work_id)).price = self.price()
            together.change(artist(ARTISTS[0])).room = 100

    def price(self) -> Decimal:
        return Decimal(self.chance.randrange(100))


@pytest.mark.parametrize("seed", [1, 2])
def test_keys_and_counters_are_right_after_concurrent_writers(db: Store, seed: int) -> None:
    for number, artist_id in enumerate(ARTISTS):
        db.create(Artist(artist_id=artist_id, country="PT", handle=str(number)))
    writers = [Writer(db, seed * 100 + number) for number in range(5)]
    with ThreadPoolExecutor(5) as threads:
        done = sum(threads.map(lambda writer: writer.run(30), writers))
    assert done > 20
    check_law(db)
