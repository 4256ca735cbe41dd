"""Errors of settings and designs, and of values that a design does not allow."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from partita.errors.base_error import PartitaError, Step, place_text


class ConfigurationError(PartitaError):
    """A setting, address or argument that cannot work; the message says what to write instead."""


class MissingExtra(ConfigurationError, ModuleNotFoundError):
    """A package of an optional extra is not installed; the message has the command that installs it."""

    def __init__(self, what: str, extras: Sequence[str], module: str) -> None:
        super().__init__(f"{what} needs an extra; run pip install 'partita[{','.join(extras)}]' ({module} is missing)")
        self.extras = tuple(extras)
        self.name = module


class DesignError(PartitaError):
    """A declaration that cannot work; `where` names it, `instead` says what to write."""

    def __init__(self, where: str, reason: str, instead: str = "") -> None:
        super().__init__(where, reason, instead)
        self.where = where
        self.reason = reason
        self.instead = instead

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}" + (f"; {self.instead}" if self.instead else "")


class ProofError(DesignError):
    """An access pattern that is not exactly one read of one range holding nothing else."""


class UnknownAttribute(PartitaError, AttributeError):
    """A draft has no such attribute."""

    def __init__(self, entity: str, attribute: str, known: tuple[str, ...]) -> None:
        super().__init__(entity, attribute, known)
        self.entity = entity
        self.attribute = attribute
        self.known = known

    def __str__(self) -> str:
        return f"{self.entity} has no attribute {self.attribute!r}; its attributes are {', '.join(self.known)}"


class Fault(NamedTuple):
    """Why a value does not fit its type, as facts.

    | kind       | facts                                                                         |
    |------------|-------------------------------------------------------------------------------|
    | type       | `expected` types, `got` another                                               |
    | bound      | a number is not `operator` `limit`                                            |
    | length     | the length of an `expected` is not `operator` `limit`                         |
    | pattern    | text does not match `limit`                                                   |
    | rule       | text breaks a rule; `expected` says which: "must be one line"                 |
    | multiple   | a number is not a multiple of `limit`                                         |
    | time zone  | a time needs `expected`: "a" time zone, or "no" time zone                     |
    | missing    | a required field is absent                                                    |
    | unknown    | a field has a name that the type does not know                                |
    | choice     | `got` is not a value of the enum, the literal or the tag; `expected` lists them |
    | format     | text is not an `expected`                                                     |
    | range      | a number, time or duration is too large or too small for its type             |
    | null       | None is not allowed                                                           |
    | other      | `got` is the message                                                          |
    """

    kind: str
    expected: str = ""
    got: str = ""
    operator: str = ""
    limit: str = ""

    def __str__(self) -> str:
        return _FAULT_TEXTS[self.kind].format(self)


_FAULT_TEXTS = {
    "type": "expected `{0.expected}`, got `{0.got}`",
    "bound": "must be {0.operator} {0.limit}",
    "length": "its length must be {0.operator} {0.limit}",
    "pattern": "does not match {0.limit}",
    "rule": "{0.expected}",
    "multiple": "must be a multiple of {0.limit}",
    "time zone": "must have {0.expected} time zone",
    "missing": "is missing",
    "unknown": "is not known",
    "choice": "{0.got} is not one of its values",
    "format": "expected {0.expected}",
    "range": "is out of range",
    "null": "it may not be None",
    "other": "{0.got}",
}


class InvalidValue(PartitaError):
    """A value that the design does not allow; nothing was sent.

    `path` leads from the `entity` (or the pattern) to the value: `InvalidValue("Order", "is too large", "lines", 3)`.
    For a parameter of a pattern, `argument` is its name and `value` its value. `fault` has the facts where the
    value does not fit its type.
    """

    def __init__(
        self, entity: str, reason: str, *path: Step, argument: str = "", value: Any = None, fault: Fault | None = None
    ) -> None:
        super().__init__(entity, reason, *path)
        self.entity = entity
        self.reason = reason
        self.path = path
        self.argument = argument
        self.value = value
        self.fault = fault

    @property
    def where(self) -> str:
        """The entity and the place in it: `Order.lines[3]`; the pattern and its argument: `orders.customer`."""
        return place_text((self.entity, *(self.path or ((self.argument,) if self.argument else ()))))

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


class ReservedKey(InvalidValue):
    """A key that begins as the keys of guards do. No entity can have it, so a read finds nothing under it."""
