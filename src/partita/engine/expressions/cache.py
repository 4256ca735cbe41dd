"""A cache of compiled expressions: programs send few distinct ones, with ever new values.

A compiled expression depends on its text and on the *shape* of the placeholders: names, and types of values. It takes
the values when it is used, so it is compiled once for each shape:

    text, shape --- compiled once ---+
                                     +--- condition, update or key range of this request
                           values ---+
"""

from collections.abc import Callable
from itertools import count
from typing import Any, Generic, TypeVar

from partita.dynamodb.text_cache import MAX_CHARACTERS, TextCache
from partita.engine.expressions.scope import Check, Scope, Shape

Compiled = TypeVar("Compiled")

_entries: TextCache[tuple[Any, frozenset[str], list[Check]]] = TextCache(2 * MAX_CHARACTERS)  # those of all caches
_numbers = count()


class ExpressionCache(Generic[Compiled]):
    """The results of `compile` by text and shape."""

    def __init__(self, make: Callable[[str, Scope], Compiled]) -> None:
        self._compile = make
        self._number = next(_numbers)

    def __call__(self, text: str, scope: Scope) -> Compiled:
        """Returns the result of `compile`, or raises its error; marks placeholders as used, and checks the values."""
        shape = scope.shape
        met = _entries.get((self._number, text, shape))
        if met is None:
            alone = scope.unused_copy()
            met = self._compile(text, alone), frozenset(alone.used), alone.checks
            _entries.store((self._number, text, shape), met, len(text) + _characters(shape))
        else:
            for check in met[2]:
                check(scope.values)
        scope.used |= met[1]
        compiled: Compiled = met[0]
        return compiled


def _characters(shape: Shape) -> int:
    return sum(len(text) for placeholder in (*shape[0], *shape[1]) for text in placeholder)
