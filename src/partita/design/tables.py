"""Tables and their secondary indexes."""

import re
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from partita.design.argument_checks import (
    FLAG,
    NAME,
    NAMES,
    Kind,
    check_arguments,
    either,
    list_of,
    one_of,
    optional,
    short_repr,
)
from partita.design.naming import Naming, check_readable, naming
from partita.design.separators import Separator, separator_of
from partita.dynamodb import limits
from partita.errors import DesignError
from partita.quantities import quantity

if TYPE_CHECKING:
    from partita.design.entities import View
    from partita.design.models import Model

Names = str | tuple[str, ...]
Distance = Literal["COSINE", "EUCLIDEAN", "DOT_PRODUCT"]


_STREAMS = ("NEW_AND_OLD_IMAGES", "NEW_IMAGE", "OLD_IMAGE", "KEYS_ONLY")
_FILTERS = either(NAMES, list_of(NAME, "a tuple of names", 'write filters=("state",)'))
_DAYS = Kind(
    "a number of days that DynamoDB takes",
    lambda value: type(value) is int and 1 <= value <= limits.RECOVERY_DAYS,
    f"use 1 to {limits.RECOVERY_DAYS}",
)


def _is_view(value: Any) -> bool:
    return isinstance(value, type) and isinstance(getattr(value, "__stored__", None), tuple)


_PROJECTION = either(
    one_of("ALL", "KEYS_ONLY"),
    list_of(
        either(NAME, Kind("a view", _is_view)),
        "a tuple of views and names",
        'use "ALL", "KEYS_ONLY", or a tuple of views and names on disk',
    ),
)


def _several(names: Names | None) -> tuple[str, ...]:
    return () if names is None else tuple(names) if isinstance(names, tuple | list) else (names,)


def _listed(where: str, name: str, indexes: Any) -> tuple[Any, ...]:
    if not isinstance(indexes, tuple | list):  # such as an index in parentheses, without a comma
        raise DesignError(where, f"{name} is {short_repr(indexes)}, not a tuple", f"write {name}=(Index(...),)")
    return tuple(indexes)


def _checked_place(what: str, name: object) -> str:
    """How errors name a table or an index, whose name DynamoDB takes."""
    where = f"{what} {name if isinstance(name, str) else short_repr(name)}"
    if not isinstance(name, str) or not re.fullmatch(r"[a-zA-Z0-9_.-]{3,255}", name):
        raise DesignError(where, "DynamoDB rejects the name", "use 3 to 255 characters of a-z, A-Z, 0-9, _ - .")
    return where


def _check_attribute(where: str, name: object, what: str, most: int) -> None:
    if isinstance(name, str):
        check_readable(where, name)
    if not isinstance(name, str) or not 1 <= len(name.encode()) <= most:
        raise DesignError(where, f"{short_repr(name)} cannot be the {what}", f"use a text of 1 to {most} bytes")


def _check_attributes(where: str, names: tuple[object, ...]) -> None:
    """Attributes of a key have names, each its own."""
    for name in names:
        _check_attribute(where, name, "name of a key attribute", limits.KEY_NAME_BYTES)
    if len(set(names)) < len(names):
        twice = f"{', '.join(map(str, names))} has an attribute twice"
        raise DesignError(where, twice, "give each attribute its own name")


def _projected(several: "tuple[str | type[View], ...]", keys: tuple[str, ...]) -> tuple[str, ...]:
    """The names on disk, once each, without the keys, which an index always projects."""
    names = [name for each in several for name in ([each] if isinstance(each, str) else each.__stored__)]
    return tuple(name for name in dict.fromkeys(names) if name not in keys)


class Index:
    """A secondary index: its key attributes (several for DynamoDB's multi-attribute keys) and its projection.

    `project` is "ALL", "KEYS_ONLY", or the attributes that it holds beside its keys: views, and names on disk.
    """

    def __init__(
        self,
        name: str,
        pk: Names,
        sk: Names | None = None,
        *,
        project: 'Literal["ALL", "KEYS_ONLY"] | tuple[str | type[View], ...]' = "ALL",
        local: bool = False,
    ) -> None:
        where = _checked_place("Index", name)
        check_arguments(where, project=(project, _PROJECTION), local=(local, FLAG))
        self.name = name
        self.pk = _several(pk)
        self.sk = _several(sk)
        self.project = project if isinstance(project, str) else _projected(project, self.pk + self.sk) or "KEYS_ONLY"
        self.local = local
        if not all(0 <= len(names) <= limits.INDEX_KEY_ATTRIBUTES for names in (self.pk, self.sk)):
            most = limits.INDEX_KEY_ATTRIBUTES
            raise DesignError(where, f"an index has at most {most} partition and {most} sort attributes")
        _check_attributes(where, self.pk + self.sk)


