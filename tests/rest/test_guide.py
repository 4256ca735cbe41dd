"""The snippets of the guides run in order, and print the text on the page."""

import re
from pathlib import Path
from typing import Any

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
LABELS = ("shop", "pytest")  # the module, and its tests
BLOCK = re.compile(r"^```(\w+)(?: (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str, str]]:
    """(language, label, text) of every block of code."""
    return BLOCK.findall((GUIDE / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", ["rest.md", "fastapi.md"])
def test_snippets_print_the_text_on_the_page(
    page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_DATA", "memory:")
    names: dict[str, Any] = {"__name__": page}
    printed = ""
    for number, (language, label, text) in enumerate(blocks(page)):
        if language == "text":
            assert printed == text
        elif label != "pytest":
            exec(compile(text, f"{page}, block {number}", "exec"), names)  # noqa: S102 - the page is ours
            printed = capsys.readouterr().out


@pytest.mark.slow
def test_tests_in_the_fastapi_guide_pass(pytester: pytest.Pytester) -> None:
    shop, tests = ("\n".join(text for _, each, text in blocks("fastapi.md") if each == label) for label in LABELS)
    pytester.makepyfile(shop=shop, test_shop=tests)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=3)


def test_rest_guide_names_everything_that_is_public() -> None:
    from partita import rest

    named = set(re.findall(r"`(\w+)", (GUIDE / "rest.md").read_text(encoding="utf-8")))
    assert set(rest.__all__) - named <= {"PageSize", "Problem", "Rule"}
