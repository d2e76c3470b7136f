"""With WINDLASS_REQUIRE_ALL=1 a test that does not run is a test that fails.

CI must not be green because something was missing on its machine.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

REQUIRE_ALL = os.environ.get("WINDLASS_REQUIRE_ALL") == "1"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    refuse_if_not_run(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    refuse_if_not_run(report)
    return report


def refuse_if_not_run(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn skipped, expected to fail, and passed against expectation into failed."""
    expected_to_fail = hasattr(report, "wasxfail")
    if REQUIRE_ALL and (report.outcome == "skipped" or expected_to_fail):
        reason = report.wasxfail if expected_to_fail else report.longrepr
        if expected_to_fail:
            del report.wasxfail  # with it, the terminal would count the report as an expected failure
        report.outcome = "failed"
        report.longrepr = f"WINDLASS_REQUIRE_ALL=1, and this did not run: {reason}"
