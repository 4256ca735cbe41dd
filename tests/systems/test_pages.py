"""The pages of the systems in the documentation are what their designs and APIs print; PARTITA_UPDATE=1 writes them."""

import os
import re
from pathlib import Path

import pytest

from partita.cli.design import system_page
from partita_systems import SYSTEMS

FOLDER = Path(__file__).parents[2] / "docs" / "systems"


@pytest.mark.parametrize("name", SYSTEMS)
def test_page_is_what_the_system_prints(name: str) -> None:
    printed, file = system_page(SYSTEMS[name]), FOLDER / f"{name}.md"
    if os.environ.get("PARTITA_UPDATE"):
        FOLDER.mkdir(exist_ok=True)
        file.write_text(printed, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == printed


@pytest.mark.parametrize("name", SYSTEMS)
def test_example_of_the_page_runs(name: str) -> None:
    examples = re.findall(r"^```python\n(.*?)^```$", system_page(SYSTEMS[name]), re.DOTALL | re.MULTILINE)
    assert examples
    for example in examples:
        exec(compile(example, f"{name}.md", "exec"), {})  # noqa: S102 - the page is ours


@pytest.mark.parametrize("name", SYSTEMS)
def test_page_has_what_a_design_document_has(name: str) -> None:
    page = system_page(SYSTEMS[name])
    for part in ("## What differs from the document", "## Entities", "## Access patterns", "## Write costs"):
        assert part in page
    assert "## Over HTTP" in page