class VectorIndex(Index):
    """A vector index: the attribute with the vectors, their distance, and the attributes that a search can compare.

    Every search gives a value for `pk` (DynamoDB's HASH), where there is one; it may give values for `filters` (inline
    filters). All names are those on disk, and `project` is as for `Index`.
    """

    def __init__(
        self,
        name: str,
        vector: str,
        *,
        pk: str | None = None,
        filters: Names = (),
        distance: Distance = "COSINE",
        project: 'Literal["ALL", "KEYS_ONLY"] | tuple[str | type[View], ...]' = "ALL",
    ) -> None:
        where = _checked_place("VectorIndex", name)
        check_arguments(where, pk=(pk, optional(NAME)), filters=(filters, _FILTERS))
        self.vector = vector
        self.filters = _several(filters)
        self.distance = distance
        super().__init__(name, () if pk is None else pk, project=project)
        if isinstance(self.project, tuple):
            self.project = tuple(each for each in self.project if each not in self.filters) or "KEYS_ONLY"
        _check_attributes(where, (vector, *self.search_names))
        given: object = distance
        if not isinstance(given, str) or given not in get_args(Distance):
            raise DesignError(where, f"{distance!r} is not a distance", f"use {', '.join(get_args(Distance))}")
        for what, names, most in (
            ("partition attributes", self.pk, 1),
            ("filters", self.filters, limits.VECTOR_FILTERS),
            ("projected attributes", self.project, limits.VECTOR_INCLUDED_ATTRIBUTES),
        ):
            if not isinstance(names, str) and len(names) > most:
                raise DesignError(where, f"{len(names)} {what}", f"DynamoDB allows {most}")

    @property
    def search_names(self) -> tuple[str, ...]:
        """The attributes of the search schema."""
        return self.pk + self.filters


class Table(msgspec.Struct, eq=False):
    """A table; an entity that names it is added to `models`, so the table knows all of them once they are imported.

    `naming` is how attributes are named on disk: snake, camel, pascal, or a function of the Python name; `ttl` the
    attribute that DynamoDB's TTL reads; `type_attribute` an attribute that holds the entity's name: the name of the
    class, or the same in upper case; `separator` the character between the segments of keys.
    """

    name: str
    pk: str
    sk: str | None = None
    indexes: tuple[Index, ...] = ()
    vector_indexes: tuple[VectorIndex, ...] = ()
    naming: Naming = "snake"
    ttl: str | None = None
    type_attribute: str | None = None
    type_naming: Literal["class", "upper"] = "class"
    separator: str = "#"
    stream: Literal["NEW_AND_OLD_IMAGES", "NEW_IMAGE", "OLD_IMAGE", "KEYS_ONLY"] | None = None
    recovery_days: int | None = None
    models: "list[Model]" = msgspec.field(default_factory=list)
    patterns: "list[Any]" = msgspec.field(default_factory=list)

    def __post_init__(self) -> None:
        check_arguments(
            _checked_place("Table", self.name),
            type_naming=(self.type_naming, one_of("class", "upper")),
            stream=(self.stream, optional(one_of(*_STREAMS))),
            recovery_days=(self.recovery_days, optional(_DAYS)),
        )
        self.indexes = _listed(f"Table {self.name}", "indexes", self.indexes)
        self.vector_indexes = _listed(f"Table {self.name}", "vector_indexes", self.vector_indexes)
        _check_attributes(f"Table {self.name}", self.key_names)
        for each in (self.ttl, self.type_attribute):
            if each is not None:
                _check_attribute(f"Table {self.name}", each, "name of an attribute", limits.ATTRIBUTE_NAME_BYTES)
        naming(f"Table {self.name}", self.naming)
        separator_of(f"Table {self.name}", self.separator)
        for index in self.indexes:
            if not isinstance(index, Index):
                raise DesignError(f"Table {self.name}", f"{index!r} is not an index", 'write Index("GSI1", ...)')
            if isinstance(index, VectorIndex):
                wrong = f"{index.name} is a vector index"
                raise DesignError(f"Table {self.name}", wrong, "write vector_indexes=(VectorIndex(...),)")
        self._check_vector_indexes()
        names = [index.name for index in self.all_indexes]
        if len(set(names)) < len(names):
            raise DesignError(f"Table {self.name}", "two indexes have the same name")

    def _check_vector_indexes(self) -> None:
        where = f"Table {self.name}"
        for index in self.vector_indexes:
            if not isinstance(index, VectorIndex):
                raise DesignError(where, f"{index!r} is not a vector index", 'write VectorIndex("ByMeaning", ...)')
        if len(self.vector_indexes) > limits.VECTOR_INDEXES:
            wrong = f"it has {len(self.vector_indexes)} vector indexes"
            raise DesignError(where, wrong, f"DynamoDB allows {limits.VECTOR_INDEXES}")

    @property
    def all_indexes(self) -> tuple[Index, ...]:
        return (*self.indexes, *self.vector_indexes)

    def __repr__(self) -> str:
        counts = (
            quantity(self.all_indexes, "index", "indexes"),
            quantity(self.models, "entity", "entities"),
            quantity(self.patterns, "pattern"),
        )
        return f"Table({self.name!r}: {', '.join(counts)})"

    @property
    def key_names(self) -> tuple[str, ...]:
        return (self.pk,) if self.sk is None else (self.pk, self.sk)

    @property
    def key_separator(self) -> Separator:
        return separator_of(f"Table {self.name}", self.separator)

    def index(self, where: str, name: str) -> Index:
        for index in self.all_indexes:
            if index.name == name:
                return index
        raise DesignError(
            where,
            f"table {self.name!r} has no index {name!r}",
            f"its indexes are {', '.join(index.name for index in self.all_indexes)}"
            if self.all_indexes
            else "it has no indexes",
        )
