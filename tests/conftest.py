"""Shared by every test: the peers' fixtures, `--no-skip` (a skipped test fails) and `--fast` (the inner loop)."""

import atexit
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes, or its generation, says more of the machine than of us.
settings.register_profile("partita", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("partita")


def _no_database_is_opened(event: str, arguments: tuple[object, ...]) -> None:
    """The product opens database files and their indexes through SQLite only (tests/storage/test_file_locks.py)."""
    if event != "open" or not isinstance(path := arguments[0], str):
        return
    caller = sys._getframe(1)
    while caller.f_back is not None and caller.f_code.co_filename.endswith("pathlib.py"):
        caller = caller.f_back
    if SOURCE not in caller.f_code.co_filename or caller.f_code.co_name == "_open_index":
        return
    if path.endswith("-shm") or os.path.exists(f"{path}-shm"):  # noqa: PTH110
        raise AssertionError(f"{caller.f_code.co_filename}: opens {path}, which ends the locks of this process")


SOURCE = os.path.join("src", "partita", "")  # noqa: PTH118
sys.addaudithook(_no_database_is_opened)

pytest_plugins = ["pytester", "tests.peers.fixtures"]

SERVERS = {"dynamodb_local", "dynoxide", "dynalite", "moto", "peer", "partita_engine", "javascript"}


USERS_DATA = "XDG_DATA_HOME"


def pytest_configure() -> None:
    """Processes that tests start react to an interrupt: a shell has jobs in the background ignore it, with children.

    What they store among the user's data is in a folder of the tests.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if USERS_DATA not in os.environ:  # set for worker processes by the first one
        folder = tempfile.mkdtemp(prefix="partita-tests-")
        os.environ[USERS_DATA] = folder
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skip", action="store_true", help="fail when a test is skipped")
    parser.addoption(
        "--fast", action="store_true", help="leave out slow tests and every server but the embedded engine"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if _is_slow(item)]  # always, so that a failure here is noticed
    if config.getoption("--fast"):
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def _is_slow(item: pytest.Item) -> bool:
    """Marked so, or in need of a server in another process."""
    used = set(getattr(item, "fixturenames", ()))
    parameters = getattr(item, "callspec", None)
    values = parameters.params.values() if parameters is not None else ()
    chosen = {value for value in values if isinstance(value, str)}
    return item.get_closest_marker("slow") is not None or bool(SERVERS & (used | chosen))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    expected_to_fail = hasattr(report, "wasxfail")
    if report.skipped and not expected_to_fail and item.config.getoption("--no-skip"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and --no-skip was given: {_reason(report)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.skipped and collector.config.getoption("--no-skip"):
        report.outcome = "failed"
        report.longrepr = f"skipped as a whole, and --no-skip was given: {_reason(report)}"
    return report


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
