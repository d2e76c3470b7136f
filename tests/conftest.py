"""What every test may ask for, a clock and a PostgreSQL database of its own; and what a run says at its end."""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests import durations
from tests.costs import CHEAP, cost_of, is_dear, watched
from tests.durations import Stopwatch
from tests.emptying import Emptier
from tests.require_all import pytest_make_collect_report, pytest_runtest_makereport
from windlass.testing.clock import FakeClock
from windlass.testing.postgres import PostgresServer

# The first test that asks for PostgreSQL starts it as another user, so with a fork; what gRPC does in a child of this
# process, once there was a server in it, ends that child.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

__all__ = ["pytest_make_collect_report", "pytest_runtest_makereport"]  # pytest finds these hooks here

FIGURE = "figure"
FIGURES: list[str] = []  # of all tests, in the process that reports
BROWSER = "tests/browser/"
STOPWATCH = Stopwatch()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="only what needs no more than memory")
    parser.addoption("--keep-durations", action="store_true", help="keep what each file took, for the next order")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """To collect all tests takes longer than a third of them."""
    if config.getoption("quick") and is_dear(collection_path.relative_to(config.rootpath).as_posix()):
        return True
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    repeated = [test for test, count in Counter(item.nodeid for item in items).items() if count > 1]
    if repeated:  # side by side, tests of one name are executed once, and counted as one
        raise pytest.UsageError(f"Several tests have the same name: {', '.join(repeated)}")
    for item in items:
        item.add_marker(cost_of(item))
    if config.getoption("quick"):
        dear = [item for item in items if cost_of(item) not in CHEAP]
        config.hook.pytest_deselected(items=dear)
        items[:] = [item for item in items if cost_of(item) in CHEAP]
    items[:] = durations.in_order(items, durations.known())


def pytest_collection_finish() -> None:
    """Thousands of tests are here to stay: no look for garbage has to go through them."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    with watched(cost_of(item)):
        return (yield)


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


@pytest.fixture(scope="session")
def emptier() -> Iterator[Emptier]:
    emptier = Emptier()
    yield emptier
    emptier.close()


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
    STOPWATCH.add(report)
    if report.when == "teardown":
        FIGURES.extend(str(line) for name, line in report.user_properties if name == FIGURE)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if FIGURES:
        terminalreporter.section("figures")
        for line in sorted(FIGURES):
            terminalreporter.write_line(line)
    skipped = [report.nodeid for report in terminalreporter.getreports("skipped")]
    if in_browser := [test for test in skipped if test.startswith(BROWSER)]:
        terminalreporter.section("left out")
        terminalreporter.write_line(f"{len(in_browser)} tests of {BROWSER}: there is no Chromium on this machine.")
        terminalreporter.write_line("With it they run: apt-get install chromium")
    if len(STOPWATCH.seconds) > durations.SHOWN:
        terminalreporter.section("time")
        for line in STOPWATCH.lines():
            terminalreporter.write_line(line)
    if config.getoption("keep_durations"):
        STOPWATCH.keep()
