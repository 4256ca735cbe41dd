"""No test depends on the speed of the machine: deadlines are patient, and claims are about processor time."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
HASTY = re.compile(
    r"(?<!-)\btimeout=[\d.]+"
    r"|\.(?:acquire|communicate|join|result|settimeout|wait)\((?:timeout=)?[\d.]+\)"
    r"|\basyncio\.timeout\([\d.]+\)"
    r"|\b(?:perf_counter|process_time)\(\)"
)
RIGHT_EITHER_WAY = {
    "server/test_fuzzing.py",  # an invalid request may be left without a reply
    "systems/perfectit/rate.py",  # a program that measures
    "test_timing.py",
}


def test_tests_wait_with_patience() -> None:
    files = [each for each in ROOT.rglob("*.py") if each.relative_to(ROOT).as_posix() not in RIGHT_EITHER_WAY]
    hasty = [f"{file.relative_to(ROOT)}: {line.strip()}" for file in files for line in _hasty_lines(file)]
    assert hasty == [], "use PATIENCE, shortest or thread_seconds of tests/timing.py"


def _hasty_lines(file: Path) -> list[str]:
    return [line for line in file.read_text(encoding="utf-8").splitlines() if HASTY.search(line)]


@pytest.mark.parametrize(
    "line",
    [
        "subprocess.run(command, timeout=30)",
        "assert ended.wait(10)",
        "thread.join(timeout=0.5)",
        "connection.settimeout(10)",
        "async with asyncio.timeout(5):",
        "begun = time.perf_counter()",
    ],
)
def test_number_of_seconds_is_noticed(line: str) -> None:
    assert HASTY.search(line)


@pytest.mark.parametrize(
    "line", ["subprocess.run(command, timeout=PATIENCE)", "connect(address, read_timeout=5.0)", "ended.wait()"]
)
def test_patience_and_settings_of_the_product_are_allowed(line: str) -> None:
    assert not HASTY.search(line)
