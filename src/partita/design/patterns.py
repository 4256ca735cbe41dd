"""Access patterns as typed functions: a signature whose parameters are the parts of a key, in their order.

    @pattern
    def order(customer_id: str, placed_at: datetime, order_id: str) -> Item[Order]: ...
    @pattern(Order.to_ship.largest_first("priority"))
    def orders_to_ship(status: Status) -> Items[Order]: ...

A read that the parts alone do not describe (a bound, a constant, a fan-out) has a body:

    @pattern
    def orders_since(customer_id: str, at: datetime) -> Items[Order]:
        return query(Order, customer_id).since(at).oldest_first()

The function runs once, when it is declared, with an `Argument` in place of each value. Where it returns None its
signature is the declaration, otherwise the read that it returns. Calling the pattern binds values to that read.
"""

import inspect
import types
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, Generic, ParamSpec, TypeVar, Union, get_args, get_origin, overload

import msgspec

from partita.design.argument_checks import check_is_type, hints_of, short_repr
from partita.design.codec_factory import unwrapped_type
from partita.design.key_slots import Slot, SlotRole, check_constant_in_slot, key_slots, slots_of
from partita.design.reads import (
    Argument,
    FanOut,
    Get,
    Items,
    Nearest,
    Query,
    Read,
    VectorSearch,
    recorded_reads,
    source_of,
)
from partita.design.search_terms import search_values, with_values
from partita.errors import ConfigurationError, DesignError

E = TypeVar("E")
P = ParamSpec("P")
R = TypeVar("R", bound=Get[Any] | Query[Any] | VectorSearch[Any])
R_co = TypeVar("R_co", bound=Get[Any] | Query[Any] | VectorSearch[Any], covariant=True)
_KINDS: dict[str, Any] = {"GetItem": Get, "Query": Query, "SearchVectors": VectorSearch}
_RESULTS = {"GetItem": "Item", "Query": "Items", "SearchVectors": "Nearest"}


