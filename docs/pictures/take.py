"""Take the pictures of the dashboard: a shop at work for some minutes, and a browser in front of it.

`make pictures`, which is `python docs/pictures/take.py [--minutes 4] [--to FOLDER]`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, Page, async_playwright

HERE = Path(__file__).parent
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
DESKTOP, PHONE = {"width": 1180, "height": 860}, {"width": 390, "height": 780}


async def main(minutes: float, folder: Path) -> None:
    program = next((path for name in PROGRAMS if (path := shutil.which(name))), None)
    if program is None:
        sys.exit("There is no browser here: apt-get install chromium")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["WINDLASS_URL"] = str(Path(scratch) / "shop.db")
        async with serving() as link, async_playwright() as playwright:
            found = await trade(minutes)
            browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
            await take_all(browser, link, found, folder)
            await browser.close()


@asynccontextmanager
async def serving() -> AsyncIterator[str]:
    """`windlass dev` of the shop, and the link that signs somebody in."""
    command = ("-m", "windlass", "dev", "shop:app", "--queue", "default", "--json", "--log-level", "error")
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, *command, "--grpc-port", "17420", "--http-port", "17421"),
        cwd=HERE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    try:
        while line := await child.stdout.readline():
            said = json.loads(line)
            if said["event"] == "serving":
                yield said["dashboard"]
                return
        sys.exit("The shop did not open.")
    finally:
        if child.returncode is None:
            child.terminate()
        await child.wait()


async def trade(minutes: float) -> dict[str, str]:
    """Let the shop work for a while; answers what to take pictures of."""
    sys.path.insert(0, str(HERE))
    from shop import Order, app, catalogue, newsletter, order, paid, refund, release

    async with app:
        graph = await app.start(release, key="v1.4.0")
        await app.start(catalogue, "autumn.csv", key="catalogue-autumn")
        await app.start(order, Order("2001", 148_000), key="order-2001")
        for number in (1001, 1002, 1003):
            await app.publish(paid, Order(str(number), 500 * number), id=str(number))
        await app.start(refund, "977", 12_900, key="refund-977")
        seconds = int(minutes * 60)
        for number in range(seconds):
            handle = await app.start(order, Order(str(3000 + number), 4_200 + number), key=f"order-{3000 + number}")
            if number % 10 == 4:
                shown = handle
            if number % 20 == 0:
                await app.start(newsletter, number)
            print(f"\r  the shop has been open for {number + 1} of {seconds} s ", end="", file=sys.stderr)  # noqa: T201
            await asyncio.sleep(1)
        await shown.result()
    print(file=sys.stderr)  # noqa: T201
    return {"graph": graph.id, "run": shown.id}


async def take_all(browser: Browser, link: str, found: dict[str, str], folder: Path) -> None:
    parts = urlsplit(link)
    home = f"{parts.scheme}://{parts.netloc}/ui/default"
    context = await browser.new_context(viewport=DESKTOP)
    page = await context.new_page()
    await page.goto(link)
    for name, path in {
        "overview": "",
        "run": f"/runs/{found['run']}",
        "graph": f"/graphs/{found['graph']}",
        "pipeline": "/pipelines/payments",
    }.items():
        await take(page, home + path, folder / f"{name}.png")
    session: Any = await context.storage_state()
    for name, options in {
        "dark": {"viewport": DESKTOP, "color_scheme": "dark"},
        "phone": {"viewport": PHONE},
    }.items():
        other = await browser.new_context(storage_state=session, **options)  # type: ignore[arg-type]
        await take(await other.new_page(), home, folder / f"{name}.png")


async def take(page: Page, url: str, path: Path) -> None:
    await page.goto(url)
    await page.wait_for_timeout(500)  # its fonts and its stream are there
    await page.screenshot(path=path)
    print(f"  {path.name}", file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=4)
    parser.add_argument("--to", type=Path, default=HERE)
    arguments = parser.parse_args()
    asyncio.run(main(arguments.minutes, arguments.to))
