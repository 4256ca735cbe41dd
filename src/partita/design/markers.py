"""Markers: what a design declares of an attribute or entity beyond its type: automatic values, invariants, names.

Markers of attributes are written in `Annotated`; markers of entities are class attributes. They are plain data, from
which `plan` makes conditions and transactions.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, Generic, Self, TypeVar

import msgspec

from partita.design.argument_checks import (
    CONDITION,
    CONVERTER,
    FLAG,
    NAME,
    check_arguments,
    list_of,
    optional,
)
from partita.design.conditions import Condition

Old = TypeVar("Old")
New = TypeVar("New")


class Auto:
    """The type of AUTO, a value that is not known yet; there is one instance."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "AUTO"

    def __reduce__(self) -> str:
        return "AUTO"  # copies and unpickled values are the same object

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: Any) -> Self:
        return self


AUTO: Any = Auto()
"""The default of a value that the store sets: `created_at: Annotated[datetime, CreatedAt()] = AUTO`.

The entity has AUTO until it is stored, and where a stored item lacks the attribute. In JSON it is null.
"""


def auto() -> Any:
    """The default factory of such an attribute."""
    return AUTO


EntityRef = Callable[[], type[Any]] | type[Any]
"""An entity, or `lambda: Entity` where it is declared later."""


def _make_callable(marker: Any, name: str) -> None:
    entity = getattr(marker, name)
    if isinstance(entity, type):
        msgspec.structs.force_setattr(marker, name, lambda: entity)


class StoredAs(msgspec.Struct, frozen=True):
    """The attribute's name on disk, in place of the one that the naming gives."""

    name: str


class InKey(msgspec.Struct, frozen=True):
    """Stored in the key only; the attribute is read from it.

    `InKey("GSI1SK")` stores it in this attribute of an index key, which every item of the entity must have.
    """

    index_key: str | None = None

    def __post_init__(self) -> None:
        check_arguments("InKey", index_key=(self.index_key, optional(NAME)))


class Was(Generic[Old, New]):
    """The attribute was stored otherwise before: `nickname: Annotated[str, Was("nick")]`.

    `name` is the stored name of the old attribute. `to` converts an old value and `back` a new one; without them, the
    attribute was renamed. `member` is the member of a map that the old attribute becomes: `profile_images["avatar"]`.

    Both are read: the old one where an item has it, or with `member` where the map lacks that member. Both are written,
    for programs of the earlier design, until a later release says `removed=True`: then the old one is removed. Until
    then, an entity may go on declaring the old attribute; a write of either sets both.
    """

    def __init__(
        self,
        name: str,
        *,
        to: Callable[[Old], New] | None = None,
        back: Callable[[New], Old] | None = None,
        member: str | None = None,
        removed: bool = False,
    ) -> None:
        check_arguments(
            "Was",
            name=(name, NAME),
            to=(to, optional(CONVERTER)),
            back=(back, optional(CONVERTER)),
            member=(member, optional(NAME)),
            removed=(removed, FLAG),
        )
        self.name = name
        self.to = to
        self.back = back
        self.member = member
        self.removed = removed


class Dimensions(msgspec.Struct, frozen=True):
    """How many numbers a vector has: `embedding: Annotated[Vector, Dimensions(256)]`. They have 32 bits each."""

    count: int


class Compressed(msgspec.Struct, frozen=True):
    """Stored as compressed JSON."""


class CreatedAt(msgspec.Struct, frozen=True):
    """Set when the item is created."""


class UpdatedAt(msgspec.Struct, frozen=True):
    """Set when the item is created, and at every edit."""


class Version(msgspec.Struct, frozen=True):
    """Incremented at every edit; `replace` and `change(..., version=)` fail where it has changed since the read."""


class Untracked(msgspec.Struct, frozen=True):
    """A change of it does not count as an edit: version and update time stay."""


class Internal(msgspec.Struct, frozen=True):
    """Not for clients: the replies of an API and their schemas leave it out."""


class CountOf(msgspec.Struct, frozen=True):
    """The number of children that refer to this entity, updated in the transaction that writes a child.

    `via` maps parts of this entity's key to the child's attributes where their names differ.
    """

    child: EntityRef
    when: Condition | None = None
    via: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        check_arguments("CountOf", when=(self.when, optional(CONDITION)))
        _make_callable(self, "child")


class SumOf(msgspec.Struct, frozen=True):
    """The sum of an attribute over the children, updated like a count."""

    child: EntityRef
    amount: str
    when: Condition | None = None
    via: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        check_arguments("SumOf", amount=(self.amount, NAME), when=(self.when, optional(CONDITION)))
        _make_callable(self, "child")


AUTOMATIC = (CreatedAt, UpdatedAt, Version, CountOf, SumOf)
"""The markers of attributes whose values the store sets."""


class References(msgspec.Struct, frozen=True):
    """The entity that this attribute names must exist when the attribute is written."""

    entity: EntityRef
    via: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        _make_callable(self, "entity")


class Transitions(msgspec.Struct, frozen=True):
    """The values that may follow each value; one that is not listed is final. `start` limits the initial value."""

    allowed: Mapping[Any, Iterable[Any]]
    start: Iterable[Any] | None = None


class Unique:
    """No two items have the same value, or the same combination of values: `Unique("country", "number")`.

    A guard item in the same table holds the value. It is replaced when the value changes and deleted with the item;
    with `keep_after_delete=True` it stays until `release_unique`. `case_insensitive` compares text without case.
    """

    def __init__(
        self,
        *fields: str,
        case_insensitive: bool = False,
        keep_after_delete: bool = False,
        when: Condition | None = None,
    ) -> None:
        check_arguments(
            "Unique",
            fields=(fields, list_of(NAME, "names of attributes", 'write Unique("country", "number")')),
            case_insensitive=(case_insensitive, FLAG),
            keep_after_delete=(keep_after_delete, FLAG),
            when=(when, optional(CONDITION)),
        )
        self.fields = fields
        self.case_insensitive = case_insensitive
        self.keep_after_delete = keep_after_delete
        self.when = when
        self.name = "-".join(fields)
        self.is_former = False  # the name that it had before its attribute was renamed; guards have both meanwhile


class Limit(msgspec.Struct, frozen=True):
    """An upper bound for increments: `Limit(F.check_count <= F.check_limit)`. Lowering the bound is always allowed."""

    condition: Condition


class Owns(msgspec.Struct, frozen=True):
    """Children that are deleted, in batches, before this entity is: `Owns(lambda: (Comment, Term))`."""

    children: Callable[[], type[Any] | tuple[type[Any], ...]] | type[Any] | tuple[type[Any], ...]
    via: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def entities(self) -> tuple[type[Any], ...]:
        children = self.children if isinstance(self.children, type | tuple) else self.children()
        return children if isinstance(children, tuple) else (children,)


class Expires(msgspec.Struct, frozen=True):
    """The item expires at a time (`at`), or a duration after it: hidden from then on, and deleted by DynamoDB later.

    `Expires("expires_at")`, `Expires("created_at", after=timedelta(days=7))`; `when` limits it to matching items.
    """

    at: str
    after: timedelta = timedelta(0)
    when: Condition | None = None

    def __post_init__(self) -> None:
        check_arguments("Expires", at=(self.at, NAME), when=(self.when, optional(CONDITION)))
