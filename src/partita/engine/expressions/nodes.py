"""The nodes of parsed expressions. Placeholders (`#name`, `:value`) stay placeholders, so a tree fits any request."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Path:
    """A document path; a part is a name, a `#placeholder`, or a list index."""

    parts: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A `:placeholder`."""

    name: str


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function call: `size(path)` is an operand, `begins_with(path, :v)` a condition, `list_append` for updates."""

    function: str
    arguments: tuple["Operand", ...]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left + right` or `left - right` in SET."""

    operator: str
    left: "Operand"
    right: "Operand"


@dataclass(frozen=True, slots=True)
class CompareNode:
    operator: str
    left: "Operand"
    right: "Operand"


@dataclass(frozen=True, slots=True)
class BetweenNode:
    operand: "Operand"
    low: "Operand"
    high: "Operand"


@dataclass(frozen=True, slots=True)
class InNode:
    operand: "Operand"
    choices: tuple["Operand", ...]


@dataclass(frozen=True, slots=True)
class NotNode:
    condition: "ConditionNode"


@dataclass(frozen=True, slots=True)
class AndNode:
    """`AND` over two or more conditions."""

    conditions: tuple["ConditionNode", ...]


@dataclass(frozen=True, slots=True)
class OrNode:
    """`OR` over two or more conditions."""

    conditions: tuple["ConditionNode", ...]


Operand: TypeAlias = Path | Value | FunctionCall | Arithmetic
ConditionNode: TypeAlias = CompareNode | BetweenNode | InNode | NotNode | AndNode | OrNode | FunctionCall


@dataclass(frozen=True, slots=True)
class UpdateAction:
    """One clause of an update: `section` is SET, REMOVE, ADD or DELETE; REMOVE has no operand."""

    section: str
    path: Path
    operand: Operand | None


@dataclass(frozen=True, slots=True)
class UpdateNode:
    actions: tuple[UpdateAction, ...]


@dataclass(frozen=True, slots=True)
class ProjectionNode:
    paths: tuple[Path, ...]
