"""The guide's snippets are run in their order, and print what the page says."""

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "rest.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_snippets_run_and_print_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "board"}
    printed = ""
    for number, (kind, block) in enumerate(BLOCK.findall(PAGE.read_text(encoding="utf-8"))):
        if kind == "python":
            exec(compile(block, f"{PAGE.name}, block {number}", "exec"), names)  # noqa: S102 - the page is ours
            printed = capsys.readouterr().out
        else:
            assert printed == block


def test_every_rule_is_told() -> None:
    from partita import rest

    told = set(re.findall(r"`(\w+)", PAGE.read_text(encoding="utf-8")))
    assert set(rest.__all__) - told <= {"PageSize", "Problem", "Rule"}
