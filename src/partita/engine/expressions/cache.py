"""Expressions that have been met before: programs send few distinct ones, with ever new values.

What is made of an expression depends on its text and on the *shape* of the placeholders: names, and types of values.
The values themselves it takes when it is used, so it is made once for each shape and kept:

    text, shape --- made once ---+
                                 +--- condition, update or key range of this request
                       values ---+
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from partita.engine.expressions.scope import Check, Scope, Shape

Compiled = TypeVar("Compiled")

MAX_ENTRIES = 2048
MAX_NAMES_LENGTH = 4096  # characters; what is longer is made again each time


class ExpressionCache(Generic[Compiled]):
    """What `make` has made of texts and scopes."""

    def __init__(self, make: Callable[[str, Scope], Compiled]) -> None:
        self._compile = make
        self._entries: dict[tuple[str, Shape], tuple[Compiled, frozenset[str], list[Check]]] = {}

    def __call__(self, text: str, scope: Scope) -> Compiled:
        """As `make` gives it, or raises: the scope's use of placeholders is noted, its values are checked."""
        shape = scope.shape
        met = self._entries.get((text, shape))
        if met is None:
            alone = scope.unused_copy()
            met = self._compile(text, alone), frozenset(alone.used), alone.checks
            self._store(text, shape, met)
        else:
            for check in met[2]:
                check(scope.values)
        scope.used |= met[1]
        return met[0]

    def __len__(self) -> int:
        return len(self._entries)

    def _store(self, text: str, shape: Shape, met: tuple[Compiled, frozenset[str], list[Check]]) -> None:
        if len(self._entries) >= MAX_ENTRIES:
            self._entries.clear()
        if sum(len(name) for _, name in shape[0]) <= MAX_NAMES_LENGTH:
            self._entries[text, shape] = met
