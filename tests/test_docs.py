"""The documentation names only what exists, and its links lead somewhere."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
TOUR = ROOT / "docs" / "tour" / "life-of-a-put.md"


def _looked_up(dotted: str) -> object:
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            found = getattr(found, name)
        return found
    raise LookupError(dotted)


@pytest.mark.parametrize("dotted", sorted(set(re.findall(r"`(partita(?:\.\w+)+)`", TOUR.read_text()))))
def test_every_function_that_the_tour_names_exists(dotted: str) -> None:
    assert _looked_up(dotted) is not None


def test_the_tour_names_functions() -> None:
    assert len(re.findall(r"`partita\.", TOUR.read_text())) > 15


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
