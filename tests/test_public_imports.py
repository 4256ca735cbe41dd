"""The systems use public names of Partita only: `partita`, `partita.rest`, and modules of their own package."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SYSTEMS = ROOT / "systems" / "src"
PUBLIC = ("partita", "partita.rest")
INTERNAL_ATTRIBUTES = {"__model__", "context"}


def private_imports(source: str) -> Iterator[str]:
    """Each import of something in Partita that is not a public name, as it would be written."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_partita(alias.name) and alias.name not in PUBLIC)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and _is_partita(node.module):
            public = import_module(node.module).__all__ if node.module in PUBLIC else ()
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name not in public)


def _is_partita(module: str) -> bool:
    return module.split(".", maxsplit=1)[0] == "partita"


def internal_attributes(source: str) -> Iterator[str]:
    """Each use of an attribute that belongs to the inside of a store or an entity."""
    attributes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute))
    return (f".{node.attr}, line {node.lineno}" for node in attributes if node.attr in INTERNAL_ATTRIBUTES)


@pytest.mark.parametrize("file", sorted(SYSTEMS.rglob("*.py")), ids=lambda file: str(file.relative_to(SYSTEMS)))
def test_system_uses_public_names_only(file: Path) -> None:
    source = file.read_text(encoding="utf-8")
    assert [*private_imports(source), *internal_attributes(source)] == []


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
        "from partita_systems.blog import design",
        "from datetime import date",
    ],
)
def test_public_import_is_accepted(line: str) -> None:
    assert list(private_imports(line)) == []
