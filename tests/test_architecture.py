"""The architecture: what each folder may import of the others, lazily too, and names that have one meaning."""

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "partita"
PUBLIC = "partita"

WAIST = {"crc", "errors", "extras", "quantities", "setting_rules", "dynamodb"}
MEANING = WAIST | {"validation", "design", "plan", "describe"}
BACKENDS = {"storage", "engine", "remote"}

MAY_SEE: dict[str, set[str]] = {
    "crc": set(),
    "errors": set(),
    "extras": {"errors"},
    "quantities": set(),
    "setting_rules": {"errors"},
    "json_service": {"errors", "extras"},
    "prometheus": set(),
    "process_identity": set(),
    "dynamodb": {"errors"},
    # backends and servers
    "storage": {"crc", "errors"},
    "engine": WAIST | {"storage", "process_identity"},
    "remote": WAIST,
    "http": WAIST,
    "server": WAIST | {"http"},
    # designs
    "embeddings": {"errors", "extras", "setting_rules", "json_service"},
    "validation": {"errors"},
    "design": WAIST | {"validation"},
    "plan": WAIST | {"validation", "design"},
    "describe": WAIST | {"validation", "design", "plan"},
    "store": MEANING | {"process_identity"},
    "evolution": MEANING | {"store", "process_identity"},
    "infrastructure": WAIST | {"design", "plan"},
    "consumers": MEANING | {"store", "prometheus", "process_identity"},
    "search": MEANING | {"store", "consumers", "remote", "json_service", "embeddings"},
    "jobs": WAIST | {"design", "plan", "store", "prometheus", "process_identity"},
    "recovery": WAIST | {"design", "plan", "store"},
    # interfaces
    "rest": MEANING | {"store", "consumers", "connect", "http"},
    "studio": MEANING | {"store", "evolution", "consumers", "search", "jobs", "recovery", "http"},
    "system": MEANING | {"store", "consumers", "jobs", "rest"},
    "aws": {"consumers"},
    "boto": WAIST | {"connect"},
    "pytest_plugin": WAIST | {"connect", "boto", "store", "consumers"},
    # designs and backends
    "connect": MEANING | BACKENDS | {"store"},
    "cli": MEANING
    | BACKENDS
    | {
        "store",
        "evolution",
        "infrastructure",
        "consumers",
        "search",
        "jobs",
        "recovery",
        "connect",
        "http",
        "server",
        "rest",
        "studio",
        "system",
        "prometheus",
    },
    "__init__": MEANING | {"store", "evolution", "consumers", "search", "jobs", "connect", "system"},
    "__main__": {"cli", "errors", "extras"},
}


class Import(NamedTuple):
    """`room` imports `target`: another room, or the public package."""

    room: str
    target: str
    where: str


def rooms() -> set[str]:
    """The folders and modules directly in the package."""
    return {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or any(path.rglob("*.py"))}


def imported_modules(tree: ast.AST, package: list[str]) -> Iterator[tuple[str, int]]:
    """The absolute name of everything imported; `from a import b` is a.b, whether b is a module or a name in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            for alias in node.names:
                yield ".".join([*base, *filter(None, [node.module]), alias.name]), node.lineno


def imports_of(source: str, path: Path, known: set[str]) -> Iterator[Import]:
    """The imports of Partita's own modules in one file of it."""
    parts = path.with_suffix("").parts
    for name, line in imported_modules(ast.parse(source), [PUBLIC, *parts[:-1]]):
        first, *rest = name.split(".")
        if first == PUBLIC:
            target = rest[0] if rest and rest[0] in known else PUBLIC
            yield Import(parts[0], target, f"{path}:{line}")


def violations(imports: Iterator[Import]) -> list[str]:
    """The imports that the table does not allow."""
    return [
        f"{where}: {room} may not import {target}"
        for room, target, where in imports
        if room != target and target not in MAY_SEE[room]
    ]


def test_every_room_is_in_the_table() -> None:
    """A new room fails here until it has a line in the table."""
    assert rooms() <= MAY_SEE.keys()


