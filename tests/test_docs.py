"""The documentation names only what exists, and its links lead somewhere."""

import re
from pathlib import Path

import pytest

from tests.tour import calls_of_a_put

ROOT = Path(__file__).parent.parent
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
TOUR = ROOT / "docs" / "tour" / "life-of-a-put.md"


STEPS = re.findall(r"^\d+\. .*?(?=^\d+\. |\Z)", TOUR.read_text(), re.MULTILINE | re.DOTALL)
NAMED = [name for step in STEPS for name in re.findall(r"`(partita(?:\.\w+)+)`", step)]
MODULES = {"partita.engine.key_encoding"}  # named as modules, not as functions


def test_the_tour_names_functions_in_the_order_of_their_calls() -> None:
    calls = calls_of_a_put()
    functions = [name for name in NAMED if name not in MODULES]
    assert len(functions) > 15
    assert [name for name in functions if name not in calls] == []
    assert functions == sorted(functions, key=calls.index)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_make_targets_that_a_page_names_exist(page: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:^ +|`)make ([a-z-]+)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE))
    assert named
    assert named <= targets


def test_folders_that_contributing_names_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    within = re.findall(r"^      ((?:\w+/ )+)", text, re.MULTILINE)
    folders = {name for line in within for name in line.split()}
    assert {f"{path.name}/" for path in (ROOT / "src" / "partita").iterdir() if any(path.glob("*.py"))} == folders
