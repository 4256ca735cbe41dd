"""The examples in docstrings are run."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import partita

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(partita.__path__, "partita.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name: str) -> None:
    failed, _ = doctest.testmod(import_module(name))
    assert not failed


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [test for name in MODULES for test in finder.find(import_module(name)) if test.examples]
    assert len(examples) > 10
