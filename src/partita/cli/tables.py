"""Tables on standard output."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 160  # where it is not shown on a terminal


def print_table(table: "Table") -> None:
    from rich.console import Console

    Console(width=None if sys.stdout.isatty() else WIDTH).print(table)
