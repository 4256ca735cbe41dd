"""`partita export`: the commands of its guide."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from partita.cli.main import app

PAGE = Path(__file__).parent.parent.parent / "docs" / "guide" / "infrastructure.md"
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]


@pytest.mark.parametrize("command", COMMANDS)
def test_command_of_the_guide_prints_its_document(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    name, *arguments = shlex.split(command)
    assert name == "partita"
    app(arguments, result_action="return_value")
    printed = capsys.readouterr().out
    if "terraform" in command:
        assert 'resource "aws_dynamodb_table"' in printed
        return
    document: dict[str, Any] = json.loads(printed)
    assert document["Resources" if "cloudformation" in command else "Statement"]


def test_policy_of_one_write_names_its_table_and_the_tables_of_state(capsys: pytest.CaptureFixture[str]) -> None:
    app(["export", "iam", "checks", "--write", "Check.create"], result_action="return_value")
    statements = json.loads(capsys.readouterr().out)["Statement"]
    tables = {each["Resource"].partition("table/")[2].partition("/")[0] for each in statements}
    assert "partita-designs" in tables
    assert not any("dynamodb:Scan" in each["Action"] for each in statements)
