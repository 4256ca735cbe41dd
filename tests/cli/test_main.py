"""What all commands have in common."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["export", "terraform", "partita_systems.checks.design"],
        ["export", "iam", "partita_systems.nbhd.design"],
        ["prove", "partita_systems.eecar.design"],
    ],
)
def test_reader_of_the_output_may_end_first(arguments: list[str]) -> None:
    command = [sys.executable, "-c", "from partita.cli.main import main; main()", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        said = running.stderr.read()
    assert (said, running.returncode) == ("", 1)
