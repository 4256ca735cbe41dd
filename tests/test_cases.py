"""Runs the golden cases: conversations with DynamoDB that are written down in `tests/cases`."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.engine.tables import Bench

FOLDER = Path(__file__).parent / "cases"
ANYTHING = "..."


@dataclass
class Exchange:
    """One request, and what must come back; `error` is its code and words, if it is one."""

    line: int
    operation: str
    request: Any
    error: str = ""
    reply: Any = field(default_factory=dict)


def exchanges(text: str) -> Iterator[Exchange]:
    """The exchanges of a case file; a line that is indented goes on with the one before it."""
    blocks: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith((" ", "\t")):
            first, so_far = blocks.pop()
            blocks.append((first, f"{so_far}\n{line}"))
        elif line and not line.startswith("#"):
            blocks.append((number, line))
    asked: Exchange | None = None
    for number, block in blocks:
        mark, _, rest = block.partition(" ")
        if mark == ">":
            operation, _, body = rest.partition(" ")
            asked = Exchange(number, operation, json.loads(body or "{}"))
            continue
        assert asked is not None, f"line {number}: an answer without a question"
        if mark == "!":
            asked.error, _, body = rest.partition("\n")
            asked.reply = json.loads(body or "{}")
        else:
            assert mark == "<", f"line {number}: begins with neither >, < nor !"
            asked.reply = json.loads(rest)
        yield asked
        asked = None
    assert asked is None, "the last question has no answer"


def fits(found: Any, wanted: Any) -> bool:
    """Whether an answer is as written; `...` stands for anything."""
    if wanted == ANYTHING:
        return True
    if isinstance(wanted, dict) and isinstance(found, dict):
        return found.keys() == wanted.keys() and all(fits(found[name], each) for name, each in wanted.items())
    return bool(found == wanted)


@pytest.mark.parametrize("case", sorted(FOLDER.glob("*.case")), ids=lambda path: path.stem)
def test_conversation_goes_as_written(case: Path, bench: Bench) -> None:
    for exchange in exchanges(case.read_text()):
        answer = bench.ask(exchange.operation, exchange.request)
        where = f"{case.name}:{exchange.line}: {exchange.operation}"
        assert answer.error == exchange.error, where
        assert fits(answer.body, exchange.reply), f"{where}: {answer.body}"


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.engine.close()


def test_anything_stands_only_for_what_is_there() -> None:
    assert fits({"a": {"b": 1}}, {"a": "..."})
    assert not fits({}, {"a": "..."})
    assert not fits({"a": 1, "b": 2}, {"a": 1})