@pytest.mark.parametrize("room", sorted(rooms() & MAY_SEE.keys()))
def test_room_looks_down_only(room: str) -> None:
    files = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).with_suffix("").parts[0] == room]
    known = rooms()
    assert files
    for file in files:
        assert violations(imports_of(file.read_text(), file.relative_to(PACKAGE), known)) == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("engine/read.py", "from partita.design import Entity"),
        ("engine/read.py", "import partita.server.asgi"),
        ("engine/read.py", "from partita import connect"),
        ("engine/operations/put.py", "from ...plan import requests"),
        ("storage/sqlite.py", "from partita.dynamodb import limits"),
        ("dynamodb/values.py", "def late():\n    from partita.engine import key_encoding"),
        ("design/entity.py", "from partita import plan"),
        ("rest/api.py", "from partita.engine import read"),
    ],
)
def test_import_that_looks_up_is_found(path: str, line: str) -> None:
    assert violations(imports_of(line, Path(path), set(MAY_SEE)))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("engine/read.py", "from partita.storage import contract"),
        ("engine/operations/put.py", "from ..read import row"),
        ("plan/read.py", "import msgspec, partita.dynamodb.requests"),
    ],
)
def test_import_that_looks_down_is_allowed(path: str, line: str) -> None:
    assert violations(imports_of(line, Path(path), set(MAY_SEE))) == []


REST_SEES_OF_THE_STORE = {
    "partita.store.store.Store",
    "partita.store.reading.Page",
    "partita.store.reading.decoder_for_read",
    "partita.store.reading.skipping_unreadable",
    "partita.store.base_store.not_found",
}


def test_rest_reads_and_writes_through_the_store_only() -> None:
    found = set()
    for file in (PACKAGE / "rest").rglob("*.py"):
        package = [PUBLIC, *file.relative_to(PACKAGE).parts[:-1]]
        found |= {name for name, _ in imported_modules(ast.parse(file.read_text()), package)}
    assert {name for name in found if name.startswith("partita.store")} <= REST_SEES_OF_THE_STORE


def test_table_of_rooms_has_no_cycle() -> None:
    """A cycle raises in the sort."""
    lower_first = list(graphlib.TopologicalSorter(MAY_SEE).static_order())
    assert lower_first.index("dynamodb") < lower_first.index("engine") < lower_first.index("connect")


# DynamoDB's names for parts of a request, which its messages contain, and names of the design language.
TWO_MEANINGS = {"Condition", "Get", "Query"}


def test_class_name_has_one_meaning() -> None:
    places: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    twice = {name: where for name, where in places.items() if len(where) > 1 and name not in TWO_MEANINGS}
    assert twice == {}


# Modules that are about the same thing in two rooms, such as a command and the code that it runs.
SAME_SUBJECT = {
    "conditions",  # design: as declared; dynamodb: their evaluation
    "context",  # of an operation of the engine, and of a store
    "design",  # cli: the commands about designs
    "engine",  # cli: the command
    "patterns",  # plan: the proof of patterns
    "responses",  # of DynamoDB, and of a REST API
    "settings",  # of a remote backend, and of a store
    "tables",  # plan: the proof of tables
    "verify",  # cli: the command
}


def test_module_name_has_one_meaning() -> None:
    places: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.stem != "__init__":
            places.setdefault(path.stem, []).append(str(path.relative_to(PACKAGE)))
    assert {name: where for name, where in places.items() if len(where) > 1 and name not in SAME_SUBJECT} == {}
    assert {name for name in SAME_SUBJECT if len(places.get(name, [])) < 2} == set()


PARTICIPLES = {"told", "kept", "shown", "made", "found", "given", "held", "taken", "written"}


def test_no_name_is_a_participle_alone() -> None:
    """Of modules, classes and functions; a local variable may be one."""
    names = {path.stem: str(path) for path in PACKAGE.rglob("*.py")}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                names[node.name.strip("_").lower()] = f"{path}:{node.lineno}"
    assert {name: where for name, where in names.items() if name in PARTICIPLES} == {}