class Pattern(Generic[P, R_co]):
    """A declared read with parameters; calling it gives a `Get`, `Query` or `VectorSearch` for the store to run."""

    def __init__(self, function: Callable[P, R_co | None], read: Query[Any] | VectorSearch[Any] | None = None) -> None:
        self.__doc__ = function.__doc__
        self.name = function.__name__
        self.module = function.__module__
        self.signature = inspect.signature(function)
        hints = _hints(function)
        self.arguments = _arguments(self.name, self.signature, hints)
        self._by_name = any(each.kind is each.KEYWORD_ONLY for each in self.signature.parameters.values())
        returned = _read_in_body(self.name, function, self.signature, self.arguments)
        if returned is not None and read is not None:
            wrong = "its read is declared both in the body and in @pattern(...)"
            raise DesignError(self.name, wrong, "remove one of them")
        if returned is not None:
            _check_result(self.name, hints.get("return"), returned)
        found = returned or _read_of_signature(self.name, hints.get("return"), self.arguments, read)
        self.read: Read = msgspec.structs.replace(found, label=self.name)
        self._kind: Any = _KINDS[self.read.operation]
        _check_types(self)
        table = self.read.sources[0].model.table
        table.patterns.append(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        if kwargs or self._by_name or len(args) != len(self.arguments):
            bound = self._bound(*args, **kwargs)
            args = (*bound.args, *bound.kwargs.values())  # type: ignore[assignment]
        called: R_co = self._kind(self.read, args)
        return called

    def _bound(self, *args: Any, **kwargs: Any) -> inspect.BoundArguments:
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            parameters = ", ".join(self.signature.parameters)
            raise ConfigurationError(f"{self.name}: {error}; write {self.name}({parameters})") from None
        bound.apply_defaults()
        return bound

    def __repr__(self) -> str:
        entities = " | ".join(source.model.name for source in self.read.sources)
        returned = entities if self.read.view is None else self.read.view.name
        parameters = ", ".join(self.signature.parameters)
        return f"Pattern({self.name}({parameters}) -> {_RESULTS[self.read.operation]}[{returned}])"


@overload
def pattern(read: Query[E], /) -> Callable[[Callable[P, Items[E]]], Pattern[P, Query[E]]]: ...
@overload
def pattern(read: VectorSearch[E], /) -> Callable[[Callable[P, Nearest[E]]], Pattern[P, VectorSearch[E]]]: ...
@overload
def pattern(function: Callable[P, R | None], /) -> Pattern[P, R]: ...
def pattern(declared: Any, /) -> Any:
    """Declare an access pattern; its parameters must have the names and types of the key parts that they fill.

    Without a body it reads by the entity's own key; `@pattern(Order.to_ship.newest_first())` names another key, or an
    order, a page size, a filter; `@pattern(Part.by_meaning.nearest(10))` a search of a vector index.
    """
    if isinstance(declared, Query | VectorSearch):
        return lambda function: _pattern(function, declared)
    return _pattern(declared)


def _pattern(function: Any, read: Query[Any] | VectorSearch[Any] | None = None) -> Pattern[Any, Any]:
    if not isinstance(function, types.FunctionType):
        wrong = "is neither a function nor a query of an entity's Keys"
        raise DesignError(repr(function), wrong, "write @pattern, or @pattern(Order.to_ship), above a function")
    return Pattern(function, read)


def _hints(function: Any) -> dict[str, Any]:
    hints = hints_of(function.__name__, function, include_extras=False)
    for name, kind in hints.items():
        check_is_type(f"{function.__name__}, {name}", kind)
    return hints


def _arguments(name: str, signature: inspect.Signature, hints: dict[str, Any]) -> tuple[Argument, ...]:
    missing = [each for each in signature.parameters if each not in hints]
    if missing:
        raise DesignError(name, f"parameter {missing[0]!r} has no type", f"write {missing[0]}: str, or its part's type")
    for each in signature.parameters.values():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            raise DesignError(name, f"parameter {each.name!r} takes any number of values", "name every part of the key")
    return tuple(Argument(each, at, hints[each]) for at, each in enumerate(signature.parameters))


def _read_in_body(
    name: str, function: Any, signature: inspect.Signature, arguments: tuple[Argument, ...]
) -> Read | None:
    """The read that the function returns; None where it is a signature without a body."""
    bound = signature.bind_partial()
    bound.arguments.update({each.name: each for each in arguments})
    with recorded_reads() as created:
        try:
            returned = function(*bound.args, **bound.kwargs)
        except DesignError:
            raise
        except Exception as error:
            wrong = f"its body raised {type(error).__name__}: {error}"
            raise DesignError(name, wrong, "return get(...) or a query, or write ... as the body") from error
    if returned is None and not created:
        return None
    if not isinstance(returned, Get | Query | VectorSearch):
        raise DesignError(name, f"its body returns {type(returned).__name__}", "return get(...) or a query")
    return returned.read


def _read_of_signature(
    name: str, returned: Any, arguments: tuple[Argument, ...], declared_read: Query[Any] | VectorSearch[Any] | None
) -> Read:
    """The read of a signature without a body: its parameters are the next parts of the key, or named terms."""
    kind, entities = _result(name, returned)
    if declared_read is not None:
        read = declared_read.read
        declared = {read.view.cls} if read.view is not None else {source.model.cls for source in read.sources}
        if kind is not _KINDS[read.operation] or set(entities) != declared:
            wanted = " | ".join(sorted(each.__name__ for each in declared))
            wrong = f"@pattern(...) reads {wanted}, but the return type differs"
            raise DesignError(name, wrong, f"write -> {_RESULTS[read.operation]}[{wanted}]")
        if read.search is not None:
            labelled = msgspec.structs.replace(read, label=name)
            return with_values(labelled, {each.name: each for each in arguments})
    elif kind is VectorSearch:
        entity = entities[0].__name__
        way_out = f"write @pattern({entity}.by_meaning.nearest(10)), where by_meaning is its Keys of the vector index"
        raise DesignError(name, "it does not say which vector index it searches, and for how many items", way_out)
    else:
        read = Read(tuple(source_of(each) for each in entities), single=kind is Get)
    slots = key_slots(read.sources[0].model, read.sources[0].keys, whole=read.single)
    if read.single and len(slots) != len(arguments):
        parts = ", ".join(slot.field for slot in slots)
        raise DesignError(name, f"the key of {read.name} has the parts {parts}", f"write {name}({parts})")
    for slot, argument in zip(slots[len(read.given) :], arguments, strict=False):
        has_query_type = slot.form is not None and slot.form.query_type is not None  # the day of a time: another name
        if argument.name != slot.field and not has_query_type:
            raise DesignError(
                name,
                f"parameter {argument.name!r} is in the place of {slot.where}",
                f"write {slot.field}: {_name(slot.type)}, or a body that passes it on",
            )
    return msgspec.structs.replace(read, given=read.given + arguments)


def _result(name: str, returned: Any) -> tuple[type[Any], tuple[type[Any], ...]]:
    """The kind of read and its entities, from `Item[Order]` or `Items[Customer | Order]`."""
    for each in (returned, *get_args(returned)):
        if get_origin(each) in (Get, Query, VectorSearch):
            (of,) = get_args(each)
            several = get_args(of) if get_origin(of) in (Union, types.UnionType) else ()
            if several and get_origin(each) is Get:
                raise DesignError(name, "Item[...] takes one entity", f"write -> Items[{_name(of)}]")
            named = several or (of,)
            other = next(
                (kind for kind in named if kind is not Any and not isinstance(get_origin(kind) or kind, type)), None
            )
            if other is not None:
                raise DesignError(
                    name, f"its return type names {short_repr(other)}, which is not an entity", "name an entity"
                )
            return get_origin(each), named
    raise DesignError(name, "it has no return type", "write -> Item[...], -> Items[...] or -> Nearest[...]")


def _check_result(name: str, returned: Any, read: Read) -> None:
    """The return type names what the body reads, or base classes of it; a body needs none."""
    if returned in (None, Any):
        return
    kind, entities = _result(name, returned)
    found = (read.view.cls,) if read.view is not None else tuple(source.model.cls for source in read.sources)
    classes = tuple(get_origin(each) or each for each in entities)
    if kind is not _KINDS[read.operation] or (
        Any not in classes and not all(issubclass(each, classes) for each in found)
    ):
        wanted = " | ".join(each.__name__ for each in dict.fromkeys(found))
        wrong = f"its body reads {_RESULTS[read.operation]}[{wanted}], but the return type differs"
        raise DesignError(name, wrong, f"write -> {_RESULTS[read.operation]}[{wanted}]")


def _check_types(declared: Pattern[Any, Any]) -> None:
    """Each parameter is used, and has the type of the part that it fills."""
    used: set[str] = set()
    read = declared.read
    filled = slots_of(declared.name, read) if read.search is None else search_values(read)
    for slot, value in filled:
        if isinstance(value, FanOut):
            value, wanted = value.values, Sequence[slot.type]  # type: ignore[name-defined]
        else:
            wanted = slot.type
        if any(isinstance(each, date) for each in (value if isinstance(value, list | tuple) else (value,))):
            wrong = f"its body gives a time for {slot.where}, which stays as it was when the pattern was declared"
            raise DesignError(declared.name, wrong, f"take it as a parameter: {slot.field}: {_name(slot.type)}")
        if isinstance(value, Argument):
            used.add(value.name)
            fits = _fits(value.type, wanted)
            if not fits or (_may_hold_none(value.type, wanted) and _needs_value(slot)):
                kind = "cannot be None here" if fits else f"is {_name(wanted)}"
                raise DesignError(
                    declared.name,
                    f"{value.name!r} is declared {_name(value.type)}, but it fills {slot.where}, which {kind}",
                    f"write {value.name}: {_name(wanted)}",
                )
            _check_default(declared, value, slot, several=wanted is not slot.type)
    for argument in declared.arguments:
        if argument.name not in used:
            raise DesignError(
                declared.name, f"parameter {argument.name!r} is not used", "remove it, or pass it to the query"
            )


def _check_default(declared: Pattern[Any, Any], argument: Argument, slot: Slot, *, several: bool) -> None:
    """The default of a parameter is a value that a call can be made with."""
    default = declared.signature.parameters[argument.name].default
    if default is inspect.Parameter.empty:
        return
    where = f"{declared.name}.{argument.name}"
    for each in default if several and isinstance(default, list | tuple) else (default,):
        check_constant_in_slot(where, slot, each)
        if slot.form is not None and each is not None:
            try:
                slot.form.write(each)
            except (ValueError, TypeError, ArithmeticError) as error:
                raise DesignError(where, f"the default {each!r} cannot be in the key: {error}", "change it") from None


def _may_hold_none(declared: Any, wanted: Any) -> bool:
    """Whether a parameter, or an element of a list, may be None."""
    inner = get_args(declared)[0] if get_origin(wanted) is Sequence else declared
    return unwrapped_type(inner)[1]


def _needs_value(slot: Slot) -> bool:
    """Whether None cannot be given: a part of a key, unless the key can end before it."""
    return slot.role in (SlotRole.PARTITION, SlotRole.SORT) and not slot.nullable


def _fits(declared: Any, wanted: Any) -> bool:
    if wanted is Any:
        return True
    if get_origin(wanted) is Sequence:
        inner = get_args(declared)
        return get_origin(declared) in (Sequence, list, tuple) and bool(inner) and _fits(inner[0], get_args(wanted)[0])
    declared = unwrapped_type(declared)[0]
    if get_origin(declared) in (Union, types.UnionType):
        return all(_fits(each, wanted) for each in get_args(declared))
    return bool(declared == wanted)


def _name(kind: Any) -> str:
    return str(kind) if get_args(kind) else getattr(kind, "__name__", str(kind))
