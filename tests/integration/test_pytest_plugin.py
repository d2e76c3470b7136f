"""Does a project that has Windlass and pytest get its fixture, whatever else runs its async tests?"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.documents import code_blocks
from tests.architecture.source import ROOT, File

PAGE = "docs/how-to/testing-web-apps.md"

PROGRAM = """
import windlass

app = windlass.App("sqlite:////nowhere/at/all/shop.db")


def pack(id: str) -> str:
    return f"packed {id}"


@app.workflow
async def order(ctx: windlass.Context, id: str) -> str:
    packed = await ctx.step(pack, id)
    await ctx.sleep("7d")
    return packed
"""

TESTS = """
import asyncio

import pytest

from shop import app, order, pack

MARK


@pytest.fixture
def shop(windlass_harness):
    windlass_harness.use(app)
    return windlass_harness


async def test_a_week(windlass_harness):
    windlass_harness.use(app)
    assert await windlass_harness.run(order, "7") == "packed 7"


async def test_through_a_fixture_of_the_project(shop):
    shop.replace(pack, lambda id: "fake")
    assert await shop.run(order, "7") == "fake"


async def test_nothing_is_left_of_the_test_before(shop):
    shop.crash(after="pack")
    assert await shop.run(order, "7") == "packed 7"


class TestInAClass:
    async def test_crashes(self, shop):
        assert len((await shop.crash_everywhere(order, "7")).points) > 5


def test_without_a_loop(shop):
    async def main():
        async with shop:
            return await shop.run(order, "7")

    assert asyncio.run(main()) == "packed 7"


def test_that_forgets_to_close(shop):
    assert shop.app is not app


def test_without_await(shop):
    app.sync.start(order, "7", key="order-7")
    shop.sync.idle()
    shop.sync.advance("7d")
    assert app.sync.handle(order, key="order-7").result() == "packed 7"
    assert shop.sync.run(order, "8") == "packed 8"


def test_a_loop_that_is_gone(shop):
    assert asyncio.run(shop.run(order, "7")) == "packed 7"
    assert asyncio.run(shop.run(order, "8")) == "packed 8"


async def test_a_crash_that_never_came_fails_the_test(shop):
    shop.crash(after="pakc")
    await shop.run(order, "7")


def test_a_crash_that_never_came_fails_a_blocking_test(shop):
    shop.crash(after="pakc")
    shop.sync.run(order, "7")
"""

# Who runs async tests: options of pytest, settings, and the mark the tests carry.
RUNNERS = {
    "nobody else": (["-p", "no:asyncio", "-p", "no:anyio"], "", ""),
    "pytest-asyncio by itself": (["-p", "no:anyio"], "asyncio_mode = auto", ""),
    "pytest-asyncio by mark": (["-p", "no:anyio"], "asyncio_mode = strict", "asyncio"),
    "pytest-asyncio, unmarked": (["-p", "no:anyio"], "asyncio_mode = strict", ""),
    "anyio": (["-p", "no:asyncio"], "", "anyio"),
}


def environment(**more: str) -> dict[str, str]:
    """Where CI is set pytest repeats what failed in its summary, in full."""
    return {**{name: value for name, value in os.environ.items() if name != "CI"}, **more}


@pytest.mark.parametrize("runner", RUNNERS)
def test_the_fixture_serves_whoever_runs_the_test(tmp_path: Path, runner: str) -> None:
    options, settings, mark = RUNNERS[runner]
    if settings:
        settings += "\nasyncio_default_fixture_loop_scope = function"
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nfilterwarnings = error\n{settings}\n")
    (tmp_path / "shop.py").write_text(PROGRAM)
    (tmp_path / "conftest.py").write_text(
        "import pytest\n\n\n@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n"
    )
    # Only async tests may carry the mark of pytest-asyncio, so it stands on the module only where it is anyio's.
    tests = TESTS.replace("MARK", "pytestmark = pytest.mark.anyio" if mark == "anyio" else "")
    if mark == "asyncio":
        tests = tests.replace("async def test_", "@pytest.mark.asyncio\nasync def test_")
        tests = tests.replace("    @pytest.mark.asyncio\nasync", "    @pytest.mark.asyncio\n    async")
    (tmp_path / "test_shop.py").write_text(tests)

    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=tmp_path,
        env=environment(PYTHONPATH=str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    *_, last = finished.stdout.strip().splitlines() or [finished.stderr]
    assert last.startswith("2 failed, 8 passed"), finished.stdout + finished.stderr
    told = "crash(after='pakc') never happened. Steps that were recorded: pack, sleep."
    assert finished.stdout.count(f"CrashNeverCame: {told}") == 2


def test_the_page_about_web_apps_says_what_works(tmp_path: Path) -> None:
    """Each of its programs begins with the name of its file; all of them together are a project."""
    page = File(PAGE, (ROOT / PAGE).read_text())
    names = []
    for _, program in code_blocks(page, "python"):
        name = program.partition("\n")[0].removeprefix("# ")
        (tmp_path / name).write_text(program)
        names.append(name)

    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "-p", "no:anyio"],
        cwd=tmp_path,
        env=environment(PYTHONPATH=str(tmp_path), PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert re.search(r"^6 passed", finished.stdout, re.MULTILINE), finished.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)  # and no windlass.db
