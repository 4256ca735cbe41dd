"""Tables and code spans in Markdown."""

from collections.abc import Iterable


def rows(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """A table; a bar inside a cell is escaped."""
    head = list(head)
    every = [head, ["---"] * len(head), *(list(line) for line in lines)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in every)


def code(text: object) -> str:
    return f"`{text}`"


def codes(names: Iterable[str]) -> str:
    return ", ".join(map(code, names)) or "-"
