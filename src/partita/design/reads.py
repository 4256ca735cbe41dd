"""Reads as values: the entities, the key, the range and the order of a get or query, before any request exists.

A read may hold `Argument`s in place of values: a pattern is declared once with them and proven without data.
"""

import enum
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar, overload

import msgspec

from partita.design.argument_checks import NAME, check_arguments
from partita.design.conditions import Condition
from partita.design.models import EntityKeys, Model, ViewModel, model_of
from partita.errors import DesignError

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
G = TypeVar("G")
H = TypeVar("H")
E = TypeVar("E")
E_co = TypeVar("E_co", covariant=True)


class Argument(msgspec.Struct, frozen=True, eq=False):
    """A pattern's parameter before it has a value: it can be passed on to a read, and nothing else."""

    name: str
    at: int
    type: Any

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise DesignError(
            self.name,
            f"the body of a pattern cannot use an attribute of its argument (.{attribute})",
            "pass the argument on unchanged and compute before the call",
        )

    def _reject(self, *_: Any) -> Any:
        raise DesignError(
            self.name,
            "the body of a pattern runs once, without values",
            "pass the argument on unchanged and compute before the call",
        )

    __str__ = __format__ = __bool__ = __len__ = __int__ = __float__ = __iter__ = __getitem__ = __contains__ = _reject
    __eq__ = __ne__ = __lt__ = __gt__ = __le__ = __ge__ = _reject
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = _reject
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _reject
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<{self.name}>"


class FanOut(msgspec.Struct, frozen=True, eq=False):
    """A declared fan-out: one Query for each of the values, at most `limit` of them, merged in key order."""

    values: Any
    limit: int


def fan_out(values: Sequence[Any], limit: int) -> Any:
    """`Card.by_day.query(fan_out(days, 7))`: one Query for each value, merged in the order of the sort key."""
    if type(limit) is not int or limit < 1:
        raise DesignError("fan_out", f"at most {limit!r} values is no limit", "write fan_out(values, 10)")
    return FanOut(values, limit)


class _Shards:
    """Every shard of a `{...:shard(n)}` part: n queries, merged in key order."""

    def __repr__(self) -> str:
        return "ALL_SHARDS"


ALL_SHARDS: Any = _Shards()


class SortRange(msgspec.Struct, frozen=True):
    """A range of the first sort part that has no value; an end is included unless it is open."""

    low: Any = None
    high: Any = None
    prefix: Any = None
    low_open: bool = False
    high_open: bool = False


class Direction(enum.Enum):
    """Which values a query returns first; newest and oldest are for times."""

    NEWEST = "newest"
    OLDEST = "oldest"
    LARGEST = "largest"
    SMALLEST = "smallest"

    @property
    def ascending(self) -> bool:
        return self in (Direction.OLDEST, Direction.SMALLEST)

    @property
    def opposite(self) -> "Direction":
        return _OPPOSITE[self]


_OPPOSITE = {
    Direction.NEWEST: Direction.OLDEST,
    Direction.OLDEST: Direction.NEWEST,
    Direction.LARGEST: Direction.SMALLEST,
    Direction.SMALLEST: Direction.LARGEST,
}


class Order(msgspec.Struct, frozen=True):
    """The order that a query promises: of `field`, or of the next sort part where it is None and a time."""

    direction: Direction
    field: str | None = None


class EntityKey(msgspec.Struct, frozen=True, eq=False):
    """One entity and the key under which it is read."""

    model: Model
    keys: EntityKeys


class SearchTerms(msgspec.Struct, frozen=True, eq=False):
    """The terms of a search for nearest items: how many, and values by attribute: the vector, key parts, filters.

    `scan_limit` is how many items may be read where a backend has no vector indexes; None: none.
    """

    count: int
    values: tuple[tuple[str, Any], ...] = ()
    scan_limit: int | None = None


class Read(msgspec.Struct, frozen=True, eq=False):
    """A get, query or search: its entities and keys, values of key parts, bounds, order, filter; `plan` compiles it."""

    sources: tuple[EntityKey, ...]
    given: tuple[Any, ...] = ()
    single: bool = False
    bounds: SortRange | None = None
    forward: bool = True
    order: Order | None = None
    page_size: int | None = None
    where: Condition | None = None
    view: ViewModel | None = None
    label: str = ""
    by_type: bool = False
    search: SearchTerms | None = None

    def __post_init__(self) -> None:
        created = _created_reads.get()
        if created is not None:
            created.append(self)

    def __repr__(self) -> str:
        keys = self.sources[0].keys
        return f"Read({self.name!r}: {self.operation} of {keys.where})"

    @property
    def operation(self) -> str:
        """DynamoDB's name of the request that it becomes."""
        return "SearchVectors" if self.search is not None else "GetItem" if self.single else "Query"

    @property
    def is_filtered(self) -> bool:
        """Whether it reads items that it does not return."""
        return self.where is not None or self.by_type

    @property
    def name(self) -> str:
        return self.label or " and ".join(source.model.name for source in self.sources)


_created_reads: ContextVar[list[Read] | None] = ContextVar("_created_reads", default=None)


