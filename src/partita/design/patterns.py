"""Access patterns as typed functions: the body is the key range, run once at import with symbolic arguments.

    @pattern
    def orders_to_ship(status: Status) -> Query[Order]:
        return Order.to_ship.query(status)

Calling the pattern binds values to what that one run found; the body does not run again.
"""

import inspect
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Generic, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from partita.design.coding import stripped
from partita.design.errors import DesignError
from partita.design.reads import Argument, Each, Get, Query, Read
from partita.design.slots import slots_of

P = ParamSpec("P")
R_co = TypeVar("R_co", bound=Get[Any] | Query[Any], covariant=True)


class Pattern(Generic[P, R_co]):
    """A proven read with parameters; calling it gives a `Get` or `Query` for the store to run."""

    def __init__(self, function: Callable[P, R_co]) -> None:
        self.__doc__ = function.__doc__
        self.name = function.__name__
        self.signature = inspect.signature(function)
        self.arguments = _arguments(self.name, function, self.signature)
        run: Any = function
        found = run(*self.arguments)
        if not isinstance(found, Get | Query):
            raise DesignError(self.name, f"returned {type(found).__name__}", "return get(...) or a query")
        self.read: Read = replace(found.read, label=self.name)
        self._kind: Any = type(found)
        _check_types(self)
        table = self.read.sources[0].model.table
        table.patterns.append(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        if kwargs or len(args) != len(self.arguments):
            bound = self.signature.bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args  # type: ignore[assignment]
        called: R_co = self._kind(self.read, args)
        return called


def pattern(function: Callable[P, R_co]) -> Pattern[P, R_co]:
    """Declare an access pattern; its parameters must have the types of the key parts that they fill."""
    return Pattern(function)


def _arguments(name: str, function: Callable[..., Any], signature: inspect.Signature) -> tuple[Argument, ...]:
    hints = get_type_hints(function)
    missing = [each for each in signature.parameters if each not in hints]
    if missing:
        raise DesignError(name, f"{missing[0]!r} has no type", f"write {missing[0]}: str, or whatever its part is")
    return tuple(Argument(each, at, hints[each]) for at, each in enumerate(signature.parameters))


def _check_types(declared: Pattern[Any, Any]) -> None:
    """Each parameter is used, and has the type of the part that it fills."""
    used: set[str] = set()
    for slot, value in slots_of(declared.name, declared.read):
        if isinstance(value, Each):
            value, wanted = value.values, Sequence[slot.type]  # type: ignore[name-defined]
        else:
            wanted = slot.type
        if isinstance(value, Argument):
            used.add(value.name)
            if not _fits(value.type, wanted):
                raise DesignError(
                    declared.name,
                    f"{value.name!r} is declared {_name(value.type)}, but it fills "
                    f"{slot.where}, which is {_name(wanted)}",
                    f"write {value.name}: {_name(wanted)}",
                )
    for argument in declared.arguments:
        if argument.name not in used:
            raise DesignError(declared.name, f"{argument.name!r} is not used", "remove it, or hand it to the query")


def _fits(given: Any, wanted: Any) -> bool:
    if wanted is Any:
        return True
    if get_origin(wanted) is Sequence:
        return get_origin(given) in (Sequence, list, tuple) and _fits(get_args(given)[0], get_args(wanted)[0])
    given = stripped(given)[0]
    if get_origin(given) in (Union, types.UnionType):
        return all(_fits(each, wanted) for each in get_args(given))
    return bool(given == wanted)


def _name(kind: Any) -> str:
    return str(kind) if get_args(kind) else getattr(kind, "__name__", str(kind))
