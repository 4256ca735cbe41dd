"""The page about boto3 and pytest: its snippets are run, in their order, as a reader would."""

import re
from pathlib import Path
from typing import Any

import boto3
import pytest

pytestmark = pytest.mark.slow


PAGE = Path(__file__).parent.parent / "docs" / "guide" / "boto3-and-pytest.md"
SNIPPETS = re.findall(r"^```python( pytest)?\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def unconfigured(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page says that neither credentials nor a region are needed."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "absent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "absent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)


def test_snippets_run_in_their_order() -> None:
    names: dict[str, Any] = {}
    plain = [code for kind, code in SNIPPETS if not kind]
    for code in plain:
        exec(compile(code, PAGE.name, "exec"), names)  # noqa: S102
    assert len(plain) == 4


def test_tests_on_the_page_pass(pytester: pytest.Pytester) -> None:
    code_under_test = SNIPPETS[0][1]
    tests = "\n".join(code for kind, code in SNIPPETS if kind)
    pytester.makepyfile(code_under_test + "\n" + tests)
    pytester.runpytest_inprocess().assert_outcomes(passed=3)


def test_page_lists_every_fixture(pytester: pytest.Pytester) -> None:
    listed = pytester.runpytest_inprocess("--fixtures").stdout.str()
    fixtures = set(re.findall(r"^(partita_\w+)", listed, re.MULTILINE))
    assert fixtures == set(re.findall(r"^\| `(partita_\w+)`", PAGE.read_text(), re.MULTILINE))
