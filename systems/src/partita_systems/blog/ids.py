"""Ids as the blog gives them: a letter for the kind, then time, then chance."""

import secrets
from collections.abc import Callable
from datetime import datetime

from partita import new_id


class Ids:
    """`ids("p")` is a new post's id; `chance` may be given to get the same ids again."""

    def __init__(self, clock: Callable[[], datetime], chance: Callable[[int], int] = secrets.randbits) -> None:
        self._clock = clock
        self._chance = chance

    def __call__(self, kind: str) -> str:
        return new_id(kind, self._clock(), self._chance)
