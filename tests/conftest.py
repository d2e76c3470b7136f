"""What every test may ask for: a clock it moves itself, and a PostgreSQL database of its own.

With WINDLASS_REQUIRE_ALL=1 a test that does not run is a test that fails: CI must not be green because something was
missing on its machine.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Generator, Iterator

import pytest

from windlass.testing.clock import FakeClock
from windlass.testing.postgres import PostgresServer

# The first test that asks for PostgreSQL starts it as another user, so with a fork; what gRPC does in a child of this
# process, once there was a server in it, ends that child.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

REQUIRE_ALL = os.environ.get("WINDLASS_REQUIRE_ALL") == "1"
FIGURE = "figure"
FIGURES: list[str] = []  # of all tests, in the process that reports


# Files are executed side by side, in this order: what takes long must not begin when all the rest is over.
LONGEST = (
    "tests/crash/test_stories.py",
    "tests/crash/points/test_claims.py",
    "tests/crash/points/test_pipelines.py",
    "tests/crash/points/test_steps.py",
    "tests/crash/points/",
    "tests/conformance/",
    "tests/plans/",
    "tests/processes/",
    "tests/model/",
    "tests/faults/",
    "tests/browser/",
    "tests/integration/demo/",
    "tests/integration/test_tutorial.py",
    "tests/integration/cli/",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    repeated = [test for test, count in Counter(item.nodeid for item in items).items() if count > 1]
    if repeated:  # side by side, tests of one name are executed once, and counted as one
        raise pytest.UsageError(f"Several tests have the same name: {', '.join(repeated)}")
    items.sort(key=lambda item: _turn(item.nodeid))


def _turn(test: str) -> int:
    return next((place for place, prefix in enumerate(LONGEST) if test.startswith(prefix)), len(LONGEST))


def pytest_configure() -> None:
    # A shell that starts us in the background lets us ignore Ctrl-C, and so would every program that a test starts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One cluster for the whole session, started by the first test that needs it."""
    with PostgresServer() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """An empty database for one test; dropped behind it, whoever is still connected."""
    url = postgres_server.create_database()
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Lines for the end of the test run: what was tried, each number with its denominator."""
    lines: list[str] = []
    yield lines
    request.node.user_properties.extend((FIGURE, line) for line in lines)  # so they reach the process that reports


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown":
        FIGURES.extend(str(line) for name, line in report.user_properties if name == FIGURE)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if FIGURES:
        terminalreporter.section("figures")
        for line in sorted(FIGURES):
            terminalreporter.write_line(line)


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
