"""A real browser in front of a real server. Where there is none the tests say so; in CI they fail.

It is started once for a file, which takes a second; each test has a context of its own in it.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
LOGGER = logging.getLogger(__name__)
CLOSING_SECONDS = 30.0
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    program = next((path for name in PROGRAMS if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip("there is no browser here: apt-get install chromium")
    playwright = await async_playwright().start()
    launched = await playwright.chromium.launch(executable_path=program, args=list(QUIET))
    yield launched
    try:
        async with asyncio.timeout(CLOSING_SECONDS):
            await launched.close()
            await playwright.stop()
    except TimeoutError:
        LOGGER.warning("The driver of the browser did not end. It will when this process does: its input is a pipe.")
