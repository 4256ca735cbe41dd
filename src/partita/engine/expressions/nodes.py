"""What a parsed expression is made of. Placeholders (`#name`, `:value`) stay placeholders: a tree fits any request."""

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
class Call:
    """A function: `size(path)` as an operand, `begins_with(path, :v)` as a condition, `list_append` in an update."""

    function: str
    arguments: tuple["Operand", ...]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left + right` or `left - right` in SET."""

    operator: str
    left: "Operand"
    right: "Operand"


@dataclass(frozen=True, slots=True)
class Compare:
    operator: str
    left: "Operand"
    right: "Operand"


@dataclass(frozen=True, slots=True)
class Between:
    operand: "Operand"
    low: "Operand"
    high: "Operand"


@dataclass(frozen=True, slots=True)
class In:
    operand: "Operand"
    choices: tuple["Operand", ...]


@dataclass(frozen=True, slots=True)
class Not:
    condition: "Condition"


@dataclass(frozen=True, slots=True)
class Both:
    """`AND` over two or more conditions."""

    conditions: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Either:
    """`OR` over two or more conditions."""

    conditions: tuple["Condition", ...]


Operand: TypeAlias = Path | Value | Call | Arithmetic
Condition: TypeAlias = Compare | Between | In | Not | Both | Either | Call


@dataclass(frozen=True, slots=True)
class Action:
    """One clause of an update: `section` is SET, REMOVE, ADD or DELETE; REMOVE has no operand."""

    section: str
    path: Path
    operand: Operand | None


@dataclass(frozen=True, slots=True)
class Update:
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Projection:
    paths: tuple[Path, ...]
