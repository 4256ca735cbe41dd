"""Reads as values: what to look up, in which key, in which order, before any request exists.

A read may hold `Argument`s in place of values: that is how a pattern is declared once and proven without data.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, overload

from partita.design.conditions import Condition
from partita.design.models import EntityKeys, Model, ViewModel, model_of
from partita.errors import DesignError

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
G = TypeVar("G")
E = TypeVar("E")
E_co = TypeVar("E_co", covariant=True)


@dataclass(frozen=True, eq=False)
class Argument:
    """A pattern's parameter before it has a value. It can be handed on, and nothing else."""

    name: str
    at: int
    type: Any

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise DesignError(
            self.name,
            f"a pattern's body cannot look into its argument (.{attribute})",
            "hand it on whole and compute before the call",
        )

    def _refuse(self, *_: Any) -> Any:
        raise DesignError(
            self.name,
            "a pattern's body runs once, without values",
            "hand the argument on whole and compute before the call",
        )

    __str__ = __format__ = __bool__ = __len__ = __int__ = __float__ = __iter__ = __getitem__ = __contains__ = _refuse
    __eq__ = __ne__ = __lt__ = __gt__ = __le__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refuse
    __hash__ = object.__hash__


@dataclass(frozen=True, eq=False)
class FanOut:
    """A declared fan-out: one Query for each of the values, at most `at_most`, merged in key order."""

    values: Any
    limit: int


def fan_out(values: Sequence[Any], limit: int) -> Any:
    """`Card.by_day.query(fan_out(days, 7))`: one Query a value, merged in the order of the sort key."""
    return FanOut(values, limit)


class _Shards:
    """Stands for every shard of a `{...:shard(n)}` part: the query becomes n, merged in key order."""


ALL_SHARDS: Any = _Shards()


@dataclass(frozen=True)
class SortRange:
    """A range of the first sort part that was not given: both ends are inside."""

    low: Any = None
    high: Any = None
    prefix: Any = None


@dataclass(frozen=True, eq=False)
class EntityKey:
    """One entity and the key under which it is read."""

    model: Model
    keys: EntityKeys


@dataclass(frozen=True, eq=False)
class Read:
    """All that a get or query says; `plan` compiles it once."""

    sources: tuple[EntityKey, ...]
    given: tuple[Any, ...] = ()
    single: bool = False
    bounds: SortRange | None = None
    forward: bool = True
    promise: str | None = None
    page_size: int | None = None
    where: Condition | None = None
    view: ViewModel | None = None
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or " and ".join(source.model.name for source in self.sources)


class _Call(Generic[E_co]):
    """A read and the arguments of this call."""

    __slots__ = ("arguments", "read")

    def __init__(self, read: Read, arguments: tuple[Any, ...] = ()) -> None:
        self.read = read
        self.arguments = arguments

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.read.name}{self.arguments})"


class Get(_Call[E_co]):
    """One item by its whole key."""

    __slots__ = ()


class Query(_Call[E_co]):
    """One range of one partition, page by page."""

    __slots__ = ()

    def _with(self, **changes: Any) -> "Query[E_co]":
        return Query(replace(self.read, **changes), self.arguments)

    def between(self, low: Any, high: Any) -> "Query[E_co]":
        """Only where the next sort part lies between the two, both included."""
        return self._with(bounds=SortRange(low=low, high=high))

    def since(self, low: Any) -> "Query[E_co]":
        return self._with(bounds=SortRange(low=low))

    def until(self, high: Any) -> "Query[E_co]":
        return self._with(bounds=SortRange(high=high))

    def starts_with(self, text: Any) -> "Query[E_co]":
        """Only where the next sort part, a text, begins so."""
        return self._with(bounds=SortRange(prefix=text))

    def newest_first(self) -> "Query[E_co]":
        """Promises the order of the next sort part, which must be a time."""
        return self._with(promise="newest")

    def oldest_first(self) -> "Query[E_co]":
        return self._with(promise="oldest")

    def smallest_first(self, field: str) -> "Query[E_co]":
        """Promises the value order of a sort part: numbers, times, ranked enums, text."""
        return self._with(promise=f"smallest {field}")

    def largest_first(self, field: str) -> "Query[E_co]":
        return self._with(promise=f"largest {field}")

    def reversed(self) -> "Query[E_co]":
        """From the end of the range, without a promise about values."""
        return self._with(forward=not self.read.forward)

    def page(self, size: int) -> "Query[E_co]":
        """At most `size` items a page."""
        if size < 1:
            raise DesignError(self.read.name, f"a page of {size} items holds nothing", "write page(20)")
        return self._with(page_size=size)

    def where(self, condition: Condition) -> "Query[E_co]":
        """A declared filter: items that fail it are read, and billed, and not returned."""
        return self._with(where=condition)


Item = Get[E] | None
"""What a pattern's signature says of one item. None is what a signature without a body returns."""

Items = Query[E] | None
"""What a pattern's signature says of a range of items, which may be of several entities: `Items[Comment | Reply]`."""


class BoundKeys(Query[E_co]):
    """An entity's keys in one index: a query whose parts are still to come, `Order.to_ship.newest_first()`."""

    __slots__ = ()

    def query(self, *parts: Any) -> Query[E_co]:
        """One Query of this index: the partition's parts, then any leading parts of the sort key."""
        return Query(replace(self.read, given=parts))


Readable = type[E] | BoundKeys[E]


def source_of(readable: Readable[Any]) -> EntityKey:
    """The entity with its own key, or what the keys of an index are those of."""
    if isinstance(readable, BoundKeys):
        return readable.read.sources[0]
    if "__views__" in vars(readable):
        raise DesignError(
            readable.__name__, "is a view, and has no key of its own", "read it by keys that it declares, or its entity"
        )
    model = model_of(readable)
    return EntityKey(model, model.key)


def get(entity: type[E], *parts: Any) -> Get[E]:
    """One GetItem: every part of the entity's key, in the order in which the templates name them."""
    source = source_of(entity)
    if len(parts) != len(source.keys.fields):
        raise DesignError(
            entity.__name__,
            f"its key has the parts {', '.join(source.keys.fields)}, {len(parts)} given",
            f"write get({entity.__name__}, {', '.join(source.keys.fields)})",
        )
    return Get(Read((source,), parts, single=True))


def query(readable: Readable[E], *parts: Any) -> Query[E]:
    """One Query: the partition's parts, then any leading parts of the sort key."""
    return readable.query(*parts) if isinstance(readable, BoundKeys) else Query(Read((source_of(readable),), parts))


class Collection(Query[E_co]):
    """Several entities of one partition, read by one Query and each typed as what it is."""

    __slots__ = ()

    def __call__(self, *parts: Any) -> Query[E_co]:
        return Query(replace(self.read, given=parts))


@overload
def collection(a: Readable[A], b: Readable[B], /) -> Collection[A | B]: ...
@overload
def collection(a: Readable[A], b: Readable[B], c: Readable[C], /) -> Collection[A | B | C]: ...
@overload
def collection(a: Readable[A], b: Readable[B], c: Readable[C], d: Readable[D], /) -> Collection[A | B | C | D]: ...
@overload
def collection(
    a: Readable[A], b: Readable[B], c: Readable[C], d: Readable[D], e: Readable[G], /
) -> Collection[A | B | C | D | G]: ...
def collection(*readables: Readable[Any]) -> Collection[Any]:
    """`collection(Customer, Order)(customer_id)`: what one partition holds of these entities, in one Query."""
    return Collection(Read(tuple(source_of(each) for each in readables), ()))
