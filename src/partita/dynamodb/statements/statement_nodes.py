"""The parts of parsed statements. Values are placeholders: `:0` for a literal, `:?0` for a parameter."""

from typing import TypeAlias

import msgspec

from partita.dynamodb.expression_nodes import ConditionNode, Path, UpdateAction, Value
from partita.dynamodb.values import Item


class OrderBy(msgspec.Struct, frozen=True):
    name: str
    descending: bool


class Select(msgspec.Struct, frozen=True):
    """`paths` is None for `*`."""

    table: str
    index: str | None
    paths: tuple[Path, ...] | None
    where: ConditionNode | None
    order: tuple[OrderBy, ...] = ()


class Insert(msgspec.Struct, frozen=True):
    table: str
    members: tuple[tuple[str, Value], ...]


class UpdateClause(msgspec.Struct, frozen=True):
    """UPDATE; `returning` is as ReturnValues of UpdateItem."""

    table: str
    actions: tuple[UpdateAction, ...]
    where: ConditionNode | None
    returning: str | None


class DeleteClause(msgspec.Struct, frozen=True):
    """DELETE."""

    table: str
    where: ConditionNode | None
    returning: str | None


class ExistsCheck(msgspec.Struct, frozen=True):
    """A condition check of a transaction."""

    select: Select


Body: TypeAlias = Select | Insert | UpdateClause | DeleteClause | ExistsCheck


class Statement(msgspec.Struct, frozen=True):
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
