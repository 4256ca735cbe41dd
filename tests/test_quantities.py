"""Numbers of things in words: one of them is never several."""

import re
from pathlib import Path

from partita.quantities import quantity

PACKAGE = Path(__file__).parent.parent / "src" / "partita"
PRINTED = ("cli", "evolution", "recovery", "studio", "search")
SEVERAL = re.compile(r"\{[^{}]*:,\} (items|changes|counters|guards|vectors|documents|rows|tables)\b")


def test_one_thing_is_singular() -> None:
    assert [quantity(number, "item") for number in (0, 1, 2, 1000)] == ["0 items", "1 item", "2 items", "1,000 items"]
    assert quantity(["a"], "index", "indexes") == "1 index"
    assert quantity(1, "item is left", "items are left") == "1 item is left"


def test_numbers_of_things_are_written_by_the_one_function() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}: {match.group()}"
        for folder in PRINTED
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        for match in SEVERAL.finditer(path.read_text())
    ]
    assert found == []
