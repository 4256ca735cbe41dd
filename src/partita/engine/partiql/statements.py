"""The parts of parsed statements. Values are placeholders: `:0` for a literal, `:?0` for a parameter."""

from dataclasses import dataclass
from typing import TypeAlias

from partita.dynamodb.values import Item
from partita.engine.expressions.nodes import ConditionNode, Path, UpdateAction, Value


@dataclass(frozen=True, slots=True)
class OrderBy:
    name: str
    descending: bool


@dataclass(frozen=True, slots=True)
class Select:
    """`paths` is None for `*`."""

    table: str
    index: str | None
    paths: tuple[Path, ...] | None
    where: ConditionNode | None
    order: tuple[OrderBy, ...] = ()


@dataclass(frozen=True, slots=True)
class Insert:
    table: str
    members: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class UpdateClause:
    """UPDATE; `returning` is as ReturnValues of UpdateItem."""

    table: str
    actions: tuple[UpdateAction, ...]
    where: ConditionNode | None
    returning: str | None


@dataclass(frozen=True, slots=True)
class DeleteClause:
    """DELETE."""

    table: str
    where: ConditionNode | None
    returning: str | None


@dataclass(frozen=True, slots=True)
class ExistsCheck:
    """A condition check of a transaction."""

    select: Select


Body: TypeAlias = Select | Insert | UpdateClause | DeleteClause | ExistsCheck


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with its literals and the number of its parameters."""

    body: Body
    literals: Item
    parameters: int

    @property
    def reads(self) -> bool:
        return isinstance(self.body, Select)

    @property
    def table(self) -> str:
        return self.body.select.table if isinstance(self.body, ExistsCheck) else self.body.table
