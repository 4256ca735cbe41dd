"""`make conformance SUITE=path`: a DynamoDB conformance suite (npm, vitest) against the engine, counted by folder.

The suite cannot be installed from a registry, so its path is an argument. It has to read DYNAMODB_ENDPOINT.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tests.peers.process import started
from tests.peers.runtimes import Unavailable, npm, npx

PARTITA = Path(sys.executable).with_name("partita")


def counts(report: dict[str, Any], suite: Path) -> dict[str, Counter[str]]:
    """How many tests passed, failed and were skipped, by the first and by the second folder of their file."""
    found: dict[str, Counter[str]] = {}
    for file in report["testResults"]:
        parts = Path(file["name"]).relative_to(suite).parts
        for depth in (2, 3):
            folder = "/".join(parts[1:depth])
            found.setdefault(folder, Counter()).update(test["status"] for test in file["assertionResults"])
    return dict(sorted(found.items()))


def run(suite: Path, arguments: list[str]) -> int:
    """The suite's exit code; its own output goes through, the counts come last."""
    if not (suite / "node_modules").is_dir():
        # Without its lock file: registries do not keep every version that a suite was once locked to.
        subprocess.run([*npm(), "install", "--no-package-lock"], cwd=suite, check=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        started(lambda port: [PARTITA, "engine", "--memory", "--port", str(port)]) as engine,
    ):
        outcome = Path(folder) / "outcome.json"
        reporters = ["--reporter=default", "--reporter=json", f"--outputFile.json={outcome}"]
        environment = os.environ | {
            "DYNAMODB_ENDPOINT": engine.endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "partita",
            "AWS_SECRET_ACCESS_KEY": "partita",
        }
        code = subprocess.run(
            [*npx(), "vitest", "run", *reporters, *arguments], cwd=suite, env=environment, check=False
        )
        if outcome.exists():
            for name, count in counts(json.loads(outcome.read_text()), suite).items():
                print(f"{name:40} {count['passed']:4} passed {count['failed']:4} failed {count['skipped']:4} skipped")
        return code.returncode


def main() -> int:
    """Runs the suite in the folder that the command line names."""
    suite = Path(sys.argv[1] if len(sys.argv) > 1 else "").resolve()
    if not (suite / "package.json").is_file() or suite == Path.cwd():
        print("make conformance SUITE=path: the path of a conformance suite, a folder with a package.json")
        return 2
    try:
        return run(suite, sys.argv[2:])
    except Unavailable as missing:
        print(missing)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
