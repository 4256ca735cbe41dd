"""Shared by the demo data of all systems: random choices that depend on the seed alone, a store at another time."""

from datetime import datetime
from random import Random

from partita import Store


def seeded_random(seed: int, name: str) -> Random:
    """The random choices of one event or step: they depend on the seed and the name, not on what ran before."""
    return Random(f"{seed} {name}")  # noqa: S311


def store_at(db: Store, at: datetime) -> Store:
    """The same data with the clock stopped at a moment."""
    return db.with_settings(clock=lambda: at)


def last_midnight(db: Store) -> datetime:
    return db.now().replace(hour=0, minute=0, second=0, microsecond=0)


class NumberedStep:
    """A seed step: the `number`th of its kind. Its data does not depend on when it runs, or on other steps.

    `random` depends on the class name: renaming a step changes the demo data.
    """

    def __init__(self, seed: int, number: int) -> None:
        self.seed = seed
        self.number = number
        self.name = f"{type(self).__name__} {number}"

    def __call__(self, db: Store) -> None:
        self.random = seeded_random(self.seed, self.name)
        self.load(db)

    def load(self, db: Store) -> None:
        raise NotImplementedError
