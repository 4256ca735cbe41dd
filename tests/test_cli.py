"""The command line: its help, its results, and its errors."""

import os
import re
import subprocess
import sys
from pathlib import Path
from socket import socket

import pytest

from partita import connect
from partita.cli.engine import address_of
from partita.cli.main import main
from partita.dynamodb.exceptions import UnknownOperationException
from partita.dynamodb.requests import PutItem, UpdateItem
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "command-line.md"
COMMANDS = (
    "engine",
    "serve",
    "studio",
    "work",
    "consumers",
    "jobs",
    "search",
    "embeddings",
    "embeddings migrate",
    "seed",
    "token",
    "plan",
    "apply",
    "doctor",
    "export",
    "export data",
    "import",
    "import data",
    "adopt",
    "prove",
    "explain",
    "verify",
    "compact",
    "backup",
    "restore",
    "move",
)


def _ran(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    command = [sys.executable, "-m", "partita", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=environment, check=False, timeout=PATIENCE
    )


def _page() -> str:
    parts = ["# The command line\n", "The output of `--help`.\n"]
    for command in ("", *COMMANDS):
        text = "\n".join(line.rstrip() for line in _ran(*command.split(), "--help").stdout.splitlines())
        parts.append(f"## `partita{' ' if command else ''}{command}`\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def test_page_of_the_command_line_is_current() -> None:
    page = _page()
    if os.environ.get("PARTITA_UPDATE"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page


def test_ipv6_address_is_written_in_brackets() -> None:
    with socket() as at:
        at.bind(("127.0.0.1", 0))
        port = at.getsockname()[1]
        assert address_of("::1", at) == f"http://[::1]:{port}"
        assert address_of("localhost", at) == f"http://localhost:{port}"


def test_prove_lists_every_pattern_of_a_design() -> None:
    found = _ran("prove", "partita_systems.checks.design")
    assert found.returncode == 0
    assert "checks: " in found.stdout
    assert "checks_of_user" in found.stdout


def test_explain_prints_range_cost_and_proof() -> None:
    found = _ran("explain", "partita_systems.checks.design", "checks_of_user")
    assert found.returncode == 0
    for word in ("where", "range", "cost", "proof"):
        assert f"  {word} " in found.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["prove", "no.such.module"],
            "partita: 'no.such.module' is neither an installed system (blog, ",
        ),
        (["explain", "partita_systems.checks.design", "nothing"], "partita: checks: has no pattern 'nothing'"),
        (
            ["prove", "shop/design.py"],
            "partita: shop/design.py is a file; write it as Python imports it: shop.d",
        ),
        (["verify", "nothing.db"], "partita: nothing.db: no such file\n"),
        (["verify", "."], "partita: .: not a file\n"),
        (["seed", "checks", "--on", "memory:"], "partita: --on memory: data in memory is lost when this command ends"),
        (
            ["adopt", "blog", "--on", "nothing.db"],
            "partita: --on nothing.db: no such file; adopt works on existing",
        ),
        (["token", ""], "partita: SUBJECT is empty; name the user that the token is for\n"),
        (["token", "ana"], "partita: partita.db.issuer.pem does not exist; partita serve --on partita.db creates it"),
        (
            ["token", "ana", "EDITR", "--for", "blog"],
            "partita: blog has no group 'EDITR'; its groups are: ADMIN, ",
        ),
        (["token", "ana", "--on", "memory:"], "partita: --on memory:: the key exists in the server process only"),
        (["serve", "--issuer", "me"], "partita: --issuer and --audience apply to tokens verified with --keys"),
        (["engine", "--memory", "--data", "x.db"], "partita: --memory and --data exclude each other"),
        (["engine", "--host", "192.0.2.1"], "partita: --host 192.0.2.1: anyone who can reach this address"),
    ],
)
def test_error_is_one_line(arguments: list[str], said: str, tmp_path: Path) -> None:
    found = _ran(*arguments, cwd=tmp_path)
    assert found.returncode == 2
    assert found.stderr.startswith(said)
    assert found.stderr.count("\n") == 1
    assert not found.stdout
    assert not list(tmp_path.iterdir())


def test_design_that_cannot_be_proven_is_reported_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "from partita import *\n"
        "t = Table('notes', pk='PK')\n"
        "class Note(Entity, table=t, key=('SCORE#{score}',)):\n"
        "    score: int\n"
    )
    found = _ran("prove", "broken", cwd=tmp_path)
    assert found.returncode == 2
    assert found.stderr.startswith("partita: Note")
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize(
    ("source", "last"),
    [
        ("def design(:\n", "SyntaxError: invalid syntax"),
        ("import absent_thing\n", "ModuleNotFoundError: No module named 'absent_thing'"),
        ("x = 1\nx.y\n", "AttributeError: 'int' object has no attribute 'y'"),
    ],
)
def test_error_of_a_module_is_shown_from_its_own_line(source: str, last: str, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "__init__.py").touch()
    (tmp_path / "inner" / "design.py").write_text(source)
    found = _ran("prove", "inner.design", cwd=tmp_path)
    assert found.returncode == 2
    first, *shown = found.stderr.splitlines()
    assert first == "partita: inner.design cannot be imported"
    assert shown[-1] == last
    assert f'design.py", line {source.count(chr(10))}' in found.stderr
    assert not [line for line in shown if "/partita/" in line or "importlib" in line]


