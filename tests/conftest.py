"""What every test has: the peers' fixtures, and `--no-skip`, which makes a skipped test a failed one."""

from collections.abc import Generator

import pytest

pytest_plugins = ["pytester", "tests.peers.fixtures"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skip", action="store_true", help="fail when a test is skipped")


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
