"""A TypeScript client that openapi-typescript generates from each API, compiled in strict mode, and used."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from partita_systems import SYSTEMS
from tests.clients.conftest import ServedApis
from tests.peers import Unavailable
from tests.peers.npm import modules, package
from tests.peers.runtimes import node
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow

STRICT = ("--strict", "--noUncheckedIndexedAccess", "--target", "es2022", "--module", "nodenext")
PROGRAM = """
import createClient from "openapi-fetch";
import type { paths, components } from "./perfectit.js";

const [endpoint, token] = process.argv.slice(2);
const headers = { authorization: `Bearer ${token}` };
const client = createClient<paths>({ baseUrl: endpoint ?? "", headers });

const me = await client.POST("/api/perfectit/users", {
  params: { header: { "Idempotency-Key": "typescript-1" } },
  body: { username: "typescript", displayName: "Ada" },
});
const made = await client.POST("/api/perfectit/cards", { body: { title: "Typed", materials: { oil: "1 l" } } });
const card: components["schemas"]["PerfectionCard"] | undefined = made.data;
const oil: string | undefined = card?.materials["oil"];
const top = await client.GET("/api/perfectit/cards/top", { params: { query: { limit: 2, include: "author" } } });
const scores: number[] = (top.data?.items ?? []).map((each) => each.voteScore);
const names: (string | undefined)[] = (top.data?.items ?? []).map((each) => each.author?.displayName);
const wrong = await client.POST("/api/perfectit/cards", { body: { title: "" } });
const field: string | undefined = wrong.error?.field;
const status: "DRAFT" | "PUBLISHED" | "REMOVED" | string | undefined = card?.status;
console.log(JSON.stringify({ me: me.response.status, oil, scores, names, field, status }));
"""
MISTAKES = {
    "a number for a title": 'await client.POST("/api/perfectit/cards", { body: { title: 5 } });',
    "an unknown path": 'await client.GET("/api/perfectit/wings", {});',
    "an unknown value": 'await client.POST("/api/perfectit/cards", { body: { title: "a", difficulty: "WILD" } });',
    "a missing parameter": 'await client.GET("/api/perfectit/cards/{cardId}", {});',
}


@pytest.fixture(scope="module")
def sources(served: ServedApis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the types of each API, and the packages to compile and run a program with."""
    folder = tmp_path_factory.mktemp("typescript")
    try:
        generator = package("openapi-typescript") / "bin" / "cli.js"
    except Unavailable as missing:
        pytest.skip(str(missing))
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "node_modules").symlink_to(modules())
    for name in SYSTEMS:
        _node(generator, served.descriptions / f"{name}.json", "-o", folder / f"{name}.d.ts", cwd=folder)
    return folder


def _node(*arguments: Any, cwd: Path) -> str:
    done = subprocess.run(
        [*node(), *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"NODE_NO_WARNINGS": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def _compile(sources: Path, file: Path) -> str:
    """The complaints of the compiler."""
    compiler = modules() / "typescript" / "bin" / "tsc"
    command = [*node(), str(compiler), *STRICT, str(file)]
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.stdout


def test_client_is_compiled_in_strict_mode_and_used(served: ServedApis, sources: Path) -> None:
    program = sources / "program.ts"
    program.write_text("declare const process: { argv: string[] };\n" + PROGRAM)
    assert _compile(sources, program) == ""
    printed = _node(program.with_suffix(".js"), served.endpoint, served.token("u_typescript"), cwd=sources)
    found = json.loads(printed)
    assert (found["me"], found["oil"], found["field"], found["status"]) == (201, "1 l", "title", "DRAFT")
    assert len(found["scores"]) == 2
    assert all(found["names"])


def test_types_of_every_api_are_compiled(sources: Path) -> None:
    program = sources / "all.ts"
    imports = "".join(f'export type {{ paths as {name} }} from "./{name}.js";\n' for name in SYSTEMS)
    program.write_text(imports)
    assert _compile(sources, program) == ""


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_a_type_error(sources: Path, mistake: str) -> None:
    program = sources / f"mistake-{list(MISTAKES).index(mistake)}.ts"
    program.write_text(
        'import createClient from "openapi-fetch";\nimport type { paths } from "./perfectit.js";\n'
        "const client = createClient<paths>({});\n" + MISTAKES[mistake] + "\n"
    )
    assert "error TS" in _compile(sources, program)