def test_package_with_a_failing_import_is_not_reported_as_missing(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "__init__.py").write_text("import absent_thing\n")
    assert "No module named 'absent_thing'" in _ran("prove", "inner.design", cwd=tmp_path).stderr


def test_verify_changes_nothing_and_reports_damage(tmp_path: Path) -> None:
    file = tmp_path / "data.db"
    file.touch()
    assert (
        _ran("verify", "data.db", cwd=tmp_path).stderr
        == "partita: data.db: the file is empty; there is nothing to verify\n"
    )
    assert file.stat().st_size == 0
    file.unlink()
    assert _ran("seed", "checks", "--on", "data.db", "--scale", "0.1", cwd=tmp_path).returncode == 0
    content = file.read_bytes()
    half = len(content) // 2
    file.write_bytes(content[:half] + b"\xff" * (len(content) - half))
    found = _ran("verify", "data.db", cwd=tmp_path)
    assert (found.returncode, found.stderr) == (1, "")
    assert found.stdout.startswith("data.db: damaged: ")


def test_seed_reports_data_that_is_already_complete(tmp_path: Path) -> None:
    assert "checks" in _ran("seed", "checks", "--on", "data.db", "--scale", "0.1", cwd=tmp_path).stdout
    again = _ran("seed", "checks", "checks", "--on", "data.db", "--scale", "0.1", cwd=tmp_path)
    assert (again.stdout, again.stderr) == ("already complete: checks\n", "")


SHOP = """from partita import Entity, Item, Table, Unique, pattern, prove
from typing import Annotated
shop = Table("shop", pk="PK", sk="SK")
OLD = [("SEAT#{seat_id}", "SEAT#{row:plain}")]
class Seat(Entity, table=shop, key=("SEAT#{seat_id}", "SEAT#{row:+3}"), old_keys=OLD):
    seat_id: str
    row: int
    label: Annotated[str, Unique()]
@pattern
def seat(seat_id: str, row: int) -> Item[Seat]: ...
design = prove("shop", shop)
"""


def test_adoption_without_steps_of_its_own_is_apply(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP, encoding="utf-8")
    (tmp_path / "shop.db").touch()
    assert _ran("adopt", "shop", "--on", "shop.db", cwd=tmp_path).stdout.splitlines()[0] == "table shop created"
    with connect(str(tmp_path / "shop.db")) as backend:
        for row in (1, 2, 3):
            key = {"PK": {"S": f"SEAT#{row}"}, "SK": {"S": f"SEAT#{row}"}}
            seat = {"seat_id": {"S": str(row)}, "row": {"N": str(row)}, "label": {"S": "same" if row > 1 else "A"}}
            backend.call(PutItem(table_name="shop", item=key | seat))
        backend.call(PutItem(table_name="shop", item={"PK": {"S": "OTHER"}, "SK": {"S": "OTHER"}}))
    second = _ran("adopt", "shop", "--on", "shop.db", cwd=tmp_path)
    assert (second.returncode, second.stdout) == (2, "")
    assert "Seat.label: 'same' is taken" in second.stderr
    with connect(str(tmp_path / "shop.db")) as backend:
        (left,) = {"2", "3"} & set(re.findall(r"Seat SEAT#(.)", second.stderr))
        key = {"PK": {"S": f"SEAT#{left}"}, "SK": {"S": f"SEAT#{left}"}}
        update = UpdateItem(table_name="shop", key=key, update_expression="SET label = :v")
        update.expression_attribute_values = {":v": {"S": "B"}}
        backend.call(update)
    third = _ran("adopt", "shop", "--on", "shop.db", cwd=tmp_path)
    assert (third.returncode, third.stdout.splitlines()) == (
        0,
        [
            "Seat: guards label: 1 item",
            "Seat: re-key Seat: 1 item",
            "1 item that no entity explains, left unchanged:",
            "  OTHER OTHER",
            "shop: the data has the design, verified item by item",
        ],
    )


def test_verify_checks_a_file_for_consistency(tmp_path: Path) -> None:
    seeded = _ran("seed", "checks", "--on", "data.db", cwd=tmp_path)
    assert seeded.returncode == 0, seeded.stderr
    found = _ran("verify", "data.db", cwd=tmp_path)
    assert found.returncode == 0
    assert found.stdout == "data.db: every index agrees with its table, every total is exact\n"


def test_operation_that_the_endpoint_lacks_is_said_to_be_missing_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacks(arguments: list[str]) -> None:
        raise UnknownOperationException

    monkeypatch.setattr("partita.cli.main.app", lacks)
    with pytest.raises(SystemExit) as ended:
        main(["backup", "shop"])
    assert ended.value.code == 2
    assert "The endpoint does not have an operation that this command needs." in capsys.readouterr().err
