"""What a design says about an attribute or an entity beyond its type: kept values, invariants, names.

Markers on attributes stand in `Annotated`; markers on entities are class attributes. They are plain facts: `plan`
turns them into conditions and transactions.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from partita.design.conditions import Condition

AUTO: Any = datetime(1, 1, 1, tzinfo=UTC)
"""The default of a time that the store fills in: `created_at: Annotated[datetime, CreatedAt()] = AUTO`."""

EntityRef = Callable[[], type[Any]] | type[Any]
"""An entity, or `lambda: Entity` where it is declared later."""


def _to_be_called(marker: Any, name: str) -> None:
    entity = getattr(marker, name)
    if isinstance(entity, type):
        object.__setattr__(marker, name, lambda: entity)


@dataclass(frozen=True)
class StoredAs:
    """The attribute's name on disk, where the naming would make another."""

    name: str


@dataclass(frozen=True)
class InKey:
    """Stored in the key alone: the attribute is read back from it."""


@dataclass(frozen=True)
class Compressed:
    """Stored as compressed JSON."""


@dataclass(frozen=True)
class CreatedAt:
    """Set when the item is created."""


@dataclass(frozen=True)
class UpdatedAt:
    """Set at every edit."""


@dataclass(frozen=True)
class Version:
    """Raised at every edit; `replace` and `change(..., version=)` refuse when it has moved."""


@dataclass(frozen=True)
class Untracked:
    """Changing it is no edit: neither the version nor the update time moves."""


@dataclass(frozen=True)
class CountOf:
    """How many children name this entity: kept in the transaction that creates, changes or deletes a child.

    `via` maps parts of this entity's key to the child's attributes where their names differ.
    """

    child: EntityRef
    when: Condition | None = None
    via: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _to_be_called(self, "child")


@dataclass(frozen=True)
class SumOf:
    """The sum of an attribute over the children, kept like a count."""

    child: EntityRef
    amount: str
    when: Condition | None = None
    via: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _to_be_called(self, "child")


@dataclass(frozen=True)
class References:
    """The named entity must exist when this attribute is written."""

    entity: EntityRef
    via: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _to_be_called(self, "entity")


@dataclass(frozen=True)
class Transitions:
    """Which value may follow which; a value that is not listed is an end. `start` limits what is created."""

    allowed: Mapping[Any, Iterable[Any]]
    start: Iterable[Any] | None = None


class Unique:
    """No two items hold the same value, or the same values together: `Unique("country", "number")`.

    A guard item holds the value. It moves when the value changes and is deleted with the item; with
    `keep_after_delete=True` it stays until `release_unique`. `case_insensitive` compares text without case.
    """

    def __init__(
        self,
        *fields: str,
        case_insensitive: bool = False,
        keep_after_delete: bool = False,
        when: Condition | None = None,
    ) -> None:
        self.fields = fields
        self.case_insensitive = case_insensitive
        self.keep_after_delete = keep_after_delete
        self.when = when
        self.name = "-".join(fields)


@dataclass(frozen=True)
class Limit:
    """A bound that growth must keep: `Limit(F.check_count <= F.check_limit)`. Lowering the bound is always allowed."""

    condition: Condition


@dataclass(frozen=True)
class Owns:
    """Children that are deleted with this entity, in batches, before it: `Owns(lambda: (Comment, Term))`."""

    children: Callable[[], type[Any] | tuple[type[Any], ...]] | type[Any] | tuple[type[Any], ...]
    via: Mapping[str, str] = field(default_factory=dict)

    @property
    def entities(self) -> tuple[type[Any], ...]:
        children = self.children if isinstance(self.children, type | tuple) else self.children()
        return children if isinstance(children, tuple) else (children,)


@dataclass(frozen=True)
class Expires:
    """When DynamoDB may delete the item, from a time (`at`) or a duration after one; hidden from then on.

    `Expires("expires_at")`, `Expires("created_at", after=timedelta(days=7))`; `when` limits it to items that match.
    """

    at: str
    after: timedelta = timedelta(0)
    when: Condition | None = None