@contextmanager
def recorded_reads() -> Iterator[list[Read]]:
    """The reads that are created inside the block."""
    created: list[Read] = []
    token = _created_reads.set(created)
    try:
        yield created
    finally:
        _created_reads.reset(token)


class _Call(Generic[E_co]):
    """A read and the arguments of this call."""

    __slots__ = ("arguments", "read")

    def __init__(self, read: Read, arguments: tuple[Any, ...] = ()) -> None:
        self.read = read
        self.arguments = arguments

    def __repr__(self) -> str:
        values = self.arguments or self.read.given
        return f"{type(self).__name__}({self.read.name}({', '.join(map(repr, values))}))"


class Get(_Call[E_co]):
    """One item by its whole key."""

    __slots__ = ()


class Query(_Call[E_co]):
    """One range of one partition, page by page."""

    __slots__ = ()

    def _with(self, **changes: Any) -> "Query[E_co]":
        return Query(msgspec.structs.replace(self.read, **changes), self.arguments)

    def _bounded(self, **ends: Any) -> "Query[E_co]":
        """The query with these ends of its range in addition to those that it has."""
        bounds = self.read.bounds or SortRange()
        for name, other in (("low", "lower"), ("high", "upper"), ("prefix", "common")):
            if name in ends and ends[name] is None:
                raise DesignError(self.read.name, "None is not a bound of a range", "leave the bound out")
            if name in ends and getattr(bounds, name) is not None:
                raise DesignError(self.read.name, f"its range has two {other} bounds", "write one of them")
        found = msgspec.structs.replace(bounds, **ends)
        if found.prefix is not None and (found.low is not None or found.high is not None):
            raise DesignError(self.read.name, "a range is either a beginning or has bounds", "leave starts_with out")
        return self._with(bounds=found)

    def _ordered(self, order: Order) -> "Query[E_co]":
        if self.read.order not in (None, order):
            raise DesignError(self.read.name, "it declares two orders", "keep one of them")
        if not self.read.forward:
            raise DesignError(self.read.name, "it is reversed before it declares an order", "leave reversed() out")
        return self._with(order=order)

    def _named(self, field: str) -> str:
        check_arguments(self.read.name, field=(field, NAME))
        return field

    def between(self, low: Any, high: Any) -> "Query[E_co]":
        """Only items whose next sort part lies between the two, both included: `low <= part <= high`."""
        return self._bounded(low=low, high=high)

    def since(self, low: Any) -> "Query[E_co]":
        """Only items whose next sort part is at least `low`, which is included: `low <= part`."""
        return self._bounded(low=low)

    def until(self, high: Any) -> "Query[E_co]":
        """Only items whose next sort part is at most `high`, which is included: `part <= high`."""
        return self._bounded(high=high)

    def after(self, low: Any) -> "Query[E_co]":
        """Only items whose next sort part is later than `low`, which is excluded: `low < part`."""
        return self._bounded(low=low, low_open=True)

    def before(self, high: Any) -> "Query[E_co]":
        """Only items whose next sort part is earlier than `high`, which is excluded: `part < high`."""
        return self._bounded(high=high, high_open=True)

    def above(self, low: Any) -> "Query[E_co]":
        """`after`, in the word for numbers: `low < part`."""
        return self.after(low)

    def below(self, high: Any) -> "Query[E_co]":
        """`before`, in the word for numbers: `part < high`."""
        return self.before(high)

    def starts_with(self, text: Any) -> "Query[E_co]":
        """Only items whose next sort part, a text, begins with `text`."""
        return self._bounded(prefix=text)

    def newest_first(self) -> "Query[E_co]":
        """In falling order of the next sort part, which must be a time; the proof checks that."""
        return self._ordered(Order(Direction.NEWEST))

    def oldest_first(self) -> "Query[E_co]":
        """In rising order of the next sort part, which must be a time."""
        return self._ordered(Order(Direction.OLDEST))

    def smallest_first(self, field: str) -> "Query[E_co]":
        """In rising order of a sort part: a number, a time, a ranked enum or text."""
        return self._ordered(Order(Direction.SMALLEST, self._named(field)))

    def largest_first(self, field: str) -> "Query[E_co]":
        """In falling order of a sort part: a number, a time, a ranked enum or text."""
        return self._ordered(Order(Direction.LARGEST, self._named(field)))

    def reversed(self) -> "Query[E_co]":
        """From the other end of the range: a declared order becomes its opposite; without one, nothing is promised."""
        order = self.read.order
        if order is not None:
            return self._with(order=Order(order.direction.opposite, order.field))
        return self._with(forward=not self.read.forward)

    def page(self, size: int) -> "Query[E_co]":
        """At most `size` items in a page."""
        if type(size) is not int or size < 1:
            raise DesignError(self.read.name, f"a page cannot have {size!r} items", "write page(20)")
        return self._with(page_size=size)

    def where(self, condition: Condition) -> "Query[E_co]":
        """A declared filter: items that fail it are read and billed, but not returned. Several must all hold."""
        return self._with(where=_all_filters(self.read, condition))

    def filtered_by_type(self) -> "Query[E_co]":
        """A declared filter by the table's type attribute: items of other entities in the range are not returned.

        They are read and billed. An item without the attribute is not returned either.
        """
        return self._with(by_type=True)


