"""A small program starts fast: it imports what it uses, and nothing of what it does not."""

import json
import subprocess
import sys

import pytest

from bench.start import PROGRAM

EXTRAS = set("aiohttp boto3 botocore cyclopts httptools jwt opentelemetry pydantic rich urllib3".split())
SERVER = {"uvicorn", "uvloop", "partita.http", "partita.rest", "partita.server", "partita.cli"}
SLOW = set("apsw asyncio email hashlib http logging pathlib ssl subprocess urllib.request".split())
UNUSED = {
    "partita.describe",
    "partita.dynamodb.decode",
    "partita.engine.async_engine",
    "partita.engine.partiql",
    "partita.remote",
    "partita.storage.sqlite",
    "partita.store.adoption",
    "partita.store.async_store",
    "partita.store.tracing",
}


def loaded_by(program: str) -> set[str]:
    code = f"{program}\nimport json, sys; print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("program", ["import partita", PROGRAM], ids=["import", "program"])
def test_program_imports_nothing_that_it_does_not_use(program: str) -> None:
    loaded = loaded_by(program) - loaded_by("pass")
    assert loaded & (EXTRAS | SERVER | SLOW | UNUSED) == set()


def test_import_alone_loads_neither_the_design_language_nor_the_engine() -> None:
    loaded = loaded_by("import partita")
    assert not any(name.startswith(("partita.design", "partita.engine", "partita.plan", "msgspec")) for name in loaded)
