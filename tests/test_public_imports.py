"""The systems and the guides use only public names: of `partita`, three of its packages, and two modules."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SYSTEMS = ROOT / "systems" / "src"
GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
PUBLIC = ("partita", "partita.embeddings", "partita.recovery", "partita.rest")
PUBLIC_MODULES = {"partita.aws", "partita.boto", "partita.embeddings", "partita.recovery", "partita.rest"}
INTERNAL_ATTRIBUTES = {"__model__", "context"}


def private_imports(source: str) -> Iterator[str]:
    """Each import of something in Partita that is not a public name, as it would be written."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules = (alias.name for alias in node.names if _is_partita(alias.name))
            yield from (name for name in modules if name != "partita" and name not in PUBLIC_MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and _is_partita(node.module):
            public = {*import_module(node.module).__all__, "*"} if node.module in PUBLIC else set()
            names = {f"{node.module}.{alias.name}" for alias in node.names if alias.name not in public}
            yield from sorted(names - PUBLIC_MODULES)


def _is_partita(module: str) -> bool:
    return module.split(".", maxsplit=1)[0] == "partita"


def internal_attributes(source: str) -> Iterator[str]:
    """Each use of an attribute that belongs to the inside of a store or an entity."""
    attributes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute))
    return (f".{node.attr}, line {node.lineno}" for node in attributes if node.attr in INTERNAL_ATTRIBUTES)


def python_snippets(page: str) -> list[str]:
    """The Python code of a page, without prompts of the interactive interpreter and their output."""
    return [
        _without_prompts(code)
        for code in re.findall(r"^```(?:python|pycon)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    ]


def _without_prompts(code: str) -> str:
    if ">>> " not in code:
        return code
    return "\n".join(line[4:] for line in code.splitlines() if line.startswith((">>> ", "... ")))


@pytest.mark.parametrize("file", sorted(SYSTEMS.rglob("*.py")), ids=lambda file: str(file.relative_to(SYSTEMS)))
def test_system_uses_public_names_only(file: Path) -> None:
    source = file.read_text(encoding="utf-8")
    assert [*private_imports(source), *internal_attributes(source)] == []


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_guide_uses_public_names_only(page: Path) -> None:
    for snippet in python_snippets(page.read_text(encoding="utf-8")):
        assert [*private_imports(snippet), *internal_attributes(snippet)] == []


@pytest.mark.parametrize(
    "line",
    [
        "from partita.store import Store",
        "from partita import store",
        "from partita.rest.api import Api",
        "from partita.rest import application",
        "import partita.design.entities",
        "def late():\n    from partita.plan import prove_read",
    ],
)
def test_private_import_is_found(line: str) -> None:
    assert list(private_imports(line))


@pytest.mark.parametrize(
    "line",
    [
        "from partita import Store, connect",
        "from partita.rest import Api",
        "import partita",
        "import partita.boto",
        "from partita import boto, connect",
        "from partita import *",
        "from partita_systems.blog import design",
        "from datetime import date",
    ],
)
def test_public_import_is_accepted(line: str) -> None:
    assert list(private_imports(line)) == []
