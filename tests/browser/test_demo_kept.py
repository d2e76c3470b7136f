"""`windlass demo --keep`: somebody who knows nothing yet opens the link, and finds what failed, why, and what to do."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.integration.demo.test_demo import Demo

pytestmark = pytest.mark.asyncio(loop_scope="module")  # that of the browser


async def test_the_overview_of_the_demo_has_the_failed_run_its_error_and_the_way_out(
    browser: Browser, tmp_path: Path
) -> None:
    demo = Demo(tmp_path, "--keep", "--json")
    try:
        await asyncio.to_thread(demo.until, '"dashboard"')
        link = next(json.loads(line)["url"] for line in demo.told.splitlines() if '"dashboard"' in line)
        page = await browser.new_page()

        await page.goto(link)

        need = page.locator(".need", has_text="refund")
        await expect(need.get_by_role("link").first).to_contain_text("refund")
        await expect(need.locator(".why")).to_contain_text("the bank")
        await expect(need.locator("summary", has_text="Retry")).to_be_visible()
        await need.locator("summary", has_text="Retry").click()
        await need.locator("details[open] form button").click()
        await expect(page.locator(".flash")).to_contain_text("Tried again")
    finally:
        demo.process.send_signal(signal.SIGINT)
        code, complaints = await asyncio.to_thread(demo.end)
    assert (code, complaints) == (0, "")
    assert list(demo.temporary.iterdir()) == []
