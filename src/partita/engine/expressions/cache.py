"""A cache of compiled expressions: programs send few distinct ones, with ever new values.

A compiled expression depends on its text and on the *shape* of the placeholders: names, and types of values. It takes
the values when it is used, so it is compiled once for each shape:

    text, shape --- compiled once ---+
                                     +--- condition, update or key range of this request
                           values ---+
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from partita.engine.expressions.scope import Check, Scope, Shape

Compiled = TypeVar("Compiled")

MAX_ENTRIES = 2048
MAX_NAMES_LENGTH = 4096  # characters; longer ones are not cached


class ExpressionCache(Generic[Compiled]):
    """The results of `compile` by text and shape."""

    def __init__(self, make: Callable[[str, Scope], Compiled]) -> None:
        self._compile = make
        self._entries: dict[tuple[str, Shape], tuple[Compiled, frozenset[str], list[Check]]] = {}

    def __call__(self, text: str, scope: Scope) -> Compiled:
        """Returns the result of `compile`, or raises its error; marks placeholders as used, and checks the values."""
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
