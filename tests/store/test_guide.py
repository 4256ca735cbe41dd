"""The guide's snippets are run in their order, and print what the page says."""

import re
from pathlib import Path
from typing import Any

import pytest

GUIDE = Path(__file__).parent.parent.parent / "docs" / "guide"
PAGES = (
    "backups.md",
    "moving.md",
    "changing-a-design.md",
    "conditions-and-ranges.md",
    "consumers.md",
    "design-language.md",
    "embeddings.md",
    "first-design.md",
    "jobs.md",
    "keys-and-proofs.md",
    "running-a-store.md",
    "text-search.md",
    "vectors.md",
)
BLOCK = re.compile(r"^```(python|text)(?: (?!pytest)\w+)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_snippets_run_and_print_what_the_page_says(
    page: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": page}
    printed = ""
    for number, (kind, block) in enumerate(BLOCK.findall((GUIDE / page).read_text())):
        if kind == "python":
            exec(compile(block, f"{page}, block {number}", "exec"), names)  # noqa: S102 - the page is ours
            printed = capsys.readouterr().out
        else:
            assert printed == block
