"""The nodes of parsed expressions. Placeholders (`#name`, `:value`) stay placeholders, so a tree fits any request."""

from typing import TypeAlias

import msgspec


class Path(msgspec.Struct, frozen=True):
    """A document path; a part is a name, a `#placeholder`, or a list index."""

    parts: tuple[str | int, ...]


class Value(msgspec.Struct, frozen=True):
    """A `:placeholder`."""

    name: str


class FunctionCall(msgspec.Struct, frozen=True):
    """A function call: `size(path)` is an operand, `begins_with(path, :v)` a condition, `list_append` for updates."""

    function: str
    arguments: tuple["Operand", ...]


class Arithmetic(msgspec.Struct, frozen=True):
    """`left + right` or `left - right` in SET."""

    operator: str
    left: "Operand"
    right: "Operand"


class CompareNode(msgspec.Struct, frozen=True):
    operator: str
    left: "Operand"
    right: "Operand"


class BetweenNode(msgspec.Struct, frozen=True):
    operand: "Operand"
    low: "Operand"
    high: "Operand"


class InNode(msgspec.Struct, frozen=True):
    operand: "Operand"
    choices: tuple["Operand", ...]


class NotNode(msgspec.Struct, frozen=True):
    condition: "ConditionNode"


class AndNode(msgspec.Struct, frozen=True):
    """`AND` over two or more conditions."""

    conditions: tuple["ConditionNode", ...]


class OrNode(msgspec.Struct, frozen=True):
    """`OR` over two or more conditions."""

    conditions: tuple["ConditionNode", ...]


Operand: TypeAlias = Path | Value | FunctionCall | Arithmetic
ConditionNode: TypeAlias = CompareNode | BetweenNode | InNode | NotNode | AndNode | OrNode | FunctionCall


class UpdateAction(msgspec.Struct, frozen=True):
    """One clause of an update: `section` is SET, REMOVE, ADD or DELETE; REMOVE has no operand."""

    section: str
    path: Path
    operand: Operand | None


class UpdateNode(msgspec.Struct, frozen=True):
    actions: tuple[UpdateAction, ...]


class ProjectionNode(msgspec.Struct, frozen=True):
    paths: tuple[Path, ...]
