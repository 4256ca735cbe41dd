"""Table names per stage: the names that a design's tables have on one backend, without a change of the design.

`connect(address, design, table_names={"shop": "prod-shop"})`, or a function: `table_names=lambda name: f"prod-{name}"`.
A request is built with the design's names and renamed when it is sent, in `retries.send`.
"""

import copy
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from partita.design.tables import Table
from partita.dynamodb.request_tables import with_table_names
from partita.dynamodb.requests import Request
from partita.errors import ConfigurationError
from partita.plan.design import Design

Reply = TypeVar("Reply")
TableNaming: TypeAlias = Mapping[str, str] | Callable[[str], str]

OWN_TABLES = ("partita-consumers", "partita-jobs")  # a design does not have them, and programs use them beside it

_VALID = re.compile(r"[a-zA-Z0-9_.-]{3,255}")


class TableNames:
    """The names of a design's tables on one backend; a mapping may name tables of consumers and jobs, too.

    No table has the name that the design gives another one. So a name is never renamed twice, and a name says which
    table it is, whether it is the design's or the backend's.
    """

    def __init__(self, design: Design, naming: TableNaming) -> None:
        declared = [table.name for table in design.tables]
        if callable(naming):
            self._actual: dict[str, Any] = {name: naming(name) for name in declared}
        else:
            for name in naming:
                if name not in declared and name not in OWN_TABLES:
                    raise ConfigurationError(
                        f"table_names: design {design.name!r} has no table {name!r}; it has {', '.join(declared)}"
                    )
            self._actual = {name: naming.get(name, name) for name in declared}
        self._declared = {actual: name for name, actual in self._actual.items()}
        self._check(declared)

    def _check(self, declared: list[str]) -> None:
        for name, actual in self._actual.items():
            if not isinstance(actual, str) or _VALID.fullmatch(actual) is None:
                raise ConfigurationError(
                    f"table_names: {actual!r} is not a valid name for table {name!r}; "
                    "use 3 to 255 of a-z, A-Z, 0-9, _ - ."
                )
            other = actual if actual in declared and actual != name else self._declared[actual]
            if other != name:
                raise ConfigurationError(
                    f"table_names: {actual!r} is the name of tables {name!r} and {other!r}; give each its own"
                )

    def actual(self, name: str) -> str:
        """The backend's name of a table."""
        found: str = self._actual.get(name, name)
        return found

    def declared(self, name: str) -> str:
        """The design's name of a table."""
        return self._declared.get(name, name)

    def renamed(self, request: Request[Reply]) -> Request[Reply]:
        """A request with the backend's names."""
        return with_table_names(request, self.actual)


def actual_table(names: TableNames | None, table: Table) -> Table:
    """The table as the backend names it: for requests and sentences that are made from a table."""
    if names is None or names.actual(table.name) == table.name:
        return table
    renamed = copy.copy(table)
    renamed.name = names.actual(table.name)
    return renamed