def _all_filters(read: Read, condition: Any) -> Condition:
    """The filters of a read and one more; None is no filter, and does not take the others away."""
    if condition is None or (read.where is not None and not isinstance(condition, Condition)):
        instead = "write one with F, such as F.name == value"
        raise DesignError(read.name, f"{condition!r} is not a condition", instead)
    both: Condition = condition if read.where is None else read.where & condition
    return both


class VectorSearch(_Call[E_co]):
    """The items whose vectors are nearest to a vector, at most 100, the best first; by one SearchVectors."""

    __slots__ = ()

    def or_scan(self, limit: int) -> "VectorSearch[E_co]":
        """Where a backend has no vector indexes, compare every item of the table, which may have at most `limit`."""
        if type(limit) is not int or limit < 1:
            raise DesignError(self.read.name, f"a scan cannot read {limit!r} items", "write or_scan(10_000)")
        assert self.read.search is not None
        search = msgspec.structs.replace(self.read.search, scan_limit=limit)
        return VectorSearch(msgspec.structs.replace(self.read, search=search), self.arguments)


def _nearest(read: Read, count: int, values: dict[str, Any]) -> VectorSearch[Any]:
    from partita.design.search_terms import search_of  # it looks at models, and they at reads

    return VectorSearch(search_of(read, count, values))


Item = Get[E] | None
"""The return type of a pattern that reads one item; None, because a signature without a body returns nothing."""

Items = Query[E] | None
"""The return type of a pattern that reads a range of items, perhaps of several entities: `Items[Comment | Reply]`."""


Nearest = VectorSearch[E] | None
"""The return type of a pattern that searches a vector index: `Nearest[Part]`."""


class BoundKeys(Query[E_co]):
    """An entity's keys in one index: a query without values for its parts, `Order.to_ship.newest_first()`."""

    __slots__ = ()

    def query(self, *parts: Any) -> Query[E_co]:
        """One Query of this index: values for the partition's parts, then for any leading parts of the sort key."""
        return Query(msgspec.structs.replace(self.read, given=parts))

    def nearest(self, count: int, **values: Any) -> VectorSearch[E_co]:
        """The `count` items, 1 to 100, whose vectors are nearest, by one SearchVectors of this vector index.

        `values` by attribute: the vector, every part of the partition key, and filters. A pattern that is declared with
        `@pattern(Part.by_meaning.nearest(10))` takes those without a value as parameters.
        """
        return _nearest(self.read, count, values)


Readable = type[E] | BoundKeys[E]


def source_of(readable: Readable[Any]) -> EntityKey:
    """The entity with the key under which it is read: its own, or that of an index."""
    if isinstance(readable, BoundKeys):
        return readable.read.sources[0]
    if not isinstance(readable, type):
        raise DesignError(repr(readable), "is neither an entity nor its Keys", "write query(Order, ...)")
    if "__views__" in vars(readable):
        raise DesignError(
            readable.__name__,
            "a view has no key of its own",
            "read it by the Keys that it declares, or read its entity",
        )
    model = model_of(readable)
    return EntityKey(model, model.key)


def get(entity: type[E], *parts: Any) -> Get[E]:
    """One GetItem: a value for every part of the entity's key, in the order in which the templates name them."""
    source = source_of(entity)
    if len(parts) != len(source.keys.fields):
        raise DesignError(
            entity.__name__,
            f"{len(parts)} values for a key with the parts {', '.join(source.keys.fields)}",
            f"write get({entity.__name__}, {', '.join(source.keys.fields)})",
        )
    return Get(Read((source,), parts, single=True))


def query(readable: Readable[E], *parts: Any) -> Query[E]:
    """One Query: values for the partition's parts, then for any leading parts of the sort key."""
    return readable.query(*parts) if isinstance(readable, BoundKeys) else Query(Read((source_of(readable),), parts))


class Collection(Query[E_co]):
    """Several entities of one partition, read by one Query, each returned as its own type."""

    __slots__ = ()

    def __call__(self, *parts: Any) -> Query[E_co]:
        return Query(msgspec.structs.replace(self.read, given=parts))

    def nearest(self, count: int, **values: Any) -> VectorSearch[E_co]:
        """The nearest items of all these entities in one vector index."""
        return _nearest(self.read, count, values)


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
@overload
def collection(
    a: Readable[A], b: Readable[B], c: Readable[C], d: Readable[D], e: Readable[G], f: Readable[H], /
) -> Collection[A | B | C | D | G | H]: ...
def collection(*readables: Readable[Any]) -> Collection[Any]:
    """`collection(Customer, Order)(customer_id)`: the items of these entities in one partition, by one Query."""
    if not readables:
        raise DesignError("collection", "it names no entities", "write collection(Customer, Order)(customer_id)")
    return Collection(Read(tuple(source_of(each) for each in readables), ()))
