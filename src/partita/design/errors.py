"""What is wrong with a design, found while it is imported or loaded.

    DesignError                   a declaration that cannot work
    └── ProofError                an access pattern that cannot be proven
    InvalidValue                  a value that its declaration does not allow, met at run time

Each takes the facts and builds one sentence: where, what is wrong, what to write instead.
"""

from typing import Any

from partita.errors import PartitaError


class DesignError(PartitaError):
    """A declaration that cannot work; `where` names it, `instead` is the way out."""

    def __init__(self, where: str, wrong: str, instead: str = "") -> None:
        super().__init__(f"{where}: {wrong}" + (f"; {instead}" if instead else ""))
        self.where = where
        self.wrong = wrong
        self.instead = instead


class ProofError(DesignError):
    """An access pattern that is not exactly one read of one range holding nothing else."""


class InvalidValue(PartitaError):
    """A value that the design does not allow; nothing was sent.

    Where it was an `argument` of a pattern, that is named and the `value` is here.
    """

    def __init__(self, where: str, wrong: str, argument: str = "", value: Any = None) -> None:
        super().__init__(f"{where}: {wrong}")
        self.where = where
        self.wrong = wrong
        self.argument = argument
        self.value = value
