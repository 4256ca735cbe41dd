"""The pages of the systems in docs are generated from page.md, design and API; PARTITA_UPDATE=1 writes them."""

import ast
import os
import re
from pathlib import Path

import pytest

from partita.cli.design import system_page
from partita_systems import SYSTEMS

FOLDER = Path(__file__).parents[2] / "docs" / "systems"


@pytest.mark.parametrize("name", SYSTEMS)
def test_page_is_generated(name: str) -> None:
    page, file = system_page(SYSTEMS[name]), FOLDER / f"{name}.md"
    if os.environ.get("PARTITA_UPDATE"):
        FOLDER.mkdir(exist_ok=True)
        file.write_text(page, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == page


@pytest.mark.parametrize("name", SYSTEMS)
def test_examples_of_the_page_run(name: str) -> None:
    examples = re.findall(r"^```python\n(.*?)^```$", system_page(SYSTEMS[name]), re.DOTALL | re.MULTILINE)
    assert examples
    for example in examples:
        exec(compile(example, f"{name}.md", "exec"), {})  # noqa: S102 - the page is ours


@pytest.mark.parametrize("name", SYSTEMS)
def test_page_has_the_sections_of_a_design_document(name: str) -> None:
    page = system_page(SYSTEMS[name])
    for part in ("## What differs from the document", "## Entities", "## Access patterns", "## Write costs"):
        assert part in page
    assert "## Over HTTP" in page


LINE = re.compile(r"^\| ([A-Z]{2})-(\d\d) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
WITH_LINES = {"perfectit": 51, "checks": 37, "eecar": 55, "blog": 42, "nbhd": 52}


def existing_tests(name: str) -> set[str]:
    """Every test of a system, as `file::function`."""
    return {
        f"{path.stem}::{node.name}"
        for path in (Path(__file__).parent / name).glob("test_*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


@pytest.mark.parametrize("name", WITH_LINES)
def test_every_line_of_the_document_is_shown_by_a_test(name: str) -> None:
    lines = LINE.findall(system_page(SYSTEMS[name]))
    assert [int(number) for _, number, _, _ in lines] == list(range(1, WITH_LINES[name] + 1))
    existing = existing_tests(name)
    assert [test for _, _, _, test in lines if test.strip("`") not in existing] == []
