"""What a parsed statement is made of. Values are placeholders: `:0` for one of its literals, `:?0` for a parameter."""

from dataclasses import dataclass
from typing import TypeAlias

from partita.dynamodb.values import Item
from partita.engine.expressions.nodes import Action, Condition, Path, Value


@dataclass(frozen=True, slots=True)
class Order:
    name: str
    descending: bool


@dataclass(frozen=True, slots=True)
class Select:
    """`paths` is None for `*`."""

    table: str
    index: str | None
    paths: tuple[Path, ...] | None
    where: Condition | None
    order: tuple[Order, ...] = ()


@dataclass(frozen=True, slots=True)
class Insert:
    table: str
    members: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class UpdateClause:
    """UPDATE; `returning` is what UpdateItem's ReturnValues would be."""

    table: str
    actions: tuple[Action, ...]
    where: Condition | None
    returning: str | None


@dataclass(frozen=True, slots=True)
class Remove:
    """DELETE."""

    table: str
    where: Condition | None
    returning: str | None


@dataclass(frozen=True, slots=True)
class Exists:
    """A condition check of a transaction."""

    select: Select


Body: TypeAlias = Select | Insert | UpdateClause | Remove | Exists


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with its literals and the number of its open parameters."""

    body: Body
    literals: Item
    parameters: int

    @property
    def reads(self) -> bool:
        return isinstance(self.body, Select)

    @property
    def table(self) -> str:
        return self.body.select.table if isinstance(self.body, Exists) else self.body.table
