"""A missing module of an extra is reported with the command that installs it; any other one is not touched."""

import re
import sys
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from partita import ConfigurationError, MissingExtra
from partita.extras import MODULES, needs

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]


def test_every_extra_has_its_modules() -> None:
    assert sorted(MODULES) == sorted(PROJECT["optional-dependencies"])
    assert [module for modules in MODULES.values() for module in modules if find_spec(module) is None] == []


def test_reference_has_every_extra_with_its_packages() -> None:
    page = (Path(__file__).parent.parent / "docs" / "reference" / "extras.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", page, re.MULTILINE))
    assert sorted(rows) == sorted(MODULES)
    for extra, packages in PROJECT["optional-dependencies"].items():
        names = [re.match(r"[\w-]+", package)[0] for package in packages]  # type: ignore[index]
        assert set(re.findall(r"`([\w-]+)`", rows[extra])) >= set(names) - ({"botocore"} if extra == "boto" else set())


def test_missing_module_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtra) as raised, needs("this", "server", "rest"):
        import_module("uvicorn")
    assert str(raised.value) == "this needs an extra; run pip install 'partita[server]' (uvicorn is missing)"
    assert (raised.value.extras, raised.value.name) == (("server",), "uvicorn")
    assert isinstance(raised.value, ConfigurationError)
    assert isinstance(raised.value, ModuleNotFoundError)


def test_all_missing_extras_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("uvicorn", "jwt"):
        monkeypatch.setitem(sys.modules, module, None)
    with (
        pytest.raises(MissingExtra, match=r"run pip install 'partita\[server,rest\]'"),
        needs("this", "server", "rest"),
    ):
        import_module("jwt")


def test_outer_block_says_what_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jwt", None)
    with pytest.raises(MissingExtra, match=r"^a command needs"), needs("a command", "rest"), needs("a module", "rest"):
        import_module("jwt")


def test_module_of_no_extra_is_reported_as_python_does() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'absent_thing'$"), needs("this", "rest"):
        import_module("absent_thing")
